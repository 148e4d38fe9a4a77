//! A server's certificate that no CA has signed, proven by the password.

use onecopy_mysql::{
    AuthError, Config, Error, Password, PluginSet, ProtocolError, SslMode, Verify,
};
use onecopy_testkit::server::{Server, lacks};

use super::Connection;
use crate::tls_servers::{config, servers};

/// Verified, without a word on how.
fn verifying(server: &Server) -> Config {
    let mut config = config(server);
    config.ssl_mode = Some(SslMode::VerifyFull);
    config
}

/// Whether the server makes a certificate of its own and proves it.
fn proves() -> bool {
    let server = &servers().own;
    let version = server.version();
    let proves = version.contains("MariaDB") && {
        let mut numbers = version
            .split(['.', '-'])
            .map(|part| part.parse().unwrap_or(0));
        (numbers.next(), numbers.next()) >= (Some(11), Some(4))
    };
    if !proves {
        lacks("a certificate proven by the password", version);
    }
    proves
}

fn auth_error(error: &Error) -> Option<&AuthError> {
    match error.protocol() {
        Some(ProtocolError::Auth(error)) => Some(error),
        _ => None,
    }
}

#[tokio::test]
async fn a_server_with_a_certificate_of_its_own_proves_it_by_the_password() {
    if !proves() {
        return;
    }
    // The second one resumes the first one's session.
    let config = verifying(&servers().own);
    for _ in 0..2 {
        let mut conn = wait!(Connection::connect_with(&config)).unwrap();
        let tls = conn.tls().unwrap();
        assert!(tls.is_proven);
        assert_eq!(tls.verify, Verify::None);
        wait!(conn.ping()).unwrap();
        wait!(conn.close()).unwrap();
    }
}

#[tokio::test]
async fn every_plugin_that_stores_a_hash_proves_it() {
    if !proves() {
        return;
    }
    let mut admin = wait!(Connection::connect(&servers().own.socket_url())).unwrap();
    let face = module_path!().contains("tokio");
    for (plugin, install) in [
        ("mysql_native_password", ""),
        ("ed25519", "INSTALL SONAME 'auth_ed25519'"),
        ("parsec", "INSTALL SONAME 'auth_parsec'"),
    ] {
        if !install.is_empty()
            && let Err(error) = wait!(admin.run(install))
        {
            // The other API's test may have done it.
            let installed = error.server().is_some_and(|server| server.code == 1968);
            if !installed {
                lacks(plugin, &error.to_string());
                continue;
            }
        }
        let user = format!("proof_{plugin}_{face}");
        let created = format!(
            "CREATE OR REPLACE USER {user}@'%' IDENTIFIED VIA {plugin} USING PASSWORD('lovelace')"
        );
        wait!(admin.run(&created)).unwrap();
        let mut config = verifying(&servers().own);
        config.user = user;
        config.password = "lovelace".into();
        config.database = None;
        let mut conn = wait!(Connection::connect_with(&config)).unwrap();
        assert!(conn.tls().unwrap().is_proven, "{plugin}");
        wait!(conn.ping()).unwrap();
        config.password = "another".into();
        let error = wait!(Connection::connect_with(&config)).unwrap_err();
        assert_eq!(error.server().unwrap().code, 1045, "{plugin}: {error}");
    }
}

#[tokio::test]
async fn without_a_password_a_proof_or_the_permission_the_certificate_is_refused() {
    let own = &servers().own;
    let mut config = verifying(own);
    config.verify_by_password = false;
    let error = wait!(Connection::connect_with(&config)).unwrap_err();
    if error.to_string().contains("offers none") {
        return lacks("a certificate of its own", own.version());
    }
    assert!(error.tls().is_some(), "{error}");
    // Nothing to prove it with.
    let mut config = verifying(own);
    config.password = Password::NONE;
    let error = wait!(Connection::connect_with(&config)).unwrap_err();
    assert!(error.tls().is_some(), "{error}");
    if !proves() {
        return;
    }
    // A plugin that can't.
    let mut config = verifying(own);
    config.auth_plugins = PluginSet::CACHING_SHA2_PASSWORD;
    let error = wait!(Connection::connect_with(&config)).unwrap_err();
    assert!(auth_error(&error).is_some(), "{error}");
}

#[tokio::test]
async fn a_certificate_of_a_private_authority_is_proven_only_where_the_server_does_that() {
    let config = verifying(&servers().good);
    let connected = wait!(Connection::connect_with(&config));
    match connected {
        // It sends its CA's certificate too, of which nothing is proven; or it proves nothing.
        Err(error) => assert!(
            error.tls().is_some() || auth_error(&error) == Some(&AuthError::NotProven),
            "{error}"
        ),
        Ok(conn) => assert!(conn.tls().unwrap().is_proven),
    }
}
