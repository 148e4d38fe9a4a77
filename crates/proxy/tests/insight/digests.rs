//! Statements by digest, as the admin listener shows them, with a real server behind.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::auth::Secret;
use onecopy_net::Endpoint;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{Config, Mode, RuleConfig};

use crate::admin::{PASSWORD, ask, rows};
use crate::common::{connect, loopback, start, until, url};
use crate::pooled::Pooled;

fn with_admin(config: &mut Config) {
    config.workers = 2;
    config.digests.max = 1_000;
    config.admin.listen = Some(loopback(0));
    config.admin.user = "boss".into();
    config.admin.password = Secret::new(PASSWORD);
}

/// What is said of each digest.
fn digests(proxy: &Proxy) -> HashMap<String, HashMap<String, String>> {
    let rows = rows(proxy, "SHOW DIGESTS").into_iter();
    rows.map(|row| (row["Statement"].clone(), row)).collect()
}

/// What clients do, and what has to be counted of it.
fn do_all(proxy: &Proxy, mut clients: [Connection; 2]) {
    ask(proxy, "RESET DIGESTS").unwrap();
    for (at, conn) in clients.iter_mut().enumerate() {
        conn.run(format!(
            "CREATE TEMPORARY TABLE digests_{at} (id INT, name TEXT)"
        ))
        .unwrap();
        for id in 0..10 {
            let sql = format!("INSERT INTO digests_{at} VALUES ({id}, 'name {id}'), (1, 'it''s')");
            conn.run(sql).unwrap();
        }
        let mut rows = conn
            .query(format!("SELECT id  FROM digests_{at} WHERE id >= {at}"))
            .unwrap();
        while rows.next().unwrap().is_some() {}
        drop(rows);
        assert!(
            conn.query("SELECT nothing FROM digests_none WHERE a = 'b'")
                .is_err()
        );
        conn.run("SELECT CAST('a' AS SIGNED) /* warns */").unwrap();
        let statement = conn.prepare("SELECT ? + 1").unwrap();
        for value in 0..3_u64 {
            let _ = conn.execute(&statement, &[value.into()]).unwrap();
        }
        conn.close_statement(statement).unwrap();
        conn.ping().unwrap();
    }
    let digests = digests(proxy);
    let of = |text: &str, name: &str| digests[text][name].clone();
    for at in 0..2 {
        let insert = format!("INSERT INTO `digests_{at}` VALUES (...) /* , ... */");
        assert_eq!(of(&insert, "Count"), "10");
        assert_eq!(of(&insert, "Affected"), "20");
        assert_eq!(of(&insert, "Rows"), "0");
        let select = format!("SELECT `id` FROM `digests_{at}` WHERE `id` >= ?");
        assert_eq!(of(&select, "Count"), "1");
        // Ten with the id 1, and 0 to 9.
        assert_eq!(of(&select, "Rows"), (20 - at).to_string());
        assert_eq!(of(&select, "Bytes_in"), (5 + 39).to_string());
        let bytes: u64 = of(&select, "Bytes_out").parse().unwrap();
        assert!((100..1_000).contains(&bytes), "{bytes}");
    }
    let wrong = "SELECT `nothing` FROM `digests_none` WHERE `a` = ?";
    assert_eq!(
        (of(wrong, "Count"), of(wrong, "Errors")),
        ("2".into(), "2".into())
    );
    let warned = digests
        .keys()
        .find(|text| text.starts_with("SELECT CAST"))
        .unwrap();
    assert_eq!(
        (of(warned, "Warnings"), of(warned, "Errors")),
        ("2".into(), "0".into())
    );
    assert_eq!(of("SELECT ? + ?", "Count"), "6");
    assert_eq!(of("SELECT ? + ?", "Rows"), "6");
    for (text, row) in &digests {
        assert_eq!(row["Running"], "0", "{text}");
        let number = |name: &str| row[name].parse::<u64>().unwrap();
        assert!(number("Max_us") <= number("Total_us"), "{row:?}");
        assert!(number("Mean_us") <= number("Max_us"), "{row:?}");
        assert!(row["First_seen"] <= row["Last_seen"], "{row:?}");
        assert!(!text.contains("name 1"), "{text}");
    }
    let limited = rows(proxy, "SHOW DIGESTS LIMIT 2");
    assert_eq!(limited.len(), 2);
    assert!(
        limited[0]["Total_us"].parse::<u64>().unwrap() >= limited[1]["Total_us"].parse().unwrap()
    );
}

#[test]
fn statements_are_counted_by_digest_without_a_pool() {
    let proxy = start(with_admin);
    do_all(&proxy, [connect(&proxy), connect(&proxy)]);
}

#[test]
fn statements_are_counted_by_digest_with_a_pool() {
    for mode in [Mode::Transaction, Mode::Session] {
        let pooled = Pooled::start_with(mode, 4, with_admin);
        do_all(&pooled.proxy, [pooled.connect(), pooled.connect()]);
    }
}

