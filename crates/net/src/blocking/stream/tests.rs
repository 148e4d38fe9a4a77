use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use super::layered::is_late;
use super::*;
use crate::blocking::Transport;
use crate::{TlsCache, TlsOptions, Verify};

const HOUR: Duration = Duration::from_secs(3600);

/// A transport that says of itself what it was told to.
struct Own {
    is_unix: bool,
}

impl Transport for Own {
    fn read_vectored(&mut self, _: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        Ok(0)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(slices[0].len())
    }

    fn set_timeout(&mut self, _: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn is_unix(&self) -> bool {
        self.is_unix
    }
}

fn pair() -> (Stream, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (ours.into(), theirs)
}

fn own(is_unix: bool) -> Stream {
    Stream::new(Socket::Own(Box::new(Own { is_unix })))
}

fn in_an_hour() -> Option<Instant> {
    Some(Instant::now() + HOUR)
}

/// Writes until the kernel takes nothing more, and gives how much it took.
fn fill(stream: &mut Stream) -> usize {
    let mut taken = 0;
    loop {
        match stream.try_write(&[IoSlice::new(&[7; 10_000])]) {
            Ok(n) => taken += n,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                return taken;
            }
        }
    }
}

#[test]
fn a_stream_knows_what_it_is_over() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = Stream::from(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
    assert!(!tcp.is_unix() && tcp.is_plain() && !tcp.is_own() && !tcp.is_tls());
    assert_eq!(tcp.peer_addr(), listener.local_addr().ok());
    let (unix, _peer) = pair();
    assert!(unix.is_unix() && unix.is_plain() && !unix.is_own() && !unix.is_tls());
    assert!(own(true).is_unix() && !own(false).is_unix());
    assert!(own(false).is_own() && !own(false).is_plain());
    assert_eq!(unix.bytes_copied_by_tls(), 0);
}

#[test]
fn what_is_written_without_waiting_is_counted_to_the_byte() {
    let (mut stream, mut peer) = pair();
    let taken = fill(&mut stream);
    drop(stream);
    let mut come = Vec::new();
    peer.read_to_end(&mut come).unwrap();
    assert!(taken > 0);
    assert_eq!(come, vec![7; taken]);
}

#[test]
fn a_wait_tells_reading_from_writing_and_ends_with_its_deadline() {
    let (mut stream, peer) = pair();
    // Room to write, nothing to read.
    assert!(!stream.wait(in_an_hour()).unwrap());
    fill(&mut stream);
    let soon = Some(Instant::now() + Duration::from_millis(1));
    let error = stream.wait(soon).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    // Something to read, no room to write.
    (&peer).write_all(b"x").unwrap();
    assert!(stream.wait(in_an_hour()).unwrap());
    let passed = Some(Instant::now());
    let error = stream.wait(passed).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    // The end of the stream is something to read.
    drop(peer);
    assert!(stream.wait(in_an_hour()).unwrap());
}

#[test]
fn the_socket_is_told_a_timeout_only_when_the_deadline_has_another_shape() {
    let (mut stream, _peer) = pair();
    let deadline = in_an_hour();
    stream.arm(deadline).unwrap();
    let first = stream.timeout.unwrap();
    assert!(first > HOUR * 3 / 4 && first < HOUR * 8 / 9, "{first:?}");
    stream.arm(deadline).unwrap();
    assert_eq!(stream.timeout, Some(first));

    stream.arm(Some(Instant::now() + 10 * HOUR)).unwrap();
    assert!(stream.timeout.unwrap() > 8 * HOUR);
    stream.arm(Some(Instant::now() + HOUR / 60)).unwrap();
    assert!(stream.timeout.unwrap() < HOUR / 60);
    let late = io::Error::from(ErrorKind::WouldBlock);
    assert!(stream.is_early(&late));
    stream.arm(None).unwrap();
    assert_eq!(stream.timeout, None);
    assert!(!stream.is_early(&late));
    assert!(stream.is_early(&ErrorKind::Interrupted.into()));

    let error = stream.arm(Some(Instant::now())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

#[test]
fn a_transport_of_the_callers_own_is_told_all_the_time_there_is() {
    let mut stream = own(false);
    stream.arm(in_an_hour()).unwrap();
    assert!(stream.timeout.unwrap() > HOUR * 8 / 9);
    assert!(!stream.is_early(&ErrorKind::TimedOut.into()));
}

#[test]
fn what_fails_late_has_been_taken() {
    for kind in [
        ErrorKind::WouldBlock,
        ErrorKind::TimedOut,
        ErrorKind::Interrupted,
    ] {
        assert!(is_late(&kind.into()) && !is_gone(&kind.into()), "{kind}");
    }
    for kind in [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset] {
        assert!(!is_late(&kind.into()) && is_gone(&kind.into()), "{kind}");
    }
}

#[test]
fn the_spare_memory_of_a_vector_is_read_into() {
    let (mut stream, peer) = pair();
    (&peer).write_all(b"come").unwrap();
    let mut home = Vec::with_capacity(64);
    assert_eq!(stream.read_spare(&mut home).unwrap(), 4);
    assert_eq!(home, b"come");
    let error = own(false).read_spare(&mut home).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn tls_begins_with_a_hello_that_can_be_dropped_and_leaves_no_memory() {
    let (mut ours, _theirs) = pair();
    let options = TlsOptions {
        verify: Verify::None,
        ..TlsOptions::default()
    };
    let connector = TlsConnector::new(&options, "localhost", &TlsCache::default()).unwrap();
    assert!(!ours.start_tls().unwrap(), "none was offered");
    ours.offer_tls(connector);
    assert!(ours.offers_tls() && !ours.is_tls());
    assert!(ours.start_tls().unwrap() && ours.is_tls() && !ours.is_plain());
    assert!(!ours.shake_hands().unwrap() && ours.has_unsent());
    ours.drop_unsent();
    assert!(!ours.has_unsent());
    let held = |stream: &Stream| {
        stream
            .layers
            .as_ref()
            .unwrap()
            .tls
            .as_ref()
            .unwrap()
            .buffer_bytes()
    };
    assert!(held(&ours) > 0);
    ours.release(0);
    assert_eq!(held(&ours), 0);
}
