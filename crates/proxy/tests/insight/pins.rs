//! Sessions that keep their connections, as the admin listener, the metrics and the log tell of them.

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::auth::Secret;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{AccountConfig, Mode};
use onecopy_testkit::server::shared;

use crate::admin::{PASSWORD, rows};
use crate::common::{connect, loopback, until};
use crate::log::{self, Page};
use crate::page::Metrics;

fn start(page: &Page) -> Proxy {
    log::start(page, |config| {
        config.metrics.listen = Some(loopback(0));
        config.admin.listen = Some(loopback(0));
        config.admin.user = "boss".into();
        config.admin.password = Secret::new(PASSWORD);
        let listener = &mut config.listeners[0];
        listener.mode = Mode::Transaction;
        let password = Secret::new(shared().root_password());
        listener.accounts = vec![AccountConfig::new("root", password)];
        listener.reencrypt_passwords = true;
    })
}

/// How often clients have begun to keep a connection for this reason, and how many do so now.
fn counted(proxy: &Proxy, reason: &str) -> [f64; 2] {
    let metrics = Metrics::of(proxy);
    ["pins_total", "pinned_sessions"].map(|name| {
        metrics.value(&format!(
            "onecopy_pool_{name}{{listener=\"mysql\",reason=\"{reason}\"}}"
        ))
    })
}

fn reasons(proxy: &Proxy) -> Vec<String> {
    let shown = rows(proxy, "SHOW PINS");
    shown.iter().map(|row| row["Reasons"].clone()).collect()
}

fn run_all(conn: &mut Connection, statements: &[&str]) {
    for sql in statements {
        conn.run(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// Each time is counted, and each session logged once for each reason.
#[test]
fn each_pin_is_shown_counted_and_logged_once_for_a_session() {
    let page = Page::default();
    let proxy = start(&page);
    let (mut conn, mut other) = (connect(&proxy), connect(&proxy));
    assert_eq!(reasons(&proxy), [""; 0]);
    for (times, reason, begin, end) in [
        (
            1.,
            "named_lock",
            "SELECT GET_LOCK('pins', 1)",
            "SELECT RELEASE_LOCK('pins')",
        ),
        (
            1.,
            "lock_tables",
            "LOCK TABLES mysql.db READ",
            "UNLOCK TABLES",
        ),
        (
            1.,
            "handler",
            "HANDLER mysql.db OPEN AS pins",
            "HANDLER pins CLOSE",
        ),
        (
            2.,
            "named_lock",
            "SELECT GET_LOCK('pins', 1)",
            "SELECT RELEASE_LOCK('pins')",
        ),
    ] {
        run_all(&mut conn, &[begin]);
        assert_eq!(counted(&proxy, reason), [times, 1.], "{begin}");
        let shown = rows(&proxy, "SHOW PINS").swap_remove(0);
        let id = conn.connection_id().to_string();
        for (column, value) in [("Reasons", reason), ("User", "root"), ("Id", &id)] {
            assert_eq!(shown[column], value, "{begin}");
        }
        run_all(&mut conn, &[end]);
        assert_eq!(counted(&proxy, reason), [times, 0.], "{end}");
        assert_eq!(reasons(&proxy), [""; 0], "{end}");
    }
    // Those that last, of two sessions.
    run_all(&mut other, &["SET @pins = 1", "SELECT GET_LOCK('pins', 1)"]);
    run_all(&mut conn, &["SET @pins = 1", "SET @pins = 2"]);
    assert_eq!(counted(&proxy, "user_variable"), [2., 2.]);
    let mut shown = reasons(&proxy);
    shown.sort();
    assert_eq!(shown, ["user_variable", "user_variable,named_lock"]);
    drop(other);
    conn.reset().unwrap();
    until("no pins", || reasons(&proxy).is_empty());
    for reason in ["user_variable", "named_lock"] {
        assert_eq!(counted(&proxy, reason)[1], 0., "{reason}");
    }
    until("the lines", || page.lines("session_pinned").len() >= 6);
    let lines = page.lines("session_pinned");
    let logged = |reason: &str, conn: &str| {
        let has = |line: &&String| {
            line.contains(&format!("\"reason\":\"{reason}\""))
                && line.contains(&format!("\"connection\":{conn}"))
        };
        lines.iter().filter(has).count()
    };
    let id = conn.connection_id().to_string();
    for (reason, of_first, of_all) in [
        ("named_lock", 1, 2),
        ("lock_tables", 1, 1),
        ("handler", 1, 1),
        ("user_variable", 1, 2),
    ] {
        assert_eq!(logged(reason, &id), of_first, "{reason}: {lines:?}");
        assert_eq!(logged(reason, ""), of_all, "{reason}: {lines:?}");
    }
    assert_eq!(lines.len(), 6, "{lines:?}");
}
