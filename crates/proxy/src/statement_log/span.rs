//! What a traced statement looks like to a collector: two spans in the JSON of OTLP. One is of the proxy, from the statement's arrival to
//! the end of its reply; its child is of the server's part, so the time before it is that for which the statement has waited.
//!
//! Attributes have the names of OpenTelemetry's conventions for databases where there is one, else names of ours.
//! <https://opentelemetry.io/docs/specs/semconv/database/>

use std::borrow::Cow;
use std::fmt::Write;
use std::time::{Duration, SystemTime};

use onecopy_mysql_proto::digest::Digester;
use serde::Serialize;

use super::line::{Event, Line, NAME_BYTES, Statement};
use super::redact;
use crate::config::{Literals, TracesConfig};

/// `SPAN_KIND_SERVER`, `SPAN_KIND_CLIENT`, `STATUS_CODE_ERROR`.
const SERVER: u8 = 2;
const CLIENT: u8 = 3;
const STATUS_ERROR: u8 = 2;

/// What one request to the collector has.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'r> {
    resource_spans: [ResourceSpans<'r>; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'r> {
    resource: Resource<'r>,
    scope_spans: [ScopeSpans<'r>; 1],
}

#[derive(Debug, Serialize)]
struct Resource<'r> {
    attributes: Vec<Attribute<'r>>,
}

#[derive(Debug, Serialize)]
struct ScopeSpans<'r> {
    scope: Scope,
    spans: Vec<Span<'r>>,
}

#[derive(Debug, Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Span<'s> {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    parent_span_id: String,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute<'s>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

#[derive(Debug, Clone, Serialize)]
struct Status {
    code: u8,
    message: String,
}

#[derive(Debug, Clone, Serialize)]
struct Attribute<'a> {
    key: &'static str,
    value: Value<'a>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::enum_variant_names)] // as the protocol has them
enum Value<'a> {
    StringValue(Cow<'a, str>),
    /// A number of 64 bits is a string in this JSON.
    IntValue(String),
    BoolValue(bool),
}

/// Makes numbers for traces and spans.
pub(super) trait Ids {
    fn fill(&mut self, id: &mut [u8]);
}

/// The body of a request with the spans of these statements.
pub(super) fn request(
    lines: &[impl AsRef<Line>],
    config: &TracesConfig,
    ids: &mut impl Ids,
    digester: &mut Digester,
) -> String {
    let mut spans = Vec::with_capacity(2 * lines.len());
    for line in lines {
        let line = line.as_ref();
        if let Event::Statement(statement) = &line.event {
            put(line, statement, config.literals, ids, digester, &mut spans);
        }
    }
    let attributes = vec![
        text("service.name", &config.service_name),
        text("service.version", env!("CARGO_PKG_VERSION")),
    ];
    let request = Request {
        resource_spans: [ResourceSpans {
            resource: Resource { attributes },
            scope_spans: [ScopeSpans {
                scope: Scope {
                    name: "onecopy-proxy",
                    version: env!("CARGO_PKG_VERSION"),
                },
                spans,
            }],
        }],
    };
    // Every key is a string.
    serde_json::to_string(&request).unwrap_or_default()
}

