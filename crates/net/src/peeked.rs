//! What an idle stream's peer has done meanwhile.

use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// What an idle stream's peer has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peeked {
    /// Nothing, as far as this host knows.
    Nothing,
    /// It has sent something. Over TLS this may be a message that is none of the protocol's.
    Bytes,
    /// It has closed the stream, or the stream has failed.
    Closed,
}

impl Peeked {
    /// One call, which does not wait.
    #[inline]
    pub(crate) fn at(socket: impl AsFd) -> Self {
        let mut byte = [0_u8; 1];
        match recv(socket, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((0, _)) => Self::Closed,
            Ok(_) => Self::Bytes,
            Err(Errno::AGAIN | Errno::INTR) => Self::Nothing,
            Err(_) => Self::Closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_peer_that_spoke_or_left_is_noticed_without_a_wait() {
        let (here, mut there) = UnixStream::pair().expect("a pair");
        assert_eq!(Peeked::at(&here), Peeked::Nothing);
        there.write_all(b"x").expect("room");
        assert_eq!(Peeked::at(&here), Peeked::Bytes);
        assert_eq!(Peeked::at(&here), Peeked::Bytes);
        let (here, there) = UnixStream::pair().expect("a pair");
        drop(there);
        assert_eq!(Peeked::at(&here), Peeked::Closed);
    }
}
