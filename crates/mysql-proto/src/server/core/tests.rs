use super::*;
use crate::frame::MAX_BODY;
use crate::packet::{OkPacket, Query};
use crate::server::testing::{Link, pump};

/// A packet's header.
fn header(length: usize, sequence: u8) -> [u8; 4] {
    let [a, b, c, _] = u32::try_from(length).expect("short").to_le_bytes();
    [a, b, c, sequence]
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    [&header(payload.len(), sequence), payload].concat()
}

fn core(limits: ServerLimits) -> (ServerCore, Buffers) {
    let mut session = ServerSession::default();
    session.capabilities = Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF;
    (
        ServerCore::new(session, limits),
        Buffers::new(limits.buffer_config()),
    )
}

/// What one command or mistake comes to, in pieces of random sizes up to `most` bytes.
fn receive(
    core: &mut ServerCore,
    buffers: &mut Buffers,
    bytes: &[u8],
    most: usize,
) -> Result<Option<ServerMessage>, ServerError> {
    let mut link = Link::new(most, 7);
    link.push(bytes);
    pump(core, buffers, &mut link)
}

fn payload(message: Result<Option<ServerMessage>, ServerError>) -> Span {
    match message {
        Ok(Some(ServerMessage::Command(span) | ServerMessage::Packet(span))) => span,
        other => panic!("no payload: {other:?}"),
    }
}

#[test]
fn a_command_is_handed_over_whole_however_it_comes() {
    for most in [0, 1, 3] {
        let (mut core, mut buffers) = core(ServerLimits::default());
        let bytes = packet(0, b"\x03SELECT 1");
        let span = payload(receive(&mut core, &mut buffers, &bytes, most));
        assert_eq!(
            core.command(&buffers, span),
            Ok(Command::Query(Query {
                sql: b"SELECT 1",
                ..Query::default()
            }))
        );
        assert_eq!(core.sequence(), 1, "the reply's first packet");
    }
}

#[test]
fn a_command_larger_than_the_read_buffer_gets_memory_of_its_own() {
    let limits = ServerLimits {
        contiguous_bytes: 64,
        ..ServerLimits::default()
    };
    let body: Vec<u8> = std::iter::once(3)
        .chain((0..=255).cycle())
        .take(9000)
        .collect();
    let bytes = [packet(0, &body), packet(0, b"\x0e")].concat();
    for most in [0, 1, 3, 5000] {
        let (mut core, mut buffers) = core(limits);
        let mut link = Link::new(most, 7);
        link.push(&bytes);
        let span = payload(pump(&mut core, &mut buffers, &mut link));
        assert_eq!(buffers.bytes(span), body);
        let span = payload(pump(&mut core, &mut buffers, &mut link));
        assert_eq!(buffers.bytes(span), b"\x0e", "the next one is whole");
    }
}

#[test]
fn a_command_of_several_packets_is_joined() {
    for more in [0, 1, MAX_BODY] {
        let body: Vec<u8> = [3]
            .into_iter()
            .chain(std::iter::repeat_n(b'x', MAX_BODY - 1))
            .collect();
        let rest = vec![b'y'; more];
        let mut bytes = [&header(MAX_BODY, 0), &body[..], &header(more, 1), &rest].concat();
        if more == MAX_BODY {
            bytes.extend(header(0, 2));
        }
        bytes.extend(packet(0, b"\x0e"));
        let (mut core, mut buffers) = core(ServerLimits::default());
        let mut link = Link::new(0, 1);
        link.push(&bytes);
        let span = payload(pump(&mut core, &mut buffers, &mut link));
        let joined = buffers.bytes(span);
        assert_eq!(joined.len(), MAX_BODY + more);
        assert!(joined[..MAX_BODY] == body && joined[MAX_BODY..] == rest);
        assert_eq!(core.sequence(), if more == MAX_BODY { 3 } else { 2 });
        let span = payload(pump(&mut core, &mut buffers, &mut link));
        assert_eq!(buffers.bytes(span), b"\x0e");
        assert!(buffers.meter().bytes_moved <= 1 << 10);
    }
}

#[test]
fn a_command_over_the_limit_is_refused_by_its_header() {
    let limits = ServerLimits {
        max_command_bytes: 100_000,
        ..ServerLimits::default()
    };
    let refused = |needed| {
        Err(ServerError::Wire(WireError::LimitExceeded {
            needed,
            max: 100_000,
        }))
    };
    for claim in [100_001, 262_144, MAX_BODY] {
        let (mut core, mut buffers) = core(limits);
        let bytes = [&header(claim, 0)[..], &[3]].concat();
        let needed = u64::try_from(claim).expect("small");
        assert_eq!(receive(&mut core, &mut buffers, &bytes, 0), refused(needed));
        assert!(buffers.meter().peak_capacity <= 16 << 10);
    }
}

#[test]
fn packets_that_go_on_and_on_meet_the_limit_before_more_is_read() {
    let (mut core, mut buffers) = core(ServerLimits {
        max_command_bytes: 20 << 20,
        ..ServerLimits::default()
    });
    let full = vec![b'x'; MAX_BODY];
    let bytes = [&header(MAX_BODY, 0), &full[..], &header(MAX_BODY, 1)].concat();
    assert_eq!(
        receive(&mut core, &mut buffers, &bytes, 0),
        Err(ServerError::Wire(WireError::LimitExceeded {
            needed: 2 * 0xFF_FFFF,
            max: 20 << 20
        }))
    );
    assert!(buffers.meter().peak_capacity <= 17 << 20);
}

