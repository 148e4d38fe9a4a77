use onecopy_resp_proto::{Client, Limits, Message, OwnedReply};
use onecopy_wire::{BufferConfig, Buffers, Core, Step};

use super::*;

/// One reply, from its bytes.
fn reply(bytes: &[u8]) -> OwnedReply {
    let mut buffers = Buffers::new(BufferConfig::default());
    buffers.need(bytes.len(), bytes.len());
    buffers.prepare().unwrap();
    buffers.targets().single().unwrap()[..bytes.len()].copy_from_slice(bytes);
    buffers.commit(bytes.len());
    let mut client = Client::new(Limits::default());
    client.expect(1);
    match client.advance(&mut buffers).unwrap() {
        Step::Message(Message::Reply(frame)) => client.detach(frame, &mut buffers).unwrap(),
        step => panic!("{step:?}"),
    }
}

fn text(format: FormatName, bytes: &[u8]) -> String {
    let mut out = Vec::new();
    write(format, reply(bytes).reply(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn readable(bytes: &[u8]) -> String {
    text(FormatName::Readable, bytes)
}

fn json(bytes: &[u8]) -> String {
    text(FormatName::Json, bytes)
}

#[test]
fn single_values_are_readable() {
    for (bytes, expected) in [
        (&b"+OK\r\n"[..], "OK\n"),
        (b"-ERR no\r\n", "(error) ERR no\n"),
        (b"!6\r\nERR no\r\n", "(error) ERR no\n"),
        (b":3\r\n", "(integer) 3\n"),
        (b",1.50\r\n", "(double) 1.50\n"),
        (
            b"(123456789012345678901\r\n",
            "(big number) 123456789012345678901\n",
        ),
        (b"#t\r\n", "(true)\n"),
        (b"#f\r\n", "(false)\n"),
        (b"_\r\n", "(nil)\n"),
        (b"$-1\r\n", "(nil)\n"),
        (b"$0\r\n\r\n", "\"\"\n"),
        (b"=13\r\ntxt:a\r\nb: 1\r\n\r\n", "a\nb: 1\n"),
    ] {
        assert_eq!(readable(bytes), expected, "{}", bytes.escape_ascii());
    }
}

#[test]
fn an_errors_line_feed_forges_no_line() {
    assert_eq!(
        readable(b"*2\r\n!11\r\nERR a\r\n2) b\r\n:1\r\n"),
        "1) (error) ERR a\\r\\n2) b\n2) (integer) 1\n"
    );
}

#[test]
fn a_string_is_quoted_so_that_it_can_be_typed_again_and_moves_no_cursor() {
    let value = "a \"b\"\\\n\r\t\x07\x08\x1b[1m\u{202e}é€".as_bytes();
    let value = [value, b"\xFF\xC3"].concat();
    let bytes = [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat();
    assert_eq!(
        readable(&bytes),
        "\"a \\\"b\\\"\\\\\\n\\r\\t\\a\\b\\x1b[1m\\xe2\\x80\\xaeé€\\xff\\xc3\"\n"
    );
    // What a server says in an error is no less able to do so.
    assert_eq!(readable(b"-ERR \x1b[2J\r\n"), "(error) ERR \\u{1b}[2J\n");
}

#[test]
fn lists_are_numbered_and_stand_below_each_other() {
    let mut bytes = b"*10\r\n*2\r\n:1\r\n*0\r\n".to_vec();
    bytes.extend(b":5\r\n".repeat(9));
    assert_eq!(
        readable(&bytes),
        " 1) 1) (integer) 1\n    2) (empty array)\n 2) (integer) 5\n 3) (integer) 5\n 4) (integer) 5\n \
         5) (integer) 5\n 6) (integer) 5\n 7) (integer) 5\n 8) (integer) 5\n 9) (integer) 5\n10) (integer) 5\n"
    );
}

#[test]
fn maps_show_keys_and_values() {
    assert_eq!(
        readable(b"%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n~2\r\n:2\r\n_\r\n"),
        "1# \"a\" => (integer) 1\n2# \"b\" =>\n   1~ (integer) 2\n   2~ (nil)\n"
    );
    assert_eq!(readable(b"%0\r\n"), "(empty map)\n");
    assert_eq!(readable(b"~0\r\n"), "(empty set)\n");
}

#[test]
fn raw_is_an_element_a_line_whatever_holds_it() {
    assert_eq!(
        text(
            FormatName::Raw,
            b"*3\r\n%1\r\n$1\r\na\r\n*2\r\n:1\r\n_\r\n$3\r\nx\ny\r\n+OK\r\n"
        ),
        "a\n1\n\nx\ny\nOK\n"
    );
    assert_eq!(text(FormatName::Raw, b"*0\r\n"), "");
}

#[test]
fn json_has_a_type_for_each_value() {
    for (bytes, expected) in [
        (&b"+OK\r\n"[..], "\"OK\"\n"),
        (b"-ERR \"no\"\r\n", "{\"error\":\"ERR \\\"no\\\"\"}\n"),
        (b":-3\r\n", "-3\n"),
        (b":+3\r\n", "3\n"),
        (b",1.50\r\n", "1.50\n"),
        (b",1e5\r\n", "1e5\n"),
        (b",inf\r\n", "\"inf\"\n"),
        (b",-inf\r\n", "\"-inf\"\n"),
        (b",nan\r\n", "\"nan\"\n"),
        (b"(-123456789012345678901\r\n", "-123456789012345678901\n"),
        (b"#t\r\n", "true\n"),
        (b"#f\r\n", "false\n"),
        (b"_\r\n", "null\n"),
        (b"*-1\r\n", "null\n"),
        (b"$4\r\na\n\"\x01\r\n", "\"a\\n\\\"\\u0001\"\n"),
        (b"$2\r\n\xFF\x00\r\n", "{\"base64\":\"/wA=\"}\n"),
        (b"=8\r\ntxt:text\r\n", "\"text\"\n"),
        (b"*2\r\n:1\r\n*1\r\n_\r\n", "[1,[null]]\n"),
        (b"~2\r\n:1\r\n:2\r\n", "[1,2]\n"),
        (b"*0\r\n", "[]\n"),
        (b"%0\r\n", "{}\n"),
    ] {
        assert_eq!(json(bytes), expected, "{}", bytes.escape_ascii());
    }
}

#[test]
fn a_key_that_is_no_string_is_its_json() {
    assert_eq!(
        json(b"%4\r\n$1\r\na\r\n:1\r\n:7\r\n:2\r\n*1\r\n$1\r\nx\r\n:3\r\n_\r\n:4\r\n"),
        "{\"a\":1,\"7\":2,\"[\\\"x\\\"]\":3,\"null\":4}\n"
    );
}

#[test]
fn json_of_every_kind_can_be_parsed() {
    let bytes = b"*4\r\n%1\r\n$2\r\n\xFF\xFE\r\n,0.5\r\n-ERR \x1B\r\n$1\r\n\x7F\r\n~1\r\n#t\r\n";
    let parsed: serde_json::Value = serde_json::from_str(&json(bytes)).unwrap();
    assert_eq!(parsed[0]["{\"base64\":\"//4=\"}"], 0.5);
    assert_eq!(parsed[1]["error"], "ERR \u{1b}");
    assert_eq!(parsed[2], "\u{7f}");
    assert_eq!(parsed[3][0], true);
}
