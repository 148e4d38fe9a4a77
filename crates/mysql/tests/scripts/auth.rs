//! Logins whose bytes depend on the password: its length, letters outside ASCII, and a server's unknown plugin.

use onecopy_mysql::Config;
use onecopy_testkit::script::{Script, Trial, packets};

use crate::login::{MYSQL_SEEN, PING, mysql_response};
use crate::talk::config;

/// A login whose password is this, by `caching_sha2_password` from its greeting's nonce, and the password asked for.
macro_rules! password_itself {
    ($password:expr, $scramble:literal) => {{
        fn with_password() -> Config {
            let mut config = config();
            config.password = $password.into();
            config
        }
        let talk = talk!(with_password(), |conn, log, wait, face| {
            log.line(format!(
                "{} {}",
                conn.server_version(),
                conn.connection_id()
            ));
            wait!(conn.ping())?;
            log.line("pong");
            Ok(())
        });
        let password: String = $password.into();
        let response = with_scramble(&scramble($scramble));
        let script = response
            .server(b"\x02\0\0\x02\x01\x04")
            .client(&packets(&mut 3, &[password.as_bytes(), b"\0"].concat()))
            .server(b"\x07\0\0\x04\0\0\0\x02\0\0\0")
            .then(&Script::parse(PING))
            .over_unix_socket();
        Trial::new(&script, talk, &MYSQL_SEEN).run();
    }};
}

fn scramble(hex: &str) -> Vec<u8> {
    Script::parse(&format!("C {hex}")).client_bytes().to_vec()
}

/// The login to MySQL with another scramble of 32 bytes in its response.
fn with_scramble(scramble: &[u8]) -> Script {
    /// Header, capabilities, size, collation, filler, user and the scramble's length.
    const AT: usize = 4 + 32 + 4 + 1;
    let whole = mysql_response();
    let mut response = whole.client_bytes().to_vec();
    response[AT..AT + 32].copy_from_slice(scramble);
    Script::new().server(whole.server_bytes()).client(&response)
}

/// The scrambles were computed apart, by Python's hashlib: SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce).
#[test]
fn passwords_of_any_length_and_outside_ascii() {
    password_itself!(
        "x",
        "6d e9 05 53 32 ab 03 b0 27 7f 5c 58 29 64 cf 14 04 af f6 8d 7b 3c 26 f9 aa 6a a1 f2 ca ea e1 0d"
    );
    password_itself!(
        "x".repeat(19),
        "ca 04 9b 31 7c 8b 49 13 09 ce 86 11 3f f3 80 17 c8 47 e0 ef 80 aa 59 77 0e aa 02 6f 1b cc c9 9f"
    );
    password_itself!(
        "x".repeat(20),
        "3c 33 81 3b 22 69 6c 74 7a 49 fb 81 6d 7f 01 fe e8 e9 ad a2 bb bf a7 94 4d c1 cc 04 d4 16 96 2a"
    );
    password_itself!(
        "x".repeat(21),
        "0e 6c 48 ae 27 45 0a 50 e2 38 79 33 02 2e de 36 03 88 c4 3f f9 0f 0e 6e c6 72 f6 b4 02 3b c3 75"
    );
    password_itself!(
        "x".repeat(255),
        "f8 73 2f 94 e9 41 b2 29 b7 66 35 28 f4 8d a5 f9 6b 50 d3 b0 b9 f3 79 ae 1b 0e bc 53 02 f6 cf 9a"
    );
    password_itself!(
        "x".repeat(300),
        "21 9f f0 4c 00 f1 e6 a3 ed c8 ec ff e9 52 c2 74 12 6d 5e 07 33 69 5f 5c b8 22 8d e7 4f 99 94 ad"
    );
    password_itself!(
        "ключ🔑",
        "67 12 ca 31 e9 27 25 b6 5a 5d 07 62 07 23 01 18 92 a7 3c df 60 5c b1 19 05 6b d2 3b 1a 87 f8 b0"
    );
}

/// The greeting of MySQL with another plugin's name, and the response that goes with it.
#[test]
fn an_unknown_default_plugin_is_answered_with_our_own_and_the_switch_awaited() {
    let whole = mysql_response();
    let named = b"caching_sha2_password\0";
    let mut greeting = whole.server_bytes()[4..].to_vec();
    greeting.truncate(greeting.len() - named.len());
    greeting.extend_from_slice(b"authentication_ldap_sasl_client\0");
    let script = Script::new()
        .server_packets(0, &[&greeting])
        .client(whole.client_bytes())
        .then(&Script::parse(
            "S 2c 00 00 02
               fe 6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 | mysql_native_pa
               73 73 77 6f 72 64 00                            | ssword
               01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10
               11 12 13 14 00
             C 14 00 00 03
               3d e6 fa 94 1a 3b 79 c0 88 78 9d 14 26 88 67 23
               88 9a 13 1c
             S 07 00 00 04 00 00 00 02 00 00 00",
        ))
        .then(&Script::parse(PING));
    Trial::new(&script, crate::login::talk(), &MYSQL_SEEN).run();
}

#[test]
fn a_plugin_that_is_not_allowed_is_neither_answered_nor_switched_to() {
    fn native_only() -> Config {
        let mut config = config();
        config.auth_plugins = onecopy_mysql::PluginSet::NATIVE_PASSWORD;
        config
    }
    let talk = talk!(native_only(), |conn, log, wait, face| {
        log.line(conn.server_version());
        wait!(conn.ping())
    });
    let whole = mysql_response();
    // mysql_native_password's scramble of 20 bytes and its name, in place of the other's 32.
    let mut response = whole.client_bytes()[4..4 + 32 + 4].to_vec();
    response.push(20);
    response.extend(scramble(
        "3d e6 fa 94 1a 3b 79 c0 88 78 9d 14 26 88 67 23 88 9a 13 1c",
    ));
    response.extend_from_slice(b"mysql_native_password\0");
    let switch = [&b"\xfecaching_sha2_password\0"[..], &[7; 20], &[0]].concat();
    let script = Script::new()
        .server(whole.server_bytes())
        .client(&packets(&mut 1, &response))
        .server_packets(2, &[&switch]);
    assert_eq!(
        Trial::see(&script, talk),
        ["Auth(PluginNotAllowed { plugin: CachingSha2Password })"]
    );
}
