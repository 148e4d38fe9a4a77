#![allow(clippy::needless_borrows_for_generic_args)] // what is borrowed is not what is handed over

use super::{Form, Pairs};
use crate::command::geo::geoadd;
use crate::command::sorted_set::zadd;
use crate::command::string::mset;
use crate::testing::text;
use crate::{Arg, Command};

#[test]
fn pairs_of_every_kind_go_out_in_turn() {
    let two = "*5 $4 MSET $1 a $1 1 $1 b $2 22";
    assert_eq!(text(&mset(("a", 1))), "*3 $4 MSET $1 a $1 1");
    assert_eq!(text(&mset(&[("a", "1"), ("b", "22")])), two);
    assert_eq!(text(&mset([("a", 1), ("b", 22)])), two);
    assert_eq!(text(&mset(vec![("a", 1), ("b", 22)])), two);
    assert_eq!(
        text(&mset(&vec![("a".to_owned(), 1_i64), ("b".to_owned(), 22)])),
        two
    );
    assert_eq!(text(&mset([("a", 1), ("b", 22)].as_slice())), two);
    let args = [("a", 1), ("b", 22)].map(|(key, value)| (Arg::from(key), Arg::from(value)));
    assert_eq!(text(&mset(&args)), two);
}

#[test]
fn scores_come_before_members() {
    assert_eq!(text(&zadd("z", (1.5, "m"))), "*4 $4 ZADD $1 z $3 1.5 $1 m");
    let scores = [(f64::INFINITY, "m"), (-2.0, "n")];
    let both = "*6 $4 ZADD $1 z $3 inf $1 m $2 -2 $1 n";
    assert_eq!(text(&zadd("z", &scores)), both);
}

#[test]
fn places_are_threes() {
    let one = "*5 $6 GEOADD $1 g $4 13.5 $3 -38 $7 Palermo";
    assert_eq!(text(&geoadd("g", (13.5, -38.0, "Palermo"))), one);
    assert_eq!(text(&geoadd("g", &[(13.5, -38.0, "Palermo")])), one);
}

#[test]
fn lists_are_borrowed_and_slices_cost_one_small_allocation() {
    let list = vec![("a", "1")];
    assert!(matches!(Pairs::from(("a", "1")).0, Form::One(_)));
    assert!(matches!(Pairs::from(&list).0, Form::Borrowed(_)));
    assert!(matches!(Pairs::from(&list[..]).0, Form::Owned(_)));
}

#[test]
fn the_keys_of_pairs_are_their_first_halves() {
    let mut keys = Vec::new();
    mset(&[("a", "1"), ("b", "22")]).each_key(&mut |key| keys.push(key.to_vec()));
    assert_eq!(keys, [b"a", b"b"]);
}
