//! Few clients, each with a thread.
//!
//! Clients that have not authenticated keep nobody out: when the maximum is reached, the newest client takes the place of the
//! oldest unauthenticated one.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use mio::Events;
use onecopy_net::blocking::Stream;
use onecopy_net::evented::{AcceptError, Stream as EventedStream};
use rustix::net::{Shutdown, shutdown};

use super::Hall;
use crate::control::spawn;
use crate::log::Log;

/// How long nobody is let in where the process has no descriptor left.
const BREATH: Duration = Duration::from_millis(100);

/// One client.
#[derive(Debug)]
pub(in crate::control) struct Guest {
    pub(in crate::control) stream: Stream,
    /// Where it is.
    pub(in crate::control) address: String,
    is_closed: Arc<AtomicBool>,
    seat: Seated,
}

impl Guest {
    /// Whether it has to go.
    pub(in crate::control) fn must_leave(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    /// It may stay: nobody takes its place.
    pub(in crate::control) fn may_stay(&self) {
        self.seat.0.may_stay.store(true, Relaxed);
    }
}

/// A place, as the thread at the door sees it.
#[derive(Debug)]
struct Seat {
    /// The client's socket again, to end it by.
    socket: OwnedFd,
    may_stay: AtomicBool,
    is_free: AtomicBool,
}

/// The same for the client's thread; free again when it is dropped.
#[derive(Debug)]
struct Seated(Arc<Seat>);

impl Drop for Seated {
    fn drop(&mut self) {
        self.0.is_free.store(true, Relaxed);
    }
}

/// How clients are served.
pub(in crate::control) struct Guests<F> {
    /// The threads' name.
    pub(in crate::control) name: &'static str,
    pub(in crate::control) most: usize,
    pub(in crate::control) serve: F,
    pub(in crate::control) log: Log,
}

impl<F: Fn(Guest) + Send + Sync + 'static> Guests<F> {
    /// Takes clients in until the door is closed.
    pub(in crate::control) fn run(self, mut hall: Hall) {
        let mut events = Events::with_capacity(8);
        let mut timeout = None;
        let serve = Arc::new(self.serve);
        let mut seats = VecDeque::new();
        while !hall.is_closed() {
            match hall.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
                _ => {}
            }
            timeout = None;
            loop {
                match hall.listener.accept() {
                    Ok(None) => break,
                    Ok(Some((stream, address))) => {
                        let address =
                            address.map_or_else(|| "unix".to_owned(), |it| it.to_string());
                        let Some(guest) = admit(stream, address, &hall, &mut seats, self.most)
                        else {
                            continue;
                        };
                        let serve = Arc::clone(&serve);
                        // Without a thread the client is closed, which is all that can be said.
                        let _ = spawn(self.name, move || serve(guest));
                    }
                    Err(AcceptError::Connection(_)) => {}
                    Err(_) => {
                        self.log.out_of_files("control listeners wait for one");
                        timeout = Some(BREATH);
                        break;
                    }
                }
            }
        }
    }
}

/// Gives the client a place; `None` where there is none for it, or no descriptor.
fn admit(
    stream: EventedStream,
    address: String,
    hall: &Hall,
    seats: &mut VecDeque<Arc<Seat>>,
    most: usize,
) -> Option<Guest> {
    seats.retain(|seat| !seat.is_free.load(Relaxed));
    if seats.len() >= most {
        let oldest = seats.iter().position(|seat| !seat.may_stay.load(Relaxed))?;
        let seat = seats.remove(oldest)?;
        // Its thread finds the end of the stream.
        let _ = shutdown(&seat.socket, Shutdown::Both);
    }
    let seat = Arc::new(Seat {
        socket: stream.as_fd().try_clone_to_owned().ok()?,
        may_stay: AtomicBool::new(false),
        is_free: AtomicBool::new(false),
    });
    seats.push_back(Arc::clone(&seat));
    Some(Guest {
        stream: stream.into_blocking().ok()?,
        address,
        is_closed: Arc::clone(&hall.is_closed),
        seat: Seated(seat),
    })
}
