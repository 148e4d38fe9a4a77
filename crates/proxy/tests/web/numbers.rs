//! Numbers of the JSON are those of the admin listener, and those of the clients.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_net::evented::Address;
use onecopy_proxy::config::{BackendConfig, ListenerConfig, RuleConfig};
use serde_json::Value;

use crate::common::{Pooled, loopback};
use crate::http::{get, json, until, with_page};

const CLIENTS: usize = 4;

/// A pooled listener with a rule, and one that is not.
fn two() -> Pooled {
    with_page(|config| {
        config.listeners[0].name = "pooled".into();
        let rule = RuleConfig {
            starts_with: Some("DO 2".into()),
            name: "twos".into(),
            ..RuleConfig::default()
        };
        config.listeners[0].rules = vec![rule];
        let backend = BackendConfig::new(config.listeners[0].backends[0].endpoint.clone());
        config.listeners.push(ListenerConfig {
            name: "plain".into(),
            listen: vec![loopback(0)],
            backends: vec![backend],
            ..ListenerConfig::default()
        });
    })
}

fn admin(pooled: &Pooled) -> Connection {
    let Some(Address::Tcp(address)) = pooled.proxy.admin_address() else {
        panic!("there is no admin listener");
    };
    Connection::connect(&format!("mysql://admin:secret@{address}/")).unwrap()
}

/// Rows by their columns.
fn rows(admin: &mut Connection, sql: &str) -> Vec<HashMap<String, String>> {
    let mut rows = admin.query(sql).unwrap();
    let columns = rows.columns().unwrap();
    let name = |at| String::from_utf8(columns.name(at).unwrap().to_vec()).unwrap();
    let names: Vec<_> = (0..columns.len()).map(name).collect();
    let mut all = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let value = |at: usize| match row.bytes(at).unwrap() {
            Some(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            None => "null".to_owned(),
        };
        let values = names
            .iter()
            .enumerate()
            .map(|(at, name)| (name.clone(), value(at)));
        all.push(values.collect());
    }
    rows.finish().unwrap();
    all
}

/// A value as the admin listener has it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(value) => u8::from(*value).to_string(),
        value => value.to_string(),
    }
}

/// Columns by which rows are told apart.
const KEYS: [&str; 6] = ["Listener", "Backend", "Command", "User", "Rule", "Id"];

/// Whether a list has the values of a result, by pairs of key and column.
fn is_same(list: &Value, rows: &[HashMap<String, String>], names: &[(&str, &str)]) -> bool {
    let list = list.as_array().unwrap();
    let pairs = |(one, row): (&Value, &HashMap<String, String>)| {
        names.iter().all(|(key, column)| {
            assert!(one.get(key).is_some(), "{one} has no {key}");
            plain(&one[key]) == row[*column]
        })
    };
    let mut list: Vec<_> = list.iter().collect();
    let mut rows: Vec<_> = rows.iter().collect();
    // Workers answer in any order.
    let order = |key: &str, list: &mut Vec<&Value>| list.sort_by_key(|one| plain(&one[key]));
    for (key, column) in names
        .iter()
        .rev()
        .filter(|(_, column)| KEYS.contains(column))
    {
        order(key, &mut list);
        rows.sort_by_key(|row| &row[*column]);
    }
    list.len() == rows.len() && list.into_iter().zip(rows).all(pairs)
}

fn commands(now: &Value) -> u64 {
    now["total"]["commands"].as_u64().unwrap()
}

