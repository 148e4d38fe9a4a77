//! The errors that end a conversation with a client.

use core::fmt;

use onecopy_wire::WireError;

use crate::auth::AuthError;
use crate::codec::{DecodeError, EncodeError};
use crate::frame::FrameError;

/// An error of the client, an exceeded limit, or a call that the current state does not allow.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ServerError {
    /// A packet is malformed. The connection is dead.
    Decode(DecodeError),
    /// A packet is out of order, or has no payload. The connection is dead.
    Frame(FrameError),
    /// A command exceeds the limit, or memory could not be allocated. The connection is dead.
    Wire(WireError),
    /// The nonce of the account is not usable. The connection is dead.
    Auth(AuthError),
    /// The value to be sent does not fit its packet; nothing was sent.
    Encode(EncodeError),
    /// Bytes in clear text arrived after the request for TLS. The connection is dead.
    BytesBeforeTls,
    /// The client requested TLS, which was not offered. The connection is dead.
    TlsNotOffered,
    /// The client closed the connection.
    Closed {
        /// The current step of the conversation.
        during: &'static str,
    },
    /// A call that the current state does not allow, such as an answer that nobody waits for; nothing was sent.
    Misuse(&'static str),
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(error) => error.fmt(f),
            Self::Frame(error) => error.fmt(f),
            Self::Wire(error) => error.fmt(f),
            Self::Auth(error) => error.fmt(f),
            Self::Encode(error) => error.fmt(f),
            Self::BytesBeforeTls => {
                f.write_str("the client sent clear text behind its request for tls")
            }
            Self::TlsNotOffered => f.write_str("the client asks for tls, which was not offered"),
            Self::Closed { during } => {
                write!(f, "the client closed the connection during {during}")
            }
            Self::Misuse(what) => f.write_str(what),
        }
    }
}

impl core::error::Error for ServerError {}

macro_rules! from {
    ($($error:ty => $variant:ident;)*) => {$(
        impl From<$error> for ServerError {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        }
    )*};
}

from! {
    DecodeError => Decode;
    FrameError => Frame;
    WireError => Wire;
    AuthError => Auth;
    EncodeError => Encode;
}
