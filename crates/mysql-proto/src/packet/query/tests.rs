use super::*;
use crate::packet::ParameterType;
use crate::packet::testing::hex;

const ATTRIBUTES: Capabilities = Capabilities::QUERY_ATTRIBUTES;

/// Laid out after the packet's page: `SELECT 1` with one attribute, and one that is NULL.
const WITH_ATTRIBUTES: &str = "
    03
    02 01                      2 attributes, 1 set
    02                         null bitmap: the second
    01                         types follow
    fe 00 03 61 62 63          STRING abc
    08 80 01 6e                unsigned LONGLONG n
    02 78 79                   xy
    53 45 4c 45 43 54 20 31    SELECT 1";

#[test]
fn a_statement_is_all_behind_the_command() {
    let query = Query::decode(b"\x03SELECT 1", Capabilities::empty()).unwrap();
    assert_eq!(query.sql, b"SELECT 1");
    let mut out = Vec::new();
    Query::encode(b"SELECT 1", Capabilities::empty(), &mut out);
    assert_eq!(out, b"\x03SELECT 1");
}

#[test]
fn with_query_attributes_two_counts_come_first() {
    let mut out = Vec::new();
    Query::encode(b"SELECT 1", ATTRIBUTES, &mut out);
    assert_eq!(out, b"\x03\x00\x01SELECT 1");
    assert_eq!(Query::decode(&out, ATTRIBUTES).unwrap().sql, b"SELECT 1");
}

#[test]
fn attributes_are_told_from_the_statement() {
    let payload = hex(WITH_ATTRIBUTES);
    let query = Query::decode(&payload, ATTRIBUTES).unwrap();
    assert_eq!(query.sql, b"SELECT 1");
    assert_eq!(query.attributes.count, 2);
    assert_eq!(query.attributes.values, b"\x02xy");
    let types: Vec<_> = query.attributes.types().collect();
    assert_eq!(
        types,
        [
            (ParameterType(0x00FE), &b"abc"[..]),
            (ParameterType(0x8008), &b"n"[..])
        ]
    );
    assert!(!query.attributes.nulls.is_null(0) && query.attributes.nulls.is_null(1));
}

#[test]
fn attributes_cut_short_are_refused() {
    let payload = hex(WITH_ATTRIBUTES);
    let statement = payload.len() - b"SELECT 1".len();
    for length in 0..statement {
        assert!(
            Query::decode(&payload[..length], ATTRIBUTES).is_err(),
            "cut to {length} bytes"
        );
    }
    assert_eq!(
        Query::decode(&payload[..statement], ATTRIBUTES)
            .unwrap()
            .sql,
        b""
    );
}

#[test]
fn attributes_without_types_in_two_sets_or_beyond_number_are_refused() {
    for (payload, field) in [
        (&b"\x03\x01\x01\x00\x00SELECT 1"[..], "new params bound"),
        (b"\x03\x01\x02\x00\x01", "attribute set count"),
        (b"\x03\xfd\x00\x00\x01\x01", "attribute count"),
        (b"\x03\xfb\x01", "attribute count"),
        (b"\x03\xfc\xff\xff\x01\x00\x01", "null bitmap"),
    ] {
        assert_eq!(Query::decode(payload, ATTRIBUTES).unwrap_err().field, field);
    }
}
