use super::*;
use crate::frame::{HEADER_BYTES, MAX_BODY};

const QUERY: u8 = 0x03;
const CLOSE: u8 = 0x19;
const LONG_DATA: u8 = 0x18;

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b, c, ..] = payload.len().to_le_bytes();
    [&[a, b, c, sequence], payload].concat()
}

fn query(bytes: usize) -> Vec<u8> {
    packet(0, &[QUERY].repeat(bytes))
}

/// A stored frame.
fn frame(sequence: u8, content: &[u8]) -> Vec<u8> {
    let [a, b, c, ..] = content.len().to_le_bytes();
    [&[a, b, c, sequence, 0, 0, 0], content].concat()
}

/// Ids and contents of frames.
fn frames(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let mut decoder = Decoder::new(Algorithm::Zlib);
        let (mut content, mut inflaters) = (vec![0; 1 << 20], Inflaters::new());
        let header = decoder.decode(bytes, &mut content, &mut inflaters);
        let header = header.unwrap();
        let Some(FrameEvent::Began { sequence, .. }) = header.event else {
            panic!("no frame begins")
        };
        let rest = &bytes[header.taken..];
        let body = decoder.decode(rest, &mut content, &mut inflaters).unwrap();
        assert_eq!(body.event, Some(FrameEvent::Ended));
        content.truncate(body.put);
        frames.push((sequence, content));
        bytes = &rest[body.taken..];
    }
    frames
}

fn client() -> ClientFrames {
    ClientFrames::new(Method::new(Algorithm::Zlib, 1))
}

/// Sends all of the pieces, in as many calls as it takes.
fn send(client: &mut ClientFrames, pieces: &[&[u8]]) -> Vec<(u8, Vec<u8>)> {
    let all = pieces.concat();
    let (mut sent, mut taken) = (Vec::new(), 0);
    let mut encoder = Encoder::new();
    while taken < all.len() {
        let mut at = taken;
        let slices: Vec<_> = pieces
            .iter()
            .map(|piece| {
                let behind = at.min(piece.len());
                at -= behind;
                IoSlice::new(&piece[behind..])
            })
            .collect();
        let mut output = Vec::new();
        let n = client.encode(&slices, &mut encoder, &mut output).unwrap();
        assert!(n > 0);
        taken += n;
        sent.extend(frames(&output));
    }
    let contents: Vec<u8> = sent
        .iter()
        .flat_map(|(_, content)| content.clone())
        .collect();
    assert_eq!(contents, all);
    sent
}

fn ids(frames: &[(u8, Vec<u8>)]) -> Vec<u8> {
    frames.iter().map(|(id, _)| *id).collect()
}

/// What is in the frames, with room for `room` bytes a call.
fn receive(
    client: &mut ClientFrames,
    mut input: &[u8],
    room: usize,
) -> Result<Vec<u8>, CompressionError> {
    let (mut all, mut inflaters) = (Vec::new(), Inflaters::new());
    loop {
        let mut output = vec![0; room];
        let passed = client.decode(input, &mut output, &mut inflaters)?;
        input = &input[passed.taken..];
        all.extend(&output[..passed.put]);
        if passed.put == 0 && input.is_empty() {
            return Ok(all);
        }
    }
}

