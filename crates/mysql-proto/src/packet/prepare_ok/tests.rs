use super::*;
use crate::codec::DecodeErrorKind;
use crate::packet::testing::assert_refused_when_cut;

const PLAIN: Capabilities = Capabilities::empty();

/// Captured from MariaDB 10.11.19 for `select id,v from t where id=? and v=?`.
const PREPARED: [u8; 12] = [
    0x00, // status
    0x01, 0x00, 0x00, 0x00, // statement 1
    0x02, 0x00, // 2 columns
    0x02, 0x00, // 2 parameters
    0x00, // filler
    0x00, 0x00, // no warnings
];

#[test]
fn a_response_is_read_and_written() {
    let prepared = PrepareOk::decode(&PREPARED, PLAIN).unwrap();
    assert_eq!(
        prepared,
        PrepareOk {
            statement_id: 1,
            columns: 2,
            parameters: 2,
            warnings: 0,
            metadata_follows: true
        }
    );
    let mut out = Vec::new();
    prepared.encode(PLAIN, &mut out);
    assert_eq!(out, PREPARED);
}

#[test]
fn mysql_may_leave_out_the_metadata() {
    let capabilities = Capabilities::OPTIONAL_RESULTSET_METADATA;
    let payload = [&PREPARED[..], &[0x00]].concat();
    let prepared = PrepareOk::decode(&payload, capabilities).unwrap();
    assert!(!prepared.metadata_follows);
    let mut out = Vec::new();
    prepared.encode(capabilities, &mut out);
    assert_eq!(out, payload);
    assert_eq!(
        PrepareOk::decode(&payload, PLAIN).unwrap_err().kind,
        DecodeErrorKind::Trailing
    );
}

#[test]
fn a_response_cut_at_any_byte_is_refused() {
    assert_refused_when_cut(&PREPARED, &[], |bytes| PrepareOk::decode(bytes, PLAIN));
}

#[test]
fn counts_may_have_any_value() {
    let mut payload = PREPARED;
    // Captured from MariaDB 10.11.19, of a SELECT with 4,097 columns; and the most.
    for (bytes, columns) in [([0x01, 0x10], 4097), ([0xFF, 0xFF], 65_535)] {
        payload[5..7].copy_from_slice(&bytes);
        payload[7..9].copy_from_slice(&[0xFF, 0xFF]);
        let prepared = PrepareOk::decode(&payload, PLAIN).unwrap();
        assert_eq!((prepared.columns, prepared.parameters), (columns, 65_535));
    }
}
