//! The policy of a connection pool, without I/O: who waits, which connection is next, when to connect, to ping and to close.
//!
//! [`Policy`] is a state machine. It owns idle connections and the queue of waiters, and decides. It opens no socket, starts no
//! thread and reads no clock: the time is a parameter, and [`Policy::poll_action`] returns what to do.
//!
//! With the feature `blocking` or `tokio` there is also a driver, a pool that does this with threads or tasks for any type of
//! connection: `blocking::Pool` and `aio::Pool`. The pools of `onecopy-mysql` and `onecopy-valkey` are built on them.
//!
//! ```text
//!             connected              acquire                 begin_restore
//!  connecting ---------> idle | waiter ------> in use (lease) ------------> restoring
//!      |                   |  ^                    |                            |
//!      | connect_failed    |  +--------------------+------ give_back -----------+
//!      v                   v                       v                            v
//!   backoff             closed  <------------------+----------- lost -----------+
//! ```
//!
//! - Waiters are served first come, first served. The idle connection that was used last is handed out first, so that connections
//!   which are not needed stay idle and are closed.
//! - There are never more than [`PoolConfig::max`] connections, including those that are being opened or restored.
//! - At most [`PoolConfig::max_connecting`] connections are opened at once. After a failure it is one at a time, with
//!   exponential backoff and jitter, until one succeeds.
//!
//! The parts are public for pools that are shaped otherwise, as the proxy's: [`Backoff`], [`Jitter`] and [`TokenBucket`].
//!
//! # Example
//! ```
//! use std::time::Instant;
//!
//! use onecopy_pool::{Action, Policy, PoolConfig, Wait};
//!
//! let now = Instant::now();
//! let mut pool = Policy::<&str, &str>::new(PoolConfig::default(), 1);
//! assert!(pool.try_acquire(now).is_none()); // there is no connection yet
//! let ticket = pool.wait(now, now, "first", false);
//!
//! let Some(Action::Connect(connecting)) = pool.poll_action(now) else { unreachable!() };
//! pool.connected(connecting, "connection 1", now);
//! let Some(Action::Wake("first")) = pool.poll_action(now) else { unreachable!() };
//!
//! let Wait::Ready(checkout) = pool.poll_wait(ticket, now) else { unreachable!() };
//! assert_eq!(checkout.conn, "connection 1");
//! pool.give_back(checkout.lease, checkout.conn, now);
//! assert_eq!(pool.stats().idle, 1);
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "tokio")]
pub mod aio;
mod backoff;
#[cfg(feature = "blocking")]
pub mod blocking;
mod config;
#[cfg(any(feature = "blocking", feature = "tokio"))]
mod driver;
mod gate;
mod jitter;
mod lease;
mod policy;
mod rate;
mod stats;
mod waiters;

pub use backoff::Backoff;
pub use config::{PoolConfig, PoolConfigError};
#[cfg(any(feature = "blocking", feature = "tokio"))]
pub use driver::{Health, NoConnection, Poolable, Returned};
pub use gate::Connecting;
pub use jitter::Jitter;
pub use lease::{Checkout, Lease};
pub use policy::{Action, Policy, Wait, WaitError};
pub use rate::{Rate, TokenBucket};
pub use stats::{CloseReason, Closed, PoolStats};
pub use waiters::Ticket;
