use super::*;
use crate::bulk::batch::tests::core;
use crate::params;

fn binary(sql: &str) -> Insert {
    let mut insert = Insert::new(sql.as_bytes(), &core(), 100, 1_000).unwrap();
    insert.encoding = Encoding::Binary;
    insert
}

#[test]
fn nulls_have_a_bit_and_a_refused_row_leaves_none() {
    let mut insert = binary("INSERT INTO t VALUES (?, ?, ?)");
    let mut body = Vec::new();
    let null = None::<u8>;
    let rows: [&[Param<'_>]; 3] = [
        &params![null, "a", null],
        &params!["b", null, "c"],
        &params![null, null, null],
    ];
    for (index, row) in (0..).zip(rows) {
        let encoded = insert.encode(&mut body, row, index, &core()).unwrap();
        assert_eq!(encoded, Encoded::Yes);
    }
    assert_eq!(insert.nulls, [0b1101_0101, 0b1]);
    assert_eq!(body, b"\x01a\x01b\x01c");
    insert.truncate(2);
    assert_eq!(insert.nulls, [0b0001_0101]);
    let refused = insert.encode(&mut body, &params![null, null, Param::LongData], 2, &core());
    assert!(refused.is_err());
    insert.truncate(2);
    assert_eq!(insert.nulls, [0b0001_0101]);
    insert.truncate(0);
    assert!(insert.nulls.is_empty());
}

#[test]
fn a_row_with_default_is_text_and_so_are_those_of_its_batch() {
    let mut insert = binary("INSERT INTO t VALUES (?, ?)");
    let mut body = Vec::new();
    insert
        .encode(&mut body, &params![1, 2], 0, &core())
        .unwrap();
    let before = body.clone();
    let row = params![1, Param::Default];
    let encoded = insert.encode(&mut body, &row, 1, &core()).unwrap();
    assert_eq!((encoded, &body), (Encoded::OnlyAsText, &before));
    insert.sent(1, body.len());
    body.clear();
    insert.encode(&mut body, &row, 0, &core()).unwrap();
    insert
        .encode(&mut body, &params![3, "x"], 1, &core())
        .unwrap();
    assert_eq!(
        body.escape_ascii().to_string(),
        r"INSERT INTO t VALUES (1, DEFAULT),(3, \'x\')"
    );
    let batch = Sending {
        rows: 2,
        bytes: body.len(),
        is_first: false,
        is_full: true,
    };
    assert_eq!(
        insert.unprepared(batch),
        None,
        "those that follow may have it too"
    );
}

#[test]
fn a_statement_is_prepared_once_there_are_more_rows_than_one_batch_is_likely_to_have() {
    let mut insert = Insert::new(b"INSERT INTO t VALUES (?, ?)", &core(), 100, 1_000).unwrap();
    let first = Sending {
        rows: 2,
        bytes: 40,
        is_first: true,
        is_full: false,
    };
    assert_eq!(insert.unprepared(first), None);
    let second = Sending {
        is_first: false,
        ..first
    };
    let sql = insert.unprepared(second).unwrap();
    assert_eq!(sql, b"INSERT INTO t VALUES (?, ?),(?, ?)");
    let refused = Err(Error::config("as a server that prepares no INSERT".into()));
    insert.prepared(refused).unwrap();
    assert_eq!(insert.unprepared(second), None);
    assert_eq!(insert.max_rows(), 100);
}