#[test]
fn numbers_equal_the_admin_listeners_under_a_load_and_behind_it() {
    let pooled = two();
    let mut admin = admin(&pooled);
    let plain_url = pooled.url().replace(
        &format!(":{}", pooled.proxy.tcp_address().unwrap().port()),
        &format!(":{}", second_port(&pooled)),
    );
    let (is_over, done) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|threads| {
        for at in 0..CLIENTS {
            let (pooled, plain_url, is_over, done) = (&pooled, &plain_url, &is_over, &done);
            threads.spawn(move || {
                let mut conn = match at % 2 {
                    0 => pooled.connect(),
                    _ => Connection::connect(plain_url).unwrap(),
                };
                while !is_over.load(SeqCst) {
                    conn.run("DO 1").unwrap();
                    conn.run("DO 2").unwrap();
                    conn.run("SELECT 1 FROM nothing.there").unwrap_err();
                    conn.ping().unwrap();
                    done.fetch_add(4, SeqCst);
                }
                // It says goodbye, so that no count changes later.
                conn.close().unwrap();
            });
        }
        // Between two looks of the administrator each number is between the two.
        let sum = |rows: &[HashMap<String, String>]| {
            let count = |row: &HashMap<String, String>| row["Commands"].parse::<u64>().unwrap();
            rows.iter().map(count).sum::<u64>()
        };
        let mut looks = vec![(Instant::now(), 0)];
        for _ in 0..50 {
            let asked = Instant::now();
            let now = commands(&json(&pooled.proxy, "/api/now"));
            let after = sum(&rows(&mut admin, "SHOW STATS"));
            // A sample of a tenth of a second ago is good for a request.
            let is_older = |look: &&(Instant, u64)| asked - look.0 >= Duration::from_millis(100);
            let before = looks.iter().rev().find(is_older).map_or(0, |look| look.1);
            assert!(before <= now && now <= after, "{before} {now} {after}");
            looks.push((Instant::now(), after));
        }
        until("rates", || {
            let now = json(&pooled.proxy, "/api/now");
            let rate = now["total"]["commands_per_second"].as_f64();
            rate.is_some_and(|rate| rate > 0.0) && now["total"]["p99_us"].is_u64()
        });
        is_over.store(true, SeqCst);
    });
    until("the end of all sessions", || pooled.proxy.sessions() == 0);
    until("the sample", || {
        let now = json(&pooled.proxy, "/api/now");
        now["total"]["sessions"] == 0
    });
    let now = json(&pooled.proxy, "/api/now");
    // What the clients have counted, and a COM_QUIT of each.
    let quits = now["commands"].as_array().unwrap().iter();
    let quits = quits.filter(|one| one["command"] == "other");
    let quits: u64 = quits.map(|one| one["commands"].as_u64().unwrap()).sum();
    assert_eq!(commands(&now), done.load(SeqCst) + quits);
    assert_eq!(
        now["total"]["errors"].as_u64().unwrap(),
        done.load(SeqCst) / 4
    );
    let stats = rows(&mut admin, "SHOW STATS");
    let stats: Vec<_> = stats
        .into_iter()
        .filter(|row| row["Commands"] != "0")
        .collect();
    for (list, rows, names) in [
        (
            "commands",
            stats,
            &[
                ("listener", "Listener"),
                ("backend", "Backend"),
                ("command", "Command"),
                ("commands", "Commands"),
                ("replies", "Replies"),
                ("mean_us", "Mean_us"),
                ("p50_us", "P50_us"),
                ("p99_us", "P99_us"),
            ][..],
        ),
        (
            "listeners",
            rows(&mut admin, "SHOW LISTENERS"),
            &[
                ("name", "Listener"),
                ("address", "Address"),
                ("tls", "Tls"),
                ("backends", "Backends"),
                ("sessions", "Sessions"),
                ("accepted", "Accepted"),
                ("refused", "Refused"),
                ("failed", "Failed"),
            ],
        ),
        (
            "backends",
            rows(&mut admin, "SHOW SERVERS"),
            &[
                ("listener", "Listener"),
                ("name", "Backend"),
                ("address", "Address"),
                ("state", "State"),
                ("role", "Role"),
                ("is_discovered", "Discovered"),
                ("is_read_only", "Read_only"),
                ("lag_seconds", "Lag"),
                ("lag_transactions", "Lag_transactions"),
                ("weight", "Weight"),
                ("sessions", "Sessions"),
                ("failed_connects", "Failed_connects"),
                ("failed_checks", "Failed_checks"),
                ("last_error", "Last_error"),
            ],
        ),
        (
            "pools",
            rows(&mut admin, "SHOW POOLS"),
            &[
                ("listener", "Listener"),
                ("mode", "Mode"),
                ("max", "Max"),
                ("connections", "Connections"),
                ("idle", "Idle"),
                ("waiting", "Waiting"),
                ("waits", "Waits"),
                ("mean_wait_us", "Mean_wait_us"),
                ("timeouts", "Timeouts"),
                ("connects", "Connects"),
                ("failed_connects", "Failed_connects"),
                ("delayed_connects", "Delayed_connects"),
                ("refused_logins", "Refused_logins"),
                ("replays", "Replays"),
                ("resets", "Resets"),
                ("pinned", "Pinned"),
            ],
        ),
        (
            "users",
            rows(&mut admin, "SHOW USERS"),
            &[
                ("listener", "Listener"),
                ("user", "User"),
                ("connections", "Connections"),
                ("waiting", "Waiting"),
                ("waits", "Waits"),
                ("mean_wait_us", "Mean_wait_us"),
                ("timeouts", "Timeouts"),
                ("limited", "Limited"),
            ],
        ),
        (
            "rules",
            rows(&mut admin, "SHOW RULES"),
            &[
                ("listener", "Listener"),
                ("rule", "Rule"),
                ("starts_with", "Starts_with"),
                ("action", "Action"),
                ("statements", "Statements"),
                ("rejected", "Rejected"),
                ("limited", "Limited"),
            ],
        ),
    ] {
        assert!(!rows.is_empty(), "{list}");
        assert!(
            is_same(&now[list], &rows, names),
            "{list}: {} {rows:?}",
            now[list]
        );
    }
    let rule = &now["rules"][0];
    assert!(rule["statements"].as_u64().unwrap() > 0, "{rule}");
    assert_eq!(now["digests"], Value::Null);
}

