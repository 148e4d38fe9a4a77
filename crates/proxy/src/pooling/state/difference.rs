//! The commands that make one state into another.
//!
//! They are read with the `sql_mode` and the character set that the connection has before, whatever these are: there is
//! nothing in them but ASCII without backslashes, in single quotes. Only the name of a schema is sent as it is.

use onecopy_mysql_proto::packet::CommandByte;

use super::names::{CHARACTER_SETS, is_harmless as is_harmless_name, is_nullable, is_of_results};
use super::{Baseline, State};
use crate::pooling::exchange::{begin_packet, end_packet, put_packet};

/// What has to be set, in the order of names: what is wanted, and back to a fresh connection's what is not.
fn assignments<'a>(
    actual: &'a State,
    wanted: &'a State,
    baseline: &'a Baseline,
) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
    let mut set = wanted
        .variables
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .filter(|(name, value)| actual.get(name) != Some(value))
        .peekable();
    let mut back = actual
        .variables
        .iter()
        .filter(|(name, _)| wanted.get(name).is_none())
        .filter_map(|(name, _)| Some((&**name, baseline.get(name)?)))
        .peekable();
    std::iter::from_fn(move || match (set.peek(), back.peek()) {
        (Some((one, _)), Some((other, _))) if one < other => set.next(),
        (Some(_), None) => set.next(),
        _ => back.next(),
    })
}

/// Whether a command may be sent right behind the difference: it can't fail, and the schema is the same.
pub(crate) fn is_harmless(actual: &State, wanted: &State) -> bool {
    let differs = |one: &State, other: &State| {
        one.variables
            .iter()
            .any(|(name, value)| other.get(name) != Some(value) && !is_harmless_name(name))
    };
    actual.schema == wanted.schema && !differs(actual, wanted) && !differs(wanted, actual)
}

/// So many assignments are looked up once; more are looked up twice.
const FEW: usize = 8;

/// Appends the commands that make the one state the other; gives their number.
pub(crate) fn difference(
    actual: &State,
    wanted: &State,
    baseline: &Baseline,
    out: &mut Vec<u8>,
) -> u32 {
    let mut count = 0;
    // Without a schema there is no way back to none: the next one that has one sets it.
    let schema = wanted
        .schema()
        .filter(|schema| actual.schema() != Some(schema));
    let mut has_names = false;
    if let Some(schema) = schema {
        if !schema.is_ascii() {
            // It is read in the client's character set, and reported in UTF-8; the login has named it in its own.
            let names = match std::str::from_utf8(schema) {
                Ok(_) => b"utf8mb4",
                Err(_) => baseline.get(CHARACTER_SETS[0]).unwrap_or_default(),
            };
            let mut sql = b"SET NAMES ".to_vec();
            put_value(&mut sql, names);
            put_packet(out, CommandByte::QUERY, &sql);
            (count, has_names) = (count + 1, true);
        }
        put_packet(out, CommandByte::INIT_DB, schema);
        count += 1;
    }
    let (mut found, mut sets_results, mut sets_characters) = (0, false, false);
    let mut few: [(&[u8], &[u8]); FEW] = [(b"", b""); FEW];
    for (name, value) in assignments(actual, wanted, baseline) {
        if let Some(place) = few.get_mut(found) {
            *place = (name, value);
        }
        found += 1;
        // Those of results are set only if they differ: what a routine has made of them is not known here, and would be lost.
        sets_results |= is_of_results(name);
        sets_characters |= CHARACTER_SETS.contains(&name);
    }
    if found == 0 && !has_names {
        return count;
    }
    // In place: a statement that has its session's variables set in front allocates nothing for that.
    let begin = begin_packet(out, CommandByte::QUERY);
    out.extend_from_slice(b"SET ");
    if has_names || sets_results {
        put_character_sets(out, wanted, baseline);
    } else if sets_characters {
        put_statement_sets(out, wanted, baseline);
    }
    let mut put = |(name, value)| {
        if !sets_characters || !CHARACTER_SETS.contains(&name) {
            put_assignment(out, name, value, baseline);
        }
    };
    match few.get(..found) {
        Some(few) => few.iter().copied().for_each(&mut put),
        None => assignments(actual, wanted, baseline).for_each(&mut put),
    }
    end_packet(out, begin);
    count + 1
}

