//! Reads and writes the protocol's integers and strings, one field at a time.

mod error;
mod reader;
mod writer;

pub use error::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind};
pub use reader::Reader;
pub use writer::{Put, lenenc_len, length_of, require_nul_free};
