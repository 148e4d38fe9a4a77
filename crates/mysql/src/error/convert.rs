//! Errors of the layers below become ours, and ours an I/O error.

use std::io;

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_net::{ConnectError, DriveError, TlsError};
use onecopy_pool::WaitError;

use super::{Error, Failure, Kind};

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self(Box::new(Failure {
            kind,
            maybe_executed: false,
            closes: false,
            row: None,
            rows: None,
        }))
    }
}

impl From<ProtocolError> for Error {
    #[cold]
    fn from(error: ProtocolError) -> Self {
        Kind::Protocol(error).into()
    }
}

impl From<ConnectError> for Error {
    #[cold]
    fn from(error: ConnectError) -> Self {
        Kind::Connect(error).into()
    }
}

impl From<TlsError> for Error {
    #[cold]
    fn from(error: TlsError) -> Self {
        match error {
            TlsError::Buffer(error) => Kind::Protocol(error.into()),
            error => Kind::Tls(error),
        }
        .into()
    }
}

impl From<DriveError<ProtocolError>> for Error {
    #[cold]
    fn from(error: DriveError<ProtocolError>) -> Self {
        #[cfg(feature = "compression")]
        if let DriveError::Read(source) | DriveError::Write(source) = &error
            && let Some(error) = crate::compression::of_io(source)
        {
            return Kind::Protocol(error).into();
        }
        match error {
            DriveError::Core(error) => Kind::Protocol(error),
            DriveError::Read(source) => Kind::Io {
                reading: true,
                source,
            },
            DriveError::Write(source) => Kind::Io {
                reading: false,
                source,
            },
            DriveError::Timeout => Kind::Timeout,
            DriveError::Tls(error) => return (*error).into(),
            _ => Kind::TlsUnavailable,
        }
        .into()
    }
}

/// Converts the error for readers of values, whose errors are I/O errors. [`io::Error::get_ref`] returns the [`Error`].
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            Kind::Timeout | Kind::NoGreeting | Kind::StatementTimeout => io::ErrorKind::TimedOut,
            Kind::Pool(failure) if failure.why() == WaitError::Timeout => io::ErrorKind::TimedOut,
            Kind::Io { source, .. } => source.kind(),
            Kind::Protocol(ProtocolError::Closed { .. }) => io::ErrorKind::UnexpectedEof,
            Kind::Protocol(error) if error.is_out_of_memory() => io::ErrorKind::OutOfMemory,
            Kind::Protocol(_) => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}
