//! Passwords and accounts that change.

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::AccountConfig;

use crate::common::{connect, known, on_server, pooled, said, text, until, user};
use crate::sides::{Front, Way, sides};

fn reload(front: &Front, accounts: Vec<AccountConfig>) -> Vec<String> {
    let mut config = front.proxy.config();
    config.listeners[0].accounts = accounts;
    let changes = front.proxy.reload(config).unwrap();
    changes.lines().to_vec()
}

fn direct() -> Connection {
    Connection::connect(&sides().server.url()).unwrap()
}

/// Ends the proxy's own connections of a user, so that the next command needs another one.
pub(crate) fn end_connections(user: &str) {
    let mut direct = direct();
    let list = format!(
        "SELECT CONCAT('KILL ', ID) FROM information_schema.PROCESSLIST WHERE USER = '{user}'"
    );
    let mut kills = Vec::new();
    let mut rows = direct.query(&list).unwrap();
    while let Some(row) = rows.next().unwrap() {
        kills.push(row.get::<&str>(0).unwrap().to_owned());
    }
    rows.finish().unwrap();
    for kill in kills {
        let _ = direct.run(kill);
    }
    let count = format!(
        "SELECT CONCAT(COUNT(*)) FROM information_schema.PROCESSLIST WHERE USER = '{user}'"
    );
    until("the end of the connections", || {
        text(&mut direct, &count) == "0"
    });
}

#[test]
fn a_changed_password_holds_from_the_next_login_on() {
    on_server("changed", "first");
    let front = pooled(&[("changed", "first")], |_| {});
    let config = |password| front.config_of(Way::Plain, "changed", password);
    let mut before = connect(&config("first")).unwrap();
    assert_eq!(user(&mut before), "changed@%");
    let changes = reload(&front, vec![known("changed", "second")]);
    let said_so = changes
        .iter()
        .any(|line| line.ends_with("password of account 'changed' has changed"));
    assert!(said_so, "{changes:?}");
    assert_eq!(said(&connect(&config("first")).unwrap_err()).0, 1045);
    // The server has the first one still: its own error says so, where a connection is needed.
    end_connections("changed");
    let mut after = connect(&config("second")).unwrap();
    let (code, message) = said(&after.run("DO 1").unwrap_err());
    assert!(
        code == 1045 && message.contains("Access denied for user 'changed'"),
        "{code}: {message}"
    );
    direct()
        .run("ALTER USER changed@'%' IDENTIFIED BY 'second'")
        .unwrap();
    until("the next try", || after.run("DO 1").is_ok());
    assert_eq!(user(&mut after), "changed@%");
    // Who was there before goes on.
    assert_eq!(user(&mut before), "changed@%");
}

#[test]
fn a_session_never_becomes_another_accounts() {
    for name in ["moved_one", "moved_two", "moved_three"] {
        on_server(name, name);
    }
    let names = ["moved_one", "moved_two", "moved_three"];
    let front = pooled(&names.map(|name| (name, name)), |_| {});
    let log_in = |name: &str| connect(&front.config_of(Way::Plain, name, name)).unwrap();
    let mut two = log_in("moved_two");
    let mut three = log_in("moved_three");
    assert_eq!(user(&mut two), "moved_two@%");
    assert_eq!(user(&mut three), "moved_three@%");
    // The accounts are fewer, and in another order.
    let accounts = ["moved_three", "moved_one"];
    reload(&front, accounts.map(|name| known(name, name)).to_vec());
    end_connections("moved_two");
    end_connections("moved_three");
    let (code, message) = said(&two.run("DO 1").unwrap_err());
    assert!(
        code == 1045 && message.contains("was removed"),
        "{code}: {message}"
    );
    assert_eq!(user(&mut three), "moved_three@%");
    let error = connect(&front.config_of(Way::Plain, "moved_two", "moved_two")).unwrap_err();
    assert_eq!(said(&error).0, 1045);
    assert_eq!(user(&mut log_in("moved_one")), "moved_one@%");
}

