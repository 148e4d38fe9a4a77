//! Open descriptors from process to process, with bytes, over a Unix socket (`SCM_RIGHTS`).
//!
//! ```
//! use std::io::Read;
//! use std::os::fd::AsFd;
//! use std::os::unix::net::UnixStream;
//! use onecopy_net::descriptors::{receive, send};
//!
//! let (one, other) = UnixStream::pair()?;
//! let (passed, mut kept) = UnixStream::pair()?;
//! send(&one, b"a stream", &[passed.as_fd()])?;
//! let mut bytes = [0; 16];
//! let mut received = Vec::new();
//! let len = receive(&other, &mut bytes, &mut received)?;
//! assert_eq!((&bytes[..len], received.len()), (&b"a stream"[..], 1));
//! // Closing both closes the stream.
//! drop((passed, received));
//! assert_eq!(kept.read(&mut bytes)?, 0);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The maximum number of descriptors in a message. Linux's own limit is 253.
pub const MAX_DESCRIPTORS: usize = 64;

/// Sends all bytes, at least one, and with the first of them the descriptors.
///
/// # Errors
/// Fails with the system's error, and with `InvalidInput` on more than [`MAX_DESCRIPTORS`] or on descriptors without a byte.
/// Part of the bytes may be sent then.
pub fn send(stream: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    if descriptors.is_empty() {
        return (&*stream).write_all(bytes);
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fits = descriptors.len() <= MAX_DESCRIPTORS && !bytes.is_empty();
    if !fits || !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(ErrorKind::InvalidInput.into());
    }
    let sent = loop {
        match sendmsg(
            stream,
            &[IoSlice::new(bytes)],
            &mut control,
            SendFlags::NOSIGNAL,
        ) {
            Err(Errno::INTR) => {}
            sent => break sent?,
        }
    };
    (&*stream).write_all(bytes.get(sent..).unwrap_or_default())
}

/// Receives bytes, and adds the descriptors that have come with them to `descriptors`. They are closed on exec. Returns the number of
/// bytes; 0 means that the other side has closed.
///
/// # Errors
/// Fails with the system's error, and with `InvalidData` if descriptors were lost, because there were too many in a message or this
/// process may have no more.
pub fn receive(
    stream: &UnixStream,
    bytes: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut targets = [IoSliceMut::new(bytes)];
        match recvmsg(stream, &mut targets, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            received => break received?,
        }
    };
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            descriptors.extend(passed);
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            "descriptors were lost: there were too many, or this process may open no more files",
        ));
    }
    Ok(received.bytes)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn as_many_as_fit_arrive_and_more_are_refused() {
        let (one, other) = UnixStream::pair().unwrap();
        let many = vec![one.as_fd(); MAX_DESCRIPTORS];
        send(&one, b"x", &many).unwrap();
        let mut received = Vec::new();
        let mut bytes = [0; 4];
        assert_eq!(receive(&other, &mut bytes, &mut received).unwrap(), 1);
        assert_eq!(received.len(), MAX_DESCRIPTORS);
        let more = vec![one.as_fd(); MAX_DESCRIPTORS + 1];
        let error = send(&one, b"x", &more).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(send(&one, b"", &[one.as_fd()]).is_err());
    }

    #[test]
    fn bytes_behind_a_message_keep_their_place() {
        let (one, other) = UnixStream::pair().unwrap();
        send(&one, b"abc", &[one.as_fd()]).unwrap();
        send(&one, b"def", &[]).unwrap();
        drop(one);
        let (mut all, mut received) = (Vec::new(), Vec::new());
        let mut bytes = [0; 2];
        loop {
            let len = receive(&other, &mut bytes, &mut received).unwrap();
            all.extend_from_slice(&bytes[..len]);
            // A copy of the closed stream that was received would keep it open.
            received.clear();
            if len == 0 {
                break;
            }
        }
        assert_eq!(all, b"abcdef");
    }
}
