//! Reads and writes through TLS and a codec.
//!
//! A call that brought nothing to the caller is `Interrupted`: it is made again, with what is left of the deadline.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};

use super::is_gone;
use crate::blocking::socket::Socket;
use crate::codec::Coded;
use crate::layers::Layers;
use crate::tls::{Read, Session};

/// How bytes are written: [`Socket::write`] or [`Socket::try_write`].
pub(super) type Write = fn(&mut Socket, &[IoSlice<'_>]) -> io::Result<usize>;

#[cold]
pub(super) fn read(
    socket: &mut Socket,
    layers: &mut Layers,
    slices: &mut [IoSliceMut<'_>],
) -> io::Result<usize> {
    let Layers { tls, coded } = layers;
    match (tls, coded) {
        (None, None) => socket.read(slices),
        (Some(tls), None) => read_tls(socket, tls, slices),
        (tls, Some(coded)) => read_coded(socket, tls.as_mut(), coded, slices),
    }
}

#[cold]
pub(super) fn write(
    socket: &mut Socket,
    layers: &mut Layers,
    slices: &[IoSlice<'_>],
    write: Write,
) -> io::Result<usize> {
    let Layers { tls, coded } = layers;
    match (tls, coded) {
        (None, None) => write(socket, slices),
        (Some(tls), None) => write_tls(socket, tls, slices, write),
        (tls, Some(coded)) => write_coded(socket, tls.as_mut(), coded, slices, write),
    }
}

/// One read of what is there, without a write of what the layers hold.
#[cold]
pub(super) fn read_ready(
    socket: &mut Socket,
    layers: &mut Layers,
    slices: &mut [IoSliceMut<'_>],
) -> io::Result<usize> {
    let Layers { tls, coded } = layers;
    let Some(coded) = coded else {
        return match tls {
            None => socket.read(slices),
            Some(tls) => read_ready_tls(socket, tls, slices),
        };
    };
    if !coded.has_input() {
        coded.prepare()?;
        let n = match tls {
            None => socket.read(coded.targets().as_mut()),
            Some(tls) => read_ready_tls(socket, tls, coded.targets().as_mut()),
        }?;
        coded.commit(n);
        if n == 0 {
            return Ok(0);
        }
    }
    brought(coded.decode(slices)?)
}

fn read_coded(
    socket: &mut Socket,
    mut tls: Option<&mut Session>,
    coded: &mut Coded,
    slices: &mut [IoSliceMut<'_>],
) -> io::Result<usize> {
    let n = coded.decode(slices)?;
    if n > 0 {
        return Ok(n);
    }
    if has_unsent(tls.as_deref(), coded) {
        return match push(socket, tls.as_deref_mut(), coded, Socket::write) {
            // What it has said is heard all the same.
            Err(error) if is_gone(&error) => {
                coded.drop_unsent();
                if let Some(tls) = tls {
                    tls.drop_unsent();
                }
                Err(ErrorKind::Interrupted.into())
            }
            pushed => pushed.and(Err(ErrorKind::Interrupted.into())),
        };
    }
    coded.prepare()?;
    let n = match tls {
        None => socket.read(coded.targets().as_mut()),
        Some(tls) => read_tls(socket, tls, coded.targets().as_mut()),
    }?;
    coded.commit(n);
    if n == 0 {
        return Ok(0);
    }
    brought(coded.decode(slices)?)
}

fn brought(n: usize) -> io::Result<usize> {
    match n {
        0 => Err(ErrorKind::Interrupted.into()),
        n => Ok(n),
    }
}

fn write_coded(
    socket: &mut Socket,
    tls: Option<&mut Session>,
    coded: &mut Coded,
    slices: &[IoSlice<'_>],
    write: Write,
) -> io::Result<usize> {
    if has_unsent(tls.as_deref(), coded) {
        push(socket, tls, coded, write)?;
        return Err(ErrorKind::Interrupted.into());
    }
    let n = coded.encode(slices)?;
    if !coded.has_unsent() {
        return Ok(n);
    }
    match push(socket, tls, coded, write) {
        // These bytes are taken, whenever they leave.
        Err(error) if is_late(&error) => Ok(n),
        pushed => pushed.map(|()| n),
    }
}

fn has_unsent(tls: Option<&Session>, coded: &Coded) -> bool {
    coded.has_unsent() || tls.is_some_and(Session::has_unsent)
}

/// One write of what waits: of the lowest layer first.
fn push(
    socket: &mut Socket,
    tls: Option<&mut Session>,
    coded: &mut Coded,
    write: Write,
) -> io::Result<()> {
    let n = match tls {
        None => write(socket, &[IoSlice::new(coded.unsent())])?,
        Some(tls) if tls.has_unsent() => return send(socket, tls, write),
        Some(tls) => write_tls(socket, tls, &[IoSlice::new(coded.unsent())], write)?,
    };
    if n == 0 {
        return Err(ErrorKind::WriteZero.into());
    }
    coded.sent(n);
    Ok(())
}

fn read_tls(
    socket: &mut Socket,
    tls: &mut Session,
    slices: &mut [IoSliceMut<'_>],
) -> io::Result<usize> {
    let mut read = tls.read(slices)?;
    if read == Read::NeedInput {
        let sent = if tls.has_unsent() {
            send(socket, tls, Socket::write).map(|()| true)
        } else {
            Ok(false)
        };
        match sent {
            Ok(true) => {}
            // What it has said is heard all the same.
            Err(error) if is_gone(&error) => tls.drop_unsent(),
            Err(error) => return Err(error),
            Ok(false) => {
                if receive(socket, tls)? == 0 {
                    return Ok(0);
                }
                read = tls.read(slices)?;
            }
        }
    }
    given(read)
}

fn read_ready_tls(
    socket: &mut Socket,
    tls: &mut Session,
    slices: &mut [IoSliceMut<'_>],
) -> io::Result<usize> {
    // A record that was there already may hold nothing for the caller: then there may be nothing to receive.
    if !tls.has_input() && receive(socket, tls)? == 0 {
        return Ok(0);
    }
    given(tls.read(slices)?)
}

fn given(read: Read) -> io::Result<usize> {
    match read {
        Read::Bytes(n) => Ok(n),
        Read::Closed => Ok(0),
        Read::NeedInput => Err(ErrorKind::Interrupted.into()),
    }
}

fn write_tls(
    socket: &mut Socket,
    tls: &mut Session,
    slices: &[IoSlice<'_>],
    write: Write,
) -> io::Result<usize> {
    if tls.has_unsent() {
        send(socket, tls, write)?;
        return Err(ErrorKind::Interrupted.into());
    }
    let n = tls.write(slices)?;
    match send(socket, tls, write) {
        // These bytes are taken, whenever they leave.
        Err(error) if is_late(&error) => Ok(n),
        sent => sent.map(|()| n),
    }
}

/// One write of ciphertext.
fn send(socket: &mut Socket, tls: &mut Session, write: Write) -> io::Result<()> {
    match write(socket, &[IoSlice::new(tls.unsent())])? {
        0 => Err(ErrorKind::WriteZero.into()),
        n => {
            tls.sent(n);
            Ok(())
        }
    }
}

/// One read of ciphertext.
pub(super) fn receive(socket: &mut Socket, tls: &mut Session) -> io::Result<usize> {
    tls.prepare()?;
    let n = socket.read(tls.targets().as_mut())?;
    tls.commit(n);
    Ok(n)
}

pub(super) fn is_late(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}
