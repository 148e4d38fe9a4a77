use proptest::prelude::*;

use super::DateTime;
use crate::value::{Date, ValueError, ValueKind, ValueProblem};

fn error(problem: ValueProblem, offset: u32) -> Result<DateTime, ValueError> {
    Err(ValueError {
        kind: ValueKind::DateTime,
        problem,
        offset,
    })
}

const fn date_time(date: (u16, u8, u8), time: (u8, u8, u8), microsecond: u32) -> DateTime {
    DateTime {
        year: date.0,
        month: date.1,
        day: date.2,
        hour: time.0,
        minute: time.1,
        second: time.2,
        microsecond,
    }
}

/// Text, body after the length byte, value.
const PAIRS: &[(&str, &[u8], DateTime)] = &[
    ("0000-00-00 00:00:00", &[], DateTime::ZERO),
    // A zero date with a time.
    (
        "0000-00-00 00:00:01",
        &[0, 0, 0, 0, 0, 0, 1],
        date_time((0, 0, 0), (0, 0, 1), 0),
    ),
    // TIMESTAMP's first second.
    (
        "1970-01-01 00:00:01",
        &[0xB2, 0x07, 1, 1, 0, 0, 1],
        date_time((1970, 1, 1), (0, 0, 1), 0),
    ),
    // Partial date, midnight: four bytes.
    (
        "2020-00-00 00:00:00",
        &[0xE4, 0x07, 0, 0],
        date_time((2020, 0, 0), (0, 0, 0), 0),
    ),
    // One microsecond after midnight: eleven bytes.
    (
        "2020-00-00 00:00:00.000001",
        &[0xE4, 0x07, 0, 0, 0, 0, 0, 0x01, 0x00, 0x00, 0x00],
        date_time((2020, 0, 0), (0, 0, 0), 1),
    ),
    (
        "2024-02-29 23:59:59",
        &[0xE8, 0x07, 2, 29, 23, 59, 59],
        date_time((2024, 2, 29), (23, 59, 59), 0),
    ),
    // 999,999 is 0x0F423F.
    (
        "9999-12-31 23:59:59.999999",
        &[0x0F, 0x27, 12, 31, 23, 59, 59, 0x3F, 0x42, 0x0F, 0x00],
        date_time((9999, 12, 31), (23, 59, 59), 999_999),
    ),
];

#[test]
fn text_and_binary_are_the_same_moment_and_go_back_to_the_same_bytes() {
    for &(text, body, value) in PAIRS {
        assert_eq!(DateTime::parse_text(text.as_bytes()), Ok(value));
        assert_eq!(DateTime::decode_binary(body), Ok(value));
        assert_eq!(value.to_string(), text);
        let mut out = [0xAA; DateTime::MAX_BINARY_BYTES];
        let written = value.encode_binary(&mut out);
        assert_eq!(usize::from(out[0]), body.len());
        assert_eq!(&out[1..written], body);
    }
}

#[test]
fn a_form_longer_than_need_be_is_the_same_moment() {
    for length in [4, 7, 11] {
        assert_eq!(
            DateTime::decode_binary(&[0; 11][..length]),
            Ok(DateTime::ZERO)
        );
    }
    let noon = date_time((2024, 2, 29), (12, 0, 0), 0);
    assert_eq!(
        DateTime::decode_binary(&[0xE8, 0x07, 2, 29, 12, 0, 0, 0, 0, 0, 0]),
        Ok(noon)
    );
}

#[test]
fn a_fraction_of_one_to_six_digits_is_microseconds() {
    for (text, microsecond) in [
        ("2024-02-29 23:59:59.9", 900_000),
        ("2024-02-29 23:59:59.99", 990_000),
        ("2024-02-29 23:59:59.012", 12_000),
        ("2024-02-29 23:59:59.0001", 100),
        ("2024-02-29 23:59:59.00001", 10),
        ("2024-02-29 23:59:59.000001", 1),
        ("2024-02-29 23:59:59.000000", 0),
    ] {
        let value = DateTime::parse_text(text.as_bytes()).unwrap();
        assert_eq!(value.microsecond, microsecond);
        let digits = text.len() - 20;
        assert_eq!(format!("{value:.digits$}"), text);
    }
}

#[test]
fn display_shows_as_many_digits_as_asked_for() {
    let value = date_time((2024, 2, 29), (1, 2, 3), 4_567);
    assert_eq!(format!("{value}"), "2024-02-29 01:02:03.004567");
    assert_eq!(format!("{value:.0}"), "2024-02-29 01:02:03");
    assert_eq!(format!("{value:.3}"), "2024-02-29 01:02:03.004");
    assert_eq!(format!("{value:.9}"), "2024-02-29 01:02:03.004567");
    assert_eq!(format!("{:.2}", DateTime::ZERO), "0000-00-00 00:00:00.00");
}