#[test]
fn digests_equal_the_admin_listeners() {
    let pooled = with_page(|config| {
        config.admin.listen = Some(loopback(0));
        config.digests.max = 100;
    });
    let mut conn = pooled.connect();
    for id in 0..20 {
        conn.run(format!("SELECT {id} AS numbers_digest")).unwrap();
        assert!(conn.run("SELECT * FROM numbers_none").is_err());
    }
    let now = json(&pooled.proxy, "/api/now");
    let mut admin = admin(&pooled);
    let shown = rows(&mut admin, "SHOW DIGESTS");
    let digests = &now["digests"]["statements"];
    let names = [
        ("digest", "Digest"),
        ("statement", "Statement"),
        ("count", "Count"),
        ("total_us", "Total_us"),
        ("mean_us", "Mean_us"),
        ("p50_us", "P50_us"),
        ("p99_us", "P99_us"),
        ("max_us", "Max_us"),
        ("rows", "Rows"),
        ("affected_rows", "Affected"),
        ("bytes_from_clients", "Bytes_in"),
        ("bytes_from_backends", "Bytes_out"),
        ("errors", "Errors"),
        ("warnings", "Warnings"),
        ("running", "Running"),
    ];
    assert!(is_same(digests, &shown, &names), "{digests} {shown:?}");
    let of = |text: &str, name: &str| {
        let mut all = digests.as_array().unwrap().iter();
        all.find(|one| one["statement"] == text).unwrap()[name]
            .as_u64()
            .unwrap()
    };
    assert_eq!(of("SELECT ? AS `numbers_digest`", "count"), 20);
    assert_eq!(of("SELECT * FROM `numbers_none`", "errors"), 20);
    assert_eq!(now["digests"]["total"]["errors"], 20);
    assert!(
        get(&pooled.proxy, "/")
            .body
            .contains("SELECT ? AS `numbers_digest`")
    );
}

/// The port of the second listener.
fn second_port(pooled: &Pooled) -> u16 {
    match pooled.proxy.addresses().as_slice() {
        [_, Address::Tcp(second)] => second.port(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sessions_equal_the_admin_listeners() {
    let pooled = two();
    let mut admin = admin(&pooled);
    let mut conns: Vec<_> = (0..3).map(|_| pooled.connect()).collect();
    for (at, conn) in conns.iter_mut().enumerate() {
        for _ in 0..=at {
            conn.run("DO 1").unwrap();
        }
    }
    conns[0].run("SELECT GET_LOCK('a page', 0)").map(drop).ok();
    conns[1].run("BEGIN").unwrap();
    let names = [
        ("id", "Id"),
        ("user", "User"),
        ("client", "Client"),
        ("listener", "Listener"),
        ("backend", "Backend"),
        ("state", "State"),
        ("commands", "Commands"),
        ("statements", "Statements"),
        ("in_transaction", "In_transaction"),
        ("compression", "Compression"),
    ];
    until("the same", || {
        let sessions = json(&pooled.proxy, "/api/sessions");
        let rows = rows(&mut admin, "SHOW CLIENTS");
        rows.len() == 3 && is_same(&sessions["sessions"], &rows, &names)
    });
    let pins = rows(&mut admin, "SHOW PINS");
    let pinned = json(&pooled.proxy, "/api/sessions?pinned=1");
    let pinned = pinned["sessions"].as_array().unwrap();
    let reasons = |one: &Value| {
        let pins = one["pins"].as_array().unwrap().iter();
        let pins: Vec<_> = pins.map(|pin| pin.as_str().unwrap()).collect();
        (plain(&one["id"]), pins.join(","))
    };
    let ours: Vec<_> = pinned.iter().map(reasons).collect();
    let theirs = pins.iter();
    let theirs = theirs.map(|row| (row["Id"].clone(), row["Reasons"].replace(", ", ",")));
    assert_eq!(ours, theirs.collect::<Vec<_>>());
    assert!(ours.iter().any(|(_, pins)| pins.contains("named_lock")));
    let none = json(&pooled.proxy, "/api/sessions?user=nobody");
    assert_eq!(
        (none["matching"].as_u64(), none["total"].as_u64()),
        (Some(0), Some(3))
    );
    let user = &json(&pooled.proxy, "/api/sessions?listener=pooled")["users"][0];
    assert_eq!(
        (user["sessions"].as_u64(), user["in_transaction"].as_u64()),
        (Some(3), Some(1))
    );
}