/// The character sets that statements are read in. The connection's character set follows from the collation.
fn put_statement_sets(sql: &mut Vec<u8>, wanted: &State, baseline: &Baseline) {
    for name in [CHARACTER_SETS[0], CHARACTER_SETS[3]] {
        let value = wanted.get(name).or_else(|| baseline.get(name));
        put_assignment(sql, name, value.unwrap_or_default(), baseline);
    }
}

/// All four, as one depends on another.
fn put_character_sets(sql: &mut Vec<u8>, wanted: &State, baseline: &Baseline) {
    let value = |name: &&'static [u8]| wanted.get(name).or_else(|| baseline.get(name));
    let [client, results, _, collation, of_results] = CHARACTER_SETS
        .each_ref()
        .map(|name| value(name).unwrap_or_default());
    // A collation by its full name can be set in no other way.
    if !results.is_empty() && of_results != results && results == character_set_of(of_results) {
        sql.extend_from_slice(b"NAMES ");
        put_value(sql, results);
        sql.extend_from_slice(b" COLLATE ");
        put_value(sql, of_results);
        for (name, value, named) in [
            (CHARACTER_SETS[0], client, results),
            (CHARACTER_SETS[3], collation, of_results),
        ] {
            if value != named {
                put_assignment(sql, name, value, baseline);
            }
        }
        return;
    }
    // The connection's character set follows from the collation.
    for (name, value) in [
        (CHARACTER_SETS[0], client),
        (CHARACTER_SETS[1], results),
        (CHARACTER_SETS[3], collation),
    ] {
        put_assignment(sql, name, value, baseline);
    }
}

/// The character set of a collation, by its full name: `latin1` of `latin1_swedish_ci`, `binary` of `binary`.
pub(super) fn character_set_of(collation: &[u8]) -> &[u8] {
    let mut parts = collation.split(|byte| *byte == b'_');
    parts.next().unwrap_or_default()
}

/// Of the session: without that word, the isolation of `@@` is the next transaction's alone.
fn put_assignment(sql: &mut Vec<u8>, name: &[u8], value: &[u8], baseline: &Baseline) {
    // No value ends with a space.
    if !sql.ends_with(b" ") {
        sql.push(b',');
    }
    sql.extend_from_slice(b"@@session.");
    sql.extend_from_slice(name);
    sql.push(b'=');
    let is_number_always = is_number(value) && baseline.get(name).is_none_or(is_number);
    let is_word = match name {
        _ if value.is_empty() && is_nullable(name) => Some(&b"NULL"[..]),
        // There is no other word for it.
        b"system_versioning_asof" if value == b"DEFAULT" => Some(value),
        _ if is_number_always || value == b"NULL" => Some(value),
        _ => None,
    };
    match is_word {
        Some(word) => sql.extend_from_slice(word),
        None => put_value(sql, value),
    }
}

/// Variables that are numbers take no texts, and those that are texts no numbers.
fn is_number(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let is_plain = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    digits.first().is_some_and(u8::is_ascii_digit) && digits.iter().all(is_plain)
}

/// A text as it is reported, as it is taken.
fn put_value(sql: &mut Vec<u8>, value: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let is_safe = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'\\';
    if value.iter().all(is_safe) {
        sql.push(b'\'');
        for &byte in value {
            if byte == b'\'' {
                sql.push(byte);
            }
            sql.push(byte);
        }
        sql.push(b'\'');
        return;
    }
    sql.extend_from_slice(b"X'");
    for byte in value {
        let digits = [byte >> 4, byte & 15];
        sql.extend(digits.map(|digit| HEX[usize::from(digit)]));
    }
    sql.push(b'\'');
}
