//! A stream whose other end is in this process: what a client writes goes to a [`Peer`], which has its replies ready.

use std::io::{self, IoSlice, IoSliceMut};
use std::task::{Context, Poll};
use std::time::Duration;

use onecopy_net::{blocking, tokio};

use crate::peer::Peer;

/// Both clients take it, in the place of a socket.
pub(crate) struct Memory<P>(pub(crate) P);

impl<P: Peer> blocking::Transport for Memory<P> {
    fn read_vectored(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        Ok(self.0.give(slices))
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(self.0.take(slices))
    }

    fn set_timeout(&mut self, _timeout: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn is_unix(&self) -> bool {
        true
    }
}

impl<P: Peer> tokio::Transport for Memory<P> {
    fn poll_read_vectored(
        &mut self,
        _context: &mut Context<'_>,
        slices: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(self.0.give(slices)))
    }

    fn poll_write_vectored(
        &mut self,
        _context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(self.0.take(slices)))
    }

    fn is_unix(&self) -> bool {
        true
    }
}
