//! Traces of statements, with a real server behind and a collector that keeps what it is sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::auth::Secret;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{Config, Mode};
use serde_json::Value;

use crate::admin::{PASSWORD, rows};
use crate::common::{connect, loopback, start, until, url};
use crate::page::Metrics;
use crate::pooled::Pooled;

/// It answers with the first of these statuses that is left, and with 200 from then on.
#[derive(Default)]
struct Kept {
    requests: Vec<(String, Value)>,
    statuses: Vec<u16>,
}

struct Collector {
    listener: TcpListener,
    kept: Arc<Mutex<Kept>>,
}

impl Collector {
    /// An address where nobody answers yet.
    fn new() -> Self {
        Self {
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
            kept: Arc::default(),
        }
    }

    fn start() -> Self {
        let this = Self::new();
        this.answer();
        this
    }

    /// Answers in a thread of its own, until the process ends.
    fn answer(&self) {
        let (listener, kept) = (self.listener.try_clone().unwrap(), self.kept.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let kept = kept.clone();
                thread::spawn(move || serve(stream.unwrap(), &kept));
            }
        });
    }

    fn put_into(&self, config: &mut Config) {
        let address = self.listener.local_addr().unwrap();
        config.traces.endpoint = Some(format!("http://{address}").parse().unwrap());
    }

    fn requests(&self) -> usize {
        self.kept.lock().unwrap().requests.len()
    }

    /// All spans so far.
    fn spans(&self) -> Vec<Value> {
        let kept = self.kept.lock().unwrap();
        let spans = kept.requests.iter().map(|(_, request)| {
            let spans = &request["resourceSpans"][0]["scopeSpans"][0]["spans"];
            spans.as_array().unwrap().clone()
        });
        spans.flatten().collect()
    }

    /// The spans of the statement that has this in its text, once they are there: the proxy's and the server's.
    fn statement(&self, part: &str) -> [Value; 2] {
        let find = || {
            let spans = self.spans();
            let is_it = |span: &&Value| attribute(span, "db.query.text").contains(part);
            let server = spans.iter().find(is_it)?;
            let is_parent = |span: &&Value| span["spanId"] == server["parentSpanId"];
            Some([spans.iter().find(is_parent)?.clone(), server.clone()])
        };
        until(&format!("a span of {part}"), || find().is_some());
        find().unwrap()
    }
}

