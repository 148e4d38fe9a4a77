//! Counts are those of what was done.

use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::BackendConfig;

use crate::common::{connect, listener, loopback, server_port, start, until, url};
use crate::log::stranger;
use crate::page::{Metrics, get, send, status};

fn with_metrics() -> onecopy_proxy::Proxy {
    start(|config| config.metrics.listen = Some(loopback(0)))
}

#[test]
fn what_was_done_is_counted() {
    let proxy = with_metrics();
    let backend = format!("127.0.0.1:{}", server_port());
    let of = |name: &str, rest: &str| {
        format!("onecopy_{name}{{listener=\"mysql\",backend=\"{backend}\"{rest}}}")
    };
    let before = Metrics::of(&proxy);
    assert_eq!(
        before.value(&of("logins_total", "")),
        0.0,
        "zeros are there from the start"
    );
    let mut conn = connect(&proxy);
    for _ in 0..5 {
        conn.run("DO 1").unwrap();
    }
    conn.run("SELECT * FROM nothing_there").unwrap_err();
    let statement = conn.prepare("SELECT REPEAT('r', ?)").unwrap();
    for _ in 0..3 {
        let mut rows = conn.execute(&statement, &[90_000.into()]).unwrap();
        assert!(rows.next().unwrap().is_some());
        rows.finish().unwrap();
    }
    conn.ping().unwrap();
    conn.close_statement(statement).unwrap();
    conn.ping().unwrap();
    let metrics = Metrics::of(&proxy);
    let commands =
        |kind: &str| metrics.value(&of("commands_total", &format!(",command=\"{kind}\"")));
    assert_eq!(
        ["query", "prepare", "execute", "ping", "other"].map(commands),
        [6.0, 1.0, 3.0, 2.0, 1.0],
        "a close of a statement has no reply and is a command"
    );
    let replies = |kind: &str| {
        metrics.value(&of(
            "command_duration_seconds_count",
            &format!(",command=\"{kind}\""),
        ))
    };
    assert_eq!(["query", "execute", "other"].map(replies), [6.0, 3.0, 0.0]);
    assert_eq!(metrics.value(&of("command_errors_total", "")), 1.0);
    assert_eq!(metrics.value(&of("logins_total", "")), 1.0);
    assert_eq!(metrics.value(&of("backend_sessions", "")), 1.0);
    assert_eq!(metrics.value(&of("backend_up", "")), 1.0);
    let received = metrics.value(&of("bytes_from_backend_total", ""));
    assert!((270_000.0..280_000.0).contains(&received), "{received}");
    let sent = metrics.value(&of("bytes_from_clients_total", ""));
    assert!((100.0..1000.0).contains(&sent), "{sent}");
    assert!(metrics.value("onecopy_meter_bytes_read_total") >= received + sent);
    assert_eq!(metrics.value("onecopy_meter_bytes_moved_total"), 0.0);
    assert_eq!(metrics.value("onecopy_buffers_in_use"), 0.0);
    assert_eq!(metrics.value("onecopy_sessions{listener=\"mysql\"}"), 1.0);
    assert!(metrics.value("onecopy_event_loop_iterations_total") > 10.0);
    drop(conn);
    until("the end of the session", || {
        Metrics::of(&proxy).value("onecopy_sessions{listener=\"mysql\"}") == 0.0
    });
}

#[test]
fn a_histogram_goes_up_to_its_count() {
    let proxy = with_metrics();
    let mut conn = connect(&proxy);
    conn.run("DO SLEEP(0.03)").unwrap();
    for _ in 0..20 {
        conn.ping().unwrap();
    }
    let metrics = Metrics::of(&proxy);
    let mut histograms = 0;
    for (count, value) in metrics.all("onecopy_command_duration_seconds_count") {
        let labels = count.split_once('{').unwrap().1.trim_end_matches('}');
        let start = format!("onecopy_command_duration_seconds_bucket{{{labels},le=\"");
        let bound = |series: &str| {
            let bound = series.strip_prefix(&start).unwrap().trim_end_matches("\"}");
            bound.parse::<f64>().unwrap_or(f64::INFINITY)
        };
        let mut buckets: Vec<_> = metrics
            .all(&start)
            .map(|(series, value)| (bound(series), value))
            .collect();
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert_eq!(buckets[0].0, 0.000_025, "microseconds");
        assert!(buckets.is_sorted_by_key(|bucket| bucket.1), "{buckets:?}");
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, value)));
        let sum = metrics.value(&count.replace("_count", "_sum"));
        if labels.contains("\"query\"") {
            assert!(sum >= 0.03, "{sum}");
            assert_eq!(
                buckets.iter().find(|bucket| bucket.0 >= 0.025).unwrap().1,
                0.0
            );
        }
        histograms += 1;
    }
    assert_eq!(histograms, 6, "one for each kind of command");
}

