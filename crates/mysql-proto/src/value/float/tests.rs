use proptest::prelude::*;

use super::{parse_f32, parse_f64};
use crate::value::{ValueError, ValueKind, ValueProblem};

fn error<T>(kind: ValueKind, problem: ValueProblem, offset: u32) -> Result<T, ValueError> {
    Err(ValueError {
        kind,
        problem,
        offset,
    })
}

#[test]
fn doubles_are_exact_at_both_ends() {
    // As MariaDB 10.11 sends them.
    assert_eq!(parse_f64(b"1.7976931348623157e308"), Ok(f64::MAX));
    assert_eq!(parse_f64(b"-1.7976931348623157e308"), Ok(f64::MIN));
    assert_eq!(parse_f64(b"5e-324"), Ok(f64::from_bits(1)));
    assert_eq!(parse_f64(b"-0").map(f64::to_bits), Ok((-0.0_f64).to_bits()));
    assert_eq!(parse_f64(b"-0.000001"), Ok(-0.000_001));
}

#[test]
fn the_rounded_text_of_a_float_is_not_the_stored_value() {
    // MariaDB 10.11, column FLOAT: stored 16777216 and f32::MAX.
    assert_eq!(parse_f32(b"16777200"), Ok(16_777_200.0));
    let max = parse_f32(b"3.40282e38").unwrap();
    assert!(max < f32::MAX && max > 3.402e38);
    // FLOAT(10,3).
    assert_eq!(parse_f32(b"1.500"), Ok(1.5));
    assert_eq!(parse_f32(b"0000001.5"), Ok(1.5));
}

#[test]
fn a_number_that_is_too_large_is_no_infinity() {
    assert_eq!(
        parse_f32(b"1e39"),
        error(ValueKind::Float, ValueProblem::OutOfRange, 0)
    );
    assert_eq!(
        parse_f64(b"-1e309"),
        error(ValueKind::Double, ValueProblem::OutOfRange, 0)
    );
    assert_eq!(parse_f64(b"-inf"), Ok(f64::NEG_INFINITY));
    assert!(parse_f64(b"nan").is_ok_and(f64::is_nan));
}

#[test]
fn what_is_no_number_is_refused_where_it_goes_wrong() {
    let cases: &[(&[u8], ValueProblem, u32)] = &[
        (b"", ValueProblem::CutShort, 0),
        (b"-", ValueProblem::CutShort, 1),
        (b"1e", ValueProblem::CutShort, 2),
        (b"1e+", ValueProblem::CutShort, 3),
        (b".", ValueProblem::CutShort, 1),
        (b"1,5", ValueProblem::UnexpectedByte(b','), 1),
        (b" 1", ValueProblem::UnexpectedByte(b' '), 0),
        (b"1 ", ValueProblem::UnexpectedByte(b' '), 1),
        (b"1.5\xFF", ValueProblem::UnexpectedByte(0xFF), 3),
        (b"\xFF", ValueProblem::UnexpectedByte(0xFF), 0),
        (b"1.2.3", ValueProblem::UnexpectedByte(b'3'), 4),
        (b"--1", ValueProblem::UnexpectedByte(b'1'), 2),
    ];
    for &(text, problem, offset) in cases {
        assert_eq!(
            parse_f64(text),
            error(ValueKind::Double, problem, offset),
            "{text:?}"
        );
        assert_eq!(
            parse_f32(text),
            error(ValueKind::Float, problem, offset),
            "{text:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_finite_double_survives_its_shortest_text(number in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO) {
        prop_assert_eq!(parse_f64(format!("{number:e}").as_bytes()), Ok(number));
        prop_assert_eq!(parse_f64(number.to_string().as_bytes()), Ok(number));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = (parse_f32(&bytes), parse_f64(&bytes));
    }
}
