//! Clients that log in again on the same connection.

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::auth::{AuthAction, AuthOptions, Channel, ClientAuth, Plugin, Secret};
use onecopy_mysql_proto::packet::{Greeting, HandshakeResponse};
use onecopy_proxy::config::Mode;

use crate::common::{connect, known, on_server, pooled, said, text, until, user};
use crate::raw::{Raw, USUAL};
use crate::sides::{Way, sides};

/// How many connections the server has of a user.
fn connections(user: &str) -> String {
    let mut direct = Connection::connect(&sides().server.url()).unwrap();
    let sql = format!(
        "SELECT CONCAT(COUNT(*)) FROM information_schema.PROCESSLIST WHERE USER = '{user}'"
    );
    text(&mut direct, &sql)
}

#[test]
fn a_client_becomes_another_user_with_a_clean_session() {
    for name in ["change_one", "change_two"] {
        on_server(name, name);
    }
    for mode in [Mode::Transaction, Mode::Session] {
        for way in [Way::Plain, Way::Tls, Way::Socket] {
            let accounts = [("change_one", "change_one"), ("change_two", "change_two")];
            let front = pooled(&accounts, |listener| listener.mode = mode);
            let mut conn = connect(&front.config_of(way, "change_one", "change_one")).unwrap();
            let id = conn.connection_id();
            for round in 0..3 {
                let before = text(&mut conn, "SELECT @@sql_mode");
                assert_ne!(before, "ANSI_QUOTES", "{round}");
                conn.run("SET SESSION sql_mode = 'ANSI_QUOTES'").unwrap();
                conn.run("SET @a = 7").unwrap();
                conn.run("BEGIN").unwrap();
                let statement = conn.prepare("SELECT 1").unwrap();
                let (now, database) = match round % 2 {
                    0 => ("change_two", Some("test")),
                    _ => ("change_one", None),
                };
                conn.change_user(now, now, database).unwrap();
                assert_eq!(user(&mut conn), format!("{now}@%"), "{mode} {way:?}");
                assert_eq!(conn.connection_id(), id);
                let schema = text(&mut conn, "SELECT COALESCE(DATABASE(), 'none')");
                assert_eq!(schema, database.unwrap_or("none"));
                assert_eq!(text(&mut conn, "SELECT @@sql_mode"), before);
                assert_eq!(text(&mut conn, "SELECT COALESCE(@a, 'nothing')"), "nothing");
                assert!(conn.execute(&statement, &[]).is_err());
            }
            // Its own id still ends it.
            let mut killer = connect(&front.config_of(way, "change_two", "change_two")).unwrap();
            killer.run(format!("KILL {id}")).unwrap();
            assert!(conn.ping().is_err());
        }
    }
}

#[test]
fn what_a_client_has_left_as_one_user_is_nobodys_behind_its_change() {
    for name in ["left_one", "left_two"] {
        on_server(name, name);
    }
    let accounts = [("left_one", "left_one"), ("left_two", "left_two")];
    let front = pooled(&accounts, |listener| listener.pool.max = 1);
    let mut conn = connect(&front.config_of(Way::Plain, "left_one", "left_one")).unwrap();
    conn.run("BEGIN").unwrap();
    conn.run("SET @a = 7").unwrap();
    // Another one has asked for the greeting, and may be on its way out.
    until("one connection", || connections("left_one") == "1");
    conn.change_user("left_two", "left_two", None).unwrap();
    // The other user's place is free: there is only one.
    assert_eq!(user(&mut conn), "left_two@%");
    until("its end", || connections("left_one") == "0");
    let mut other = connect(&front.config_of(Way::Plain, "left_one", "left_one")).unwrap();
    assert_eq!(
        text(&mut other, "SELECT COALESCE(@a, 'nothing')"),
        "nothing"
    );
}

#[test]
fn a_client_becomes_whom_the_last_reload_knows() {
    for name in ["reloaded_one", "reloaded_two", "reloaded_gone"] {
        on_server(name, name);
    }
    let first = ["reloaded_one", "reloaded_gone"].map(|name| (name, name));
    let front = pooled(&first, |_| {});
    let log_in = || connect(&front.config_of(Way::Plain, "reloaded_one", "reloaded_one")).unwrap();
    let mut clients = [log_in(), log_in()];
    for client in &mut clients {
        assert_eq!(user(client), "reloaded_one@%");
    }
    let mut config = front.proxy.config();
    config.listeners[0].accounts = ["reloaded_one", "reloaded_two"]
        .map(|name| known(name, name))
        .to_vec();
    front.proxy.reload(config).unwrap();
    let [added, removed] = &mut clients;
    added
        .change_user("reloaded_two", "reloaded_two", None)
        .unwrap();
    assert_eq!(user(added), "reloaded_two@%");
    let refused = removed.change_user("reloaded_gone", "reloaded_gone", None);
    assert_eq!(said(&refused.unwrap_err()).0, 1045);
}