fn put<'l>(
    line: &'l Line,
    statement: &'l Statement,
    literals: Literals,
    ids: &mut impl Ids,
    digester: &mut Digester,
    spans: &mut Vec<Span<'l>>,
) {
    let (mut trace, mut own) = ([0; 16], [0; 8]);
    ids.fill(&mut own);
    match &statement.trace {
        Some(context) => trace = context.trace,
        None => ids.fill(&mut trace),
    }
    let trace = hex(&trace);
    let database = statement.database.as_deref().unwrap_or_default();
    let database = name(database);
    let mut common = vec![text("db.system.name", statement.system)];
    if !database.is_empty() {
        common.push(Attribute {
            key: "db.namespace",
            value: Value::StringValue(database.clone()),
        });
    }
    let digest = statement.shown(literals, digester);
    let operation = digest.as_ref().and_then(|digest| operation(&digest.text));
    if let Some(operation) = &operation {
        common.push(owned("db.operation.name", operation.clone()));
    }
    if statement.error != 0 {
        let code = statement.error.to_string();
        common.push(owned("db.response.status_code", code.clone()));
        common.push(owned("error.type", code));
    }
    let mut title = operation.unwrap_or_else(|| "statement".into());
    if !database.is_empty() {
        title = format!("{title} {database}");
    }
    let status = statement.status();
    let total = statement.wait_us.saturating_add(statement.server_us);
    let end = line.time;
    let began = |micros| {
        nanos(
            end.checked_sub(Duration::from_micros(micros))
                .unwrap_or(end),
        )
    };
    let mut attributes = common.clone();
    attributes.push(text("onecopy.listener", &line.who.listener));
    attributes.push(Attribute {
        key: "onecopy.user",
        value: Value::StringValue(name(&line.who.user)),
    });
    attributes.push(int("onecopy.session", line.who.session.into()));
    match line
        .who
        .client
        .rsplit_once(':')
        .map(|(host, port)| (host, port.parse()))
    {
        Some((host, Ok(port))) => {
            attributes.push(text("client.address", host));
            attributes.push(int("client.port", port));
        }
        _ => attributes.push(text("client.address", &line.who.client)),
    }
    if let Some(digest) = &digest {
        attributes.push(owned("onecopy.digest", format!("{:016x}", digest.hash)));
    }
    attributes.push(int("onecopy.wait_us", statement.wait_us));
    if !statement.pins.is_empty() {
        attributes.push(text("onecopy.pinned", &statement.pins));
    }
    for (key, is_so) in [
        ("onecopy.in_transaction", statement.in_transaction),
        ("onecopy.by_proxy", statement.is_by_proxy),
        ("onecopy.no_reply", statement.is_unanswered),
    ] {
        if is_so {
            attributes.push(Attribute {
                key,
                value: Value::BoolValue(true),
            });
        }
    }
    let parent = statement.trace.map(|context| hex(&context.span));
    spans.push(Span {
        trace_id: trace.clone(),
        span_id: hex(&own),
        parent_span_id: parent.unwrap_or_default(),
        name: title.clone(),
        kind: SERVER,
        start_time_unix_nano: began(total),
        end_time_unix_nano: nanos(end),
        attributes,
        status: status.clone(),
    });
    if statement.is_by_proxy || statement.backend.is_empty() {
        return;
    }
    let mut attributes = common;
    attributes.push(text("onecopy.backend", &statement.backend));
    if let Some(digest) = digest {
        attributes.push(owned("db.query.text", digest.statement));
    }
    attributes.push(int("db.response.returned_rows", statement.rows_sent));
    attributes.push(int("onecopy.rows_affected", statement.rows_affected));
    attributes.push(int("onecopy.bytes_received", statement.bytes_received));
    attributes.push(int("onecopy.bytes_sent", statement.bytes_sent));
    attributes.push(int("onecopy.warnings", statement.warnings));
    let mut id = [0; 8];
    ids.fill(&mut id);
    spans.push(Span {
        trace_id: trace,
        span_id: hex(&id),
        parent_span_id: hex(&own),
        name: title,
        kind: CLIENT,
        start_time_unix_nano: began(statement.server_us),
        end_time_unix_nano: nanos(end),
        attributes,
        status,
    });
}

/// What may be shown of a statement's text.
struct Digest {
    hash: u64,
    text: String,
    /// The text as it was sent, where values are kept and it has no password; else that of the digest.
    statement: String,
}

impl Statement {
    fn shown(&self, literals: Literals, digester: &mut Digester) -> Option<Digest> {
        let text = self.redacted()?;
        let hash = redact::digest(&text, digester);
        let shown = redact::statement(&text, literals);
        let digest = digester.text().to_owned();
        Some(Digest {
            hash,
            statement: shown.map_or_else(
                || digest.clone(),
                |sql| String::from_utf8_lossy(sql).into_owned(),
            ),
            text: digest,
        })
    }

    fn status(&self) -> Option<Status> {
        let message = match (self.error, self.is_unanswered) {
            (0, false) => return None,
            (0, true) => "the session ended before the reply was over".to_owned(),
            (code, _) => format!("error {code}"),
        };
        Some(Status {
            code: STATUS_ERROR,
            message,
        })
    }
}

/// This protocol has no place for bytes that are not UTF-8: they become U+FFFD.
fn name(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.get(..NAME_BYTES).unwrap_or(bytes))
}

/// The first word of a digest, where it is a keyword: few are.
fn operation(digest: &str) -> Option<String> {
    let word = digest.split_ascii_whitespace().next()?;
    let is_word = word.len() <= 16 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    is_word.then(|| word.to_owned())
}

fn text<'a>(key: &'static str, value: &'a str) -> Attribute<'a> {
    Attribute {
        key,
        value: Value::StringValue(Cow::Borrowed(value)),
    }
}

fn owned(key: &'static str, value: String) -> Attribute<'static> {
    Attribute {
        key,
        value: Value::StringValue(Cow::Owned(value)),
    }
}

fn int(key: &'static str, value: u64) -> Attribute<'static> {
    // The protocol's numbers are signed.
    let value = value.min(i64::MAX as u64).to_string();
    Attribute {
        key,
        value: Value::IntValue(value),
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // A string takes everything.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn nanos(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_nanos().to_string()
}

#[cfg(test)]
mod tests;
