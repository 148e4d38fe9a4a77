use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut, Read as _};
use std::time::Duration;

use onecopy_wire::{BufferConfig, WireError};

use super::*;
use crate::blocking::Transport;

/// What each read gives: a failure, or bytes; the end behind the last one.
struct Script(VecDeque<Result<Vec<u8>, ErrorKind>>);

impl Transport for Script {
    fn read_vectored(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match self.0.pop_front() {
            Some(Ok(bytes)) => bytes.as_slice().read_vectored(slices),
            Some(Err(kind)) => Err(kind.into()),
            None => Ok(0),
        }
    }

    fn write_vectored(&mut self, _: &[IoSlice<'_>]) -> io::Result<usize> {
        panic!("nothing is to be written")
    }

    fn set_timeout(&mut self, _: Option<Duration>) -> io::Result<()> {
        Ok(())
    }
}

fn stream(reads: &[Result<&[u8], ErrorKind>]) -> Stream {
    let owned = |read: &Result<&[u8], ErrorKind>| read.map(<[u8]>::to_vec);
    Stream::own(Script(reads.iter().map(owned).collect()))
}

#[test]
fn an_interrupted_read_is_made_again() {
    let mut buffers = Buffers::new(BufferConfig::default());
    let mut stream = stream(&[Err(ErrorKind::Interrupted), Ok(b"said")]);
    assert_eq!(
        read::<WireError>(&mut buffers, &mut stream, None).unwrap(),
        4
    );
    assert_eq!(buffers.pending(), b"said");
    assert_eq!(
        read::<WireError>(&mut buffers, &mut stream, None).unwrap(),
        0
    );
}

#[test]
fn an_interrupted_read_into_a_slice_is_made_again_and_tells_what_is_in_it() {
    let mut buffers = Buffers::new(BufferConfig::default());
    let mut stream = stream(&[Err(ErrorKind::Interrupted), Ok(b"said and more")]);
    let mut slice = [0; 4];
    let read = read_into::<WireError>(&mut buffers, &mut stream, &mut slice, 0, None);
    assert_eq!(read.unwrap(), (13, 4));
    assert_eq!((&slice, buffers.pending()), (b"said", &b" and more"[..]));
}

#[test]
fn other_failures_and_timeouts_end_it() {
    let mut buffers = Buffers::new(BufferConfig::default());
    let mut stream = stream(&[Err(ErrorKind::ConnectionReset), Err(ErrorKind::WouldBlock)]);
    let failed = read::<WireError>(&mut buffers, &mut stream, None);
    assert!(matches!(failed, Err(DriveError::Read(_))));
    let late = read::<WireError>(&mut buffers, &mut stream, None);
    assert!(matches!(late, Err(DriveError::Timeout)));
}
