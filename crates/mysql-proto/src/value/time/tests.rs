use std::collections::HashSet;

use proptest::prelude::*;

use super::Time;
use crate::value::{ValueError, ValueKind, ValueProblem};

fn error(problem: ValueProblem, offset: u32) -> Result<Time, ValueError> {
    Err(ValueError {
        kind: ValueKind::Time,
        problem,
        offset,
    })
}

const fn time(negative: bool, (hours, minutes, seconds): (u16, u8, u8), microseconds: u32) -> Time {
    Time {
        negative,
        hours,
        minutes,
        seconds,
        microseconds,
    }
}

/// Text, body after the length byte, value, in ascending order.
const PAIRS: &[(&str, &[u8], Time)] = &[
    // 34 days and 22 hours; 999,999 is 0x0F423F.
    (
        "-838:59:59.999999",
        &[1, 34, 0, 0, 0, 22, 59, 59, 0x3F, 0x42, 0x0F, 0x00],
        time(true, (838, 59, 59), 999_999),
    ),
    (
        "-838:59:59",
        &[1, 34, 0, 0, 0, 22, 59, 59],
        time(true, (838, 59, 59), 0),
    ),
    (
        "-24:00:00",
        &[1, 1, 0, 0, 0, 0, 0, 0],
        time(true, (24, 0, 0), 0),
    ),
    (
        "-00:00:00.100000",
        &[1, 0, 0, 0, 0, 0, 0, 0, 0xA0, 0x86, 0x01, 0x00],
        time(true, (0, 0, 0), 100_000),
    ),
    ("00:00:00", &[], Time::ZERO),
    (
        "00:00:00.000001",
        &[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
        time(false, (0, 0, 0), 1),
    ),
    (
        "00:00:01",
        &[0, 0, 0, 0, 0, 0, 0, 1],
        time(false, (0, 0, 1), 0),
    ),
    (
        "23:59:59",
        &[0, 0, 0, 0, 0, 23, 59, 59],
        time(false, (23, 59, 59), 0),
    ),
    (
        "100:00:00",
        &[0, 4, 0, 0, 0, 4, 0, 0],
        time(false, (100, 0, 0), 0),
    ),
    (
        "838:59:59",
        &[0, 34, 0, 0, 0, 22, 59, 59],
        time(false, (838, 59, 59), 0),
    ),
    (
        "838:59:59.999999",
        &[0, 34, 0, 0, 0, 22, 59, 59, 0x3F, 0x42, 0x0F, 0x00],
        time(false, (838, 59, 59), 999_999),
    ),
];

#[test]
fn text_and_binary_are_the_same_time_and_go_back_to_the_same_bytes() {
    for &(text, body, value) in PAIRS {
        assert_eq!(Time::parse_text(text.as_bytes()), Ok(value));
        assert_eq!(Time::decode_binary(body), Ok(value));
        assert_eq!(value.to_string(), text);
        let mut out = [0xAA; Time::MAX_BINARY_BYTES];
        let written = value.encode_binary(&mut out);
        assert_eq!(usize::from(out[0]), body.len());
        assert_eq!(&out[1..written], body);
    }
}

#[test]
fn a_negative_zero_is_zero() {
    // What MariaDB 10.11 sends for TIME'-00:00:00'; in binary it sends no body.
    let zero = Time::parse_text(b"-00:00:00").unwrap();
    assert!(!zero.negative);
    assert_eq!(Time::parse_text(b"-00:00:00.000"), Ok(Time::ZERO));
    assert_eq!(
        Time::decode_binary(&[1, 0, 0, 0, 0, 0, 0, 0]),
        Ok(Time::ZERO)
    );
    let by_hand = time(true, (0, 0, 0), 0);
    assert_eq!(by_hand, Time::ZERO);
    assert_eq!(by_hand.to_string(), "00:00:00");
    assert_eq!(HashSet::from([by_hand, Time::ZERO]).len(), 1);
}

#[test]
fn times_are_in_the_order_of_length_with_its_sign() {
    for pair in PAIRS.windows(2) {
        assert!(pair[0].2 < pair[1].2);
    }
    assert_eq!(PAIRS[0].2.total_microseconds(), -3_020_399_999_999);
}

#[test]
fn a_text_cut_at_any_byte_is_an_error_unless_it_ends_after_seconds_or_fraction() {
    for (text, seconds_end) in [("-838:59:59.999999", 10), ("23:59:59.999999", 8)] {
        for cut in 0..text.len() {
            let parsed = Time::parse_text(&text.as_bytes()[..cut]);
            if cut == seconds_end || cut > seconds_end + 1 {
                assert!(parsed.is_ok(), "{text} cut at {cut}");
            } else {
                let at = u32::try_from(cut).unwrap();
                assert_eq!(
                    parsed,
                    error(ValueProblem::CutShort, at),
                    "{text} cut at {cut}"
                );
            }
        }
    }
}

#[test]
fn a_text_with_a_byte_out_of_place_names_it() {
    let cases: &[(&[u8], u8, u32)] = &[
        (b"+12:00:00", b'+', 0),
        (b"--12:00:00", b'-', 1),
        (b"1:00:00.5", b':', 1),
        (b"12:00-00", b'-', 5),
        (b"123:0x:00", b'x', 5),
        (b"-123:00-00", b'-', 7),
        (b"12:00:00 ", b' ', 8),
        (b"12:00:00.1234567", b'7', 15),
        (b"1234:00:00", b'4', 3),
        (b"12.00:00", b'.', 2),
    ];
    for &(text, byte, offset) in cases {
        assert_eq!(
            Time::parse_text(text),
            error(ValueProblem::UnexpectedByte(byte), offset),
            "{text:?}"
        );
    }
}

#[test]
fn a_field_out_of_range_is_named_by_its_offset() {
    for (text, offset) in [
        ("839:00:00", 0),
        ("-839:00:00", 1),
        ("999:99:99", 0),
        ("00:60:00", 3),
        ("-000:60:00", 5),
        ("00:00:60", 6),
    ] {
        assert_eq!(
            Time::parse_text(text.as_bytes()),
            error(ValueProblem::OutOfRange, offset),
            "{text}"
        );
    }
    for (index, byte, offset) in [
        (0, 2, 0),    // A sign that is neither 0 nor 1.
        (1, 35, 1),   // 35 days.
        (4, 0x80, 1), // 2^31 days and more.
        (5, 24, 5),
        (5, 23, 5), // 34 days and 23 hours are 839 hours.
        (6, 60, 6),
        (7, 60, 7),
        (8, 0x40, 8), // 1,000,000 is 0x0F4240.
    ] {
        let mut body = [0, 34, 0, 0, 0, 22, 59, 59, 0x3F, 0x42, 0x0F, 0x00];
        body[index] = byte;
        assert_eq!(
            Time::decode_binary(&body),
            error(ValueProblem::OutOfRange, offset)
        );
    }
}

#[test]
fn only_the_lengths_of_the_specification_are_taken() {
    for length in 0..=255 {
        let body = vec![0; length];
        let expected = match length {
            0 | 8 | 12 => Ok(Time::ZERO),
            _ => error(ValueProblem::WrongLength, u32::try_from(length).unwrap()),
        };
        assert_eq!(Time::decode_binary(&body), expected);
    }
}

#[test]
fn display_shows_as_many_digits_as_asked_for() {
    let value = time(true, (1, 2, 3), 450_000);
    assert_eq!(format!("{value:.2}"), "-01:02:03.45");
    assert_eq!(format!("{value:.0}"), "-01:02:03");
}

#[test]
fn fields_set_by_hand_beyond_the_range_neither_panic_nor_overflow() {
    let value = time(true, (u16::MAX, u8::MAX, u8::MAX), u32::MAX);
    assert_eq!(value.to_string(), "-65535:255:255.4294967295");
    assert!(value < Time::ZERO);
    let mut out = [0; Time::MAX_BINARY_BYTES];
    // 65,535 hours are 2,730 (0x0AAA) days and 15 hours.
    assert_eq!(value.encode_binary(&mut out), 13);
    assert_eq!(
        out,
        [12, 1, 0xAA, 0x0A, 0, 0, 15, 255, 255, 255, 255, 255, 255]
    );
}

prop_compose! {
    fn any_time()(
        negative: bool,
        whole in (0..=838_u16, 0..=59_u8, 0..=59_u8),
        microseconds in prop_oneof![Just(0), 0..=999_999_u32],
    ) -> Time {
        time(negative, whole, microseconds)
    }
}

proptest! {
    #[test]
    fn any_time_survives_both_protocols(value in any_time()) {
        let mut out = [0; Time::MAX_BINARY_BYTES];
        let written = value.encode_binary(&mut out);
        prop_assert_eq!(Time::decode_binary(&out[1..written]), Ok(value));
        prop_assert_eq!(Time::parse_text(value.to_string().as_bytes()), Ok(value));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
        let _ = Time::decode_binary(&bytes);
        let _ = Time::parse_text(&bytes);
    }

    #[test]
    fn no_text_of_its_own_alphabet_makes_it_panic(text in "-?[0-9:.-]{0,20}") {
        if let Ok(value) = Time::parse_text(text.as_bytes()) {
            prop_assert_eq!(Time::parse_text(value.to_string().as_bytes()), Ok(value));
        }
    }
}
