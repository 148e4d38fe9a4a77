//! What the pools of both APIs share: what a place in a pool holds, and what follows a reset. The pools themselves are
//! `onecopy-pool`'s.

mod follow_up;
mod slot;

pub(crate) use follow_up::FollowUp;
pub(crate) use follow_up::{ASK_ROLE, lacks_roles, set_role};
pub(crate) use slot::{Pooled, Slot};

use crate::Error;

/// The error of a caller for whom a pool has no connection.
pub(crate) type NoConnection = onecopy_pool::NoConnection<Error>;
