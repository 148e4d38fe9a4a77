//! Failures of the network, apart from failures of the protocol.

use std::{fmt, io};

use onecopy_wire::WireError;

use crate::TlsError;

/// Why a message could not be had.
#[derive(Debug)]
#[non_exhaustive]
pub enum DriveError<E> {
    /// The protocol's own error: the core is dead.
    Core(E),
    /// The socket failed while reading.
    Read(io::Error),
    /// The socket failed while writing, and the peer had left no message that says why.
    Write(io::Error),
    /// The deadline passed. What had come is kept, what was queued stays queued.
    Timeout,
    /// TLS could not be had, or failed: the server is not trusted, or what it sends is wrong.
    Tls(Box<TlsError>),
    /// The core asks for TLS and the stream was given none.
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
    /// The host's name could not be looked up.
    Resolve {
        /// The name.
        host: String,
        /// The resolver's answer.
        source: io::Error,
    },
    /// No address answered; the last one's error.
    Connect {
        /// What was tried last.
        endpoint: String,
        /// How it failed.
        source: io::Error,
    },
    /// The deadline passed.
    Timeout {
        /// What was under way.
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
