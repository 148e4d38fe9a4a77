//! A new process takes over from a running one, without a lost connection.
//!
//! The running one, the predecessor, waits on the Unix socket of `[upgrade]`. The new one, the successor, gets its listening sockets,
//! the same open files: clients that wait in front of them wait on, and no connect is refused.
//!
//! ```text
//!   predecessor                                   successor
//!               <-- Hello, versions --
//!               -- Welcome, version; Sockets -->   starts everything, accepts nobody
//!               <-- Ready --
//!               -- Go -->                          accepts clients
//!               <-- Serving --
//!   accepts nobody
//!               -- Yielded -->                     looks again at its sockets
//!               <-- Settled --
//!   closes its sockets, tells the service manager
//!               -- Over -->                        is the service
//!               -- Sessions, as they end -->
//!               -- Session -->                     a session of a pool, with its socket
//!               <-- Taken, or Stays --
//! ```
//!
//! Until `Settled` each side can give up, by `Refused`, an end or silence, and the predecessor goes on as before: it has closed
//! nothing. If it is the predecessor that ends once the successor accepts, the successor serves alone.
//!
//! Both sides look again at sockets after the other one has accepted at them: the kernel wakes one process for a client, which may be
//! the one that no longer accepts.
//!
//! Only a process of the same user, or of root, is listened to. It can do nothing then that it could not do by a debugger.

mod ids;
mod link;
mod message;
mod moves;
mod predecessor;
mod starter;
mod successor;

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::sockopt::socket_peercred;
use rustix::process::{Uid, geteuid};

use link::Link;
use message::{Message, Purpose};
pub(crate) use predecessor::Predecessor;
pub use starter::SuccessorCommand;
pub use successor::Takeover;

use crate::error::Error;

/// How long the other side may take for an answer that needs no work.
const PROMPT: Duration = Duration::from_secs(10);

/// What came of an upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upgraded {
    /// The id of the process that serves now.
    pub process: u32,
    /// The number of sessions that stay with the process before.
    pub sessions: usize,
}

/// Has the proxy that waits on a socket start its [successor](crate::Proxy::set_successor), and waits until that has taken over.
///
/// # Errors
/// Fails if no proxy waits there, or if the successor has not taken over: then the proxy goes on as before. The error has the reason,
/// as far as it is known.
pub fn request_upgrade(socket: &Path, timeout: Duration) -> Result<Upgraded, Error> {
    let mut link = Link::connect(socket).map_err(Error::Takeover)?;
    let deadline = Instant::now() + timeout;
    let failed = |error: link::Broken| Error::Takeover(format!("{}: {error}", socket.display()));
    link.send(&Message::hello(Purpose::Start), deadline)
        .map_err(failed)?;
    match link.receive(deadline).map_err(failed)? {
        Message::Upgraded { process, sessions } => Ok(Upgraded {
            process,
            sessions: sessions as usize,
        }),
        Message::Refused(why) => Err(Error::Takeover(why)),
        other => Err(failed(link::Broken::unexpected(&other))),
    }
}

/// The process that has connected, where it is one of this user or of root.
fn peer(socket: impl AsFd) -> io::Result<u32> {
    process(socket, |user| user == geteuid() || user.is_root())
}

/// The process that has been connected to. Root may connect to anybody's.
fn owner(socket: impl AsFd) -> io::Result<u32> {
    process(socket, |user| {
        user == geteuid() || user.is_root() || geteuid().is_root()
    })
}

/// The process at the other end of a socket, where its user may be there.
fn process(socket: impl AsFd, may_be: impl FnOnce(Uid) -> bool) -> io::Result<u32> {
    let peer = socket_peercred(socket)?;
    if !may_be(peer.uid) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("it belongs to user {}", peer.uid.as_raw()),
        ));
    }
    u32::try_from(peer.pid.as_raw_nonzero().get()).map_err(io::Error::other)
}
