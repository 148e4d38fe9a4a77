use std::io::Read;

use super::*;

fn length(param: Param<'_>) -> u64 {
    match param {
        Param::Bytes(bytes) => bytes.len() as u64,
        other => panic!("{other:?} is no byte string"),
    }
}

#[test]
fn the_long_columns_hold_448_6_mb_within_a_percent() {
    let mut rows = Rows::new();
    let mut sum = 0;
    for id in 1..=ROWS {
        let row = rows.next(id);
        sum += length(row[10]) + length(row[12]);
    }
    assert!((444_114_000..=453_086_000).contains(&sum), "{sum}");
}

#[test]
fn the_first_row_has_the_length_it_is_read_for() {
    let mut rows = Rows::new();
    let row = rows.next(1);
    assert_eq!(length(row[10]) + length(row[12]), 104_860);
}

#[test]
fn a_blob_is_the_same_however_it_is_read() {
    let blob = Blob { id: 7, bytes: 1000 };
    let mut whole = Vec::new();
    blob.reader().read_to_end(&mut whole).unwrap();
    let mut reader = blob.reader();
    let mut pieces = Vec::new();
    let mut piece = [0; 13];
    loop {
        match reader.read(&mut piece).unwrap() {
            0 => break,
            n => pieces.extend_from_slice(&piece[..n]),
        }
    }
    assert_eq!((whole.len(), whole), (1000, pieces));
}
