//! The client's part of a conversation, written once for both APIs.

use std::io;
use std::time::Duration;

use onecopy_mysql::{Config, Done, Error, Limits, OwnedRow, Row, SslMode, Value};
use onecopy_testkit::script::noise;

/// Makes a [`Talk`](onecopy_testkit::script::Talk) of one body: `wait!` waits on either API, `API` has what else
/// differs. The body gives `Result<(), Error>`; a server that is not let in by [`config`] names its own.
macro_rules! talk {
    (|$conn:ident, $log:ident, $wait:ident, $face:ident| $body:block) => {
        talk!(crate::talk::config(), |$conn, $log, $wait, $face| $body)
    };
    ($config:expr, |$conn:ident, $log:ident, $wait:ident, $face:ident| $body:block) => {{
        use std::time::Duration;

        use onecopy_mysql::Error;

        #[allow(unused_imports, unused_mut, clippy::redundant_closure_call)]
        fn blocking(
            stream: onecopy_mysql::blocking::Stream,
            deadline: Option<Duration>,
        ) -> Vec<String> {
            use $crate::talk::blocking as $face;
            use $crate::talk::blocking_wait as $wait;

            let mut log = $crate::talk::Log::default();
            let config = $crate::talk::within($config, deadline);
            let mut connection =
                match onecopy_mysql::blocking::Connection::from_stream(&config, stream) {
                    Ok(connection) => connection,
                    Err(error) => return log.end(&error),
                };
            let ($conn, $log) = (&mut connection, &mut log);
            let result: Result<(), Error> = (move || $body)();
            if let Err(error) = result {
                if error.is_closed() {
                    let again = connection.ping();
                    $crate::talk::assert_closed(connection.is_closed(), again, &error);
                }
                return log.end(&error);
            }
            log.lines
        }

        #[allow(unused_imports, unused_mut)]
        async fn tokio(
            stream: onecopy_mysql::aio::Stream,
            deadline: Option<Duration>,
        ) -> Vec<String> {
            use $crate::talk::tokio as $face;
            use $crate::talk::tokio_wait as $wait;

            let mut log = $crate::talk::Log::default();
            let config = $crate::talk::within($config, deadline);
            let mut connection =
                match onecopy_mysql::aio::Connection::from_stream(&config, stream).await {
                    Ok(connection) => connection,
                    Err(error) => return log.end(&error),
                };
            let ($conn, $log) = (&mut connection, &mut log);
            let result: Result<(), Error> = async move { $body }.await;
            if let Err(error) = result {
                if error.is_closed() {
                    let again = connection.ping().await;
                    $crate::talk::assert_closed(connection.is_closed(), again, &error);
                }
                return log.end(&error);
            }
            log.lines
        }

        onecopy_testkit::script::Talk {
            blocking,
            tokio: |stream, deadline| Box::pin(tokio(stream, deadline)),
        }
    }};
}

macro_rules! blocking_wait {
    ($call:expr) => {
        $call
    };
}

macro_rules! tokio_wait {
    ($call:expr) => {
        $call.await
    };
}

pub(crate) use {blocking_wait, tokio_wait};

/// The user of all scripts, who speaks TLS where the greeting offers it.
pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.user = "ada".into();
    config.password = "lovelace".into();
    config.ssl_mode = Some(SslMode::Preferred);
    config
}

/// The same, with several statements in one query.
pub(crate) fn multi_statements() -> Config {
    let mut config = config();
    config.multi_statements = true;
    config
}

/// The same, with local files.
pub(crate) fn local_infile() -> Config {
    let mut config = config();
    config.local_infile = true;
    config
}

/// The same, whose rows count as large from 64 bytes on, and their values from 24.
pub(crate) fn small_limits() -> Config {
    let mut config = config();
    config.limits = Limits {
        contiguous_row_bytes: 64,
        large_value_bytes: 24,
        ..Limits::default()
    };
    config
}

pub(crate) fn within(mut config: Config, deadline: Option<Duration>) -> Config {
    config.connect_timeout = deadline;
    config.call_timeout = deadline;
    config
}

/// A connection that failed says so to every further call.
pub(crate) fn assert_closed(says_so: bool, again: Result<(), Error>, error: &Error) {
    assert!(says_so, "open after {error:?}");
    let again = again.expect_err("a closed connection does nothing");
    assert!(again.is_closed(), "{again:?} after {error:?}");
}

/// What the client saw.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) lines: Vec<String>,
}

impl Log {
    pub(crate) fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    pub(crate) fn row(&mut self, row: &Row<'_>) -> Result<(), Error> {
        let values: Result<Vec<_>, _> = (0..row.len()).map(|i| row.value(i).map(show)).collect();
        self.line(values?.join(" | "));
        Ok(())
    }

