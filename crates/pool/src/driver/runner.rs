//! Who does a driver's work.

use std::sync::Arc;

use super::{Attempt, Poolable, Restoring, Shared};

/// Threads or tasks. Only this crate implements it.
pub trait Runner<C: Poolable>: Send + Sync + Sized + 'static {
    /// What wakes a caller that waits.
    type Waiter: Send;

    /// Why a job was dropped before its end, unless it panicked.
    const DROPPED: &'static str;

    /// Whether all further jobs will be dropped as well.
    const IS_OVER: bool;

    /// Wakes a caller.
    fn wake(waiter: Self::Waiter);

    /// Opens a connection, in the background.
    fn connect(shared: &Arc<Shared<C, Self>>, attempt: Attempt<C, Self>);

    /// Restores a connection, in the background.
    fn restore(shared: &Arc<Shared<C, Self>>, restoring: Restoring<C, Self>);

    /// Something is due earlier than the policy said last.
    fn is_due_earlier(shared: &Arc<Shared<C, Self>>);

    /// The pool was closed.
    fn closed(&self);

    /// A closed pool has no connection any more.
    fn drained(&self);
}
