//! TLS with a certificate that no CA has signed: the server proves it by the password, or the login fails. Before the proof a server
//! gets nothing but hashes.

use onecopy_mysql::{Config, PluginSet, SslMode};
use onecopy_testkit::script::{Script, Talk, Trial, packets};

use crate::login::{login_to_11, mysql_response};
use crate::talk::config;

fn verifying() -> Config {
    let mut config = config();
    config.ssl_mode = Some(SslMode::VerifyFull);
    // Even where the caller would permit it.
    config.auth_plugins = PluginSet::all();
    config.password_over_unverified_tls = true;
    config.get_server_public_key = true;
    config
}

fn talk() -> Talk {
    talk!(verifying(), |conn, log, wait, face| {
        log.line(conn.server_version());
        Ok(())
    })
}

fn see(script: &Script) -> Vec<String> {
    Trial::see(&script.over_tls().unwrap(), talk())
}

/// The login up to the client's response, then this.
fn answered(payload: &[u8]) -> Script {
    login_to_11()
        .without_last_answer()
        .server(&packets(&mut 2, payload))
}

/// The login's OK with a message.
fn ok(message: &[u8]) -> Vec<u8> {
    let length = u8::try_from(message.len()).unwrap();
    [&[0, 0, 0, 2, 0, 0, 0, length], message].concat()
}

#[test]
fn a_login_without_a_proof_or_with_a_wrong_one_fails() {
    for message in [
        &b""[..],
        b"\x01",
        &[&b"\x01"[..], &[b'0'; 64]].concat(),
        &[&b"\x01"[..], &[b'0'; 63]].concat(),
        b"welcome",
    ] {
        assert_eq!(see(&answered(&ok(message))), ["Auth(NotProven)"]);
    }
}

#[test]
fn a_switch_to_a_plugin_that_proves_nothing_is_refused() {
    for plugin in [
        "mysql_clear_password",
        "caching_sha2_password",
        "sha256_password",
    ] {
        let data = [&b"\xFE"[..], plugin.as_bytes(), &[0], &[7; 20], &[0]].concat();
        let seen = see(&answered(&data));
        assert!(seen[0].starts_with("Auth(PluginNotAllowed"), "{seen:?}");
    }
}

#[test]
fn a_server_that_can_not_prove_it_is_not_told_the_users_name() {
    // The script has the response, which must not be sent.
    let script = mysql_response().over_tls().unwrap();
    let (greeting, request) = (script.server_bytes(), &script.client_bytes()[..36]);
    let asked = Script::new().server(greeting).client(request);
    let seen = Trial::see_each(&script.without_last_answer(), talk());
    assert_eq!(asked.client_bytes().len(), 36);
    for lines in seen {
        assert_eq!(lines, ["Auth(NotProven)"]);
    }
}
