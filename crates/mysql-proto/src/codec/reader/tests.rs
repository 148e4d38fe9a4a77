use super::*;
use DecodeErrorKind::{BadLength, BadValue, MissingNul, Trailing, Truncated};

fn error(field: &'static str, offset: u32, kind: DecodeErrorKind) -> DecodeError {
    DecodeError {
        packet: "Test",
        field,
        offset,
        kind,
    }
}

#[test]
fn integers_are_little_endian() {
    let bytes = [
        0x01, // u8
        0x02, 0x01, // u16
        0x03, 0x02, 0x01, // u24
        0x04, 0x03, 0x02, 0x01, // u32
        0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, // u64
    ];
    let mut reader = Reader::new("Test", &bytes);
    assert_eq!(reader.u8("a"), Ok(0x01));
    assert_eq!(reader.u16("b"), Ok(0x0102));
    assert_eq!(reader.u24("c"), Ok(0x01_0203));
    assert_eq!(reader.u32("d"), Ok(0x0102_0304));
    assert_eq!(reader.u64("e"), Ok(0x0102_0304_0506_0708));
    assert_eq!(reader.finish(), Ok(()));
}

#[test]
fn an_integer_cut_short_is_truncated_and_nothing_is_read() {
    for length in 0..8 {
        let bytes = [0xAA; 8];
        let mut reader = Reader::new("Test", &bytes[..length]);
        assert_eq!(reader.u64("wide"), Err(error("wide", 0, Truncated)));
        assert_eq!(reader.remaining(), length);
    }
}

#[test]
fn every_form_of_a_length_encoded_integer_is_read() {
    let cases: [(&[u8], u64); 8] = [
        (&[0x00], 0),
        (&[0xFA], 250),
        (&[0xFC, 0xFB, 0x00], 251),
        (&[0xFC, 0xFF, 0xFF], 0xFFFF),
        (&[0xFD, 0x00, 0x00, 0x01], 0x1_0000),
        (&[0xFD, 0xFF, 0xFF, 0xFF], 0xFF_FFFF),
        (&[0xFE, 0x00, 0x00, 0x00, 0x01, 0, 0, 0, 0], 0x100_0000),
        (
            &[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            u64::MAX,
        ),
    ];
    for (bytes, value) in cases {
        let mut reader = Reader::new("Test", bytes);
        assert_eq!(reader.lenenc("n"), Ok(value));
        assert_eq!(reader.remaining(), 0);
        assert_eq!(
            Reader::new("Test", bytes).lenenc_or_null("n"),
            Ok(Some(value))
        );
        for cut in 0..bytes.len() {
            let mut reader = Reader::new("Test", &bytes[..cut]);
            assert_eq!(reader.lenenc("n"), Err(error("n", 0, Truncated)));
            assert_eq!(
                reader.remaining(),
                cut,
                "an error leaves the reader where it was"
            );
        }
    }
}

#[test]
fn null_and_0xff_start_no_integer() {
    for byte in [0xFB, 0xFF] {
        let bytes = [byte, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(
            Reader::new("Test", &bytes).lenenc("n"),
            Err(error("n", 0, BadValue))
        );
        assert_eq!(
            Reader::new("Test", &bytes).lenenc_bytes("n"),
            Err(error("n", 0, BadValue))
        );
    }
    assert_eq!(Reader::new("Test", &[0xFB]).lenenc_or_null("n"), Ok(None));
    assert_eq!(
        Reader::new("Test", &[0xFF]).lenenc_or_null("n"),
        Err(error("n", 0, BadValue))
    );
}

#[test]
fn a_length_beyond_the_payload_is_refused() {
    let bytes = [0x00, 0x04, b'a', b'b', b'c'];
    let mut reader = Reader::new("Test", &bytes);
    reader.u8("first").unwrap();
    assert_eq!(
        reader.lenenc_bytes("name"),
        Err(error("name", 1, BadLength))
    );
    assert_eq!(reader.offset(), 1);

    let lie = [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, b'x'];
    assert_eq!(
        Reader::new("Test", &lie).lenenc_bytes("name"),
        Err(error("name", 0, BadLength))
    );
}

#[test]
fn strings_of_each_kind_are_borrowed_from_the_payload() {
    let bytes = b"\x03abcde\0fghij";
    let mut reader = Reader::new("Test", bytes);
    assert_eq!(reader.lenenc_bytes("a"), Ok(&b"abc"[..]));
    assert_eq!(reader.nul_bytes("b"), Ok(&b"de"[..]));
    assert_eq!(reader.take(2, "c"), Ok(&b"fg"[..]));
    assert_eq!(reader.peek(), b"hij");
    assert_eq!(reader.rest(), b"hij");
    assert_eq!(reader.remaining(), 0);
    assert_eq!(reader.offset(), bytes.len());
}

#[test]
fn a_string_without_its_nul_is_refused() {
    assert_eq!(
        Reader::new("Test", b"abc").nul_bytes("name"),
        Err(error("name", 0, MissingNul))
    );
    assert_eq!(
        Reader::new("Test", b"").nul_bytes("name"),
        Err(error("name", 0, MissingNul))
    );
    assert_eq!(Reader::new("Test", b"\0").nul_bytes("name"), Ok(&b""[..]));
}

#[test]
fn bytes_after_a_fixed_end_are_refused() {
    let mut reader = Reader::new("Test", &[1, 2]);
    reader.u8("first").unwrap();
    assert_eq!(reader.finish(), Err(error("end", 1, Trailing)));
}

#[test]
fn an_error_says_packet_field_and_place_in_one_line() {
    assert_eq!(
        error("schema", 7, BadLength).to_string(),
        "malformed Test packet, schema at byte 7: the length does not fit the packet"
    );
}

#[test]
fn a_header_can_only_be_what_is_expected() {
    let mut reader = Reader::new("Test", &[0x0A, 0x0B]);
    assert_eq!(reader.expect(0x0A, "header"), Ok(()));
    assert_eq!(
        reader.expect(0x0A, "header"),
        Err(error("header", 1, BadValue))
    );
    assert_eq!(reader.expect(0x0B, "header"), Ok(()));
    assert_eq!(
        reader.expect(0x0C, "header"),
        Err(error("header", 2, Truncated))
    );
}
