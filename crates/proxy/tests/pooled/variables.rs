//! Every variable that a session can set, on a real server: whoever shares the connection never sees it, and its session always does.

use std::collections::BTreeMap;
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::Mode;
use onecopy_testkit::server::lacks;

use crate::common::Pooled;

/// Values by name, as `SHOW SESSION VARIABLES` has them.
type Values = BTreeMap<String, String>;

/// Variables that differ between any two connections, or from one statement to the next.
const OWN: [&str; 14] = [
    "timestamp",
    "insert_id",
    "last_insert_id",
    "identity",
    "rand_seed1",
    "rand_seed2",
    "pseudo_thread_id",
    "statement_id",
    "error_count",
    "warning_count",
    "in_transaction",
    "last_gtid",
    "gtid_executed",
    "gtid_owned",
];

/// Values for variables that are neither numbers nor switches: the first that is not the present one is taken.
const WORDS: [(&str, &[&str]); 31] = [
    ("binlog_format", &["MIXED", "STATEMENT"]),
    ("binlog_row_image", &["MINIMAL"]),
    ("binlog_row_metadata", &["FULL"]),
    ("block_encryption_mode", &["aes-256-cbc"]),
    ("character_set_client", &["latin1"]),
    ("character_set_connection", &["latin1"]),
    ("character_set_filesystem", &["latin1"]),
    ("character_set_results", &["latin1"]),
    ("character_set_server", &["latin2"]),
    ("collation_connection", &["latin1_bin", "utf8mb4_bin"]),
    ("collation_server", &["latin2_bin"]),
    (
        "character_set_collations",
        &["utf8mb4=utf8mb4_uca1400_as_cs"],
    ),
    ("completion_type", &["CHAIN"]),
    ("default_master_connection", &["5", "it's"]),
    ("default_regex_flags", &["DOTALL"]),
    ("explain_format", &["TREE", "JSON"]),
    ("histogram_type", &["SINGLE_PREC_HB"]),
    ("innodb_tmpdir", &["/tmp"]),
    ("lc_messages", &["de_DE"]),
    ("lc_time_names", &["de_DE"]),
    ("old_mode", &["NO_PROGRESS_INFO", ""]),
    ("optimizer_switch", &["materialization=off"]),
    ("optimizer_trace", &["one_line=on"]),
    ("sql_mode", &["ANSI_QUOTES,NO_BACKSLASH_ESCAPES"]),
    ("storage_engine", &["MyISAM"]),
    ("system_versioning_asof", &["2020-01-01 00:00:00.000000"]),
    ("time_zone", &["+03:00"]),
    ("transaction_isolation", &["SERIALIZABLE"]),
    ("tx_isolation", &["SERIALIZABLE"]),
    ("use_stat_tables", &["NEVER"]),
    ("debug", &["d:t:i:o,/dev/null"]),
];

/// `ER_UNKNOWN_SYSTEM_VARIABLE`, `ER_GLOBAL_VARIABLE`, `ER_INCORRECT_GLOBAL_LOCAL_VAR`.
const READ_ONLY: [u16; 3] = [1_193, 1_229, 1_238];

const NOTHING: [&str; 0] = [];

/// For whatever else there is.
const OTHER_WORDS: [&str; 12] = [
    "MyISAM", "FULL", "NONE", "DISABLED", "FORCED", "ENFORCED", "WARN", "STRICT", "KEEP", "FORCE",
    "NO", "0",
];

fn values(conn: &mut Connection) -> Values {
    let mut values = pairs(conn, "SHOW SESSION VARIABLES");
    values.retain(|name, _| !OWN.contains(&name.as_str()) && !name.starts_with("session_track_"));
    values
}

fn pairs(conn: &mut Connection, sql: &str) -> Values {
    let mut rows = conn.query(sql).unwrap();
    let mut pairs = Values::new();
    while let Some(row) = rows.next().unwrap() {
        let name = row.get::<String>(0).unwrap().to_ascii_lowercase();
        pairs.insert(name, row.get(1).unwrap());
    }
    rows.finish().unwrap();
    pairs
}

/// The words that variables take, by name, where the server lists them.
fn lists(conn: &mut Connection) -> Values {
    const LISTS: &str = "SELECT VARIABLE_NAME, ENUM_VALUE_LIST FROM information_schema.SYSTEM_VARIABLES \
        WHERE ENUM_VALUE_LIST IS NOT NULL";
    match conn.run("DO (SELECT COUNT(*) FROM information_schema.SYSTEM_VARIABLES)") {
        Ok(_) => pairs(conn, LISTS),
        Err(error) => {
            lacks("a list of what variables take", &error.to_string());
            Values::new()
        }
    }
}

