//! The client's part of a conversation, written once for both APIs.

use std::time::Duration;

use onecopy_testkit::script::Script;
use onecopy_valkey::{Config, Error, Protocol, Reply};

/// Makes a [`Talk`](onecopy_testkit::script::Talk) of one body: `wait!` waits on either API. The body gives
/// `Result<(), Error>`.
macro_rules! talk {
    (|$conn:ident, $log:ident, $wait:ident| $body:block) => {
        talk!($crate::talk::config(), |$conn, $log, $wait| $body)
    };
    ($config:expr, |$conn:ident, $log:ident, $wait:ident| $body:block) => {{
        use std::time::Duration;

        use onecopy_valkey::{Error, raw};

        #[allow(unused_imports, unused_mut, clippy::redundant_closure_call)]
        fn blocking(
            stream: onecopy_valkey::blocking::Stream,
            deadline: Option<Duration>,
        ) -> Vec<String> {
            use $crate::talk::blocking_wait as $wait;

            let mut log = $crate::talk::Log::default();
            let config = $crate::talk::within($config, deadline);
            let mut connection =
                match onecopy_valkey::blocking::Connection::from_stream(&config, stream) {
                    Ok(connection) => connection,
                    Err(error) => return log.end(&error),
                };
            let ($conn, $log) = (&mut connection, &mut log);
            let result: Result<(), Error> = (move || $body)();
            if let Err(error) = result {
                if error.is_closed() {
                    let again = connection.run(&raw("PING")).err();
                    $crate::talk::assert_closed(connection.is_closed(), again, &error);
                }
                return log.end(&error);
            }
            log.lines
        }

        #[allow(unused_imports, unused_mut)]
        async fn tokio(
            stream: onecopy_valkey::aio::Stream,
            deadline: Option<Duration>,
        ) -> Vec<String> {
            use $crate::talk::tokio_wait as $wait;

            let mut log = $crate::talk::Log::default();
            let config = $crate::talk::within($config, deadline);
            let mut connection =
                match onecopy_valkey::aio::Connection::from_stream(&config, stream).await {
                    Ok(connection) => connection,
                    Err(error) => return log.end(&error),
                };
            let ($conn, $log) = (&mut connection, &mut log);
            let result: Result<(), Error> = async move { $body }.await;
            if let Err(error) = result {
                if error.is_closed() {
                    let again = connection.run(&raw("PING")).await.err();
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

/// RESP2 without a login, which needs no handshake: the script begins with the first command.
pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.protocol = Some(Protocol::Resp2);
    config.client_info = false;
    config
}

pub(crate) fn within(mut config: Config, deadline: Option<Duration>) -> Config {
    config.connect_timeout = deadline;
    config.command_timeout = deadline;
    config
}

/// A connection that failed says so to every further call.
pub(crate) fn assert_closed(says_so: bool, again: Option<Error>, error: &Error) {
    assert!(says_so, "open after {error:?}");
    let again = again.expect("a closed connection ran a command");
    assert!(again.is_closed(), "{again:?} after {error:?}");
    assert!(!again.maybe_executed(), "nothing of it was sent");
    let text = error.to_string();
    assert!(
        text.len() < 400 && !text.contains(char::is_control),
        "{text:?}"
    );
}

/// A command without arguments as the client sends it.
pub(crate) fn command(script: Script, name: &str) -> Script {
    script.client(format!("*1\r\n${}\r\n{name}\r\n", name.len()).as_bytes())
}

/// What the client saw, line by line.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) lines: Vec<String>,
}

impl Log {
    pub(crate) fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    pub(crate) fn reply(&mut self, reply: Reply<'_>) {
        self.line(format!("{reply:?}"));
    }

    /// The last line: the error's kind.
    pub(crate) fn end(mut self, error: &Error) -> Vec<String> {
        self.line(match error.protocol() {
            _ if error.is_timeout() => "timeout".to_owned(),
            Some(protocol) => format!("{:?} at {}", protocol.kind(), protocol.offset()),
            None => error.to_string(),
        });
        self.lines
    }
}
