//! Keys on a terminal: what they show and what they do.

use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;

use crate::ground::{Ground, Live};

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A column of the row that has this value in another one.
fn value(admin: &mut Connection, sql: &str, row: (&str, &str), column: &str) -> Option<String> {
    let mut rows = admin.query(sql).unwrap();
    let mut found = None;
    while let Some(next) = rows.next().unwrap() {
        if next.get::<String>(row.0).unwrap() == row.1 {
            found = next.get(column).unwrap();
        }
    }
    rows.finish().unwrap();
    found
}

#[test]
fn a_session_is_killed_after_a_question() {
    let ground = Ground::start(|_| {});
    let mut victim = ground.client(1);
    victim.run("DO 1").unwrap();
    let id = victim.connection_id().to_string();
    let mut top = Live::start(&mut ground.top(&["-s", "sessions"]));
    top.chooses(&id.to_string());
    top.type_keys("K");
    top.shows(&format!(
        "Kill session {id} of user 'root' on listener 'plain'?"
    ));
    top.type_keys("n");
    top.shows("nothing was done");
    victim.run("DO 1").unwrap();
    top.type_keys("Ky");
    top.shows(&format!("session {id} was killed"));
    top.shows("No client is connected.");
    let error = victim.run("DO 1").unwrap_err();
    assert!(
        error.is_closed() || error.server().is_some_and(|error| error.code == 1927),
        "{error}"
    );
    top.type_keys("q");
    top.0.ends();
    assert!(top.0.is_plain());
}

#[test]
fn a_backend_is_drained_and_resumed_and_a_listener_paused() {
    let ground = Ground::start(|_| {});
    let mut admin = ground.admin_connection();
    let mut top = Live::start(&mut ground.top(&["-s", "backends"]));
    top.chooses("db1");
    top.type_keys("D");
    top.shows("Drain backend 'db1'?");
    top.type_keys("y");
    top.shows("backend 'db1' is being drained");
    top.until("drained", |lines| {
        lines
            .iter()
            .filter(|line| line.contains(" drained "))
            .count()
            == 2
    });
    let mut state = || value(&mut admin, "SHOW SERVERS", ("Listener", "plain"), "State");
    assert_eq!(state().as_deref(), Some("drained"));
    top.type_keys("Ry");
    top.shows("backend 'db1' was resumed");
    top.shows_no(" drained ");
    assert_eq!(state().as_deref(), Some("up"));
    // Rows are sorted by the listeners' names: the first one can't be paused.
    top.type_keys("1P");
    top.shows("only listeners whose clients share connections can be paused");
    top.type_keys("jPy");
    top.shows("listener 'pooled' is paused");
    let mut state = || value(&mut admin, "SHOW POOLS", ("Listener", "pooled"), "State");
    assert_eq!(state().as_deref(), Some("paused"));
    top.type_keys("Ry");
    top.shows("listener 'pooled' was resumed");
    assert_eq!(state().as_deref(), Some("open"));
    // What is not there any more is an error of the admin listener, which is shown.
    let mut client = ground.client(1);
    client.run("DO 1").unwrap();
    let id = client.connection_id();
    top.type_keys("3 ");
    top.shows("PAUSED");
    top.chooses(&id.to_string());
    client.close().unwrap();
    until("the session is over", || ground.proxy.sessions() == 0);
    top.type_keys("Ky");
    top.shows(&format!("Unknown thread id: {id}"));
    top.type_keys("\x03");
    top.0.ends();
}

#[test]
fn nothing_is_changed_with_read_only() {
    let ground = Ground::start(|_| {});
    let mut top = Live::start(&mut ground.top(&["--read-only", "-s", "backends"]));
    top.chooses("db1");
    top.type_keys("D");
    top.shows("--read-only: nothing can be changed");
    top.type_keys("q");
    top.0.ends();
}

#[test]
fn rows_are_filtered_sorted_and_shown_whole() {
    let ground = Ground::start(|_| {});
    let mut clients = [ground.client(1), ground.client(1)];
    for conn in &mut clients {
        conn.run("DO 1").unwrap();
    }
    let ids = clients.each_ref().map(|conn| conn.connection_id());
    let (small, large) = (ids.iter().min().unwrap(), ids.iter().max().unwrap());
    // An id may be a part of another client's port.
    let mut admin = ground.admin_connection();
    let id = large.to_string();
    let address = value(&mut admin, "SHOW CLIENTS", ("Id", &id), "Client").unwrap();
    let mut top = Live::start(&mut ground.top(&["-s", "sessions"]));
    top.shows("Cmds/s▼");
    // To the left: state, user, id.
    top.type_keys("<<<");
    top.shows("Id▼");
    top.chooses(&large.to_string());
    top.type_keys("r");
    top.shows("Id▲");
    top.chooses(&small.to_string());
    top.type_keys(&format!("/{address}"));
    top.shows(&format!("filter: {address}_"));
    top.chooses(&large.to_string());
    top.until("filtered", |lines| {
        !lines
            .iter()
            .any(|line| line.split_whitespace().next() == Some(&small.to_string()))
    });
    top.type_keys("\r\r");
    top.shows("Compression");
    top.shows("any other key goes back");
    top.type_keys("q\x1b");
    top.shows_no("filter:");
    top.type_keys("?");
    top.shows("reverse the order");
    top.type_keys("q");
    top.shows_no("reverse the order");
    top.type_keys("q");
    top.0.ends();
}

#[test]
fn a_hostile_user_name_is_spelled_out() {
    // At most 32 characters on MySQL.
    const USER: &str = "\x1b]0;owned\x07\u{9b}31m\u{202e}e";
    let mut direct = Connection::connect(&onecopy_testkit::server::test_server().url()).unwrap();
    direct.run(format!("DROP USER IF EXISTS '{USER}'")).unwrap();
    direct
        .run(format!("CREATE USER '{USER}' IDENTIFIED BY 'secret'"))
        .unwrap();
    let ground = Ground::start(|config| {
        let secret = onecopy_proxy::config::Secret::new("secret");
        let account = onecopy_proxy::config::AccountConfig::new(USER, secret);
        config.listeners[0].accounts = vec![account];
    });
    let mut config = ground.client_config(0);
    (config.user, config.password, config.database) = (USER.into(), "secret".into(), None);
    let mut client = Connection::connect_with(&config).unwrap();
    client.run("SET @a = 1").unwrap();
    let harmless = "\\u{1b}]0;owned\\u{7}\\u{9b}31m\\u{202e}e";
    let mut top = Live::start(&mut ground.top(&["-s", "sessions"]));
    for (keys, column) in [("", "Cmds/s"), ("5", "Reasons"), ("7", "Limited")] {
        top.type_keys(keys);
        top.shows(column);
        top.shows(&harmless[..24]);
        top.type_keys("\r");
        top.shows("any other key goes back");
        top.until(column, |lines| {
            lines.iter().any(|line| line.contains(harmless))
        });
        top.type_keys("q");
    }
    top.type_keys("3");
    top.shows("Cmds/s");
    top.chooses(&client.connection_id().to_string());
    top.type_keys("K");
    top.shows(&format!("user '{harmless}'"));
    top.type_keys("nq");
    top.0.ends();
    let shown = top.0.all();
    for raw in ["\x1b]", "\x07", "\u{9b}", "\u{202e}"] {
        assert!(!shown.contains(raw), "{raw:?}");
    }
    let printed = ground.top(&["--once", "-d", "0.5"]).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(printed.contains(harmless));
    assert!(!printed.chars().any(|c| c.is_control() && c != '\n'));
    direct.run(format!("DROP USER '{USER}'")).unwrap();
}
