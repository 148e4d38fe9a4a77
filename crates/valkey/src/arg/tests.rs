use bytes::Bytes;

use super::{Arg, Text};

fn text(arg: impl Into<Arg<'static>>) -> String {
    let mut text = String::new();
    let arg = arg.into();
    arg.each(&mut |bytes| text = String::from_utf8(bytes.to_vec()).unwrap());
    assert_eq!(arg.len(), text.len());
    text
}

#[test]
fn every_kind_of_text_is_its_bytes() {
    const TEXTS: &[&str] = &["abc"];
    const SLICES: &[&[u8]] = &[b"abc"];
    let borrowed = [
        text("abc"),
        text(b"abc"),
        text(b"abc".as_slice()),
        // As iterators over slices give them.
        text(TEXTS.iter().next().unwrap()),
        text(SLICES.iter().next().unwrap()),
        text("abc".to_owned()),
        text(b"abc".to_vec()),
        text(Bytes::from_static(b"abc")),
        text(Box::<[u8]>::from(*b"abc")),
    ];
    assert!(borrowed.iter().all(|text| text == "abc"), "{borrowed:?}");
}

#[test]
fn integers_have_all_their_digits() {
    assert_eq!(text(0), "0");
    assert_eq!(text(-7), "-7");
    assert_eq!(text(i64::MIN), "-9223372036854775808");
    assert_eq!(text(i64::MAX), "9223372036854775807");
    assert_eq!(text(u64::MAX), "18446744073709551615");
}

#[test]
fn doubles_have_the_fewest_digits_that_give_them_again() {
    assert_eq!(text(0.0), "0");
    assert_eq!(text(0.1), "0.1");
    assert_eq!(text(-2.5), "-2.5");
    assert_eq!(text(1e16), "10000000000000000");
    assert_eq!(text(1e17), "1e17");
    assert_eq!(text(0.00001), "0.00001");
    assert_eq!(text(0.000001), "1e-6");
    assert_eq!(text(f64::MAX), "1.7976931348623157e308");
    assert_eq!(text(f64::INFINITY), "inf");
    assert_eq!(text(f64::NEG_INFINITY), "-inf");
}

#[test]
fn the_longest_doubles_fit() {
    for number in [
        -f64::MAX,
        -f64::MIN_POSITIVE,
        -1.234_567_890_123_456_7e-5,
        -1.234_567_890_123_456_7e-300,
        -99_999_999_999_999_980.0,
        5e-324,
    ] {
        let text = Text::of_double(number);
        let again: f64 = std::str::from_utf8(text.as_bytes())
            .unwrap()
            .parse()
            .unwrap();
        assert_eq!(again.to_bits(), number.to_bits());
    }
}

#[test]
fn debug_never_shows_a_text() {
    assert_eq!(format!("{:?}", Arg::from("secret")), "6 bytes");
    assert_eq!(format!("{:?}", Arg::from(17)), "17");
}