fn serve(mut stream: TcpStream, kept: &Mutex<Kept>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(bytes) = lower.strip_prefix("content-length:") {
                length = bytes.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut kept = kept.lock().unwrap();
        let status = match kept.statuses.is_empty() {
            true => 200,
            false => kept.statuses.remove(0),
        };
        if status == 200 {
            let request = serde_json::from_slice(&body).unwrap();
            kept.requests.push((head, request));
        }
        drop(kept);
        let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 2\r\n\r\n{{}}");
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn attribute<'s>(span: &'s Value, key: &str) -> &'s str {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == key);
    let value = found.and_then(|found| found["value"].as_object()?.values().next());
    value.and_then(Value::as_str).unwrap_or_default()
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn parent(flags: &str) -> String {
    format!("00-{TRACE}-00f067aa0ba902b7-{flags}")
}

fn in_comment(sql: &str, flags: &str) -> String {
    format!("{sql} /*route='cart',traceparent='{}'*/", parent(flags))
}

/// Of a client of any listener. Its own span is known by a comment, and what is not in a trace is not sent.
fn traced_statements(collector: &Collector, mut conn: Connection) {
    conn.run(in_comment("SELECT 1 AS not_sampled", "00"))
        .unwrap();
    conn.run("SELECT 1 AS not_in_a_trace").unwrap();
    // It is prepared once and executed at other times.
    let statement = conn
        .prepare(in_comment("SELECT 1 AS was_prepared", "01"))
        .unwrap();
    let _ = conn.execute(&statement, &[]).unwrap();
    conn.run(in_comment("SELECT 'secret' AS in_a_trace", "01"))
        .unwrap();
    let long = format!("SELECT '{}' AS is_long", "x".repeat(10_000));
    conn.run(in_comment(&long, "01")).unwrap();
    conn.run(in_comment("SELECT no_column AS failing", "01"))
        .unwrap_err();
    let [own, server] = collector.statement("`failing`");
    for span in [&own, &server] {
        assert_eq!(attribute(span, "db.response.status_code"), "1054");
        assert_eq!(span["status"]["code"], 2);
    }
    let [own, server] = collector.statement("`in_a_trace`");
    assert_eq!(
        (&own["traceId"], &server["traceId"]),
        (&TRACE.into(), &TRACE.into())
    );
    assert_eq!(own["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(own["kind"], 2);
    assert_eq!(server["kind"], 3);
    assert_eq!(attribute(&server, "db.response.returned_rows"), "1");
    assert_eq!(attribute(&own, "onecopy.listener"), "mysql");
    // Three statements of two spans each, and no other.
    let spans = collector.spans();
    assert_eq!(spans.len(), 6, "{spans:?}");
    assert!(!format!("{spans:?}").contains("secret"));
}

#[test]
fn statements_of_a_clients_trace_are_sent_without_a_pool() {
    let collector = Collector::start();
    let proxy = start(|config| {
        config.listeners[0].name = "mysql".into();
        collector.put_into(config);
    });
    traced_statements(&collector, connect(&proxy));
    let kept = collector.kept.lock().unwrap();
    let (head, _) = &kept.requests[0];
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("content-type: application/json\r\n"),
        "{head}"
    );
}

#[test]
fn statements_of_a_clients_trace_are_sent_with_a_pool() {
    let collector = Collector::start();
    let pooled = Pooled::start_with(Mode::Transaction, 2, |config| {
        config.listeners[0].name = "mysql".into();
        collector.put_into(config);
    });
    traced_statements(&collector, pooled.connect());
}

/// Where the server takes them: MySQL.
#[test]
fn query_attributes_name_the_clients_span() {
    let collector = Collector::start();
    let proxy = start(|config| collector.put_into(config));
    let mut config = ClientConfig::from_url(&url(&proxy)).unwrap();
    config.query_attributes = true;
    let mut conn = Connection::connect_with(&config).unwrap();
    let parent = parent("01");
    if !conn
        .set_query_attributes(&[("a", "b"), ("traceparent", &parent)])
        .unwrap()
    {
        return onecopy_testkit::server::lacks("query attributes", "MySQL has them");
    }
    conn.run("SELECT 1 AS as_text").unwrap();
    let statement = conn.prepare("SELECT ?, ? AS as_binary").unwrap();
    let _ = conn.execute(&statement, &["x".into(), 7.into()]).unwrap();
    for part in ["`as_text`", "`as_binary`"] {
        let [own, _] = collector.statement(part);
        assert_eq!(own["traceId"], TRACE);
        assert_eq!(own["parentSpanId"], "00f067aa0ba902b7");
    }
}

#[test]
fn a_share_of_the_other_statements_begins_traces() {
    let collector = Collector::start();
    let proxy = start(|config| {
        collector.put_into(config);
        config.traces.sample = 1.0;
    });
    let mut conn = connect(&proxy);
    conn.run("SELECT 1 AS first_one").unwrap();
    conn.run("SELECT 1 AS second_one").unwrap();
    let traces = ["`first_one`", "`second_one`"].map(|part| {
        let [own, server] = collector.statement(part);
        assert_eq!(own["parentSpanId"], Value::Null);
        assert_eq!(own["traceId"], server["traceId"]);
        own["traceId"].clone()
    });
    assert_ne!(traces[0], traces[1]);
}

fn with_admin(config: &mut Config) {
    config.admin.listen = Some(loopback(0));
    config.admin.user = "boss".into();
    config.admin.password = Secret::new(PASSWORD);
    config.metrics.listen = Some(loopback(0));
}

fn state(proxy: &Proxy) -> (String, String) {
    let rows = rows(proxy, "SHOW LOGS");
    let row = rows.iter().find(|row| row["Log"] == "traces").unwrap();
    (row["File"].clone(), row["Error"].clone())
}

#[test]
fn nothing_is_lost_while_the_collector_is_away_for_a_while() {
    let collector = Collector::new();
    collector.kept.lock().unwrap().statuses = vec![503, 429];
    // Nobody takes its connections yet.
    let proxy = start(|config| {
        with_admin(config);
        collector.put_into(config);
    });
    let mut conn = connect(&proxy);
    conn.run(in_comment("SELECT 1 AS in_time", "01")).unwrap();
    collector.answer();
    until("the collector is said to refuse", || {
        state(&proxy).1.contains("503")
    });
    conn.run(in_comment("SELECT 1 AS meanwhile", "01")).unwrap();
    collector.statement("`in_time`");
    collector.statement("`meanwhile`");
    until("it is said to be well", || state(&proxy).1.is_empty());
    let metrics = Metrics::of(&proxy);
    let sent = metrics.value("onecopy_statement_log_lines_total{log=\"traces\"}");
    assert!((sent - 2.0).abs() < 0.1, "{sent}");
    // Each once.
    assert_eq!(collector.spans().len(), 4);
}

#[test]
fn what_the_collector_refuses_is_counted() {
    let collector = Collector::start();
    collector.kept.lock().unwrap().statuses = vec![400];
    let proxy = start(|config| {
        with_admin(config);
        collector.put_into(config);
    });
    let mut conn = connect(&proxy);
    conn.run(in_comment("SELECT 1 AS refused", "01")).unwrap();
    let series = "onecopy_statement_log_lines_lost_total{log=\"traces\",reason=\"write_failed\"}";
    until("it is counted", || Metrics::of(&proxy).value(series) > 0.5);
    assert!(state(&proxy).1.contains("400"));
    conn.run(in_comment("SELECT 1 AS taken", "01")).unwrap();
    collector.statement("`taken`");
    assert_eq!(collector.requests(), 1);
}

#[test]
fn a_reload_turns_it_on_and_off() {
    let (first, second) = (Collector::start(), Collector::start());
    let proxy = start(with_admin);
    let mut conn = connect(&proxy);
    conn.run(in_comment("SELECT 1 AS too_early", "01")).unwrap();
    let mut config = proxy.config();
    for (collector, part) in [(&first, "to_the_first"), (&second, "to_the_second")] {
        collector.put_into(&mut config);
        let changes = proxy.reload(config.clone()).unwrap();
        let lines = changes.lines().join("\n");
        assert!(lines.contains("traces.endpoint: "), "{lines}");
        // Workers hear of it in their next turn.
        until("it is in force", || {
            conn.run(in_comment(&format!("SELECT 1 AS {part}"), "01"))
                .unwrap();
            collector.requests() > 0
        });
        collector.statement(part);
        assert!(state(&proxy).0.starts_with("http://127.0.0.1:"));
    }
    config.traces.endpoint = None;
    proxy.reload(config).unwrap();
    until("it is off", || state(&proxy).0 == "off");
    let spans = format!("{:?}{:?}", first.spans(), second.spans());
    assert!(!spans.contains("too_early"));
}

#[test]
fn what_waits_is_sent_when_the_proxy_ends() {
    let collector = Collector::start();
    let proxy = start(|config| collector.put_into(config));
    let mut conn = connect(&proxy);
    conn.run(in_comment("SELECT 1 AS at_the_end", "01"))
        .unwrap();
    drop(conn);
    proxy.stop();
    assert_eq!(collector.requests(), 1);
}