#[test]
fn a_wrong_password_is_refused_as_at_a_login_and_ends_the_session() {
    on_server("change_wrong", "right");
    let front = pooled(&[("change_wrong", "right")], |_| {});
    for name in ["change_wrong", "nobody at all"] {
        let config = front.config_of(Way::Plain, "change_wrong", "right");
        let mut conn = connect(&config).unwrap();
        assert_eq!(user(&mut conn), "change_wrong@%");
        let (code, message) = said(&conn.change_user(name, "wrong", None).unwrap_err());
        let expected = format!("Access denied for user '{name}'@'127.0.0.1' (using password: YES)");
        assert_eq!((code, message), (1045, expected));
        until("the end of the session", || front.proxy.sessions() == 0);
    }
}

#[test]
fn limits_of_sessions_are_those_of_the_user_that_a_client_is() {
    for name in ["counted_one", "counted_two"] {
        on_server(name, name);
    }
    let accounts = [
        ("counted_one", "counted_one"),
        ("counted_two", "counted_two"),
    ];
    let front = pooled(&accounts, |listener| {
        listener.max_user_connections = Some(1);
    });
    let config = |name| front.config_of(Way::Plain, name, name);
    let mut conn = connect(&config("counted_one")).unwrap();
    // To itself it has a place.
    conn.change_user("counted_one", "counted_one", None)
        .unwrap();
    conn.change_user("counted_two", "counted_two", None)
        .unwrap();
    let mut other = connect(&config("counted_one")).unwrap();
    assert_eq!(user(&mut other), "counted_one@%");
    let error = other.change_user("counted_two", "counted_two", None);
    assert_eq!(said(&error.unwrap_err()).0, 1203);
    assert_eq!(user(&mut conn), "counted_two@%");
}

/// MariaDB's C library answers the second question for its password with the nonce of the greeting, whatever comes with the question. Servers
/// send the same one again.
#[test]
fn a_client_is_asked_again_with_the_nonce_of_its_greeting() {
    on_server("change_nonce", "change_nonce");
    let front = pooled(&[("change_nonce", "change_nonce")], |_| {});
    let port = front.proxy.tcp_address().unwrap().port();
    let (mut client, greeting) = Raw::connect(port);
    let greeting = Greeting::decode(&greeting).unwrap();
    let nonce = [&greeting.nonce_head[..], greeting.nonce_tail].concat();
    let begun = |plugin: Option<&[u8]>| {
        let options = AuthOptions::default();
        let secret = Secret::new(b"change_nonce".to_vec());
        match plugin {
            Some(plugin) => ClientAuth::new(options, Channel::Plain, secret, Some(plugin), &nonce),
            None => {
                let plugin = Plugin::NativePassword;
                ClientAuth::change_user(options, Channel::Plain, secret, plugin, &nonce)
            }
        }
        .unwrap()
    };
    let (mut auth, response) = begun(greeting.auth_plugin);
    let mut login = Vec::new();
    HandshakeResponse {
        capabilities: USUAL.difference(Capabilities::CONNECT_WITH_DB),
        max_packet_bytes: 1 << 30,
        collation: 45,
        user: b"change_nonce",
        auth_response: response.expose(),
        database: None,
        auth_plugin: Some(auth.plugin().name().as_bytes()),
        attributes: Default::default(),
        zstd_level: None,
    }
    .encode(&mut login)
    .unwrap();
    client.say(&login).unwrap();
    authenticate(&mut client, &mut auth);
    for _ in 0..3 {
        client.command(b"\x11change_nonce\0\0\0\x2D\0mysql_native_password\0");
        let (mut auth, _) = begun(None);
        let asked = authenticate(&mut client, &mut auth);
        assert_eq!(asked[0], 0xFE, "{}", asked.escape_ascii());
        let sent = asked.strip_suffix(b"\0").unwrap();
        assert!(sent.ends_with(&nonce), "{}", asked.escape_ascii());
    }
}

/// Answers up to OK; gives the first packet.
fn authenticate(client: &mut Raw, auth: &mut ClientAuth) -> Vec<u8> {
    let first = client.hear().unwrap();
    let mut packet = first.clone();
    loop {
        match auth.on_packet(&packet).unwrap() {
            AuthAction::Send(secret) => client.say(secret.expose()).unwrap(),
            AuthAction::Wait => {}
            AuthAction::Done => return first,
            _ => panic!("{}", packet.escape_ascii()),
        }
        packet = client.hear().unwrap();
    }
}
