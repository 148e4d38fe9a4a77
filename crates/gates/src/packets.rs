//! Packets of MySQL through the public interfaces of `onecopy-wire` and `onecopy-mysql-proto`.

pub(crate) mod forward;
pub(crate) mod read;
pub(crate) mod relay;
pub(crate) mod rows;
mod session;
pub(crate) mod write;
