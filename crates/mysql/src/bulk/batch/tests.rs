use onecopy_mysql_proto::client::{Limits, Session};
use onecopy_mysql_proto::{Capabilities, ServerVersion};
use onecopy_wire::BufferConfig;

use super::*;
use crate::params;

const SQL: &[u8] = b"INSERT INTO t VALUES (?, ?) RETURNING a";

/// Of a connection with the fewest capabilities.
pub(in crate::bulk) fn core() -> ClientCore {
    let session = Session {
        capabilities: Capabilities::PROTOCOL_41,
        connection_id: 1,
        server_version: String::new(),
        version: ServerVersion::parse(b""),
    };
    ClientCore::new(session, Limits::default())
}

fn batch(change: impl FnOnce(&mut BulkOptions), max_packet: u64) -> Batch {
    let mut options = BulkOptions::default();
    change(&mut options);
    Batch::insert(SQL, &core(), &options, max_packet).unwrap()
}

/// The command of the rows that wait, as it is sent.
fn sent(batch: &mut Batch) -> String {
    let mut core = core();
    batch
        .queue(&mut core, &mut Buffers::new(BufferConfig::default()))
        .unwrap();
    let sql = String::from_utf8(batch.body().to_vec()).unwrap();
    batch.sent();
    sql
}

#[test]
fn rows_become_one_statement() {
    let mut batch = batch(|_| {}, 1000);
    let core = core();
    assert_eq!(batch.push(&params![1, "a"], &core).unwrap(), Pushed::Fits);
    assert_eq!(
        batch.push(&params![2, Param::Default], &core).unwrap(),
        Pushed::Fits
    );
    assert_eq!(batch.waiting(), 0..2);
    assert_eq!(
        sent(&mut batch),
        "INSERT INTO t VALUES (1, 'a'),(2, DEFAULT) RETURNING a"
    );
    assert_eq!((batch.unanswered(), batch.waiting()), (0..2, 2..2));
    batch.push(&params![3, None::<u8>], &core).unwrap();
    batch.answered(Done {
        affected_rows: 2,
        last_insert_id: 7,
        warnings: 1,
    });
    assert_eq!(
        sent(&mut batch),
        "INSERT INTO t VALUES (3, NULL) RETURNING a"
    );
    assert_eq!(
        (batch.stored(), batch.unanswered(), batch.pushed()),
        (2, 2..3, 3)
    );
    batch.answered(Done {
        affected_rows: 1,
        last_insert_id: 9,
        warnings: u16::MAX,
    });
    let done = Done {
        affected_rows: 3,
        last_insert_id: 7,
        warnings: u16::MAX,
    };
    assert_eq!(batch.done(), done);
}

#[test]
fn a_batch_is_full_by_rows_or_by_bytes() {
    let core = core();
    let mut by_rows = batch(|options| options.max_rows = 2, 1000);
    assert_eq!(by_rows.push(&params![1, 1], &core).unwrap(), Pushed::Fits);
    assert_eq!(by_rows.push(&params![1, 1], &core).unwrap(), Pushed::Full);
    assert_eq!(
        by_rows.push(&params![1, 1], &core).unwrap(),
        Pushed::SendFirst,
        "one that was not sent stays as it is"
    );
    assert_eq!(by_rows.pushed(), 2);
    let mut by_bytes = batch(|options| options.max_bytes = 50, 1000);
    assert_eq!(by_bytes.push(&params![1, 1], &core).unwrap(), Pushed::Fits);
    assert_eq!(
        by_bytes
            .push(&params![1, "a text of 20 letters"], &core)
            .unwrap(),
        Pushed::Full
    );
}

#[test]
fn no_batch_is_larger_than_a_packet() {
    let core = core();
    // COM_QUERY, head, a row of three characters and the row of a text, tail.
    let fits = 1 + SQL.len() + 10;
    let mut batch = batch(|_| {}, fits as u64);
    let text = "x".repeat(9);
    assert_eq!(batch.push(&params![1, &text], &core).unwrap(), Pushed::Fits);
    assert_eq!(
        batch.push(&params![1, 1], &core).unwrap(),
        Pushed::SendFirst
    );
    assert_eq!(sent(&mut batch).len() + 1, fits);
    let error = batch.push(&params![1, &"x".repeat(10)], &core).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the row has {} bytes and the server accepts {fits}; raise max_allowed_packet there (row 2)",
            fits + 1
        )
    );
    assert_eq!(error.bulk_rows(), Some(1..2));
    assert_eq!(
        batch.push(&params![1, &text], &core).unwrap(),
        Pushed::Fits,
        "and continues"
    );
}

#[test]
fn a_row_that_is_refused_leaves_nothing_behind() {
    let core = core();
    let mut batch = batch(|_| {}, 1000);
    batch.push(&params![1, 1], &core).unwrap();
    for row in [
        &params![1][..],
        &params![1, f64::NAN],
        &params![1, Param::LongData],
        &params![1, Param::Text(b"\xff")],
    ] {
        let error = batch.push(row, &core).unwrap_err();
        assert_eq!(error.bulk_rows(), Some(1..2), "{error}");
    }
    batch.push(&params![2, 2], &core).unwrap();
    assert_eq!(
        sent(&mut batch),
        "INSERT INTO t VALUES (1, 1),(2, 2) RETURNING a"
    );
}

#[test]
fn another_statement_is_run_for_each_row() {
    let options = BulkOptions::default();
    let mut batch =
        Batch::insert(b"UPDATE t SET a = ? WHERE id = ?", &core(), &options, 1000).unwrap();
    assert_eq!(
        batch.push(&params!["it's", 2], &core()).unwrap(),
        Pushed::Full
    );
    assert_eq!(sent(&mut batch), "UPDATE t SET a = 'it''s' WHERE id = 2");
    let error = Batch::insert(b"INSERT INTO t VALUES (1)", &core(), &options, 1000).unwrap_err();
    assert!(error.to_string().contains("needs a ?"), "{error}");
}

#[test]
fn a_bulk_without_room_sends_each_row() {
    let core = core();
    let mut batch = batch(|options| options.max_bytes = 0, 1000);
    assert_eq!(batch.push(&params![1, 1], &core).unwrap(), Pushed::Full);
    assert_eq!(sent(&mut batch), "INSERT INTO t VALUES (1, 1) RETURNING a");
}
