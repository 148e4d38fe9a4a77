use proptest::prelude::*;

use super::Date;
use crate::value::{ValueError, ValueKind, ValueProblem};

fn error(problem: ValueProblem, offset: u32) -> Result<Date, ValueError> {
    Err(ValueError {
        kind: ValueKind::Date,
        problem,
        offset,
    })
}

const fn date(year: u16, month: u8, day: u8) -> Date {
    Date { year, month, day }
}

/// Text, body after the length byte, value.
const PAIRS: &[(&[u8], &[u8], Date)] = &[
    // The zero date has no body.
    (b"0000-00-00", &[], Date::ZERO),
    (b"0000-00-01", &[0x00, 0x00, 0, 1], date(0, 0, 1)),
    (b"1000-01-01", &[0xE8, 0x03, 1, 1], date(1000, 1, 1)),
    // Partial.
    (b"2020-00-00", &[0xE4, 0x07, 0, 0], date(2020, 0, 0)),
    (b"2020-02-00", &[0xE4, 0x07, 2, 0], date(2020, 2, 0)),
    // In no calendar, but in a table with ALLOW_INVALID_DATES.
    (b"2020-02-31", &[0xE4, 0x07, 2, 31], date(2020, 2, 31)),
    (b"9999-12-31", &[0x0F, 0x27, 12, 31], date(9999, 12, 31)),
];

#[test]
fn text_and_binary_are_the_same_date_and_go_back_to_the_same_bytes() {
    for &(text, body, value) in PAIRS {
        assert_eq!(Date::parse_text(text), Ok(value));
        assert_eq!(Date::decode_binary(body), Ok(value));
        assert_eq!(value.to_string().as_bytes(), text);
        let mut out = [0xAA; Date::MAX_BINARY_BYTES];
        let written = value.encode_binary(&mut out);
        assert_eq!(usize::from(out[0]), body.len());
        assert_eq!(&out[1..written], body);
    }
}

#[test]
fn a_text_cut_at_any_byte_says_so() {
    for cut in 0..10 {
        assert_eq!(
            Date::parse_text(&b"2024-02-29"[..cut]),
            error(ValueProblem::CutShort, u32::try_from(cut).unwrap())
        );
    }
}

#[test]
fn a_text_with_a_byte_out_of_place_names_it() {
    let cases: &[(&[u8], u8, u32)] = &[
        (b"2024/02-29", b'/', 4),
        (b"2024-02 29", b' ', 7),
        (b"2024-0a-29", b'a', 6),
        (b"-024-02-29", b'-', 0),
        (b"2024-02-29 ", b' ', 10),
        (b"2024-02-29 00:00:00", b' ', 10),
        (b"20240229", b'0', 4),
        (b"2024-02-2\xFF", 0xFF, 9),
        (b"2024-02-2:", b':', 9),
    ];
    for &(text, byte, offset) in cases {
        assert_eq!(
            Date::parse_text(text),
            error(ValueProblem::UnexpectedByte(byte), offset),
            "{text:?}"
        );
    }
}

#[test]
fn a_field_out_of_range_is_named_by_its_offset() {
    assert_eq!(
        Date::parse_text(b"2024-13-01"),
        error(ValueProblem::OutOfRange, 5)
    );
    assert_eq!(
        Date::parse_text(b"2024-12-32"),
        error(ValueProblem::OutOfRange, 8)
    );
    assert_eq!(
        Date::parse_text(b"2024-99-99"),
        error(ValueProblem::OutOfRange, 5)
    );
    // Year 10,000.
    assert_eq!(
        Date::decode_binary(&[0x10, 0x27, 1, 1]),
        error(ValueProblem::OutOfRange, 0)
    );
    assert_eq!(
        Date::decode_binary(&[0xE8, 0x07, 13, 1]),
        error(ValueProblem::OutOfRange, 2)
    );
    assert_eq!(
        Date::decode_binary(&[0xE8, 0x07, 12, 32]),
        error(ValueProblem::OutOfRange, 3)
    );
    assert_eq!(
        Date::decode_binary(&[0xFF; 4]),
        error(ValueProblem::OutOfRange, 0)
    );
}

#[test]
fn only_the_lengths_of_the_specification_are_taken() {
    for length in 0..=255 {
        let body = vec![0; length];
        let expected = match length {
            0 | 4 | 7 | 11 => Ok(Date::ZERO),
            _ => error(ValueProblem::WrongLength, u32::try_from(length).unwrap()),
        };
        assert_eq!(Date::decode_binary(&body), expected);
    }
}

#[test]
fn a_time_in_a_date_is_taken_only_if_nothing_is_lost() {
    assert_eq!(
        Date::decode_binary(&[0xE8, 0x07, 2, 29, 0, 0, 0]),
        Ok(date(2024, 2, 29))
    );
    assert_eq!(
        Date::decode_binary(&[0xE8, 0x07, 2, 29, 0, 1, 0]),
        error(ValueProblem::OutOfRange, 5)
    );
    let with_microseconds = [0xE8, 0x07, 2, 29, 0, 0, 0, 0, 0, 0, 1];
    assert_eq!(
        Date::decode_binary(&with_microseconds),
        error(ValueProblem::OutOfRange, 10)
    );
}

#[test]
fn dates_are_in_the_order_of_time() {
    for pair in PAIRS.windows(2) {
        assert!(pair[0].2 < pair[1].2);
    }
}

#[test]
fn new_refuses_what_no_server_has() {
    assert_eq!(Date::new(9999, 12, 31), Some(date(9999, 12, 31)));
    assert_eq!(Date::new(0, 0, 0), Some(Date::ZERO));
    assert_eq!(Date::new(10_000, 1, 1), None);
    assert_eq!(Date::new(2024, 13, 1), None);
    assert_eq!(Date::new(2024, 1, 32), None);
}

#[test]
fn zero_and_partial_dates_are_told_apart() {
    assert!(Date::ZERO.is_zero() && Date::ZERO.is_partial());
    assert!(!date(2020, 0, 0).is_zero() && date(2020, 0, 0).is_partial());
    assert!(!date(2020, 1, 1).is_partial());
}

proptest! {
    #[test]
    fn any_date_survives_both_protocols(year in 0..=9999_u16, month in 0..=12_u8, day in 0..=31_u8) {
        let value = date(year, month, day);
        let mut out = [0; Date::MAX_BINARY_BYTES];
        let written = value.encode_binary(&mut out);
        prop_assert_eq!(Date::decode_binary(&out[1..written]), Ok(value));
        prop_assert_eq!(Date::parse_text(value.to_string().as_bytes()), Ok(value));
    }

    #[test]
    fn no_bytes_make_it_panic_and_what_it_takes_it_writes(bytes in prop::collection::vec(any::<u8>(), 0..16)) {
        let _ = Date::decode_binary(&bytes);
        if let Ok(value) = Date::parse_text(&bytes) {
            prop_assert_eq!(value.to_string().into_bytes(), bytes);
        }
    }
}
