//! Network errors, as opposed to protocol errors.

use std::{fmt, io};

use onecopy_wire::WireError;

use crate::TlsError;

/// Why an I/O driver could not return a message.
#[derive(Debug)]
#[non_exhaustive]
pub enum DriveError<E> {
    /// The protocol's own error. The state machine is dead.
    Core(E),
    /// The socket failed while reading.
    Read(io::Error),
    /// The socket failed while writing, and the peer had sent no message that explains it.
    Write(io::Error),
    /// The deadline passed. Received data is kept, and queued data stays queued.
    Timeout,
    /// TLS is not available, or it failed: the server is not trusted, or it sent invalid data.
    Tls(Box<TlsError>),
    /// The state machine requested TLS, and none was offered to the stream.
    TlsUnavailable,
}

impl<E: From<WireError>> From<WireError> for DriveError<E> {
    fn from(error: WireError) -> Self {
        Self::Core(error.into())
    }
}

impl<E> From<TlsError> for DriveError<E> {
    fn from(error: TlsError) -> Self {
        Self::Tls(Box::new(error))
    }
}

impl<E: fmt::Display> fmt::Display for DriveError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Core(error) => error.fmt(f),
            Self::Read(error) => write!(f, "reading from the server failed: {error}"),
            Self::Write(error) => write!(f, "writing to the server failed: {error}"),
            Self::Timeout => f.write_str("the deadline passed while waiting for the server"),
            Self::Tls(error) => error.fmt(f),
            Self::TlsUnavailable => f.write_str("tls is needed and this stream has none"),
        }
    }
}

impl<E: fmt::Display + fmt::Debug> std::error::Error for DriveError<E> {}

/// Why no socket could be connected.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The lookup of the host name failed.
    Resolve {
        /// The host name.
        host: String,
        /// The resolver's error.
        source: io::Error,
    },
    /// No address could be connected. This is the error of the last one.
    Connect {
        /// The address that was tried last.
        endpoint: String,
        /// How it failed.
        source: io::Error,
    },
    /// The deadline passed.
    Timeout {
        /// The address that was being connected.
        endpoint: String,
    },
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolve { host, source } => {
                write!(f, "can't look up the host '{host}': {source}")
            }
            Self::Connect { endpoint, source } => {
                write!(f, "can't connect to {endpoint}: {source}")?;
                if source.kind() == io::ErrorKind::ConnectionRefused
                    || source.kind() == io::ErrorKind::NotFound
                {
                    f.write_str("; is the server running there?")?;
                }
                Ok(())
            }
            Self::Timeout { endpoint } => {
                write!(f, "the deadline passed while connecting to {endpoint}")
            }
        }
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Resolve { source, .. } | Self::Connect { source, .. } => Some(source),
            Self::Timeout { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
