//! Clients that begin with each plugin, over TLS or not.

use std::io::Write;
use std::net::TcpStream;

use onecopy_mysql::PluginSet;
use onecopy_mysql::blocking::Connection;

use crate::common::{WAYS, connect, on_server, pooled, said, user};
use crate::sides::Way;

const PLUGINS: [PluginSet; 5] = [
    PluginSet::NATIVE_PASSWORD,
    PluginSet::CACHING_SHA2_PASSWORD,
    PluginSet::SHA256_PASSWORD,
    PluginSet::CLIENT_ED25519,
    PluginSet::PARSEC,
];

#[test]
fn a_client_of_any_plugin_logs_in_over_any_way() {
    let long = "long ".repeat(40);
    for (name, password) in [
        ("any_short", "secret"),
        ("any_long", long.as_str()),
        ("any_word", "ключ🔑"),
    ] {
        on_server(name, password);
        let front = pooled(&[(name, password)], |_| {});
        for plugin in PLUGINS {
            for way in WAYS {
                let what = format!("{plugin:?} {way:?} {name}");
                let mut config = front.config_of(way, name, password);
                config.auth_plugins = plugin;
                // Over a plain connection sha256_password encrypts the password with the proxy's key.
                config.get_server_public_key = true;
                let mut wrong = config.clone();
                wrong.password = "wrong".into();
                let error = connect(&wrong).unwrap_err();
                assert_eq!(said(&error).0, 1045, "{what}");
                let mut conn = connect(&config).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(conn.tls().is_some(), way == Way::Tls, "{what}");
                assert_eq!(user(&mut conn), format!("{name}@%"), "{what}");
            }
        }
    }
}

#[test]
fn an_account_without_a_password_takes_none() {
    on_server("any_guest", "");
    let front = pooled(&[("any_guest", "")], |_| {});
    for plugin in PLUGINS {
        for way in WAYS {
            let mut config = front.config_of(way, "any_guest", "");
            config.auth_plugins = plugin | PluginSet::NATIVE_PASSWORD;
            let mut conn = connect(&config).unwrap();
            assert_eq!(user(&mut conn), "any_guest@%");
            config.password = "secret".into();
            assert_eq!(said(&connect(&config).unwrap_err()).0, 1045);
        }
    }
}

#[test]
fn each_user_has_its_own_account() {
    for name in ["any_one", "any_two"] {
        on_server(name, name);
    }
    let front = pooled(&[("any_one", "any_one"), ("any_two", "any_two")], |_| {});
    let mut one = connect(&front.config_of(Way::Plain, "any_one", "any_one")).unwrap();
    let mut two = connect(&front.config_of(Way::Tls, "any_two", "any_two")).unwrap();
    assert_eq!(user(&mut one), "any_one@%");
    assert_eq!(user(&mut two), "any_two@%");
    let error = connect(&front.config_of(Way::Plain, "any_one", "any_two")).unwrap_err();
    assert_eq!(said(&error).0, 1045);
}

#[test]
fn an_account_that_the_server_does_not_know_is_of_no_harm_to_others() {
    on_server("any_known", "secret");
    let front = pooled(&[("any_unknown", "x"), ("any_known", "secret")], |_| {});
    let mut conn = connect(&front.config_of(Way::Plain, "any_known", "secret")).unwrap();
    assert_eq!(user(&mut conn), "any_known@%");
    // The proxy knows this one, and its first command says what the server says.
    let mut conn = connect(&front.config_of(Way::Plain, "any_unknown", "x")).unwrap();
    let (code, message) = said(&conn.run("DO 1").unwrap_err());
    assert!(
        message.contains("Access denied for user 'any_unknown'"),
        "{code}: {message}"
    );
}

#[test]
fn a_listener_that_requires_tls_tells_clients_without_it() {
    on_server("any_tls", "secret");
    let front = pooled(&[("any_tls", "secret")], |listener| {
        listener.requires_tls = true;
    });
    for user in ["any_tls", "nobody"] {
        let error = connect(&front.config_of(Way::Plain, user, "secret")).unwrap_err();
        assert_eq!(said(&error).0, 3159);
    }
    for way in [Way::Tls, Way::Socket] {
        let mut conn = connect(&front.config_of(way, "any_tls", "secret")).unwrap();
        assert_eq!(user(&mut conn), "any_tls@%");
    }
}

#[test]
fn a_client_behind_a_balancer_is_known_by_its_own_address() {
    on_server("any_behind", "secret");
    let front = pooled(&[("any_behind", "secret")], |listener| {
        listener.expects_proxy_header = true;
    });
    let connect = |password: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", front.port())).unwrap();
        let header = b"PROXY TCP4 192.0.2.7 192.0.2.1 4711 3306\r\n";
        stream.write_all(header).unwrap();
        let config = front.config_of(Way::Plain, "any_behind", password);
        Connection::from_stream(&config, stream.into())
    };
    let mut conn = connect("secret").unwrap();
    assert_eq!(user(&mut conn), "any_behind@%");
    let client = front.proxy.snapshot(true).clients.remove(0);
    assert_eq!(client.address, "192.0.2.7:4711");
    assert_eq!(
        said(&connect("wrong").unwrap_err()),
        (
            1045,
            "Access denied for user 'any_behind'@'192.0.2.7' (using password: YES)".to_owned()
        )
    );
    let without = front.config_of(Way::Plain, "any_behind", "secret");
    assert!(Connection::connect_with(&without).is_err());
}
