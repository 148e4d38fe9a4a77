use bytes::Bytes;
use onecopy_wire::{BORROWED_THRESHOLD, WriteQueue};

use super::Request;
use crate::Command;
use crate::command::string::{mset, set};
use crate::testing::{bytes, sent};

#[test]
fn a_large_argument_is_borrowed_and_a_small_one_copied() {
    for (len, borrowed) in [(BORROWED_THRESHOLD - 1, 0), (BORROWED_THRESHOLD, 1)] {
        let value = vec![b'v'; len];
        let (mut queue, mut parts) = (WriteQueue::new(), Vec::new());
        let command = set("key", &value);
        let mut request = Request::lending(&mut queue, &mut parts);
        command.encode(&mut request);
        request.end().unwrap();
        assert_eq!(parts.len(), borrowed);
        assert!(
            parts
                .iter()
                .all(|part| std::ptr::eq(*part, value.as_slice()))
        );
        let mut expected = format!("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n${len}\r\n").into_bytes();
        expected.extend_from_slice(&value);
        expected.extend_from_slice(b"\r\n");
        assert_eq!(sent(&queue, &parts), expected);
        let copied = queue.copied();
        assert_eq!(copied > len as u64, borrowed == 0, "{copied} bytes copied");
    }
}

#[test]
fn commands_in_one_queue_share_the_list_of_large_arguments() {
    let (one, two) = (vec![b'1'; 20_000], vec![b'2'; 30_000]);
    let commands = [mset([("a", "x")]), mset(("b", &one)), mset(("c", &two))];
    let (mut queue, mut parts) = (WriteQueue::new(), Vec::new());
    let mut expected = Vec::new();
    for command in &commands {
        let mut request = Request::lending(&mut queue, &mut parts);
        command.encode(&mut request);
        request.end().unwrap();
        expected.extend(bytes(command));
    }
    assert_eq!(parts, [&one[..], &two[..]]);
    assert!(sent(&queue, &parts) == expected);
}

#[test]
fn what_outlives_its_call_shares_owned_bytes_and_copies_borrowed_ones_once() {
    static LENT: [u8; 20_000] = [b'l'; 20_000];
    let value = Bytes::from(vec![b'v'; 20_000]);
    let commands = [set("a", value.clone()), set("b", LENT.as_slice())];
    let (mut queue, mut parts) = (WriteQueue::new(), vec![Bytes::from_static(b"earlier")]);
    for command in &commands {
        let mut request = Request::owning(&mut queue, &mut parts, 6);
        command.encode(&mut request);
        request.end().unwrap();
    }
    drop(commands);
    assert_eq!(parts.len(), 3);
    assert!(std::ptr::eq(parts[1].as_ref(), value.as_ref()));
    assert!(parts[2] == LENT.as_slice() && !std::ptr::eq(parts[2].as_ref(), LENT.as_slice()));
    // Before them six parts have left and one waits: they are the eighth and the ninth.
    let mut borrowed = vec![b"".as_slice(); 7];
    borrowed.extend(parts[1..].iter().map(Bytes::as_ref));
    let expected = [bytes(&set("a", &value)), bytes(&set("b", &LENT))].concat();
    assert!(sent(&queue, &borrowed) == expected);
}

#[test]
fn how_a_request_goes_on_shows_no_argument() {
    let (mut queue, mut parts) = (WriteQueue::new(), Vec::new());
    let request = Request::lending(&mut queue, &mut parts);
    assert_eq!(format!("{request:?}"), "Request { large: 0, .. }");
}