#[test]
fn a_statement_that_runs_is_shown_before_it_ends() {
    let proxy = start(with_admin);
    let mut conn = connect(&proxy);
    let sleeper = thread::spawn(move || {
        // Until it is killed.
        let _ = conn.run("SELECT SLEEP(1000)");
    });
    let running = |proxy: &Proxy| {
        let digests = digests(proxy);
        let sleep = digests
            .get("SELECT `SLEEP` (?)")
            .or(digests.get("SELECT SLEEP (?)"));
        sleep.map(|row| (row["Running"].clone(), row["Count"].clone()))
    };
    until("the statement runs", || {
        running(&proxy) == Some(("1".into(), "0".into()))
    });
    let id = rows(&proxy, "SHOW CLIENTS")[0]["Id"].clone();
    ask(&proxy, &format!("KILL {id}")).unwrap();
    sleeper.join().unwrap();
    until("it has ended", || {
        running(&proxy) == Some(("0".into(), "0".into()))
    });
}

/// Passes bytes on from a client in pieces of a few bytes.
fn in_pieces(to: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut proxy = TcpStream::connect(("127.0.0.1", to)).unwrap();
        proxy.set_nodelay(true).unwrap();
        let (mut from_proxy, mut to_client) =
            (proxy.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut from_proxy, &mut to_client));
        let mut room = [0; 7];
        while let Ok(n @ 1..) = client.read(&mut room) {
            proxy.write_all(&room[..n]).unwrap();
            thread::yield_now();
        }
    });
    port
}

#[test]
fn a_statement_that_comes_in_pieces_has_the_digest_of_the_whole() {
    let proxy = start(with_admin);
    let mut config = ClientConfig::from_url(&url(&proxy)).unwrap();
    let Endpoint::Tcp { port, .. } = config.endpoint else {
        panic!("{config:?}")
    };
    config.endpoint = loopback(in_pieces(port));
    let mut conn = Connection::connect_with(&config).unwrap();
    ask(&proxy, "RESET DIGESTS").unwrap();
    for round in 0..20 {
        let padding = "x".repeat(50 * round);
        conn.run(format!("SELECT 'a{padding}', {round} AS pieces"))
            .unwrap();
    }
    // Longer than what is looked at, wherever it was cut.
    let list = vec!["(1, 'abc')"; 1_000].join(", ");
    assert!(
        conn.run(format!("INSERT INTO digests_none VALUES {list}"))
            .is_err()
    );
    let statement = conn.prepare("SELECT ? AS pieced").unwrap();
    let _ = conn.execute(&statement, &[1_u64.into()]).unwrap();
    let digests = digests(&proxy);
    assert_eq!(digests["SELECT ?, ... AS `pieces`"]["Count"], "20");
    assert_eq!(
        digests["INSERT INTO `digests_none` VALUES (...) /* , ... */ ..."]["Errors"],
        "1"
    );
    assert_eq!(digests["SELECT ? AS `pieced`"]["Count"], "1");
}

#[test]
fn few_places_are_for_those_that_take_most_time_and_the_rest_is_in_one_row() {
    let proxy = start(|config| {
        with_admin(config);
        config.workers = 1;
        config.digests.max = 3;
    });
    let mut conn = connect(&proxy);
    conn.run("SELECT SLEEP(0.2) AS slow").unwrap();
    for at in 0..20 {
        conn.run(format!("SELECT 1 AS column_{at}")).unwrap();
    }
    let rows = rows(&proxy, "SHOW DIGESTS");
    assert_eq!(rows.len(), 4, "{rows:?}");
    assert!(rows[0]["Statement"].ends_with("AS `slow`"), "{rows:?}");
    assert_eq!(
        (&*rows[3]["Digest"], &*rows[3]["Statement"]),
        ("NULL", "NULL")
    );
    let counts = rows.iter().map(|row| row["Count"].parse::<u64>().unwrap());
    assert!(counts.sum::<u64>() >= 21);
}

#[test]
fn a_statement_that_is_refused_does_not_run() {
    let pooled = Pooled::start_with(Mode::Transaction, 2, |config| {
        with_admin(config);
        config.listeners[0].rules = vec![RuleConfig {
            name: "none".into(),
            starts_with: Some("DELETE".into()),
            reject: Some("no".into()),
            ..RuleConfig::default()
        }];
    });
    let mut conn = pooled.connect();
    assert!(conn.run("DELETE FROM digests_refused").is_err());
    let digests = digests(&pooled.proxy);
    assert_eq!(digests["DELETE FROM `digests_refused`"]["Running"], "0");
}

#[test]
fn nothing_is_counted_where_it_is_off() {
    let proxy = start(|config| {
        with_admin(config);
        config.digests.max = 0;
    });
    connect(&proxy).run("SELECT 1").unwrap();
    assert_eq!(rows(&proxy, "SHOW DIGESTS").len(), 0);
}
