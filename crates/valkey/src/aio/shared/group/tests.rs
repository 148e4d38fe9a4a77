use super::*;
use crate::command::{raw, string};

/// All that a group would send, by one encoding of it.
fn encoded(group: Group) -> (Vec<u8>, Vec<Bytes>) {
    let mut pieces = Pieces::default();
    pieces.append(group).unwrap();
    pieces.end_small().unwrap();
    let mut sent = Vec::new();
    let mut all = Vec::new();
    // Twice, as after a loss.
    for _ in 0..2 {
        let mut queue = WriteQueue::new();
        let mut shares = Shares::default();
        pieces.encode(&mut queue, shares.list()).unwrap();
        assert_eq!(queue.command_len(), queue.len());
        let mut slices = [IoSlice::new(&[]); 64];
        let count = queue.slices(&shares, &mut slices);
        sent.push(slices[..count].concat_bytes());
        all = shares.iter().cloned().collect();
    }
    assert_eq!(sent[0], sent[1]);
    (sent.remove(0), all)
}

trait Concat {
    fn concat_bytes(&self) -> Vec<u8>;
}

impl Concat for [IoSlice<'_>] {
    fn concat_bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|slice| slice.to_vec()).collect()
    }
}

#[test]
fn small_commands_become_one_piece() {
    let mut group = Group::default();
    group.push_encoded(b"*1\r\n$5\r\nMULTI\r\n").unwrap();
    group.push(&string::get("key")).unwrap();
    assert_eq!(group.len(), 2);
    let (sent, shared) = encoded(group);
    assert_eq!(
        sent,
        b"*1\r\n$5\r\nMULTI\r\n*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n"
    );
    assert!(shared.is_empty());
}

#[test]
fn large_arguments_keep_their_place_and_share_their_memory() {
    let large = Bytes::from(vec![b'x'; 100_000]);
    let mut group = Group::default();
    group.push(&string::set("one", large.clone())).unwrap();
    group.push(&string::get("two")).unwrap();
    group.push(&string::set("three", large.clone())).unwrap();
    let (sent, shared) = encoded(group);
    let set = |key: &str| {
        let mut set = format!("*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n$100000\r\n", key.len());
        set.push_str(&"x".repeat(100_000));
        set + "\r\n"
    };
    let expected = set("one") + "*2\r\n$3\r\nGET\r\n$3\r\ntwo\r\n" + &set("three");
    assert_eq!(sent, expected.into_bytes());
    assert_eq!(shared.len(), 2);
    assert!(shared.iter().all(|part| part.as_ptr() == large.as_ptr()));
}

#[test]
fn many_small_commands_are_sent_without_a_further_copy() {
    let mut group = Group::default();
    for number in 0..10_000 {
        group.push(&raw("ECHO").arg(number)).unwrap();
    }
    let (sent, shared) = encoded(group);
    assert_eq!((shared.len(), shared[0].len()), (1, sent.len()));
    assert!(sent.ends_with(b"$4\r\n9999\r\n"));
}

#[test]
fn one_command_is_executed_or_not_and_never_in_part() {
    let pieces = Pieces::of(&string::get("key")).unwrap();
    assert!(pieces.is_atomic());
    assert_eq!(pieces.replies(), 1);
    let encoded: Vec<u8> = pieces.pieces.concat();
    assert_eq!(encoded, b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n");
}