    pub(crate) fn owned_row(&mut self, row: &OwnedRow) -> Result<(), Error> {
        let values: Result<Vec<_>, _> = (0..row.len()).map(|i| row.value(i).map(show)).collect();
        self.line(values?.join(" | "));
        Ok(())
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.line(show(Value::Bytes(bytes)));
    }

    pub(crate) fn done(&mut self, done: Done) {
        let Done {
            affected_rows,
            last_insert_id,
            warnings,
        } = done;
        self.line(format!(
            "done: {affected_rows} rows, id {last_insert_id}, {warnings} warnings"
        ));
    }

    /// An error that the conversation continues after; any other ends it.
    pub(crate) fn server<T>(&mut self, result: Result<T, Error>) -> Result<(), Error> {
        match result {
            Ok(_) => panic!("the server's error is missing"),
            Err(error) if error.server().is_some() => {
                self.line(error.to_string());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// A call that is refused before anything is sent.
    pub(crate) fn refused<T>(&mut self, result: Result<T, Error>) -> Result<(), Error> {
        match result {
            Ok(_) => panic!("the call should be refused"),
            Err(error) if error.protocol().is_some_and(|found| found.is_misuse()) => {
                self.line(format!("refused: {}", kind(&error)));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn end(mut self, error: &Error) -> Vec<String> {
        self.line(kind(error));
        self.lines
    }
}

/// An error by its type, as far as it has one.
fn kind(error: &Error) -> String {
    match error.protocol() {
        Some(protocol) => format!("{protocol:?}"),
        None if error.is_timeout() => "timeout".into(),
        None => error.to_string(),
    }
}

/// A value for people; a large one by its length, where it is the noise that was sent.
fn show(value: Value<'_>) -> String {
    const SHORT: usize = 40;
    match value {
        Value::Null => "NULL".into(),
        Value::Bytes(bytes) | Value::Text(bytes) if bytes.len() <= SHORT => {
            bytes.escape_ascii().to_string()
        }
        Value::Bytes(bytes) | Value::Text(bytes) if bytes == noise(bytes.len()) => {
            format!("noise({})", bytes.len())
        }
        Value::Bytes(bytes) | Value::Text(bytes) => format!("{} other bytes", bytes.len()),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Date(date) => date.to_string(),
        Value::DateTime(moment) => moment.to_string(),
        Value::Time(time) => time.to_string(),
        Value::Decimal(decimal) => decimal.to_string(),
        other => format!("{other:?}"),
    }
}

/// A reader's error is ours in an envelope.
fn unwrap_io(error: io::Error) -> Error {
    *error
        .into_inner()
        .and_then(|inner| inner.downcast::<Error>().ok())
        .expect("one of our errors")
}

/// What differs on the blocking API beside the waiting.
pub(crate) mod blocking {
    use std::io::Read;

    use onecopy_mysql::Error;
    use onecopy_mysql::blocking::ColumnReader;

    /// A streamed value, read into slices of `step` bytes.
    pub(crate) fn read(mut column: ColumnReader<'_>, step: usize) -> Result<Vec<u8>, Error> {
        let mut value = Vec::new();
        let mut piece = vec![0; step];
        loop {
            match column.read(&mut piece).map_err(super::unwrap_io)? {
                0 => return Ok(value),
                n => value.extend_from_slice(&piece[..n]),
            }
        }
    }

    /// The first read of a streamed value.
    pub(crate) fn read_some(mut column: ColumnReader<'_>, step: usize) -> Result<usize, Error> {
        column.read(&mut vec![0; step]).map_err(super::unwrap_io)
    }
}

/// The same on the tokio API. A reader's deadline is the caller's there.
pub(crate) mod tokio {
    use std::time::Duration;

    use onecopy_mysql::aio::ColumnReader;
    use onecopy_mysql::{Error, ProtocolError};
    use onecopy_net::DriveError;
    use tokio::io::AsyncReadExt;

    pub(crate) async fn read(mut column: ColumnReader<'_>, step: usize) -> Result<Vec<u8>, Error> {
        let mut value = Vec::new();
        let mut piece = vec![0; step];
        loop {
            match some(&mut column, &mut piece).await? {
                0 => return Ok(value),
                n => value.extend_from_slice(&piece[..n]),
            }
        }
    }

    pub(crate) async fn read_some(
        mut column: ColumnReader<'_>,
        step: usize,
    ) -> Result<usize, Error> {
        some(&mut column, &mut vec![0; step]).await
    }

    async fn some(column: &mut ColumnReader<'_>, piece: &mut [u8]) -> Result<usize, Error> {
        match tokio::time::timeout(LONG, column.read(piece)).await {
            Ok(read) => read.map_err(super::unwrap_io),
            Err(_) => Err(DriveError::<ProtocolError>::Timeout.into()),
        }
    }

    /// Longer than any deadline of a script.
    const LONG: Duration = Duration::from_secs(3600);
}