#[test]
fn a_claim_of_16_mib_costs_no_memory() {
    let (mut core, mut buffers) = core(ServerLimits::default());
    let bytes = [&header(MAX_BODY - 1, 0)[..], b"\x03SELECT"].concat();
    assert_eq!(receive(&mut core, &mut buffers, &bytes, 0), Ok(None));
    assert!(
        buffers.meter().bytes_zeroed <= 512 << 10,
        "only what the next read may bring"
    );
}

#[test]
fn a_sequence_id_that_is_not_due_ends_the_connection() {
    for (bytes, expected, found) in [
        (packet(1, b"\x0e"), 0, 1),
        (packet(9, b"\xff"), 0, 9),
        (packet(255, b"\x03SELECT"), 0, 255),
    ] {
        let (mut core, mut buffers) = core(ServerLimits::default());
        let wrong = Err(ServerError::Frame(FrameError::Sequence { expected, found }));
        assert_eq!(receive(&mut core, &mut buffers, &bytes, 1), wrong);
    }
}

#[test]
fn a_command_without_a_byte_ends_the_connection() {
    let (mut core, mut buffers) = core(ServerLimits::default());
    let empty = Err(ServerError::Frame(FrameError::Empty));
    assert_eq!(receive(&mut core, &mut buffers, &packet(0, b""), 0), empty);
}

#[test]
fn the_end_of_the_stream_says_what_it_cut() {
    for (bytes, during) in [
        (&b""[..], "idle"),
        (b"\x09\x00\x00\x00\x03SEL", "a command"),
    ] {
        let (mut core, mut buffers) = core(ServerLimits::default());
        assert_eq!(receive(&mut core, &mut buffers, bytes, 0), Ok(None));
        assert_eq!(
            core.handle_eof(&mut buffers),
            ServerError::Closed { during }
        );
    }
}

#[test]
fn statements_are_known_until_they_are_closed() {
    let (mut core, mut buffers) = core(ServerLimits::default());
    payload(receive(
        &mut core,
        &mut buffers,
        &packet(0, b"\x16SELECT ?, ?"),
        0,
    ));
    let first = core.prepared(&mut buffers, 2, 2, 0);
    payload(receive(
        &mut core,
        &mut buffers,
        &packet(0, b"\x16SELECT ?"),
        0,
    ));
    let second = core.prepared(&mut buffers, 1, 1, 0);
    assert_eq!((first, second), (1, 2));

    // COM_STMT_SEND_LONG_DATA to statement 1: parameter 1, then 7, which it does not have.
    payload(receive(
        &mut core,
        &mut buffers,
        &packet(0, b"\x18\x01\0\0\0\x01\0piece"),
        0,
    ));
    payload(receive(
        &mut core,
        &mut buffers,
        &packet(0, b"\x18\x01\0\0\0\x07\0piece"),
        0,
    ));
    let statement = core.statement(1).expect("open");
    assert_eq!((statement.parameters(), statement.columns()), (2, 2));
    assert!(
        !statement.has_long_data(0) && statement.has_long_data(1) && !statement.has_long_data(7)
    );

    // COM_STMT_EXECUTE: the long data hold until it is answered.
    payload(receive(
        &mut core,
        &mut buffers,
        &packet(0, b"\x17\x01\0\0\0\0\x01\0\0\0"),
        0,
    ));
    assert!(core.statement(1).expect("open").has_long_data(1));
    core.ok(&mut buffers, &OkPacket::default());

    payload(receive(
        &mut core,
        &mut buffers,
        &packet(0, b"\x19\x02\0\0\0"),
        0,
    ));
    assert!(!core.statement(1).expect("open").has_long_data(1));
    assert_eq!(core.statement(2), None, "closed");

    payload(receive(&mut core, &mut buffers, &packet(0, b"\x1f"), 0));
    assert_eq!(core.statement(1), None, "reset");
}

#[test]
fn a_file_comes_as_packets_that_go_on_with_the_sequence() {
    let (mut core, mut buffers) = core(ServerLimits::default());
    payload(receive(
        &mut core,
        &mut buffers,
        &packet(0, b"\x03LOAD DATA"),
        0,
    ));
    core.local_infile(&mut buffers, b"rows.tsv");
    let mut sent = Link::default();
    sent.take(&mut buffers, &());
    assert_eq!(sent.waiting(), b"\x09\x00\x00\x01\xfbrows.tsv");

    let piece = receive(&mut core, &mut buffers, &packet(2, b"1\tx\n"), 0);
    assert!(matches!(piece, Ok(Some(ServerMessage::Packet(_)))));
    assert_eq!(buffers.bytes(payload(piece)), b"1\tx\n");
    core.expect_packet();
    let end = payload(receive(&mut core, &mut buffers, &packet(3, b""), 0));
    assert!(end.is_empty());
    core.ok(&mut buffers, &OkPacket::default());
    let mut sent = Link::default();
    sent.take(&mut buffers, &());
    assert_eq!(
        sent.waiting(),
        b"\x07\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00"
    );
}
