//! The rows of all families as one table, put together at compile time.

use super::Entry;
use crate::command::{
    bitmap, cluster, connection, generic, geo, hash, hyperloglog, list, pubsub, scripting,
    sentinel, server, set, sorted_set, stream, string, transactions,
};
#[cfg(feature = "modules")]
use crate::command::{json, vector_set};

/// The rows of a family, sorted by name. The number before a row is made of the first bytes of its name, and names with the same first bytes
/// are all of one family: comparing names byte by byte would take most of the compiler's time for constants.
type Rows = [(u128, Entry)];

const FAMILIES: &[&Rows] = &[
    bitmap::ENTRIES,
    cluster::ENTRIES,
    connection::ENTRIES,
    generic::ENTRIES,
    geo::ENTRIES,
    hash::ENTRIES,
    hyperloglog::ENTRIES,
    #[cfg(feature = "modules")]
    json::ENTRIES,
    list::ENTRIES,
    pubsub::ENTRIES,
    scripting::ENTRIES,
    sentinel::ENTRIES,
    server::ENTRIES,
    set::ENTRIES,
    sorted_set::ENTRIES,
    stream::ENTRIES,
    string::ENTRIES,
    transactions::ENTRIES,
    #[cfg(feature = "modules")]
    vector_set::ENTRIES,
];

/// Sorted by name.
pub(super) static ENTRIES: [Entry; COUNT] = merged();

const COUNT: usize = {
    let (families, mut count, mut family) = (FAMILIES, 0, 0);
    while family < families.len() {
        count += families[family].len();
        family += 1;
    }
    count
};

const fn merged() -> [Entry; COUNT] {
    let families = FAMILIES;
    let mut entries = [families[0][0].1; COUNT];
    let mut taken = [0; FAMILIES.len()];
    let mut at = 0;
    while at < COUNT {
        let (first, second) = least(families, &taken);
        let (rows, mut next) = (families[first], taken[first]);
        // Mostly several in a row come from one family.
        while next < rows.len() && (next == taken[first] || rows[next].0 < second) {
            entries[at] = rows[next].1;
            at += 1;
            next += 1;
        }
        taken[first] = next;
    }
    entries
}

/// The family with the least next row, and the place of the least one of the others.
const fn least(families: &[&Rows], taken: &[usize]) -> (usize, u128) {
    let (mut first, mut place, mut second) = (0, u128::MAX, u128::MAX);
    let mut family = 0;
    while family < families.len() {
        let (rows, next) = (families[family], taken[family]);
        if next < rows.len() {
            let other = rows[next].0;
            if other < place {
                (first, second, place) = (family, place, other);
            } else if other < second {
                second = other;
            }
        }
        family += 1;
    }
    (first, second)
}
