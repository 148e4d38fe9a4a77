use super::*;
use crate::codec::DecodeErrorKind;
use crate::packet::testing::hex;
use SessionChange::{
    Gtids, Schema, StateChange, SystemVariable, TransactionCharacteristics, TransactionState,
    Unknown,
};

fn changes(bytes: &[u8]) -> Result<Vec<SessionChange<'_>>, DecodeError> {
    SessionTrack::from_encoded(bytes).iter().collect()
}

/// Captured from MariaDB 10.11.19 after `start transaction read only`.
const TRANSACTION: &str = "
    05 09 08 54 5f 5f 5f 5f 5f 5f 5f                  state T_______
    04 1d 1c 53 54 41 52 54 20 54 52 41 4e 53 41 43 54 49 4f
    4e 20 52 45 41 44 20 4f 4e 4c 59 3b               START TRANSACTION READ ONLY;";

/// Captured from MariaDB 10.11.19 after `set character_set_client=utf8mb4, autocommit=1`.
const VARIABLES: &str = "
    00 0e 0a 61 75 74 6f 63 6f 6d 6d 69 74 02 4f 4e   autocommit = ON
    00 1d 14 63 68 61 72 61 63 74 65 72 5f 73 65 74 5f 63 6c 69 65 6e 74
    07 75 74 66 38 6d 62 34                           character_set_client = utf8mb4
    02 01 31                                          state changed, as MariaDB has it";

#[test]
fn a_transactions_start_is_tracked() {
    let bytes = hex(TRANSACTION);
    assert_eq!(
        changes(&bytes).unwrap(),
        [
            TransactionState(b"T_______"),
            TransactionCharacteristics(b"START TRANSACTION READ ONLY;")
        ]
    );
}

#[test]
fn variables_and_mariadbs_bare_state_change_are_tracked() {
    let bytes = hex(VARIABLES);
    assert_eq!(
        changes(&bytes).unwrap(),
        [
            SystemVariable {
                name: b"autocommit",
                value: b"ON"
            },
            SystemVariable {
                name: b"character_set_client",
                value: b"utf8mb4"
            },
            StateChange(true),
        ]
    );
}

#[test]
fn mysqls_state_change_gtids_and_empty_characteristics_are_tracked() {
    // Laid out after MySQL's page of the OK packet.
    let bytes = hex(
        "02 02 01 31                                     state changed
         03 06 00 04 61 3a 31 2d                         GTIDs as text
         04 01 00                                        no characteristics
         01 05 04 74 65 73 74                            schema test
         63 02 aa bb                                     a type of some later server",
    );
    assert_eq!(
        changes(&bytes).unwrap(),
        [
            StateChange(true),
            Gtids {
                encoding: 0,
                gtids: b"a:1-"
            },
            TransactionCharacteristics(b""),
            Schema(b"test"),
            Unknown {
                kind: 0x63,
                data: &[0xAA, 0xBB]
            },
        ]
    );
}

#[test]
fn one_change_may_hold_several_variables() {
    let bytes = b"\x00\x08\x01a\x01b\x01c\x01d\x01\x02\x01x";
    assert_eq!(
        changes(bytes).unwrap(),
        [
            SystemVariable {
                name: b"a",
                value: b"b"
            },
            SystemVariable {
                name: b"c",
                value: b"d"
            },
            Schema(b"x"),
        ]
    );
}

#[test]
fn the_iterator_ends_after_a_length_that_lies() {
    for bytes in [
        &b"\x01"[..],        // no length
        b"\x01\x05\x04tes",  // the change is longer than what is left
        b"\x01\x05\x05test", // the name is longer than its change
        b"\x01\x05\x03test", // the name is shorter than its change
        b"\x00\x04\x03abc",  // a variable without a value
        b"\x00\x00",         // no variable at all
        b"\x03\x00",         // GTIDs without an encoding
        b"\x01\xfb",         // NULL for a length
        b"\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xffx",
    ] {
        let mut iter = SessionTrack::from_encoded(bytes).iter();
        assert!(iter.next().unwrap().is_err(), "{bytes:?}");
        assert_eq!(iter.next(), None);
    }
}

#[test]
fn what_is_written_is_read_again() {
    let all = [
        SystemVariable {
            name: b"sql_mode",
            value: b"",
        },
        Schema(b"test"),
        StateChange(true),
        Gtids {
            encoding: 0,
            gtids: b"0-1-2",
        },
        TransactionCharacteristics(b"START TRANSACTION;"),
        TransactionState(b"T_______"),
        Unknown {
            kind: 0x40,
            data: b"xyz",
        },
    ];
    let mut out = Vec::new();
    for change in &all {
        change.encode(&mut out);
    }
    assert_eq!(changes(&out).unwrap(), all);
    let track = SessionTrack::from_encoded(&out);
    assert_eq!(track.as_encoded(), out);
}

#[test]
fn an_empty_change_of_unknown_type_is_kept() {
    assert_eq!(
        changes(b"\x7f\x00").unwrap(),
        [Unknown {
            kind: 0x7F,
            data: b""
        }]
    );
    assert_eq!(changes(b"").unwrap(), []);
    assert_eq!(
        changes(b"\x7f").unwrap_err().kind,
        DecodeErrorKind::Truncated
    );
}