fn out_of_order(expected: u8, found: u8) -> CompressionError {
    CompressionError::Sequence { expected, found }
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const REFUSED: &[u8] = b"\xFF\x28\x04#42000no";

#[test]
fn each_command_begins_a_frame_of_id_0() {
    let mut client = client();
    let close = packet(0, &[CLOSE, 1, 0, 0, 0]);
    let data = packet(0, &[LONG_DATA, 1, 0, 0, 0, 0, 0, 7]);
    let all = [&close[..], &data, &query(9), &query(70_000)];
    let sent = send(&mut client, &all);
    assert_eq!(ids(&sent), [0, 0, 0, 0, 1]);
    assert_eq!(sent[0].1, close);
    assert_eq!(sent[3].1.len(), FRAME_BYTES);
    // The replies of both queries begin behind the frames of each.
    let replies = [frame(1, OK), frame(2, OK), frame(3, OK)].concat();
    assert_eq!(receive(&mut client, &replies, 100).unwrap(), OK.repeat(3));
}

#[test]
fn a_payload_in_pieces_is_one_command() {
    let mut client = client();
    let whole = query(200_000);
    let (header, body) = whole.split_at(HEADER_BYTES + 1);
    let (body, end) = body.split_at(100_000);
    let sent = send(&mut client, &[header, body, &[], end]);
    assert_eq!(ids(&sent), [0, 1, 2, 3]);
}

#[test]
fn packets_of_one_payload_and_answers_do_not_begin_a_command() {
    let mut client = client();
    let body = vec![QUERY; MAX_BODY];
    let header = [0xFF, 0xFF, 0xFF, 0];
    let sent = send(&mut client, &[&header, &body, &packet(1, b"end")]);
    let counted: Vec<u8> = (0..=255).cycle().take(sent.len()).collect();
    assert_eq!(ids(&sent), counted);
    let first = counted[sent.len() - 1].wrapping_add(1);
    // A request for a file; its data belong to the exchange, the ids of which count frames of both sides.
    receive(&mut client, &frame(first, b"\x05\0\0\x02\xFBname"), 9).unwrap();
    let data = [packet(3, b"data"), packet(4, b"")].concat();
    assert_eq!(ids(&send(&mut client, &[&data])), [first + 1]);
    assert_eq!(receive(&mut client, &frame(first + 2, OK), 9).unwrap(), OK);
}

#[test]
fn a_packets_id_that_wraps_continues_a_file() {
    let mut client = client();
    send(&mut client, &[&query(9)]);
    receive(&mut client, &frame(1, b"\x05\0\0\x01\xFBname"), 99).unwrap();
    let mut id = 2u8;
    let mut file = Vec::new();
    for _ in 0..600 {
        file.extend(packet(id, b"piece"));
        id = id.wrapping_add(1);
    }
    file.extend(packet(id, b""));
    assert_eq!(ids(&send(&mut client, &[&file])), [2]);
    receive(&mut client, &frame(3, OK), 99).unwrap();
    // The next command, although the id before it may be any.
    assert_eq!(ids(&send(&mut client, &[&query(9)])), [0]);
}

#[test]
fn the_end_of_a_file_at_id_255_is_followed_by_a_command() {
    let mut client = client();
    send(&mut client, &[&query(9)]);
    receive(&mut client, &frame(1, b"\x05\0\0\x01\xFBname"), 99).unwrap();
    send(&mut client, &[&packet(254, b"data"), &packet(255, b"")]);
    let sent = send(&mut client, &[&query(9)]);
    assert_eq!(ids(&sent), [0]);
}

#[test]
fn a_frame_with_an_id_that_is_not_due_is_refused() {
    for found in [0, 2, 7, 255] {
        let mut client = client();
        send(&mut client, &[&query(9)]);
        let reply = frame(found, &packet(1, OK));
        assert_eq!(
            receive(&mut client, &reply, 99).unwrap_err(),
            out_of_order(1, found)
        );
    }
    // In the middle of a reply, behind what was right.
    let mut client = client();
    send(&mut client, &[&query(9)]);
    let reply = [frame(1, &packet(1, OK)), frame(3, &packet(2, OK))].concat();
    let (mut output, mut inflaters) = ([0; 99], Inflaters::new());
    let passed = client.decode(&reply, &mut output, &mut inflaters).unwrap();
    assert_eq!(output[..passed.put], packet(1, OK));
    let rest = &reply[passed.taken..];
    for _ in 0..2 {
        let error = client.decode(rest, &mut output, &mut inflaters);
        assert_eq!(error.unwrap_err(), out_of_order(2, 3));
    }
}

#[test]
fn an_error_packet_may_have_any_id() {
    for room in [1, 3, 5, 99] {
        let mut client = client();
        send(&mut client, &[&query(9)]);
        let reply = packet(0, REFUSED);
        let input = frame(0, &reply);
        assert_eq!(receive(&mut client, &input, room).unwrap(), reply, "{room}");
        // It may come in two frames.
        send(&mut client, &[&query(9)]);
        let (head, tail) = reply.split_at(3);
        let input = [frame(9, head), frame(10, tail)].concat();
        assert_eq!(receive(&mut client, &input, room).unwrap(), reply, "{room}");
    }
}

#[test]
fn replies_to_commands_sent_ahead_begin_at_their_own_ids() {
    let mut client = client();
    send(&mut client, &[&query(9), &query(140_000), &query(9)]);
    let replies = [
        frame(1, b"first"),
        frame(2, b"first"),
        frame(3, b"second"),
        frame(4, b"second"),
        frame(1, b"third"),
    ]
    .concat();
    let all = receive(&mut client, &replies, 99).unwrap();
    assert_eq!(all, b"firstfirstsecondsecondthird");
    // A reply whose ids wrap around to the one that the next reply begins with.
    let mut client = ClientFrames::new(Method::new(Algorithm::Zlib, 1));
    send(&mut client, &[&query(9), &query(9)]);
    let mut long: Vec<u8> = (1..=255).flat_map(|id| frame(id, b"x")).collect();
    long.extend(frame(0, b"x"));
    long.extend(frame(1, b"x"));
    receive(&mut client, &long, 99).unwrap();
    receive(&mut client, &frame(1, b"second"), 99).unwrap();
}

#[test]
fn between_commands_a_farewell_may_have_any_id_and_counts_begin_anew() {
    let mut client = client();
    send(&mut client, &[&query(9)]);
    receive(&mut client, &frame(1, OK), 99).unwrap();
    client.settle();
    let mut other = ClientFrames::new(Method::new(Algorithm::Zlib, 1));
    assert!(receive(&mut other, &frame(77, OK), 99).is_ok());
    // Two frames of a command end where the reply before did: it is the new one's.
    send(&mut client, &[&query(70_000)]);
    receive(&mut client, &frame(2, OK), 99).unwrap();
    client.settle();
    send(&mut client, &[&query(9)]);
    assert_eq!(
        receive(&mut client, &frame(2, OK), 99).unwrap_err(),
        out_of_order(1, 2)
    );
}

#[test]
fn no_more_frames_are_made_than_one_write_takes() {
    let mut client = client();
    let noise: Vec<u8> = (0..1 << 20)
        .map(|n: u32| n.wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .collect();
    let text = packet(0, &noise);
    let (mut output, mut encoder) = (Vec::new(), Encoder::new());
    let pieces = [IoSlice::new(&text)];
    let n = client.encode(&pieces, &mut encoder, &mut output).unwrap();
    assert!(n < text.len() && output.len() < 2 * OUTPUT_BYTES, "{n}");
    assert_eq!(client.encode(&[], &mut encoder, &mut output).unwrap(), 0);
}

#[test]
fn a_frame_passes_whole_whatever_room_there_is_and_its_last_byte_only_with_its_end() {
    let packet = query(300);
    let mut encoder = Encoder::new();
    let method = Method::new(Algorithm::Zlib, 6);
    let (first, _) = encoder.frame(method, 1, &packet).unwrap();
    let first = first.to_vec();
    let (second, _) = encoder.frame(method, 2, &packet).unwrap();
    let all = [&first, second].concat();
    for room in [1, 2, 3, 304, 305, 1000] {
        for step in [1, 7, 1000] {
            let mut client = client();
            send(&mut client, &[&query(9)]);
            let mut inflaters = Inflaters::new();
            let (mut read, mut given) = (0, Vec::<u8>::new());
            let mut output = vec![0; room];
            while read < all.len() || client.may_go_on() {
                let input = &all[read..all.len().min(read + step)];
                let passed = client.decode(input, &mut output, &mut inflaters).unwrap();
                read += passed.taken;
                given.extend(&output[..passed.put]);
                if read < first.len() {
                    assert!(given.len() < packet.len(), "{room} {step}");
                }
            }
            assert_eq!(given, packet.repeat(2), "{room} {step}");
        }
    }
}
