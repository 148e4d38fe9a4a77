use proptest::prelude::*;

use super::{parse_i64, parse_u64};
use crate::value::{ValueError, ValueKind, ValueProblem};

fn error<T>(kind: ValueKind, problem: ValueProblem, offset: u32) -> Result<T, ValueError> {
    Err(ValueError {
        kind,
        problem,
        offset,
    })
}

#[test]
fn both_ends_of_the_range_are_read_and_one_more_is_out_of_range() {
    let out_of_range = error(ValueKind::Int, ValueProblem::OutOfRange, 0);
    assert_eq!(parse_i64(b"9223372036854775807"), Ok(i64::MAX));
    assert_eq!(parse_i64(b"-9223372036854775808"), Ok(i64::MIN));
    assert_eq!(parse_i64(b"9223372036854775808"), out_of_range);
    assert_eq!(parse_i64(b"-9223372036854775809"), out_of_range);
    assert_eq!(parse_i64(b"-99999999999999999999"), out_of_range);
    assert_eq!(parse_u64(b"0"), Ok(0));
    assert_eq!(parse_u64(b"18446744073709551615"), Ok(u64::MAX));
    for text in [
        "18446744073709551616",
        "18446744073709551620",
        "99999999999999999999",
        "100000000000000000000",
    ] {
        assert_eq!(
            parse_u64(text.as_bytes()),
            error(ValueKind::UInt, ValueProblem::OutOfRange, 0),
            "{text}"
        );
    }
}

#[test]
fn leading_zeros_of_zerofill_are_fine() {
    // BIGINT UNSIGNED ZEROFILL, and a display width of 255.
    assert_eq!(parse_u64(b"00000000000000000005"), Ok(5));
    let mut wide = [b'0'; 255];
    wide[254] = b'7';
    assert_eq!(parse_u64(&wide), Ok(7));
    assert_eq!(parse_i64(b"-0042"), Ok(-42));
    assert_eq!(parse_i64(b"-0"), Ok(0));
}

#[test]
fn what_is_no_integer_is_refused_where_it_goes_wrong() {
    let cases: &[(&[u8], ValueProblem, u32)] = &[
        (b"", ValueProblem::CutShort, 0),
        (b"-", ValueProblem::CutShort, 1),
        (b"+1", ValueProblem::UnexpectedByte(b'+'), 0),
        (b"--1", ValueProblem::UnexpectedByte(b'-'), 1),
        (b"1.0", ValueProblem::UnexpectedByte(b'.'), 1),
        (b"1e3", ValueProblem::UnexpectedByte(b'e'), 1),
        (b" 1", ValueProblem::UnexpectedByte(b' '), 0),
        (b"1 ", ValueProblem::UnexpectedByte(b' '), 1),
        (b"0x10", ValueProblem::UnexpectedByte(b'x'), 1),
        // The bytes beside the digits in ASCII.
        (b"1/", ValueProblem::UnexpectedByte(b'/'), 1),
        (b"1:", ValueProblem::UnexpectedByte(b':'), 1),
        // After more digits than are read without a check.
        (
            b"-00000000000000000000000x",
            ValueProblem::UnexpectedByte(b'x'),
            24,
        ),
        (
            b"99999999999999999999999x",
            ValueProblem::UnexpectedByte(b'x'),
            23,
        ),
    ];
    for &(text, problem, offset) in cases {
        assert_eq!(
            parse_i64(text),
            error(ValueKind::Int, problem, offset),
            "{text:?}"
        );
    }
    assert_eq!(
        parse_u64(b"-1"),
        error(ValueKind::UInt, ValueProblem::UnexpectedByte(b'-'), 0)
    );
}

proptest! {
    #[test]
    fn any_integer_survives_its_text(signed: i64, unsigned: u64) {
        prop_assert_eq!(parse_i64(signed.to_string().as_bytes()), Ok(signed));
        prop_assert_eq!(parse_u64(unsigned.to_string().as_bytes()), Ok(unsigned));
    }

    #[test]
    fn any_text_is_read_as_the_standard_library_reads_it(text in "-?[0-9]{0,22}[ -~]?") {
        let expected = if text.starts_with('+') { None } else { text.parse::<i64>().ok() };
        prop_assert_eq!(parse_i64(text.as_bytes()).ok(), expected);
    }
}
