//! Reads and writes through TLS and a codec.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::task::{Context, Poll, ready};

use super::is_gone;
use crate::codec::Coded;
use crate::layers::Layers;
use crate::tls::{Read, Session};
use crate::tokio::socket::Socket;

#[cold]
pub(super) fn poll_read(
    context: &mut Context<'_>,
    socket: &mut Socket,
    layers: &mut Layers,
    slices: &mut [IoSliceMut<'_>],
) -> Poll<io::Result<usize>> {
    let Layers { tls, coded } = layers;
    match (tls, coded) {
        (None, None) => socket.poll_read(context, slices),
        (Some(tls), None) => poll_read_tls(context, socket, tls, slices),
        (tls, Some(coded)) => poll_read_coded(context, socket, tls.as_mut(), coded, slices),
    }
}

#[cold]
pub(super) fn poll_write(
    context: &mut Context<'_>,
    socket: &mut Socket,
    layers: &mut Layers,
    slices: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    let Layers { tls, coded } = layers;
    match (tls, coded) {
        (None, None) => socket.poll_write(context, slices),
        (Some(tls), None) => poll_write_tls(context, socket, tls, slices),
        (tls, Some(coded)) => {
            let mut tls = tls.as_mut();
            ready!(poll_push(context, socket, tls.as_deref_mut(), coded))?;
            let n = coded.encode(slices)?;
            match poll_push(context, socket, tls, coded) {
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                // These bytes are taken, whenever they leave.
                _ => Poll::Ready(Ok(n)),
            }
        }
    }
}

/// Sends what the layers hold.
#[cold]
pub(super) fn poll_unsent(
    context: &mut Context<'_>,
    socket: &mut Socket,
    layers: &mut Layers,
) -> Poll<io::Result<()>> {
    let Layers { tls, coded } = layers;
    match (tls, coded) {
        (None, None) => Poll::Ready(Ok(())),
        (Some(tls), None) => poll_send(context, socket, tls),
        (tls, Some(coded)) => poll_push(context, socket, tls.as_mut(), coded),
    }
}

fn poll_read_coded(
    context: &mut Context<'_>,
    socket: &mut Socket,
    mut tls: Option<&mut Session>,
    coded: &mut Coded,
    slices: &mut [IoSliceMut<'_>],
) -> Poll<io::Result<usize>> {
    loop {
        let n = coded.decode(slices)?;
        if n > 0 {
            return Poll::Ready(Ok(n));
        }
        match poll_push(context, socket, tls.as_deref_mut(), coded) {
            // What it has said is heard all the same.
            Poll::Ready(Err(error)) if is_gone(&error) => {
                coded.drop_unsent();
                if let Some(tls) = &mut tls {
                    tls.drop_unsent();
                }
            }
            Poll::Ready(pushed) => pushed?,
            // A peer that waits to be read takes nothing before.
            Poll::Pending => {}
        }
        coded.prepare()?;
        let read = match &mut tls {
            None => socket.poll_read(context, coded.targets().as_mut()),
            Some(tls) => poll_read_tls(context, socket, tls, coded.targets().as_mut()),
        };
        let n = ready!(read)?;
        coded.commit(n);
        if n == 0 {
            return Poll::Ready(Ok(0));
        }
    }
}

/// Sends all that waits: of the lowest layer first.
fn poll_push(
    context: &mut Context<'_>,
    socket: &mut Socket,
    mut tls: Option<&mut Session>,
    coded: &mut Coded,
) -> Poll<io::Result<()>> {
    while coded.has_unsent() {
        let piece = [IoSlice::new(coded.unsent())];
        let written = match &mut tls {
            None => socket.poll_write(context, &piece),
            Some(tls) => poll_write_tls(context, socket, tls, &piece),
        };
        match ready!(written)? {
            0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
            n => coded.sent(n),
        }
    }
    match tls {
        None => Poll::Ready(Ok(())),
        Some(tls) => poll_send(context, socket, tls),
    }
}

fn poll_read_tls(
    context: &mut Context<'_>,
    socket: &mut Socket,
    tls: &mut Session,
    slices: &mut [IoSliceMut<'_>],
) -> Poll<io::Result<usize>> {
    loop {
        match tls.read(slices)? {
            Read::Bytes(n) => return Poll::Ready(Ok(n)),
            Read::Closed => return Poll::Ready(Ok(0)),
            Read::NeedInput => {}
        }
        match poll_send(context, socket, tls) {
            // What it has said is heard all the same.
            Poll::Ready(Err(error)) if is_gone(&error) => tls.drop_unsent(),
            Poll::Ready(sent) => sent?,
            // A peer that waits to be read takes nothing before.
            Poll::Pending => {}
        }
        if ready!(poll_receive(context, socket, tls))? == 0 {
            return Poll::Ready(Ok(0));
        }
    }
}

fn poll_write_tls(
    context: &mut Context<'_>,
    socket: &mut Socket,
    tls: &mut Session,
    slices: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    ready!(poll_send(context, socket, tls))?;
    let n = tls.write(slices)?;
    match poll_send(context, socket, tls) {
        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        // These bytes are taken, whenever they leave.
        _ => Poll::Ready(Ok(n)),
    }
}

/// Sends all ciphertext that waits.
fn poll_send(
    context: &mut Context<'_>,
    socket: &mut Socket,
    tls: &mut Session,
) -> Poll<io::Result<()>> {
    while tls.has_unsent() {
        match ready!(socket.poll_write(context, &[IoSlice::new(tls.unsent())]))? {
            0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
            n => tls.sent(n),
        }
    }
    Poll::Ready(Ok(()))
}

/// One read of ciphertext.
pub(super) fn poll_receive(
    context: &mut Context<'_>,
    socket: &mut Socket,
    tls: &mut Session,
) -> Poll<io::Result<usize>> {
    tls.prepare()?;
    let n = ready!(socket.poll_read(context, tls.targets().as_mut()))?;
    tls.commit(n);
    Poll::Ready(Ok(n))
}