#[test]
fn the_process_is_described_by_the_usual_names() {
    let proxy = with_metrics();
    let metrics = Metrics::of(&proxy);
    let value = |name: &str| metrics.value(name);
    let open = value("process_open_fds");
    // Three standard streams, and a socket that listens, at least.
    assert!(open >= 4.0 && open <= value("process_max_fds"), "{open}");
    let resident = value("process_resident_memory_bytes");
    assert!(resident >= f64::from(1 << 20), "{resident}");
    assert!(resident <= value("process_virtual_memory_bytes"));
    assert!(value("process_cpu_seconds_total") >= 0.0);
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
    let age = now.as_secs_f64() - value("process_start_time_seconds");
    // The system's start is told in whole seconds.
    assert!((-2.0..86_400.0).contains(&age), "{age}");
    // What is open is counted when it is asked for.
    let held: Vec<_> = (0..200)
        .map(|_| std::net::UdpSocket::bind("127.0.0.1:0").unwrap())
        .collect();
    let more = Metrics::of(&proxy).value("process_open_fds");
    assert!(more >= 200.0, "{more}");
    drop(held);
}

#[test]
fn who_did_not_get_in_is_counted_by_reason() {
    let proxy = start(|config| {
        config.metrics.listen = Some(loopback(0));
        config.listeners[0].max_user_connections = Some(1);
    });
    let _held = connect(&proxy);
    Connection::connect(&url(&proxy)).unwrap_err();
    let wrong = stranger(&proxy);
    Connection::connect(&wrong).unwrap_err();
    let refused = |side: &str, reason: &str| {
        let series = format!(
            "onecopy_sessions_refused_total{{listener=\"mysql\",side=\"{side}\",reason=\"{reason}\"}}"
        );
        Metrics::of(&proxy).value(&series)
    };
    until("the end of both", || refused("backend", "refused") == 1.0);
    assert_eq!(refused("proxy", "max_user_connections"), 1.0);
    assert_eq!(refused("client", "client_lost"), 0.0);
}

#[test]
fn sessions_that_wait_for_a_backend_are_counted() {
    let proxy = start(|config| {
        config.metrics.listen = Some(loopback(0));
        config.queue_timeout = std::time::Duration::from_secs(60);
        config.listeners[0].backends[0].max_connections = Some(1);
    });
    let queued = || Metrics::of(&proxy).value("onecopy_sessions_queued{listener=\"mysql\"}");
    let held = connect(&proxy);
    assert_eq!(queued(), 0.0);
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| connect(&proxy).ping());
        until("the queue", || queued() == 1.0);
        drop(held);
        waits.join().unwrap().unwrap();
        assert_eq!(queued(), 0.0);
    });
}

#[test]
fn the_manual_has_every_metric_and_reason_and_no_other() {
    let manual = include_str!("../../../../docs/proxy-operations.md");
    let rows = || manual.lines().filter(|line| line.starts_with("| `"));
    let mut told: Vec<_> = rows()
        .filter_map(|row| row.split('`').nth(1))
        .filter(|name| name.starts_with("onecopy_") || name.starts_with("process_"))
        .collect();
    told.sort_unstable();
    let metrics = Metrics::of(&with_metrics());
    assert_eq!(told, metrics.families().collect::<Vec<_>>());
    for reason in onecopy_proxy::Reason::ALL {
        let name = format!("`{}`", reason.name());
        let side = format!("| {} |", reason.side().name());
        assert!(
            rows().any(|row| row.contains(&name) && row.contains(&side)),
            "{name}"
        );
    }
}

#[test]
fn pages_say_what_they_are() {
    let proxy = with_metrics();
    assert_eq!(get(&proxy, "/health"), (200, "ok\n".to_owned()));
    assert_eq!(get(&proxy, "/ready"), (200, "ok\n".to_owned()));
    assert_eq!(get(&proxy, "/nowhere").0, 404);
    let head = send(&proxy, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert_eq!(status(&head), 200);
    assert!(head.ends_with("\r\n\r\n"), "{head}");
    assert_eq!(status(&send(&proxy, "POST /metrics HTTP/1.1\r\n\r\n")), 405);
    assert_eq!(status(&send(&proxy, "nonsense\r\n\r\n")), 400);
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(9 << 10));
    assert_eq!(status(&send(&proxy, &long)), 431);
}

#[test]
fn health_says_that_no_client_shall_come() {
    let proxy = with_metrics();
    proxy.drain();
    assert_eq!(get(&proxy, "/health"), (503, "draining\n".to_owned()));
    assert_eq!(get(&proxy, "/live").0, 200);
    assert_eq!(get(&proxy, "/ready").0, 503);
}

#[test]
fn a_listener_without_a_backend_is_not_ready() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let proxy = start(|config| {
        config.metrics.listen = Some(loopback(0));
        config.health.interval = Some(std::time::Duration::from_millis(50));
        let mut other = listener(vec![BackendConfig::new(loopback(port))]);
        other.name = "other".into();
        config.listeners.push(other);
    });
    until("the end of readiness", || get(&proxy, "/ready").0 == 503);
    assert_eq!(get(&proxy, "/health").0, 200, "the other listener has one");
}
