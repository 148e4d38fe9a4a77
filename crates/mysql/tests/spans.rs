//! Statements are spans of `tracing`, with OpenTelemetry's attributes.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, Endpoint, params};
use onecopy_testkit::server::test_server;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

type Fields = BTreeMap<String, String>;

/// Keeps the fields of all spans, and whether each span is closed.
#[derive(Default)]
struct Spans(Mutex<Vec<(Fields, bool)>>);

struct Collect<'f>(&'f mut Fields);

impl Visit for Collect<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().into(), format!("{value:?}"));
    }
}

/// A subscriber that other threads share.
struct Shared(Arc<Spans>);

impl Subscriber for Shared {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "onecopy_mysql"
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields::new();
        attributes.record(&mut Collect(&mut fields));
        let mut spans = self.0.0.lock().unwrap();
        spans.push((fields, false));
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, id: &Id, record: &Record<'_>) {
        let mut spans = self.0.0.lock().unwrap();
        let index = usize::try_from(id.into_u64()).unwrap() - 1;
        record.record(&mut Collect(&mut spans[index].0));
    }

    fn try_close(&self, id: Id) -> bool {
        let mut spans = self.0.0.lock().unwrap();
        spans[usize::try_from(id.into_u64()).unwrap() - 1].1 = true;
        true
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn config() -> Config {
    Config::from_url(&test_server().url()).unwrap()
}

#[test]
fn statements_are_spans_with_the_attributes_of_open_telemetry() {
    let mut conn = Connection::connect_with(&config()).unwrap();
    let spans = Arc::new(Spans::default());
    tracing::subscriber::with_default(Shared(Arc::clone(&spans)), || {
        conn.run("SELECT 'secret'").unwrap();
        conn.exec("SELECT ?", &params![1])
            .unwrap()
            .finish()
            .unwrap();
        conn.run("SELECT nothing").unwrap_err();
    });
    conn.run("SELECT 'nobody listens'").unwrap();
    assert_three(&spans, conn.server_version());
}

/// A future that is dropped half way has its span closed, too.
#[cfg(feature = "tokio")]
#[tokio::test]
async fn statements_of_the_async_api_are_the_same_spans() {
    use onecopy_mysql::aio::Connection;
    use std::time::Duration;

    let mut conn = Connection::connect_with(&config()).await.unwrap();
    let spans = Arc::new(Spans::default());
    let listening = tracing::subscriber::set_default(Shared(Arc::clone(&spans)));
    conn.run("SELECT 'secret'").await.unwrap();
    let rows = conn.exec("SELECT ?", &params![1]).await.unwrap();
    rows.finish().await.unwrap();
    conn.run("SELECT nothing").await.unwrap_err();
    assert_three(&spans, conn.server_version());
    let sleeps = conn.run("SELECT SLEEP(60)");
    tokio::time::timeout(Duration::from_millis(20), sleeps)
        .await
        .unwrap_err();
    assert_eq!(
        conn.query_scalar::<u8>("SELECT 7 /* next */")
            .await
            .unwrap(),
        7
    );
    drop(listening);
    conn.run("SELECT 'nobody listens'").await.unwrap();
    let spans = spans.0.lock().unwrap();
    let texts: Vec<&str> = spans.iter().map(|(f, _)| &*f["db.query.text"]).collect();
    assert_eq!(texts[3..], ["SELECT `SLEEP` (?)", "SELECT ?"], "{texts:?}");
    assert!(spans.iter().all(|(_, is_closed)| *is_closed), "{spans:?}");
}

/// The spans of the three statements above.
fn assert_three(spans: &Spans, version: &str) {
    let config = config();
    let database = config.database.unwrap();
    let Endpoint::Tcp { host, port } = config.endpoint else {
        panic!("the tests' server has TCP");
    };
    let system = match version.contains("MariaDB") {
        true => "mariadb",
        false => "mysql",
    };
    let spans = spans.0.lock().unwrap();
    assert_eq!(spans.len(), 3);
    for (fields, is_closed) in spans.iter() {
        assert!(is_closed, "{fields:?}");
        for (name, expected) in [
            ("otel.name", format!("SELECT {database}")),
            ("otel.kind", "client".into()),
            ("db.system.name", system.into()),
            ("db.namespace", database.clone()),
            ("db.operation.name", "SELECT".into()),
            ("server.address", host.clone()),
            ("server.port", port.to_string()),
        ] {
            assert_eq!(fields.get(name), Some(&expected), "{name}: {fields:?}");
        }
    }
    assert_eq!(spans[0].0["db.query.text"], "SELECT ?");
    assert!(!spans[0].0.contains_key("error.type"));
    let failed = &spans[2].0;
    assert_eq!(failed["otel.status_code"], "ERROR");
    assert_eq!(failed["db.response.status_code"], "1054");
    assert_eq!(failed["error.type"], "1054");
}
