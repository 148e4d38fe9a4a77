use std::collections::HashSet;

use proptest::prelude::*;

use super::{Decimal, OwnedDecimal};
use crate::value::{ValueError, ValueKind, ValueProblem};

fn decimal(text: &str) -> Decimal<'_> {
    Decimal::parse_text(text.as_bytes()).unwrap()
}

fn error(text: &[u8]) -> (ValueProblem, u32) {
    let ValueError {
        kind,
        problem,
        offset,
    } = Decimal::parse_text(text).unwrap_err();
    assert_eq!(kind, ValueKind::Decimal);
    (problem, offset)
}

#[test]
fn every_digit_is_kept() {
    for text in [
        "0",
        "-0.0",
        "0.50",
        ".5",
        "-1",
        // DECIMAL(12,3) UNSIGNED ZEROFILL.
        "000000012.500",
        // DECIMAL(65,30) at both ends.
        "99999999999999999999999999999999999.999999999999999999999999999999",
        "-99999999999999999999999999999999999.999999999999999999999999999999",
        // DECIMAL(65,38), MariaDB only.
        "-123456789012345678901234567.00000000000000000000000000000000000001",
        // DECIMAL(65,0).
        "99999999999999999999999999999999999999999999999999999999999999999",
    ] {
        let value = decimal(text);
        assert_eq!(value.as_str(), text);
        assert_eq!(value.to_string(), text);
        assert_eq!(
            Decimal::decode_binary(text.as_bytes()).unwrap().as_str(),
            text
        );
        assert_eq!(text.parse::<OwnedDecimal>().unwrap().as_str(), text);
    }
}

#[test]
fn literals_of_more_digits_than_a_column_are_read() {
    // Both as MariaDB 10.11 sends them for the bare literal.
    let nines = "9".repeat(81);
    assert_eq!(decimal(&nines).as_str(), nines);
    let fraction = format!("0.{}", "1".repeat(70));
    assert_eq!(decimal(&fraction).scale(), 70);
}

#[test]
fn leading_zeros_are_no_digits_but_those_of_a_fraction_are() {
    let padded = format!("{}{}", "0".repeat(300), "9".repeat(81));
    assert_eq!(decimal(&padded), decimal(&padded[300..]));
    assert_eq!(
        error("0".repeat(4097).as_bytes()),
        (ValueProblem::TooManyDigits, 4096),
        "a copy of it would not be small"
    );
    let fraction = format!("0.{}", "0".repeat(82));
    assert_eq!(
        error(fraction.as_bytes()),
        (ValueProblem::TooManyDigits, 83)
    );
    assert_eq!(
        error("9".repeat(82).as_bytes()),
        (ValueProblem::TooManyDigits, 81)
    );
}

#[test]
fn what_is_no_decimal_is_refused_where_it_goes_wrong() {
    let cases: &[(&[u8], (ValueProblem, u32))] = &[
        (b"", (ValueProblem::CutShort, 0)),
        (b"-", (ValueProblem::CutShort, 1)),
        (b".", (ValueProblem::CutShort, 1)),
        (b"-.", (ValueProblem::CutShort, 2)),
        (b"5.", (ValueProblem::CutShort, 2)),
        (b"+1", (ValueProblem::UnexpectedByte(b'+'), 0)),
        (b"--1", (ValueProblem::UnexpectedByte(b'-'), 1)),
        (b"1-", (ValueProblem::UnexpectedByte(b'-'), 1)),
        (b"1.2.3", (ValueProblem::UnexpectedByte(b'.'), 3)),
        (b"1,5", (ValueProblem::UnexpectedByte(b','), 1)),
        (b"1e5", (ValueProblem::UnexpectedByte(b'e'), 1)),
        (b" 1", (ValueProblem::UnexpectedByte(b' '), 0)),
        (b"1 ", (ValueProblem::UnexpectedByte(b' '), 1)),
        (b"1\0", (ValueProblem::UnexpectedByte(0), 1)),
        (b"-1\xFF", (ValueProblem::UnexpectedByte(0xFF), 2)),
        (b"NaN", (ValueProblem::UnexpectedByte(b'N'), 0)),
    ];
    for &(text, expected) in cases {
        assert_eq!(error(text), expected, "{text:?}");
    }
}

#[test]
fn equality_order_and_hash_are_by_number() {
    let ascending = [
        "-100", "-99.5", "-9.51", "-9.5", "-0.1", "-0.01", "0", "0.001", "0.01", "0.5", "9", "10",
        "10.05",
    ];
    for (index, left) in ascending.iter().enumerate() {
        for (other, right) in ascending.iter().enumerate() {
            assert_eq!(
                decimal(left).cmp(&decimal(right)),
                index.cmp(&other),
                "{left} and {right}"
            );
        }
    }
    let same = ["1.5", "1.50", "001.5", "0001.5000"].map(decimal);
    assert!(same.iter().all(|value| *value == same[0]));
    assert_eq!(HashSet::from(same).len(), 1);
    assert_eq!(decimal("-0.00"), decimal("0"));
    assert!(!decimal("-0.00").is_negative() && decimal("-0.01").is_negative());
}

#[test]
fn a_whole_number_becomes_an_i128_and_nothing_else_does() {
    for (text, number) in [
        ("0", Some(0)),
        ("-0.0", Some(0)),
        ("-42.000", Some(-42)),
        ("170141183460469231731687303715884105727", Some(i128::MAX)),
        ("-170141183460469231731687303715884105728", Some(i128::MIN)),
        ("170141183460469231731687303715884105728", None),
        ("-170141183460469231731687303715884105729", None),
        ("1.5", None),
        ("0.1", None),
    ] {
        assert_eq!(decimal(text).to_i128(), number, "{text}");
    }
}

#[test]
fn the_nearest_f64_is_given_when_asked_for() {
    assert_eq!(decimal("-1234.50").to_f64(), -1234.5);
    assert_eq!(decimal(".5").to_f64(), 0.5);
    assert_eq!(decimal(&"9".repeat(65)).to_f64(), 1e65);
}

#[test]
fn the_scale_counts_zeros_too() {
    assert_eq!(decimal("12").scale(), 0);
    assert_eq!(decimal("-12.500").scale(), 3);
}

#[test]
fn both_kinds_are_shown_alike() {
    let borrowed = decimal("-12.50");
    let owned = borrowed.to_owned_decimal();
    assert_eq!(
        (format!("{borrowed}"), format!("{owned}")),
        ("-12.50".into(), "-12.50".into())
    );
    assert_eq!(format!("{borrowed:?}"), "Decimal(-12.50)");
    assert_eq!(format!("{owned:?}"), "Decimal(-12.50)");
}

proptest! {
    #[test]
    fn integers_survive_and_keep_their_order(left: i128, right: i128) {
        let (a, b) = (left.to_string(), right.to_string());
        prop_assert_eq!(decimal(&a).to_i128(), Some(left));
        prop_assert_eq!(decimal(&a).cmp(&decimal(&b)), left.cmp(&right));
    }

    #[test]
    fn what_is_taken_is_text_of_the_grammar(bytes in prop::collection::vec(prop_oneof![Just(b'.'), Just(b'-'), b'0'..=b'9', any::<u8>()], 0..90)) {
        if let Ok(value) = Decimal::parse_text(&bytes) {
            prop_assert_eq!(value.as_str().as_bytes(), &bytes[..]);
            prop_assert!(value.to_f64().is_finite());
            let _ = (value.to_i128(), value.scale(), value.is_negative());
        }
    }
}
