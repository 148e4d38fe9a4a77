//! What the pools of both APIs share: what a place in a pool holds, and how a returned connection is restored. The pools themselves
//! are `onecopy-pool`'s.

mod restore;
mod slot;

pub(crate) use restore::{Leave, Reset, is_alive, is_as_new};
pub(crate) use slot::{Pooled, Slot};

use crate::Error;

/// The error of a caller for whom a pool has no connection.
pub(crate) type NoConnection = onecopy_pool::NoConnection<Error>;
