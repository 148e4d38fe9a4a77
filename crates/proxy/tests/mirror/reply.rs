//! What came back, in a form that can be compared.

use onecopy_mysql::blocking::Rows;
use onecopy_mysql::{Error, StatusFlags};

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    Results(Vec<Result>),
    Error(u16, String),
    /// The client has none: something was dropped, or nothing was sent.
    Nothing,
}

/// One of the results of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Result {
    columns: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
    numbers: (u64, u64, u16),
    info: String,
}

impl Reply {
    pub(crate) fn of(rows: std::result::Result<Rows<'_>, Error>) -> Self {
        match rows.and_then(read) {
            Ok(results) => Self::Results(results),
            Err(error) => Self::error(&error),
        }
    }

    pub(crate) fn ok(outcome: std::result::Result<(), Error>) -> Self {
        match outcome {
            Ok(()) => Self::Nothing,
            Err(error) => Self::error(&error),
        }
    }

    fn error(error: &Error) -> Self {
        match error.server() {
            Some(server) => Self::Error(server.code, server.message.to_string()),
            None => Self::Error(0, error.to_string()),
        }
    }

    /// Whether the proxy had no connection for it.
    pub(crate) fn is_wait_timeout(&self) -> bool {
        matches!(self, Self::Error(1040, text) if text.contains("the proxy's pool"))
    }

    pub(crate) fn is_error(&self) -> bool {
        matches!(self, Self::Error(..))
    }
}

fn read(mut rows: Rows<'_>) -> std::result::Result<Vec<Result>, Error> {
    let mut results = Vec::new();
    loop {
        let columns = rows.columns().map_or_else(Vec::new, |definitions| {
            let columns = definitions.columns().iter().enumerate();
            columns
                .map(|(at, column)| {
                    let name = |text: Option<&[u8]>| {
                        String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
                    };
                    format!(
                        "{}.{}.{} {column:?}",
                        name(definitions.schema(at)),
                        name(definitions.table(at)),
                        name(definitions.name(at))
                    )
                })
                .collect()
        });
        let width = columns.len();
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let row = (0..width).map(|at| {
                row.bytes(at)
                    .unwrap()
                    .map(|bytes| bytes.escape_ascii().to_string())
            });
            all.push(row.collect());
        }
        let done = rows.done();
        results.push(Result {
            columns,
            rows: all,
            numbers: (done.affected_rows, done.last_insert_id, done.warnings),
            info: rows.info().to_owned(),
        });
        if !rows.next_result()? {
            return Ok(results);
        }
    }
}

/// What the server says of a session's status, without what only a proxy asks for.
pub(crate) fn status(flags: StatusFlags) -> StatusFlags {
    flags.difference(StatusFlags::SESSION_STATE_CHANGED)
}
