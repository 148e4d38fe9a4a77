//! What the drivers for threads and for tokio share: they do what the [policy](crate::Policy) asks for.
//!
//! A driver is generic over the connection ([`Poolable`]) and over who does its work ([`Runner`]): threads or tasks. Only the work
//! itself and the waiting differ.

mod attempt;
mod borrowed;
mod no_connection;
mod pool;
mod poolable;
mod restoring;
mod runner;
mod shared;

pub(crate) use attempt::Attempt;
pub(crate) use borrowed::Borrowed;
pub use no_connection::NoConnection;
pub(crate) use pool::Pool;
pub use poolable::{Health, Poolable, Returned};
pub(crate) use restoring::Restoring;
pub(crate) use runner::Runner;
pub(crate) use shared::Shared;
