use super::*;

#[test]
fn each_integer_is_written_little_endian() {
    let mut out = Vec::new();
    out.put_u8(1);
    out.put_u16(0x0102);
    out.put_u24(0x01_0203);
    out.put_u32(0x0102_0304);
    out.put_u64(0x0102_0304_0506_0708);
    assert_eq!(out, [1, 2, 1, 3, 2, 1, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1]);
}

#[test]
fn a_length_encoded_integer_takes_its_shortest_form() {
    let cases: [(u64, &[u8]); 8] = [
        (0, &[0x00]),
        (250, &[0xFA]),
        (251, &[0xFC, 0xFB, 0x00]),
        (0xFFFF, &[0xFC, 0xFF, 0xFF]),
        (0x1_0000, &[0xFD, 0x00, 0x00, 0x01]),
        (0xFF_FFFF, &[0xFD, 0xFF, 0xFF, 0xFF]),
        (0x100_0000, &[0xFE, 0x00, 0x00, 0x00, 0x01, 0, 0, 0, 0]),
        (
            u64::MAX,
            &[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        ),
    ];
    for (value, bytes) in cases {
        let mut out = Vec::new();
        out.put_lenenc(value);
        assert_eq!(out, bytes);
        assert_eq!(lenenc_len(value), length_of(bytes));
    }
}

#[test]
fn strings_carry_their_length_or_their_nul() {
    let mut out = Vec::new();
    out.put_lenenc_bytes(b"abc");
    out.put_nul_bytes(b"de");
    out.put_zeros(3);
    assert_eq!(out, b"\x03abcde\0\0\0\0");
}

#[test]
fn more_zeros_than_one_step_are_written() {
    let mut out = Vec::new();
    out.put_zeros(70);
    assert_eq!(out, [0; 70]);
}

#[test]
fn a_nul_inside_a_field_that_ends_with_one_is_refused() {
    let error = require_nul_free("Test", "user", b"ro\0ot").unwrap_err();
    assert_eq!(
        error,
        EncodeError {
            packet: "Test",
            field: "user",
            kind: EncodeErrorKind::ContainsNul
        }
    );
    assert_eq!(
        error.to_string(),
        "can't write the Test packet, user: remove the nul byte from the value"
    );
    assert_eq!(require_nul_free("Test", "user", b"root"), Ok(()));
}
