#![allow(clippy::needless_borrows_for_generic_args)] // what is borrowed is not what is handed over

use bytes::Bytes;

use super::{Args, Form};
use crate::Arg;
use crate::command::generic::del;
use crate::testing::text;

const TWO: &str = "*3 $3 DEL $1 a $2 bc";

#[test]
fn one_argument_needs_no_list() {
    assert_eq!(text(&del("a")), "*2 $3 DEL $1 a");
    assert_eq!(text(&del(b"a")), "*2 $3 DEL $1 a");
    assert_eq!(text(&del(17)), "*2 $3 DEL $2 17");
    assert_eq!(text(&del("a".to_owned())), "*2 $3 DEL $1 a");
    assert!(matches!(Args::from("a").0, Form::One(_)));
    assert!(matches!(Args::from(&b"a".to_vec()).0, Form::One(_)));
}

#[test]
fn every_list_of_texts_is_borrowed_as_it_is() {
    let strings = vec!["a".to_owned(), "bc".to_owned()];
    let vectors = vec![b"a".to_vec(), b"bc".to_vec()];
    let bytes = [Bytes::from_static(b"a"), Bytes::from_static(b"bc")];
    let args = [Arg::from("a"), Arg::from("bc")];
    let slices: [&[u8]; 2] = [b"a", b"bc"];
    assert_eq!(text(&del(&["a", "bc"])), TWO);
    assert_eq!(text(&del(["a", "bc"].as_slice())), TWO);
    assert_eq!(text(&del(&vec!["a", "bc"])), TWO);
    assert_eq!(text(&del(&slices)), TWO);
    assert_eq!(text(&del(&strings)), TWO);
    assert_eq!(text(&del(&strings[..])), TWO);
    assert_eq!(text(&del(&vectors)), TWO);
    assert_eq!(text(&del(&bytes)), TWO);
    assert_eq!(text(&del(&args)), TWO);
}

#[test]
fn arrays_and_vectors_can_be_handed_over() {
    assert_eq!(text(&del(["a", "bc"])), TWO);
    assert_eq!(text(&del(vec!["a", "bc"])), TWO);
    assert_eq!(text(&del(["a".to_owned(), "bc".to_owned()])), TWO);
    assert_eq!(text(&del([1, 22])), "*3 $3 DEL $1 1 $2 22");
    let mixed = [Arg::from("a"), Arg::from(2)];
    assert_eq!(text(&del(mixed)), "*3 $3 DEL $1 a $1 2");
    let five = "*6 $3 DEL $1 a $1 b $1 c $1 d $1 e";
    assert_eq!(text(&del(["a", "b", "c", "d", "e"])), five);
}

#[test]
fn four_borrowed_arguments_by_value_need_no_list() {
    assert!(matches!(
        Args::from(["a", "b", "c", "d"]).0,
        Form::Inline(_, 4)
    ));
    assert!(matches!(
        Args::from(["a", "b", "c", "d", "e"]).0,
        Form::Owned(_)
    ));
    assert!(matches!(Args::from([1, 2]).0, Form::Owned(_)));
}

#[test]
fn no_argument_at_all_leaves_the_name() {
    let none: [&str; 0] = [];
    assert_eq!(text(&del(none)), "*1 $3 DEL");
    assert_eq!(text(&del(Args::none())), "*1 $3 DEL");
}

#[test]
fn only_an_empty_list_is_empty() {
    assert!(!Args::from("a").is_empty());
    assert!(!Args::from(&["a", "b"]).is_empty());
    let none: &[&str] = &[];
    assert!(Args::from(none).is_empty());
}
