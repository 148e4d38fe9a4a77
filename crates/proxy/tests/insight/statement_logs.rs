//! The slow log and the audit log, with a real server behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::auth::Secret;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{AuditEvents, Config, Literals, LogFileConfig, Mode, WhenFull};
use serde_json::Value;

use crate::admin::{PASSWORD, ask, rows};
use crate::common::{connect, loopback, start, until, url};
use crate::log::stranger;
use crate::pooled::Pooled;

/// A folder of the test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("onecopy-statement-logs-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str) -> LogFileConfig {
        LogFileConfig {
            path: Some(self.0.join(name)),
            ..LogFileConfig::default()
        }
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }

    /// The lines of a log, each of which is an object.
    fn lines(&self, name: &str) -> Vec<Value> {
        let text = self.text(name);
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }

    /// The line of the statement that has this in its digest, once it is there.
    fn statement(&self, name: &str, part: &str) -> Value {
        let find = || {
            let is_it = |line: &Value| {
                let text = line["digest_text"].as_str().unwrap_or_default();
                text.contains(part)
            };
            self.lines(name).into_iter().find(is_it)
        };
        until(&format!("a line of {part}"), || find().is_some());
        find().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn with_admin(config: &mut Config) {
    config.admin.listen = Some(loopback(0));
    config.admin.user = "boss".into();
    config.admin.password = Secret::new(PASSWORD);
}

/// Statements from 20 ms on.
fn with_slow_log(config: &mut Config, folder: &Folder) {
    config.slow_log.file = folder.file("slow.json");
    config.slow_log.threshold = Duration::from_millis(20);
}

fn with_audit_log(config: &mut Config, folder: &Folder) {
    config.audit_log.file = folder.file("audit.json");
}

/// Everything that was handed over before is written: lines come in their order.
fn settle(folder: &Folder, name: &str, conn: &mut Connection, mark: &str) {
    conn.run(format!("SELECT 1 AS {mark}")).unwrap();
    folder.statement(name, &format!("AS `{mark}`"));
}

fn number(line: &Value, field: &str) -> u64 {
    let number = line[field].as_u64();
    number.unwrap_or_else(|| panic!("{field} of {line}"))
}

/// What slow statements look like, of a client of any listener.
fn slow_statements(folder: &Folder, mut conn: Connection, is_pooled: bool) {
    conn.run("SELECT SLEEP(0.05), 'secret of somebody' AS slow_text")
        .unwrap();
    let statement = conn
        .prepare("SELECT SLEEP(0.05), ? AS slow_prepared")
        .unwrap();
    let _ = conn.execute(&statement, &["a parameter".into()]).unwrap();
    conn.run("CREATE TEMPORARY TABLE slow_pins (id INT PRIMARY KEY)")
        .unwrap();
    conn.run("INSERT INTO slow_pins SELECT 7 + SLEEP(0.05)")
        .unwrap();
    let error = conn
        .run("INSERT INTO slow_pins SELECT 7 + SLEEP(0.05) AS again")
        .unwrap_err();
    assert!(error.to_string().contains("'7'"), "{error}");
    let again = folder.statement("slow.json", "`again`");
    assert_eq!(
        (number(&again, "error"), &again["sqlstate"]),
        (1062, &"23000".into())
    );
    let text = folder.statement("slow.json", "`slow_text`");
    assert_eq!(text["event"], "statement");
    assert_eq!(text["listener"], "mysql");
    assert_eq!(text["command"], "query");
    assert_eq!(text["statement"], Value::Null);
    assert!(text["client"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert!(text["backend"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert!(text["database"].is_string(), "{text}");
    assert!(text["digest"].as_str().unwrap().len() == 16, "{text}");
    assert_eq!(number(&text, "rows_sent"), 1);
    assert!(
        (50..200).contains(&number(&text, "bytes_received")),
        "{text}"
    );
    assert!((50..500).contains(&number(&text, "bytes_sent")), "{text}");
    assert!(number(&text, "server_us") >= 20_000, "{text}");
    let sum = number(&text, "wait_us") + number(&text, "server_us");
    assert_eq!(number(&text, "duration_us"), sum);
    let prepared = folder.statement("slow.json", "`slow_prepared`");
    assert_eq!(prepared["command"], "execute");
    assert_eq!(prepared["session"], text["session"]);
    let pinned = folder.statement("slow.json", "INSERT INTO `slow_pins`");
    assert_eq!(number(&pinned, "rows_affected"), 1);
    if is_pooled {
        assert_eq!(pinned["pinned"], "temporary_table");
        assert_ne!(pinned["backend_session"], Value::Null);
    }
    let all = folder.text("slow.json");
    for hidden in ["secret of somebody", "a parameter", "Duplicate"] {
        assert!(!all.contains(hidden), "{hidden}: {all}");
    }
}

#[test]
fn slow_statements_are_logged_without_a_pool() {
    let folder = Folder::new("slow");
    let proxy = start(|config| with_slow_log(config, &folder));
    slow_statements(&folder, connect(&proxy), false);
}

#[test]
fn statements_below_the_threshold_are_not_in_the_slow_log() {
    let folder = Folder::new("fast");
    let proxy = start(|config| {
        with_slow_log(config, &folder);
        with_audit_log(config, &folder);
        config.slow_log.threshold = Duration::from_secs(3_600);
    });
    let mut conn = connect(&proxy);
    conn.run("SELECT SLEEP(0.05) AS not_slow").unwrap();
    settle(&folder, "audit.json", &mut conn, "behind_fast");
    assert_eq!(folder.text("slow.json"), "");
}

#[test]
fn slow_statements_are_logged_with_a_pool() {
    let folder = Folder::new("slow-pooled");
    let pooled = Pooled::start_with(Mode::Transaction, 4, |config| {
        with_slow_log(config, &folder);
    });
    slow_statements(&folder, pooled.connect(), true);
}

#[test]
fn time_in_which_a_client_waits_for_a_connection_is_told_apart() {
    let folder = Folder::new("waits");
    let pooled = Pooled::start_with(Mode::Transaction, 1, |config| {
        with_slow_log(config, &folder);
    });
    let mut holder = pooled.connect();
    holder.run("BEGIN").unwrap();
    let mut waiter = pooled.connect();
    let waiting = std::thread::spawn(move || waiter.run("SELECT 1 AS waited").map(drop));
    until("the client waits", || {
        pooled.proxy.snapshot(false).pools[0].waiting == 1
    });
    std::thread::sleep(Duration::from_millis(60));
    holder.run("COMMIT").unwrap();
    waiting.join().unwrap().unwrap();
    let line = folder.statement("slow.json", "`waited`");
    let (wait, server) = (number(&line, "wait_us"), number(&line, "server_us"));
    assert!(wait >= 50_000, "{line}");
    assert_eq!(number(&line, "duration_us"), wait + server);
}

#[test]
fn the_audit_log_has_logins_statements_and_ends() {
    let folder = Folder::new("audit");
    let proxy = start(|config| with_audit_log(config, &folder));
    let mut conn = connect(&proxy);
    conn.run("SELECT 1 AS audited").unwrap();
    conn.run("SELECT nothing FROM audit_none WHERE a = 'b'")
        .unwrap_err();
    assert!(Connection::connect(&stranger(&proxy)).is_err());
    drop(conn);
    let of = |event: &str| -> Vec<Value> {
        let lines = folder.lines("audit.json").into_iter();
        lines.filter(|line| line["event"] == event).collect()
    };
    until("the end", || of("logout").len() == 1);
    until("the stranger", || of("login").len() == 2);
    let logins = of("login");
    let [one, other] = logins.as_slice() else {
        panic!("{logins:?}")
    };
    assert_eq!((&one["ok"], &one["user"]), (&true.into(), &"root".into()));
    assert!(one["database"].is_string(), "{one}");
    assert_eq!(
        (&other["ok"], &other["user"], &other["error"]),
        (&false.into(), &"nobody_here".into(), &1045.into())
    );
    let audited = folder.statement("audit.json", "`audited`");
    assert_eq!(audited["error"], Value::Null);
    assert_eq!(audited["session"], one["session"]);
    let failed = folder.statement("audit.json", "`audit_none`");
    assert_eq!(number(&failed, "error"), 1146);
    assert_eq!(failed["sqlstate"], "42S02");
    let [end] = &of("logout")[..] else { panic!() };
    assert_eq!(end["session"], one["session"]);
    assert_eq!(end["reason"], Value::Null);
    assert!(number(end, "commands") >= 3, "{end}");
}

#[test]
fn the_audit_log_of_a_pool_has_what_the_proxy_refuses_and_changes_of_user() {
    let folder = Folder::new("audit-pooled");
    let users = ["audit_pooled_one", "audit_pooled_two"];
    let pooled = Pooled::start_for(&users, 2, |config| {
        with_audit_log(config, &folder);
        let rule = onecopy_proxy::config::RuleConfig {
            starts_with: Some("DELETE".into()),
            reject: Some("no".into()),
            ..onecopy_proxy::config::RuleConfig::default()
        };
        config.listeners[0].rules = vec![rule];
    });
    let mut conn = pooled.connect_as(users[0]);
    assert!(
        conn.run("DELETE FROM audit_refused WHERE a = 'hidden'")
            .is_err()
    );
    let refused = folder.statement("audit.json", "`audit_refused`");
    assert_eq!(
        (&refused["by_proxy"], number(&refused, "error")),
        (&true.into(), 3164)
    );
    let statement = conn.prepare("SELECT ? AS audit_executed").unwrap();
    let _ = conn.execute(&statement, &[1_u64.into()]).unwrap();
    folder.statement("audit.json", "`audit_executed`");
    assert!(!folder.text("audit.json").contains("hidden"));
    conn.change_user(users[1], "secret", None).unwrap();
    settle(&folder, "audit.json", &mut conn, "of_the_other");
    let other = folder.statement("audit.json", "`of_the_other`");
    assert_eq!(other["user"], users[1]);
    let lines = folder.lines("audit.json").into_iter();
    let changes: Vec<_> = lines
        .filter(|line| line["event"] == "change_user")
        .map(|line| (line["user"].clone(), line["ok"].clone()))
        .collect();
    assert_eq!(changes, [(users[1].into(), true.into())]);
}

#[test]
fn a_change_of_user_without_a_pool_is_in_the_audit_log() {
    let folder = Folder::new("change");
    let proxy = start(|config| with_audit_log(config, &folder));
    let mut direct = Connection::connect(&onecopy_testkit::server::shared().url()).unwrap();
    let name = "logs_changed";
    let _ = direct.run(format!("DROP USER IF EXISTS {name}"));
    direct
        .run(format!("CREATE USER {name} IDENTIFIED BY 'secret'"))
        .unwrap();
    let config = ClientConfig::from_url(&format!(
        "{}{}get-server-public-key=true",
        url(&proxy),
        if url(&proxy).contains('?') { '&' } else { '?' }
    ));
    let mut conn = Connection::connect_with(&config.unwrap()).unwrap();
    conn.change_user(name, "secret", None).unwrap();
    settle(&folder, "audit.json", &mut conn, "of_another");
    assert_eq!(folder.statement("audit.json", "`of_another`")["user"], name);
    assert!(conn.change_user(name, "wrong", None).is_err());
    let changes = || -> Vec<_> {
        let lines = folder.lines("audit.json").into_iter();
        lines
            .filter(|line| line["event"] == "change_user")
            .map(|line| (line["ok"].clone(), line["error"].clone()))
            .collect()
    };
    until("both changes", || changes().len() == 2);
    assert_eq!(
        changes(),
        [(true.into(), Value::Null), (false.into(), 1045.into())]
    );
    direct.run(format!("DROP USER {name}")).unwrap();
}

#[test]
fn of_some_users_only_is_logged_what_is_asked_for() {
    let folder = Folder::new("users");
    let proxy = start(|config| {
        with_audit_log(config, &folder);
        config.audit_log.users = vec!["nobody_here".into()];
        config.audit_log.what = AuditEvents {
            logins: true,
            statements: true,
            admin: false,
        };
    });
    connect(&proxy).run("SELECT 1 AS not_audited").unwrap();
    assert!(Connection::connect(&stranger(&proxy)).is_err());
    until("the stranger", || !folder.lines("audit.json").is_empty());
    let lines = folder.lines("audit.json");
    assert!(
        lines.iter().all(|line| line["user"] == "nobody_here"),
        "{lines:?}"
    );
}

#[test]
fn what_administrators_do_is_in_the_audit_log() {
    let folder = Folder::new("admin");
    let proxy = start(|config| {
        with_admin(config);
        with_audit_log(config, &folder);
    });
    ask(&proxy, "KILL 123456789").unwrap_err();
    ask(&proxy, "RESET DIGESTS").unwrap();
    let admin = || -> Vec<Value> {
        let lines = folder.lines("audit.json").into_iter();
        lines.filter(|line| line["event"] == "admin").collect()
    };
    until("four lines", || admin().len() == 4);
    let told: Vec<_> = admin()
        .iter()
        .map(|line| {
            (
                line["command"].clone(),
                line["ok"].clone(),
                line["target"].clone(),
            )
        })
        .collect();
    assert_eq!(told[0], ("login".into(), true.into(), Value::Null));
    assert_eq!(told[1], ("kill".into(), false.into(), "123456789".into()));
    assert_eq!(told[3], ("reset digests".into(), true.into(), Value::Null));
    assert!(admin().iter().all(|line| line["user"] == "boss"));
}

/// Statements that a server takes, with a password in each of them.
const WITH_PASSWORDS: [&str; 8] = [
    "CREATE USER logs_secret IDENTIFIED BY 'hunter2'",
    "ALTER USER logs_secret IDENTIFIED BY 'hunter2x'",
    "SET PASSWORD FOR logs_secret = PASSWORD('hunter2')",
    "SELECT PASSWORD('hunter2')",
    "CREATE USER logs_wrong IDENTIFIED BY hunter2",
    "PREPARE logs_s FROM 'CREATE USER logs_other IDENTI\\FIED BY ''hunter2'''",
    "CHANGE MASTER 'logs' TO MASTER_HOST = '127.0.0.1', MASTER_PASSWORD = hunter2",
    "DROP USER logs_secret /* whose password was 'hunter2' */",
];

#[test]
fn passwords_are_in_no_log_even_where_literals_are_kept() {
    let folder = Folder::new("passwords");
    let proxy = start(|config| {
        with_audit_log(config, &folder);
        with_slow_log(config, &folder);
        config.slow_log.threshold = Duration::ZERO;
        config.audit_log.literals = Literals::Kept;
        config.slow_log.literals = Literals::Kept;
    });
    let mut conn = connect(&proxy);
    for sql in WITH_PASSWORDS {
        // Servers differ in which of them they know.
        let _ = conn.run(sql);
    }
    let _ = conn.run("DROP USER IF EXISTS logs_secret");
    conn.run("SELECT 'a value that is kept' AS kept").unwrap();
    for name in ["audit.json", "slow.json"] {
        let kept = folder.statement(name, "AS `kept`");
        assert_eq!(kept["statement"], "SELECT 'a value that is kept' AS kept");
        let text = folder.text(name);
        assert!(!text.contains("hunter2"), "{text}");
        let withheld = folder.lines(name).into_iter();
        let count = withheld.filter(|line| line["withheld"] == true).count();
        assert!(count >= WITH_PASSWORDS.len(), "{text}");
    }
}

#[test]
fn hostile_statements_and_names_stay_on_their_lines() {
    let folder = Folder::new("hostile");
    let proxy = start(|config| {
        with_audit_log(config, &folder);
        config.audit_log.literals = Literals::Kept;
    });
    let mut conn = connect(&proxy);
    let sql = "SELECT 'x\r\n{\"event\":\"login\"}\u{2028}\\'\u{1b}' AS `\n\"`";
    conn.run(sql).unwrap();
    conn.run(b"SELECT '\xFF\xFE' AS invalid".as_slice())
        .map(drop)
        .unwrap_or_default();
    settle(&folder, "audit.json", &mut conn, "behind_hostile");
    let lines = folder.lines("audit.json");
    assert!(
        lines.iter().any(|line| line["statement"] == sql),
        "{lines:?}"
    );
    let invalid = folder.statement("audit.json", "`invalid`");
    assert_eq!(invalid["statement"], r"SELECT '\xFF\xFE' AS invalid");
    assert_eq!(invalid["escaped"], serde_json::json!(["statement"]));
    // Literals have no end that a session's mode could not move.
    conn.run("SET sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')")
        .unwrap();
    conn.run("SELECT 1 AS certain, 'x\\', 'hidden' AS y")
        .unwrap();
    let cut = folder.statement("audit.json", "`certain`");
    assert_eq!(cut["digest_text"], "SELECT ? AS `certain` ...");
}

#[test]
fn files_are_rotated_and_no_line_is_lost() {
    let folder = Folder::new("rotated");
    let proxy = start(|config| {
        with_audit_log(config, &folder);
        config.audit_log.file.max_size = Some(40_000);
        config.audit_log.file.keep = 3;
    });
    let mut conn = connect(&proxy);
    for at in 0..200 {
        conn.run(format!("SELECT 1 AS rotated_{at}")).unwrap();
    }
    settle(&folder, "audit.json", &mut conn, "behind_rotated");
    let mut found = Vec::new();
    for name in ["audit.json.3", "audit.json.2", "audit.json.1", "audit.json"] {
        let path = folder.0.join(name);
        let size = fs::metadata(path).map_or(0, |file| file.len());
        assert!(size <= 40_000, "{name}: {size}");
        let lines = folder.lines(name).into_iter();
        found.extend(lines.filter_map(|line| {
            let text = line["digest_text"].as_str()?.to_owned();
            text.contains("rotated_").then_some(text)
        }));
    }
    let expected: Vec<_> = (0..200)
        .map(|at| format!("SELECT ? AS `rotated_{at}`"))
        .collect();
    assert_eq!(found[..200], expected);
    assert!(folder.0.join("audit.json.1").exists());
}

#[test]
fn a_reload_opens_files_anew_and_changes_what_is_logged() {
    let folder = Folder::new("reloaded");
    let proxy = start(|config| with_audit_log(config, &folder));
    let mut conn = connect(&proxy);
    settle(&folder, "audit.json", &mut conn, "before_rename");
    // As logrotate does it.
    fs::rename(folder.0.join("audit.json"), folder.0.join("renamed.json")).unwrap();
    let changes = proxy.reload(proxy.config()).unwrap();
    assert!(changes.is_empty(), "{changes}");
    until("the new file", || {
        conn.run("SELECT 1 AS behind_rename").unwrap();
        !folder.lines("audit.json").is_empty()
    });
    folder.statement("renamed.json", "`before_rename`");
    // Another file, for slow statements of the same session; then nothing.
    let mut config = proxy.config();
    config.audit_log.file.path = None;
    with_slow_log(&mut config, &folder);
    let changes = proxy.reload(config).unwrap().to_string();
    assert!(changes.contains("audit-log.file: "), "{changes}");
    assert!(
        changes.contains("slow-log.threshold: 200ms -> 20ms"),
        "{changes}"
    );
    until("the slow log", || {
        conn.run("SELECT SLEEP(0.03)").unwrap();
        !folder.lines("slow.json").is_empty()
    });
    let mut config = proxy.config();
    config.slow_log.file.path = Some(folder.0.join("missing/slow.json"));
    let error = proxy.reload(config).unwrap_err().to_string();
    assert!(
        error.contains("[slow-log]") && error.contains("create its folder"),
        "{error}"
    );
    assert_eq!(
        proxy.config().slow_log.file.path,
        Some(folder.0.join("slow.json"))
    );
}

#[test]
fn a_full_disk_loses_lines_and_stops_nobody() {
    let folder = Folder::new("full");
    let proxy = start(|config| {
        with_admin(config);
        config.audit_log.file.path = Some("/dev/full".into());
        config.audit_log.when_full = WhenFull::Wait;
    });
    let mut conn = connect(&proxy);
    for _ in 0..100 {
        conn.run("SELECT 1 AS lost").unwrap();
    }
    let log = || rows(&proxy, "SHOW LOGS").swap_remove(1);
    until("the lines are lost", || {
        log()["Lost_write_failed"].parse::<u64>().unwrap() >= 100
    });
    let log = log();
    assert_eq!((&*log["Log"], &*log["Lines"]), ("audit", "0"));
    assert!(log["Error"].contains("No space left"), "{log:?}");
    // Where it can be written again it says how many are missing.
    let mut config = proxy.config();
    config.audit_log.file = folder.file("audit.json");
    proxy.reload(config).unwrap();
    until("the log", || {
        conn.run("SELECT 1 AS behind_full").unwrap();
        !folder.lines("audit.json").is_empty()
    });
    let first = &folder.lines("audit.json")[0];
    assert_eq!(first["event"], "lines_lost");
    assert!(number(first, "count") >= 100, "{first}");
}

#[test]
fn statements_sent_in_pieces_and_long_ones_are_logged() {
    let folder = Folder::new("long");
    let proxy = start(|config| {
        with_audit_log(config, &folder);
        config.audit_log.literals = Literals::Kept;
    });
    let mut conn = connect(&proxy);
    let long = format!("SELECT 1 AS long_one, '{}'", "x".repeat(1 << 20));
    conn.run(long.as_str()).unwrap();
    let line = folder.statement("audit.json", "`long_one`");
    assert_eq!(line["cut"], true);
    assert_eq!(line["statement"], long[..4 << 10]);
    assert!(number(&line, "bytes_received") > 1 << 20, "{line}");
}

#[test]
fn a_statement_whose_session_ends_is_logged() {
    let folder = Folder::new("unanswered");
    let proxy: Proxy = start(|config| with_audit_log(config, &folder));
    let mut conn = connect(&proxy);
    let sleeper = std::thread::spawn(move || {
        let _ = conn.run("SELECT SLEEP(1000) AS unanswered");
    });
    let running = |proxy: &Proxy| {
        let clients = proxy.snapshot(true).clients;
        clients
            .iter()
            .find(|client| client.state == "command")
            .map(|client| client.id)
    };
    until("it runs", || running(&proxy).is_some());
    proxy.kill(None, running(&proxy).unwrap());
    sleeper.join().unwrap();
    let line = folder.statement("audit.json", "`unanswered`");
    assert_eq!(line["no_reply"], true);
}

#[test]
fn a_log_in_a_folder_that_is_not_there_keeps_the_proxy_from_starting() {
    let config = Config {
        slow_log: onecopy_proxy::config::SlowLogConfig {
            file: LogFileConfig {
                path: Some(Path::new("/not/there/slow.json").into()),
                ..LogFileConfig::default()
            },
            ..onecopy_proxy::config::SlowLogConfig::default()
        },
        ..connect_config()
    };
    let error = Proxy::start(config).unwrap_err().to_string();
    assert!(error.contains("/not/there/slow.json"), "{error}");
    assert!(error.contains("create its folder"), "{error}");
}

fn connect_config() -> Config {
    let backend = onecopy_proxy::config::BackendConfig::new(loopback(1));
    Config {
        workers: 1,
        listeners: vec![crate::common::listener(vec![backend])],
        ..Config::default()
    }
}
