//! Waiting for several streams at the same time.

use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Stream;

/// Waits until one of several streams has something to read, or has ended, for at most until `deadline`. Returns the positions of
/// those, in order; none if the deadline passed or a signal came.
///
/// # Errors
/// Fails if the kernel does, or for a user-provided transport, which cannot be asked.
pub fn wait_readable<'s>(
    streams: impl IntoIterator<Item = &'s Stream>,
    deadline: Option<Instant>,
) -> io::Result<Vec<usize>> {
    let mut ready = Vec::new();
    let mut polled = Vec::new();
    for (position, stream) in streams.into_iter().enumerate() {
        if stream.has_input() {
            ready.push(position);
        }
        let socket: BorrowedFd<'_> = stream.socket().ok_or(ErrorKind::Unsupported)?;
        polled.push(PollFd::from_borrowed_fd(socket, PollFlags::IN));
    }
    if !ready.is_empty() {
        return Ok(ready);
    }
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    // A longer time than the kernel can be told has no end.
    let timeout = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(ready),
        Err(error) => return Err(error.into()),
    }
    let polled = polled.iter().enumerate();
    let is_ready = polled.filter(|(_, polled)| !polled.revents().is_empty());
    Ok(is_ready.map(|(position, _)| position).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::*;

    fn soon() -> Option<Instant> {
        Some(Instant::now() + Duration::from_millis(1))
    }

    #[test]
    fn the_streams_with_something_to_read_are_found() {
        let (mut one, other) = UnixStream::pair().unwrap();
        let (two, three) = UnixStream::pair().unwrap();
        let streams = [Stream::from(other), Stream::from(three)];
        assert_eq!(wait_readable(&streams, soon()).unwrap(), []);
        one.write_all(b"x").unwrap();
        assert_eq!(wait_readable(&streams, None).unwrap(), [0]);
        drop(two); // the end is something to read, too
        assert_eq!(wait_readable(&streams, None).unwrap(), [0, 1]);
        assert_eq!(wait_readable([], soon()).unwrap(), []);
    }
}
