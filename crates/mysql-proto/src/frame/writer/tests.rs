use onecopy_wire::Borrowed;

use super::*;

/// All that is queued.
fn sent(queue: &mut WriteQueue, borrowed: &(impl Borrowed + ?Sized)) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !queue.is_empty() {
        let mut slices = [std::io::IoSlice::new(&[]); 4];
        let count = queue.slices(borrowed, &mut slices);
        let before = bytes.len();
        for slice in &slices[..count] {
            bytes.extend_from_slice(slice);
        }
        let n = bytes.len() - before;
        queue.advance(n);
    }
    bytes
}

#[test]
fn a_payload_gets_its_length_and_its_sequence_id() {
    let mut queue = WriteQueue::new();
    let mut sequence = 255;
    let mut writer = PayloadWriter::new(&mut queue, &mut sequence);
    writer.put(b"ab");
    writer.put_u8(b'c');
    writer.finish().unwrap();
    let mut writer = PayloadWriter::new(&mut queue, &mut sequence);
    writer.put(b"d");
    writer.finish().unwrap();
    assert_eq!(sequence, 1, "it wraps");
    assert_eq!(sent(&mut queue, &()), b"\x03\0\0\xffabc\x01\0\0\0d");
}

#[test]
fn an_empty_payload_is_a_packet_of_a_header() {
    let (mut queue, mut sequence) = (WriteQueue::new(), 3);
    PayloadWriter::new(&mut queue, &mut sequence)
        .finish()
        .unwrap();
    assert_eq!(sent(&mut queue, &()), b"\0\0\0\x03");
}

#[test]
fn borrowed_parts_lie_between_the_copied_ones() {
    let (mut queue, mut sequence) = (WriteQueue::new(), 0);
    let mut writer = PayloadWriter::new(&mut queue, &mut sequence);
    writer.put(b"<");
    writer.put_borrowed(1, 4);
    writer.put(b"|");
    writer.put_borrowed(0, 3);
    writer.put(b">");
    writer.finish().unwrap();
    let parts: [&[u8]; 2] = [b"big", b"huge"];
    assert_eq!(queue.copied(), 3, "what was borrowed is not among it");
    assert_eq!(sent(&mut queue, &parts[..]), b"\x0a\0\0\0<huge|big>");
}

/// What the packets of a payload of `len` bytes are to be, of which one byte is copied and the rest borrowed or copied too.
fn packets(len: usize) -> Vec<(usize, u8)> {
    let mut packets = vec![(MAX_BODY, 0); len / MAX_BODY];
    packets.push((len % MAX_BODY, 0));
    for (sequence, packet) in (0..).zip(&mut packets) {
        packet.1 = sequence;
    }
    packets
}

#[test]
fn a_full_packet_is_followed_by_another_be_it_empty() {
    for len in [MAX_BODY - 1, MAX_BODY, MAX_BODY + 1, 2 * MAX_BODY] {
        let body = vec![7; len - 1];
        for lend in [true, false] {
            let (mut queue, mut sequence) = (WriteQueue::new(), 0);
            let mut writer = PayloadWriter::new(&mut queue, &mut sequence);
            writer.put_u8(3);
            if lend {
                writer.put_borrowed(0, body.len());
            } else {
                writer.put(&body);
            }
            writer.finish().unwrap();
            let bytes = sent(&mut queue, &body[..]);
            let mut at = 0;
            for (length, due) in packets(len) {
                let header = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
                assert_eq!(
                    super::super::split_header(header),
                    (length, due),
                    "{len} {lend}"
                );
                at += HEADER_BYTES + length;
            }
            assert_eq!(at, bytes.len());
            assert_eq!(usize::from(sequence), packets(len).len());
        }
    }
}
