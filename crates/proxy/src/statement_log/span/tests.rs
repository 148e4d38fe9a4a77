use std::sync::Arc;

use serde_json::Value as Json;

use super::*;
use crate::statement_log::{To, TraceContext, Who};

/// 1, 2, 3 ...
struct Counting(u8);

impl Ids for Counting {
    fn fill(&mut self, id: &mut [u8]) {
        self.0 += 1;
        id.fill(self.0);
    }
}

fn config() -> TracesConfig {
    TracesConfig {
        service_name: "front".into(),
        ..TracesConfig::default()
    }
}

fn statement() -> Statement {
    Statement {
        backend: "db1".into(),
        database: Some(b"shop"[..].into()),
        text: Some(b"SELECT name FROM product WHERE id = 4711".to_vec()),
        is_whole: true,
        wait_us: 2_000,
        server_us: 5_000,
        rows_sent: 1,
        system: "mysql",
        ..Statement::default()
    }
}

fn spans(statement: Statement, config: &TracesConfig) -> Vec<Json> {
    let who = Who {
        listener: "mysql".into(),
        user: b"app"[..].into(),
        client: "10.0.0.9:51244".into(),
        session: 7,
    };
    let line = Line::new(
        To::default(),
        Arc::new(who),
        Event::Statement(Box::new(statement)),
    );
    let text = request(
        &[Arc::new(line)],
        config,
        &mut Counting(0),
        &mut Digester::new(4096),
    );
    let request: Json = serde_json::from_str(&text).unwrap();
    let resource = &request["resourceSpans"][0];
    let service = &resource["resource"]["attributes"][0];
    assert_eq!(service["key"], "service.name");
    assert_eq!(service["value"]["stringValue"], "front");
    let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
    spans.clone()
}

fn attribute<'s>(span: &'s Json, key: &str) -> &'s Json {
    let mut all = span["attributes"].as_array().unwrap().iter();
    let found = all.find(|attribute| attribute["key"] == key);
    let value = found.map(|attribute| attribute["value"].as_object().unwrap().values());
    value.map_or(&Json::Null, |mut values| values.next().unwrap())
}

fn time(span: &Json, field: &str) -> u64 {
    span[field].as_str().unwrap().parse().unwrap()
}

#[test]
fn a_statement_has_a_span_and_one_of_its_server() {
    let mut statement = statement();
    let parent = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    statement.trace = TraceContext::parse(parent);
    let spans = spans(statement, &config());
    let [own, server] = &spans[..] else {
        panic!("{spans:?}");
    };
    assert_eq!((&own["kind"], &server["kind"]), (&2.into(), &3.into()));
    for span in [own, server] {
        assert_eq!(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(span["name"], "SELECT shop");
        assert_eq!(attribute(span, "db.system.name"), "mysql");
        assert_eq!(attribute(span, "db.namespace"), "shop");
        assert_eq!(attribute(span, "db.operation.name"), "SELECT");
        assert_eq!(span["status"], Json::Null);
    }
    assert_eq!(own["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(own["spanId"], "0101010101010101");
    assert_eq!(server["parentSpanId"], own["spanId"]);
    assert_eq!(server["spanId"], "0202020202020202");
    let end = time(own, "endTimeUnixNano");
    assert_eq!(time(own, "startTimeUnixNano"), end - 7_000_000);
    assert_eq!(time(server, "startTimeUnixNano"), end - 5_000_000);
    assert_eq!(time(server, "endTimeUnixNano"), end);
    assert_eq!(attribute(own, "onecopy.user"), "app");
    assert_eq!(attribute(own, "onecopy.wait_us"), "2000");
    assert_eq!(attribute(own, "client.address"), "10.0.0.9");
    assert_eq!(attribute(own, "client.port"), "51244");
    assert_eq!(attribute(server, "onecopy.backend"), "db1");
    assert_eq!(attribute(server, "db.response.returned_rows"), "1");
    let text = "SELECT `name` FROM `product` WHERE `id` = ?";
    assert_eq!(attribute(server, "db.query.text"), text);
}

#[test]
fn without_a_clients_span_a_trace_begins() {
    let spans = spans(statement(), &config());
    assert_eq!(spans[0]["traceId"], "02".repeat(16));
    assert_eq!(spans[0]["parentSpanId"], Json::Null);
    assert_eq!(spans[1]["traceId"], spans[0]["traceId"]);
}

#[test]
fn values_are_in_it_where_they_are_kept() {
    let config = TracesConfig {
        literals: Literals::Kept,
        ..config()
    };
    let spans = spans(statement(), &config);
    let text = "SELECT name FROM product WHERE id = 4711";
    assert_eq!(attribute(&spans[1], "db.query.text"), text);
}

#[test]
fn an_error_is_the_status() {
    let spans = spans(
        Statement {
            error: 1062,
            ..statement()
        },
        &config(),
    );
    for span in &spans {
        assert_eq!(span["status"]["code"], 2);
        assert_eq!(attribute(span, "db.response.status_code"), "1062");
        assert_eq!(attribute(span, "error.type"), "1062");
    }
}

#[test]
fn what_no_server_has_seen_has_one_span() {
    let by_proxy = Statement {
        is_by_proxy: true,
        error: 1226,
        ..statement()
    };
    let spans = spans(by_proxy, &config());
    assert_eq!(spans.len(), 1);
    assert_eq!(attribute(&spans[0], "onecopy.by_proxy"), &Json::Bool(true));
}

#[test]
fn hostile_names_and_texts_are_json() {
    let hostile = Statement {
        database: Some(b"\xff\"\\\x00\r\n"[..].into()),
        text: Some(b"\xff\xfe'\"`\x00".to_vec()),
        ..statement()
    };
    let spans = spans(hostile, &config());
    assert_eq!(attribute(&spans[0], "db.namespace"), "\u{fffd}\"\\\0\r\n");
    assert_eq!(attribute(&spans[0], "db.operation.name"), &Json::Null);
}