#[test]
fn a_text_cut_at_any_byte_is_an_error_unless_it_ends_after_seconds_or_fraction() {
    let text = b"2024-02-29 23:59:59.123456";
    for cut in 0..text.len() {
        let parsed = DateTime::parse_text(&text[..cut]);
        match cut {
            19 | 21.. => assert!(parsed.is_ok(), "{cut}"),
            _ => assert_eq!(
                parsed,
                error(ValueProblem::CutShort, u32::try_from(cut).unwrap())
            ),
        }
    }
}

#[test]
fn a_text_with_a_byte_out_of_place_names_it() {
    let cases: &[(&[u8], u8, u32)] = &[
        (b"2024-02-29T23:59:59", b'T', 10),
        (b"2024-02-29 23-59:59", b'-', 13),
        (b"2024-02-29 23:59:5x", b'x', 18),
        (b"2024-02-29 23:59:59Z", b'Z', 19),
        (b"2024-02-29 23:59:59+00:00", b'+', 19),
        (b"2024-02-29 23:59:59.12x", b'x', 22),
        // A seventh digit.
        (b"2024-02-29 23:59:59.1234567", b'7', 26),
        (b"2024-02-29 23:59:59. ", b' ', 20),
        (b"x024-02-29 23:59:59.y", b'x', 0),
    ];
    for &(text, byte, offset) in cases {
        assert_eq!(
            DateTime::parse_text(text),
            error(ValueProblem::UnexpectedByte(byte), offset),
            "{text:?}"
        );
    }
}

#[test]
fn a_field_out_of_range_is_named_by_its_offset() {
    for (text, offset) in [
        ("2024-13-01 00:00:00", 5),
        ("2024-12-32 00:00:00", 8),
        ("2024-12-31 24:00:00", 11),
        ("2024-12-31 23:60:00", 14),
        ("2024-12-31 23:59:60", 17),
    ] {
        assert_eq!(
            DateTime::parse_text(text.as_bytes()),
            error(ValueProblem::OutOfRange, offset)
        );
    }
    // Good but for one byte; 1,000,000 is 0x0F4240.
    let good = [0xE8, 0x07, 2, 29, 23, 59, 59, 0x3F, 0x42, 0x0F, 0x00];
    for (index, byte, offset) in [
        (1, 0x28, 0),
        (2, 13, 2),
        (3, 32, 3),
        (4, 24, 4),
        (5, 60, 5),
        (6, 60, 6),
        (7, 0x40, 7),
    ] {
        let mut body = good;
        body[index] = byte;
        assert_eq!(
            DateTime::decode_binary(&body),
            error(ValueProblem::OutOfRange, offset)
        );
    }
}

#[test]
fn only_the_lengths_of_the_specification_are_taken() {
    for length in 0..=255 {
        let body = vec![0; length];
        let expected = match length {
            0 | 4 | 7 | 11 => Ok(DateTime::ZERO),
            _ => error(ValueProblem::WrongLength, u32::try_from(length).unwrap()),
        };
        assert_eq!(DateTime::decode_binary(&body), expected);
    }
}

#[test]
fn moments_are_in_the_order_of_time() {
    for pair in PAIRS.windows(2) {
        assert!(pair[0].2 < pair[1].2);
    }
}

#[test]
fn a_date_is_its_midnight() {
    let date = Date {
        year: 2024,
        month: 2,
        day: 29,
    };
    let midnight = DateTime::from(date);
    assert!(midnight.is_midnight() && !midnight.is_zero());
    assert_eq!(midnight.date(), date);
    assert!(DateTime::ZERO.is_zero());
}

prop_compose! {
    fn any_date_time()(
        date in (0..=9999_u16, 0..=12_u8, 0..=31_u8),
        time in (0..=23_u8, 0..=59_u8, 0..=59_u8),
        microsecond in prop_oneof![Just(0), 0..=999_999_u32],
    ) -> DateTime {
        date_time(date, time, microsecond)
    }
}

proptest! {
    #[test]
    fn any_moment_survives_both_protocols(value in any_date_time()) {
        let mut out = [0; DateTime::MAX_BINARY_BYTES];
        let written = value.encode_binary(&mut out);
        prop_assert_eq!(DateTime::decode_binary(&out[1..written]), Ok(value));
        prop_assert_eq!(DateTime::parse_text(value.to_string().as_bytes()), Ok(value));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..32)) {
        let _ = DateTime::decode_binary(&bytes);
        let _ = DateTime::parse_text(&bytes);
    }

    #[test]
    fn one_changed_byte_never_makes_it_panic(value in any_date_time(), at in 0..26_usize, byte: u8) {
        let mut text = format!("{value:.6}").into_bytes();
        text[at] = byte;
        if let Ok(parsed) = DateTime::parse_text(&text) {
            prop_assert_eq!(format!("{parsed:.6}").into_bytes(), text);
        }
    }
}