#[test]
fn a_listener_changes_between_modes_for_new_clients() {
    use onecopy_proxy::config::Mode;
    on_server("modes", "secret");
    let front = pooled(&[("modes", "secret")], |_| {});
    let config = front.config_of(Way::Plain, "modes", "secret");
    let mut sharing = connect(&config).unwrap();
    assert_eq!(user(&mut sharing), "modes@%");
    let mut passing = front.proxy.config();
    (passing.listeners[0].mode, passing.listeners[0].accounts) = (Mode::Pass, Vec::new());
    // What MySQL's plugin needs between a plain client and a Unix socket.
    passing.listeners[0].reencrypt_passwords = true;
    let pooled = front.proxy.config();
    for round in 0..3 {
        let changes = front.proxy.reload(passing.clone()).unwrap();
        let line = &changes.lines()[0];
        assert!(line.ends_with("mode: transaction -> pass"), "{line}");
        // Who shares goes on, also if it needs a new connection.
        end_connections("modes");
        assert_eq!(user(&mut sharing), "modes@%", "{round}");
        let mut config = config.clone();
        config.get_server_public_key = true;
        let mut own = connect(&config).unwrap();
        assert!(
            own.connection_id() < 1 << 30,
            "the server's own id, {round}"
        );
        front.proxy.reload(pooled.clone()).unwrap();
        let mut again = connect(&config).unwrap();
        assert!(again.connection_id() >= 1 << 30);
        for conn in [&mut sharing, &mut own, &mut again] {
            assert_eq!(user(conn), "modes@%", "{round}");
        }
    }
}

#[test]
fn idle_connections_of_another_time_are_closed_at_once() {
    use std::time::Duration;
    for name in ["idle_gone", "idle_changed", "idle_stays"] {
        on_server(name, "secret");
    }
    let names = ["idle_gone", "idle_changed", "idle_stays"];
    let front = pooled(&names.map(|name| (name, "secret")), |listener| {
        listener.pool.idle_timeout = Duration::from_secs(3_600);
    });
    let log_in = |name: &str| connect(&front.config_of(Way::Plain, name, "secret")).unwrap();
    let mut clients = names.map(log_in);
    for (client, name) in clients.iter_mut().zip(names) {
        assert_eq!(user(client), format!("{name}@%"));
    }
    let count = |name: &str| {
        let sql = format!(
            "SELECT CONCAT(COUNT(*)) FROM information_schema.PROCESSLIST WHERE USER = '{name}'"
        );
        text(&mut direct(), &sql)
    };
    assert_eq!(names.map(count), ["1"; 3]);
    reload(
        &front,
        vec![
            known("idle_changed", "other"),
            known("idle_stays", "secret"),
        ],
    );
    until("the end of two", || names.map(count) == ["0", "0", "1"]);
    let mut config = front.proxy.config();
    config.listeners[0].pool.idle_timeout = Duration::from_secs(7_200);
    front.proxy.reload(config).unwrap();
    until("the end of the last", || names.map(count) == ["0"; 3]);
    assert_eq!(user(&mut clients[2]), "idle_stays@%");
}

#[test]
fn a_lower_maximum_holds_for_sessions_and_connections_that_are_there() {
    on_server("lower_max", "secret");
    let front = pooled(&[("lower_max", "secret")], |listener| listener.pool.max = 4);
    let config = front.config_of(Way::Plain, "lower_max", "secret");
    let mut clients: Vec<_> = (0..4).map(|_| connect(&config).unwrap()).collect();
    for client in &mut clients {
        client.run("BEGIN").unwrap();
    }
    let mut lower = front.proxy.config();
    lower.listeners[0].pool.max = 1;
    front.proxy.reload(lower).unwrap();
    for client in &mut clients {
        client.run("COMMIT").unwrap();
    }
    let count =
        "SELECT CONCAT(COUNT(*)) FROM information_schema.PROCESSLIST WHERE USER = 'lower_max'";
    until("the end of three", || text(&mut direct(), count) == "1");
    for client in &mut clients {
        client.run("DO 1").unwrap();
        assert_eq!(text(&mut direct(), count), "1");
    }
}
