use std::sync::mpsc::Receiver;

use super::*;
use crate::config::{AuditLogConfig, SlowLogConfig};

fn config(sample: f64) -> Config {
    let file = LogFileConfig {
        path: Some("/not/opened/here".into()),
        ..LogFileConfig::default()
    };
    Config {
        slow_log: SlowLogConfig {
            file: file.clone(),
            threshold: Duration::from_millis(1),
            sample,
            ..SlowLogConfig::default()
        },
        audit_log: AuditLogConfig {
            file,
            users: vec!["app".into()],
            except_users: vec!["robot".into()],
            sample,
            ..AuditLogConfig::default()
        },
        ..Config::default()
    }
}

fn logs(config: &Config) -> StatementLogs {
    let outlet = Outlet::start(&Log::default()).unwrap();
    let mut logs = StatementLogs::default();
    logs.watch(Watched::new(config, &outlet).map(Arc::new));
    logs
}

#[test]
fn a_statement_goes_to_the_logs_whose_conditions_hold() {
    let mut logs = logs(&config(1.0));
    let mut to = |micros, user: &str| {
        let to = logs.targets(micros, user.as_bytes(), None);
        to.map(|to| (to.slow, to.audit))
    };
    assert_eq!(to(999, "app"), Some((false, true)));
    assert_eq!(to(1_000, "app"), Some((true, true)));
    assert_eq!(to(1_000, "other"), Some((true, false)));
    assert_eq!(to(999, "other"), None);
    assert_eq!(to(999, "robot"), None);
}

#[test]
fn a_share_of_all_is_logged() {
    for (sample, least, most) in [(0.0, 0, 0), (1.0, 10_000, 10_000), (0.25, 2_000, 3_000)] {
        let mut logs = logs(&config(sample));
        let is_logged = |_: &i32| logs.targets(0, b"app", None).is_some();
        let count = (0..10_000).filter(is_logged).count();
        assert!((least..=most).contains(&count), "{sample}: {count}");
    }
}

/// An outlet that nobody writes from, with room for one line.
fn unread() -> (Outlet, Receiver<Message>, Receiver<exporter::Message>) {
    let ((queue, waiting), (traced, untold)) = (sync_channel(1), sync_channel(1));
    let shared = Arc::new(Shared::default());
    let outlet = Outlet {
        queue,
        traced,
        shared,
    };
    (outlet, waiting, untold)
}

fn line() -> Line {
    let to = To {
        slow: true,
        audit: true,
        traces: true,
    };
    let event = Event::Login(Login::default());
    Line::new(to, Arc::default(), event)
}

#[test]
fn a_line_for_which_there_is_no_room_is_lost_and_counted() {
    let (outlet, _waiting, _untold) = unread();
    outlet.send(line(), false);
    outlet.send(line(), false);
    for which in Which::ALL {
        assert_eq!(outlet.counts(which).dropped.load(Relaxed), 1);
    }
}

#[test]
fn a_line_that_must_not_be_lost_waits_for_room() {
    let (outlet, waiting, _untold) = unread();
    let sender = outlet.clone();
    let sending = std::thread::spawn(move || (0..100).for_each(|_| sender.send(line(), true)));
    for _ in 0..100 {
        assert!(matches!(waiting.recv(), Ok(Message::Line(_))));
    }
    sending.join().unwrap();
    // Nobody reads any more: it is lost, and holds up nobody.
    drop(waiting);
    outlet.send(line(), true);
    assert_eq!(outlet.counts(Which::Audit).dropped.load(Relaxed), 1);
}

#[test]
fn a_flush_ends_also_where_nothing_is_written() {
    let (outlet, _waiting, _untold) = unread();
    outlet.send(line(), false);
    outlet.flush(Duration::from_millis(20));
}

#[test]
fn traced_is_what_a_client_traces_and_a_share_of_the_rest() {
    for sample in [0.0, 1.0] {
        let mut config = Config::default();
        config.traces.endpoint = Some("http://127.0.0.1:1".parse().unwrap());
        config.traces.sample = sample;
        let mut logs = logs(&config);
        assert!(logs.has_traces() && logs.has_statements());
        let parent = |flags| {
            let text = format!("00-{}-{}-{flags}", "a".repeat(32), "b".repeat(16));
            TraceContext::parse(text.as_bytes()).unwrap()
        };
        let mut is_traced = |trace: Option<&TraceContext>| {
            let to = logs.targets(0, b"app", trace);
            to.is_some_and(|to| to.traces && !to.slow && !to.audit)
        };
        assert!(is_traced(Some(&parent("01"))));
        assert!(!is_traced(Some(&parent("00"))));
        assert_eq!(is_traced(None), sample > 0.0);
    }
}

#[test]
fn nothing_is_looked_at_where_no_file_is_given() {
    let mut off = config(1.0);
    off.slow_log.file.path = None;
    off.audit_log.what.statements = false;
    assert!(!logs(&off).has_statements());
    assert!(logs(&off).of_logins(b"app").is_some());
    assert!(logs(&off).of_logins(b"other").is_none());
    off.audit_log.file.path = None;
    assert!(!logs(&off).is_on());
}