/// What a variable may be set to, as SQL.
fn candidates(name: &str, value: &str, list: Option<&String>) -> Vec<String> {
    if let Some((_, words)) = WORDS.iter().find(|(one, _)| *one == name) {
        return words.iter().map(|word| quoted(word)).collect();
    }
    if let Ok(number) = value.parse::<f64>() {
        // Whole numbers as such, where they are not too long for that.
        let near = value
            .parse::<i128>()
            .map_or(vec![number.to_string()], |number| {
                let others = [number - 1, number + 1, number * 2, number / 2];
                others.map(|other| other.to_string()).into()
            });
        let others = [4_096, 1_048_576, 1, 0, 100].map(|other| other.to_string());
        let numbers = near.into_iter().chain(others);
        return numbers.chain(["0.5".into(), quoted("5")]).collect();
    }
    match value {
        "ON" => vec!["OFF".into()],
        "OFF" => vec!["ON".into()],
        _ => match list {
            Some(list) => list.split(',').map(quoted).collect(),
            None => OTHER_WORDS.map(quoted).into(),
        },
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "''"))
}

fn differences(one: &Values, other: &Values) -> Vec<String> {
    let mut all = Vec::new();
    for (name, value) in one {
        if other.get(name) != Some(value) {
            all.push(format!("{name}: {value:?}, not {:?}", other.get(name)));
        }
    }
    all
}

fn pins(pooled: &Pooled) -> String {
    let clients = pooled.proxy.snapshot(true).clients;
    let pins = clients.into_iter().map(|client| client.pins);
    pins.collect::<Vec<_>>().concat()
}

/// What a statement was that sets a variable to another value, and all values behind it; `Err` where none was found.
fn set_directly(
    direct: &mut Connection,
    name: &str,
    value: &str,
    list: Option<&String>,
) -> Result<Option<(String, Values)>, ()> {
    let mut is_settable = false;
    for candidate in candidates(name, value, list) {
        let sql = format!("SET SESSION {name} = {candidate}");
        match direct.run(&sql) {
            Ok(_) => {}
            // Read only, or of the whole server.
            Err(error) if READ_ONLY.contains(&error.server().unwrap().code) => break,
            Err(_) => {
                is_settable = true;
                continue;
            }
        }
        let all = values(direct);
        if all.get(name).is_some_and(|now| now != value) {
            return Ok(Some((sql, all)));
        }
        is_settable = true;
    }
    match is_settable {
        true => Err(()),
        false => Ok(None),
    }
}

#[test]
fn every_variable_that_a_session_can_set_is_its_own() {
    // A connection for both, but where one keeps it.
    let pooled = Pooled::start_with(Mode::Transaction, 1, |config| {
        config.listeners[0].pool.warning_hold = Duration::from_millis(1);
    });
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    let mut direct = pooled.direct();
    // A reset gives a session the server's character sets, not those of its login.
    for conn in [&mut one, &mut other, &mut direct] {
        conn.run("DO 0").unwrap();
        conn.reset().unwrap();
    }
    let (fresh, lists) = (values(&mut direct), lists(&mut direct));
    assert_eq!(differences(&fresh, &values(&mut other)), NOTHING);
    let (mut wrong, mut pinned, mut unset, mut count) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (name, value) in &fresh {
        let set = set_directly(&mut direct, name, value, lists.get(name));
        direct.reset().unwrap();
        let (sql, expected) = match set {
            Ok(Some(set)) => set,
            Ok(None) => continue,
            Err(()) => {
                unset.push(name.as_str());
                continue;
            }
        };
        count += 1;
        one.run(&sql).unwrap();
        // What the proxy asks for behind a reply is known with the next one.
        one.ping().unwrap();
        let pin = pins(&pooled);
        if pin.is_empty() {
            for who in ["another", "its own", "another again"] {
                let (conn, expected) = match who {
                    "its own" => (&mut one, &expected),
                    _ => (&mut other, &fresh),
                };
                // Its state is brought about first.
                if let Err(error) = conn.run("DO 0") {
                    let pin = pins(&pooled);
                    if !pin.is_empty() {
                        // MariaDB 11.8 does not say which switch was set, and it is asked only when another session needs the connection.
                        pinned.push(format!("{name} ({pin})"));
                        *conn = pooled.connect();
                        break;
                    }
                    wrong.push(format!("{sql}: {who}: {error}"));
                    *conn = pooled.connect();
                    continue;
                }
                for line in differences(expected, &values(conn)) {
                    wrong.push(format!("{sql}: {who}: {line}"));
                }
            }
        } else {
            pinned.push(format!("{name} ({pin})"));
        }
        one.reset().unwrap();
        for line in differences(&fresh, &values(&mut one)) {
            wrong.push(format!("{sql}: after a reset: {line}"));
        }
    }
    println!(
        "{count} variables; these keep their connection: {pinned:?}; no other value is known of: {unset:?}"
    );
    assert_eq!(wrong, NOTHING);
    assert!(count > 100 && pinned.len() < 20, "{count}, {pinned:?}");
}
