use super::*;
use crate::packet::testing::{assert_refused_when_cut, hex};

const PLAIN: Capabilities = Capabilities::empty();
const EXTENDED: Capabilities = Capabilities::MARIADB_EXTENDED_METADATA;

/// Captured from MariaDB 10.11.19: `id int primary key auto_increment` of the table test.t.
const ID: &str = "
    03 64 65 66                def
    04 74 65 73 74             test
    01 74 01 74                t, t
    02 69 64 02 69 64          id, id
    0c
    3f 00                      binary
    0b 00 00 00                11 bytes
    03                         LONG
    03 42                      NOT_NULL, PRI_KEY, AUTO_INCREMENT, PART_KEY
    00 00 00";

/// Captured from MariaDB 10.11.19: `u uuid`, with extended metadata.
const UUID: &str = "
    03 64 65 66                def
    04 74 65 73 74             test
    01 74 01 74                t, t
    01 75 01 75                u, u
    06 00 04 75 75 69 64       type name: uuid
    0c
    2d 00                      utf8mb4_general_ci
    90 00 00 00                144 bytes
    fe                         STRING
    a0 00                      BINARY, UNSIGNED
    00 00 00";

/// Captured from MariaDB 10.11.19: `select 1 as a`.
const EXPRESSION: &str = "
    03 64 65 66 00 00 00 01 61 00
    0c 3f 00 01 00 00 00 03 81 00 00 00 00";

#[test]
fn a_tables_column_is_read_and_written() {
    let payload = hex(ID);
    let column = ColumnDefinition::decode(&payload, PLAIN).unwrap();
    assert_eq!(
        column,
        ColumnDefinition {
            catalog: b"def",
            schema: b"test",
            table: b"t",
            org_table: b"t",
            name: b"id",
            org_name: b"id",
            extended: ExtendedMetadata::default(),
            collation: 63,
            column_length: 11,
            column_type: 0x03,
            flags: 0x4203,
            decimals: 0,
        }
    );
    let mut out = Vec::new();
    column.encode(PLAIN, &mut out);
    assert_eq!(out, payload);
}

#[test]
fn an_expression_has_a_name_and_no_table() {
    let payload = hex(EXPRESSION);
    let column = ColumnDefinition::decode(&payload, PLAIN).unwrap();
    assert_eq!(
        (column.name, column.org_name, column.table),
        (&b"a"[..], &b""[..], &b""[..])
    );
}

#[test]
fn extended_metadata_names_the_type_where_it_was_agreed_on() {
    let payload = hex(UUID);
    let column = ColumnDefinition::decode(&payload, EXTENDED).unwrap();
    assert_eq!(
        column.extended.find(ExtendedMetadataKind::TypeName),
        Some(&b"uuid"[..])
    );
    assert_eq!(column.extended.find(ExtendedMetadataKind::Format), None);
    assert_eq!(column.column_type, 0xFE);
    let mut out = Vec::new();
    column.encode(EXTENDED, &mut out);
    assert_eq!(out, payload);
    assert!(ColumnDefinition::decode(&payload, PLAIN).is_err());
}

#[test]
fn extended_metadata_may_hold_several_chunks_and_unknown_ones() {
    let mut bytes = Vec::new();
    ExtendedMetadata::push(&mut bytes, ExtendedMetadataKind::Unknown(7), b"new");
    ExtendedMetadata::push(&mut bytes, ExtendedMetadataKind::Format, b"json");
    assert_eq!(bytes, b"\x07\x03new\x01\x04json");
    let extended = ExtendedMetadata::from_encoded(&bytes);
    assert_eq!(
        extended.find(ExtendedMetadataKind::Format),
        Some(&b"json"[..])
    );
    assert_eq!(
        extended.find(ExtendedMetadataKind::Unknown(7)),
        Some(&b"new"[..])
    );
    // A chunk that lies hides what is behind it, and nothing more.
    let lie = ExtendedMetadata::from_encoded(b"\x00\x09uuid");
    assert_eq!(lie.find(ExtendedMetadataKind::TypeName), None);
}

#[test]
fn a_definition_cut_at_any_byte_is_refused() {
    let id = hex(ID);
    assert_refused_when_cut(&id, &[], |bytes| ColumnDefinition::decode(bytes, PLAIN));
    let uuid = hex(UUID);
    assert_refused_when_cut(&uuid, &[], |bytes| {
        ColumnDefinition::decode(bytes, EXTENDED)
    });
}

#[test]
fn a_fixed_part_of_another_length_is_refused() {
    for length in [0x00, 0x0B, 0x0D, 0xFA] {
        let mut payload = hex(EXPRESSION);
        payload[10] = length;
        let error = ColumnDefinition::decode(&payload, PLAIN).unwrap_err();
        assert_eq!(error.offset, 10);
        assert_eq!(error.kind, DecodeErrorKind::BadLength);
    }
}

#[test]
fn a_name_longer_than_the_packet_and_trailing_bytes_are_refused() {
    let mut payload = hex(EXPRESSION);
    payload[7] = 0x7F;
    let error = ColumnDefinition::decode(&payload, PLAIN).unwrap_err();
    assert_eq!((error.field, error.offset), ("name", 7));
    assert_eq!(error.kind, DecodeErrorKind::BadLength);

    let mut payload = hex(EXPRESSION);
    payload.push(0);
    let error = ColumnDefinition::decode(&payload, PLAIN).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::Trailing);
}

#[test]
fn unknown_types_collations_and_flags_are_kept() {
    let mut payload = hex(EXPRESSION);
    payload[11..].copy_from_slice(&[
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xEE, 0xFF, 0xFF, 0xFF, 0, 0,
    ]);
    let column = ColumnDefinition::decode(&payload, PLAIN).unwrap();
    assert_eq!(
        (column.collation, column.column_type, column.flags),
        (0xFFFF, 0xEE, 0xFFFF)
    );
}
