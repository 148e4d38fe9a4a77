//! Replies as they are written, in both versions of the protocol, and read again.

use std::io::IoSlice;

use onecopy_resp_proto::{Protocol, ReplyWriter};
use onecopy_wire::WriteQueue;

/// What is sent.
fn written(protocol: Protocol, write: impl FnOnce(&mut ReplyWriter<'_>)) -> String {
    let mut queue = WriteQueue::new();
    let mut writer = ReplyWriter::new(&mut queue, protocol);
    write(&mut writer);
    writer.end().unwrap();
    let mut slices = [IoSlice::new(&[]); 8];
    let count = queue.slices(&(), &mut slices);
    let slices: Vec<&[u8]> = slices[..count].iter().map(|slice| &**slice).collect();
    String::from_utf8(slices.concat()).unwrap()
}

/// The same in RESP3 and in RESP2.
fn both(write: impl Fn(&mut ReplyWriter<'_>)) -> [String; 2] {
    [
        written(Protocol::Resp3, &write),
        written(Protocol::Resp2, &write),
    ]
}

#[test]
fn every_type_has_a_form_in_both_versions() {
    assert_eq!(both(|w| w.simple_string(b"OK")), ["+OK\r\n", "+OK\r\n"]);
    assert_eq!(both(|w| w.error(b"ERR x")), ["-ERR x\r\n", "-ERR x\r\n"]);
    assert_eq!(
        both(|w| w.bulk_error(b"ERR x")),
        ["!5\r\nERR x\r\n", "-ERR x\r\n"]
    );
    assert_eq!(
        both(|w| w.integer(i64::MIN)),
        [":-9223372036854775808\r\n", ":-9223372036854775808\r\n"]
    );
    assert_eq!(
        both(|w| w.bulk(b"a\r\n")),
        ["$3\r\na\r\n\r\n", "$3\r\na\r\n\r\n"]
    );
    assert_eq!(both(|w| w.null()), ["_\r\n", "$-1\r\n"]);
    assert_eq!(both(|w| w.null_array()), ["_\r\n", "*-1\r\n"]);
    assert_eq!(both(|w| w.boolean(true)), ["#t\r\n", ":1\r\n"]);
    assert_eq!(both(|w| w.boolean(false)), ["#f\r\n", ":0\r\n"]);
    assert_eq!(both(|w| w.double(1.5)), [",1.5\r\n", "$3\r\n1.5\r\n"]);
    assert_eq!(
        both(|w| w.big_number(b"-12")),
        ["(-12\r\n", "$3\r\n-12\r\n"]
    );
    assert_eq!(
        both(|w| w.verbatim_string(*b"txt", b"hi")),
        ["=6\r\ntxt:hi\r\n", "$2\r\nhi\r\n"]
    );
    assert_eq!(both(|w| w.array(2)), ["*2\r\n", "*2\r\n"]);
    assert_eq!(both(|w| w.map(2)), ["%2\r\n", "*4\r\n"]);
    assert_eq!(both(|w| w.set(2)), ["~2\r\n", "*2\r\n"]);
    assert_eq!(both(|w| w.push(2)), [">2\r\n", "*2\r\n"]);
    let attribute = |w: &mut ReplyWriter<'_>| {
        let _ = w.attribute(1);
    };
    assert_eq!(both(attribute), ["|1\r\n", ""]);
}

#[test]
fn a_line_end_in_a_line_is_no_other_reply() {
    assert_eq!(
        both(|w| w.error(b"ERR a\r\n+OK")),
        ["-ERR a  +OK\r\n", "-ERR a  +OK\r\n"]
    );
}

#[test]
fn doubles_are_as_short_as_servers_write_them() {
    for (number, text) in [
        (0.0, ",0\r\n"),
        (-0.0, ",-0\r\n"),
        (3.0, ",3\r\n"),
        (0.1, ",0.1\r\n"),
        (1e17, ",1e17\r\n"),
        (1e300, ",1e300\r\n"),
        (0.1 + 0.2, ",0.30000000000000004\r\n"),
        (f64::MAX, ",1.7976931348623157e308\r\n"),
        (f64::INFINITY, ",inf\r\n"),
        (f64::NEG_INFINITY, ",-inf\r\n"),
        (f64::NAN, ",nan\r\n"),
    ] {
        assert_eq!(written(Protocol::Resp3, |w| w.double(number)), text);
    }
}
