use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;

use onecopy_wire::{BufferConfig, WireError};

use super::*;

/// More than any socket holds by default.
const MUCH: usize = 16 << 20;

/// Waits for so many bytes, and hands over that they have arrived.
struct Await(usize);

impl Core for Await {
    type Message = ();
    type Error = WireError;

    fn advance(&mut self, buffers: &mut Buffers) -> Result<Step<()>, WireError> {
        let pending = buffers.pending().len();
        if pending < self.0 {
            return Ok(Step::NeedInput(self.0 - pending));
        }
        buffers.consume(self.0);
        Ok(Step::Message(()))
    }

    /// Told apart from a failure of the buffers by its numbers.
    fn handle_eof(&mut self, _: &mut Buffers) -> WireError {
        WireError::OutOfMemory { bytes: 0 }
    }
}

fn is_eof<T>(result: &Result<T, DriveError<WireError>>) -> bool {
    matches!(
        result,
        Err(DriveError::Core(WireError::OutOfMemory { bytes: 0 }))
    )
}

/// A stream, buffers with much to be sent, and the peer.
fn much() -> (Stream, Buffers, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut buffers = Buffers::new(BufferConfig::default());
    buffers.output().begin_here();
    buffers.output().push(&vec![b'x'; MUCH]);
    buffers.output().end().unwrap();
    (ours.into(), buffers, theirs)
}

#[test]
fn what_comes_while_much_is_sent_is_read_and_does_not_end_it() {
    let (mut stream, mut buffers, mut peer) = much();
    // It is there before anything is sent, and is not the whole message.
    peer.write_all(b"four").unwrap();
    let reader = thread::spawn(move || {
        let mut heard = Vec::new();
        peer.read_to_end(&mut heard).unwrap();
        heard.len()
    });
    let flushed = flush_duplex(&mut Await(5), &mut buffers, &mut stream, &(), None);
    assert!(matches!(flushed, Ok(None)), "{flushed:?}");
    assert_eq!(buffers.pending(), b"four");
    assert!(!buffers.has_output());
    drop(stream);
    assert_eq!(reader.join().unwrap(), MUCH);
}

#[test]
fn a_message_that_has_come_is_handed_over_before_all_has_left() {
    let (mut stream, mut buffers, mut peer) = much();
    peer.write_all(b"whole").unwrap();
    let flushed = flush_duplex(&mut Await(5), &mut buffers, &mut stream, &(), None);
    assert!(matches!(flushed, Ok(Some(()))), "{flushed:?}");
    assert!(buffers.has_output(), "nobody has read");
}

#[test]
fn a_peer_that_only_closes_its_side_is_an_end_and_one_that_is_gone_is_heard_first() {
    let (mut stream, mut buffers, peer) = much();
    peer.shutdown(std::net::Shutdown::Write).unwrap();
    let flushed = flush_duplex(&mut Await(5), &mut buffers, &mut stream, &(), None);
    assert!(is_eof(&flushed), "{flushed:?}");

    let (mut stream, mut buffers, mut peer) = much();
    peer.write_all(b"words").unwrap();
    drop(peer);
    let driven = drive_duplex(&mut Await(5), &mut buffers, &mut stream, &(), None);
    assert!(matches!(driven, Ok(())), "{driven:?}");
}

#[test]
fn a_look_takes_what_is_there_and_waits_for_nothing() {
    let (ours, mut peer) = UnixStream::pair().unwrap();
    let (mut stream, mut buffers) = (Stream::from(ours), Buffers::new(BufferConfig::default()));
    let mut look = |buffers: &mut Buffers| drive_ready(&mut Await(2), buffers, &mut stream);
    assert!(matches!(look(&mut buffers), Ok(None)));
    peer.write_all(b"abc").unwrap();
    assert!(matches!(look(&mut buffers), Ok(Some(()))));
    assert!(
        matches!(look(&mut buffers), Ok(None)),
        "one byte is no message"
    );
    assert_eq!(buffers.pending(), b"c");
    drop(peer);
    assert!(is_eof(&look(&mut buffers)));
}
