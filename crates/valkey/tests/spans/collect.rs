//! A subscriber that keeps the fields of all spans.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

type Fields = BTreeMap<String, String>;

/// A key and a value that no span may show.
pub(crate) const KEY: &str = "spans:a-secret-key";
pub(crate) const VALUE: &str = "a-secret-value";

/// A span, and whether it is closed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Span {
    pub(crate) fields: Fields,
    pub(crate) is_closed: bool,
}

impl Span {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    pub(crate) fn operation(&self) -> &str {
        self.field("db.operation.name").unwrap_or_default()
    }
}

/// The spans of this thread, as long as it lives.
pub(crate) struct Collected {
    spans: Arc<Mutex<Vec<Span>>>,
    _guard: DefaultGuard,
}

pub(crate) fn collect() -> Collected {
    let spans = Arc::default();
    let subscriber = Collector(Arc::clone(&spans));
    Collected {
        spans,
        _guard: tracing::subscriber::set_default(subscriber),
    }
}

impl Collected {
    /// What was reported since the last call; all of it must be over, and show no key and no value.
    pub(crate) fn take(&self) -> Vec<Span> {
        let spans = std::mem::take(&mut *self.spans.lock().unwrap());
        for span in &spans {
            assert!(span.is_closed, "{span:?}");
            let shown = format!("{span:?}");
            assert!(!shown.contains(KEY) && !shown.contains(VALUE), "{shown}");
            assert_eq!(span.field("otel.kind"), Some("client"));
            let system = span.field("db.system.name").unwrap();
            assert!(["redis", "valkey"].contains(&system), "{shown}");
        }
        spans
    }

    /// The same, whatever they show.
    pub(crate) fn unchecked(&self) -> Vec<Span> {
        std::mem::take(&mut *self.spans.lock().unwrap())
    }

    /// The names of the operations.
    pub(crate) fn operations(&self) -> Vec<String> {
        let spans = self.take();
        spans.iter().map(|span| span.operation().into()).collect()
    }

    /// The only one.
    pub(crate) fn one(&self) -> Span {
        let spans = self.take();
        assert_eq!(spans.len(), 1, "{spans:#?}");
        spans.into_iter().next().unwrap()
    }
}

struct Collector(Arc<Mutex<Vec<Span>>>);

struct Collect<'f>(&'f mut Fields);

impl Visit for Collect<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().into(), format!("{value:?}"));
    }
}

impl Collector {
    fn with<T>(&self, id: &Id, act: impl FnOnce(&mut Span) -> T) -> Option<T> {
        let mut spans = self.0.lock().unwrap();
        // A span that was taken before is not there any more.
        let index = usize::try_from(id.into_u64()).unwrap() - 1;
        spans.get_mut(index).map(act)
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "onecopy_valkey"
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut span = Span::default();
        attributes.record(&mut Collect(&mut span.fields));
        let mut spans = self.0.lock().unwrap();
        spans.push(span);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, id: &Id, record: &Record<'_>) {
        self.with(id, |span| record.record(&mut Collect(&mut span.fields)));
    }

    fn try_close(&self, id: Id) -> bool {
        self.with(&id, |span| span.is_closed = true);
        true
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
