use super::*;

/// A packet of so many bytes, which has an id of no meaning.
fn packet(length: usize) -> Vec<u8> {
    let [a, b, c, ..] = length.to_le_bytes();
    [&[a, b, c, 77][..], &vec![b'x'; length]].concat()
}

/// Ids of whole packets.
fn ids(mut bytes: &[u8]) -> Vec<u8> {
    let mut ids = Vec::new();
    while let [a, b, c, id, rest @ ..] = bytes {
        ids.push(*id);
        bytes = &rest[u32::from_le_bytes([*a, *b, *c, 0]) as usize..];
    }
    ids
}

/// Numbers and sends `bytes`, at most `most` of them at once; gives what was sent.
fn send(packets: &mut PacketIds, bytes: &[u8], most: usize) -> Vec<u8> {
    let (mut rest, mut sent) = (bytes.to_vec(), Vec::new());
    while !rest.is_empty() {
        packets.number(&mut rest);
        let taken = most.min(rest.len());
        sent.extend(rest.drain(..taken));
        packets.sent(taken);
    }
    sent
}

#[test]
fn packets_are_counted_from_the_frame_behind_each_flush() {
    let five = [1, 20, 5, 0, 300].map(packet).concat();
    // However much of it a frame takes, headers cut in two included.
    for most in 1..five.len() + 1 {
        let mut packets = PacketIds::new();
        // Captured from MariaDB 10.11.19: two results of five packets, in frames 1 and 2.
        for (frame, expected) in [(1, [1, 2, 3, 4, 5]), (2, [2, 3, 4, 5, 6])] {
            packets.restart(frame);
            assert_eq!(ids(&send(&mut packets, &five, most)), expected);
        }
        assert_eq!(ids(&send(&mut packets, &packet(1), most)), [7]);
    }
}

#[test]
fn a_packet_that_is_begun_goes_on_without_a_new_count() {
    let mut packets = PacketIds::new();
    packets.restart(1);
    let mut head = packet(10)[..6].to_vec();
    packets.number(&mut head);
    packets.sent(head.len());
    packets.restart(9);
    let mut rest = [b"xxxxxxxx".to_vec(), packet(2)].concat();
    packets.number(&mut rest);
    assert_eq!((head[3], rest[8 + 3]), (1, 2));
}

#[test]
fn packet_ids_wrap() {
    let mut packets = PacketIds::new();
    packets.restart(254);
    let four = [1; 4].map(packet).concat();
    assert_eq!(ids(&send(&mut packets, &four, 3)), [254, 255, 0, 1]);
}

#[test]
fn a_count_begins_behind_each_flush_and_behind_what_the_client_says() {
    let mut ids = FrameIds::new();
    ids.from_client(0, true).unwrap();
    ids.command(true, true).unwrap();
    ids.begin_heard(true);
    assert!(ids.begins_count());
    assert_eq!(ids.to_client(), 1);
    assert!(!ids.begins_count(), "the same reply");
    ids.flush();
    assert!(ids.begins_count(), "another result");
    assert_eq!(ids.to_client(), 2);
    // A file.
    ids.from_client(3, false).unwrap();
    assert!(ids.begins_count(), "behind the file");
    assert_eq!(ids.to_client(), 4);
    // A command that is sent ahead is none of this exchange.
    ids.from_client(0, true).unwrap();
    ids.command(true, false).unwrap();
    ids.begin_heard(true);
    ids.from_client(1, false).unwrap();
    assert!(!ids.begins_count());
    assert_eq!(ids.to_client(), 5);
    ids.done();
    assert!(ids.begins_count(), "its own reply");
    assert_eq!(ids.to_client(), 2);
}
