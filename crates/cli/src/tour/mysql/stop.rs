//! The stops of the tour: what is done, what it cost, and what that shows.

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, Error, Param, Statement};

use super::super::cost::{Cost, Measure, copied, fastest, floor_of, floors, ours};
use super::super::print::{plain, shown, title};
use super::super::table::{self, Rows};
use super::ground::COPY_ID;
use crate::bench::client::{Job, blocking};
use crate::bench::failure::Failure;
use crate::bench::floor::Floor;
use crate::bench::shape::{BLOB_TABLE, Blob, ROWS_TABLE};
use crate::bench::workload::Workload;

/// What the client sends of a reader at a time.
const PIECE: u64 = 128 << 10;

/// A table of rows, shown.
pub(super) fn few_rows(config: &Config) -> Result<(), Failure> {
    title("3. A table of rows");
    let sql = format!(
        "SELECT id, s16, dbl, dt, dtime, t, LENGTH(s2) AS `bytes of s2` FROM {ROWS_TABLE} ORDER BY id LIMIT 8"
    );
    let run = |conn: &mut Connection, table: &mut Rows| -> Result<(), Failure> {
        *table = Rows::default();
        let mut rows = conn.query(&sql)?;
        while let Some(row) = rows.next()? {
            table.push(row)?;
        }
        Ok(())
    };
    let floor = floors(&mut [floor_of(config, |_| Ok(Rows::default()), run)?])?;
    let ours = ours(config, |_| Ok(Rows::default()), run)?;
    let mut table = Rows::default();
    run(&mut Connection::connect_with(config)?, &mut table)?;
    table.print();
    table::costs(&[("onecopy", &ours), ("floor", &floor)]);
    plain(
        "A row is borrowed: its values are read where the kernel put them. The bytes copied are the statement being sent.",
    );
    Ok(())
}

/// Every column of every big row.
pub(super) fn many_rows(config: &Config) -> Result<(), Failure> {
    title("4. Big rows by the thousand");
    plain("A prepared SELECT * over the whole table, every column of every row decoded.");
    let (ours, floor) = workload(config, Workload::ManyRows)?;
    table::costs(&[("onecopy", &ours), ("floor", &floor)]);
    shown(&copied(&ours));
    plain("The read buffer did not grow with the result: memory is that of a few rows.");
    Ok(())
}

/// A large value in memory of its own.
pub(super) fn owned_value(config: &Config, blob: Blob) -> Result<(), Failure> {
    title(&format!("5. A value of {} MiB, owned", blob.bytes >> 20));
    let (ours, floor) = workload(config, Workload::Blob)?;
    table::costs(&[("onecopy", &ours), ("floor", &floor)]);
    shown(&copied(&ours));
    plain(
        "The value was read from the socket straight into its one allocation. What it costs more than the floor is that \
         memory: the kernel has to find and clear its pages. Read into a vector that is used again, or streamed, it costs \
         nothing of the kind.",
    );
    Ok(())
}

/// The same value as a stream.
pub(super) fn streamed_value(config: &Config, blob: Blob) -> Result<(), Failure> {
    title(&format!("6. The same {} MiB, streamed", blob.bytes >> 20));
    let (ours, floor) = workload(config, Workload::BlobStream)?;
    table::costs(&[("onecopy", &ours), ("floor", &floor)]);
    shown(&copied(&ours));
    plain(
        "The value is a reader over the read buffer. A value of any size takes this much memory.",
    );
    Ok(())
}

/// The value read from one connection, and written by another.
pub(super) fn back_again(
    conn: &mut Connection,
    config: &Config,
    blob: Blob,
) -> Result<(), Failure> {
    title("7. And back again: inserted from a reader");
    plain(
        "One connection streams the value, and that reader is the parameter of an INSERT on another.",
    );
    let floor = floors(&mut [select_floor(config)?, insert_floor(config, blob)?])?;
    let ours = pipe(config, blob)?;
    table::costs(&[("onecopy", &ours), ("floor", &floor)]);
    shown(&copied(&ours));
    compare(conn, blob)
}

fn workload(config: &Config, workload: Workload) -> Result<(Cost, Cost), Failure> {
    let job = Job {
        workload,
        sql: workload.sql(false),
        params: &[],
        iterations: 1,
    };
    let prepare = |conn: &mut Connection| Ok(blocking::prepare(conn, &job)?);
    let run = |conn: &mut Connection, statement: &mut Option<Statement>| {
        blocking::once(conn, &job, statement.as_ref(), &mut Vec::new()).map(|_| ())
    };
    let floor = floors(&mut [floor_of(config, prepare, run)?])?;
    Ok((ours(config, prepare, run)?, floor))
}

fn insert() -> String {
    format!("REPLACE INTO {BLOB_TABLE} VALUES (?, ?)")
}

/// From one connection to another, by a reader.
fn pipe(config: &Config, blob: Blob) -> Result<Cost, Failure> {
    let sql = Workload::BlobStream.sql(false);
    let (mut from, mut to) = (
        Connection::connect_with(config)?,
        Connection::connect_with(config)?,
    );
    let statement = to.prepare(insert())?;
    fastest(|| {
        let (from_before, to_before, measure) = (from.meter(), to.meter(), Measure::start());
        let mut rows = from.query(&sql)?;
        if let Some(mut row) = rows.next_streaming()?
            && let Some(value) = row.next_column()?
        {
            let sent = to.send_long_data(&statement, 1, value)?;
            if sent != blob.bytes {
                return Err(Failure::said(
                    "the value has another length than it had before",
                ));
            }
        }
        rows.finish()?;
        execute_insert(&mut to, &statement)?;
        let measured = measure.end();
        Ok(measured.cost(&[
            from.meter().since(&from_before),
            to.meter().since(&to_before),
        ]))
    })
}

fn execute_insert(conn: &mut Connection, statement: &Statement) -> Result<(), Error> {
    conn.execute(statement, &[COPY_ID.into(), Param::LongData])?
        .finish()
        .map(|_| ())
}

fn select_floor(config: &Config) -> Result<Floor, Failure> {
    let sql = Workload::BlobStream.sql(false);
    floor_of(
        config,
        |_| Ok(()),
        |conn, ()| Ok(conn.run(&sql).map(|_| ())?),
    )
}

/// The pieces as they are sent, all of them alike, and the statement's execution.
fn insert_floor(config: &Config, blob: Blob) -> Result<Floor, Failure> {
    let mut floor = Floor::connect(config)?;
    let statement = floor.conn().prepare(insert())?;
    let mut send = |times: u64, bytes: u64| {
        floor.record(times, |conn| {
            conn.send_long_data(&statement, 1, Blob { bytes, ..blob }.reader())
                .map(|_| ())
        })
    };
    send(blob.bytes / PIECE, PIECE)?;
    let rest = blob.bytes % PIECE;
    if rest > 0 {
        send(1, rest)?;
    }
    floor.record(1, |conn| execute_insert(conn, &statement))?;
    Ok(floor)
}

/// Lets the server say whether both values are the same. By SHA-256: MySQL has lost MD5 with 9.6.
fn compare(conn: &mut Connection, blob: Blob) -> Result<(), Failure> {
    let sql = format!(
        "SELECT id, LENGTH(data) AS bytes, SHA2(data, 256) AS sha256 FROM {BLOB_TABLE} WHERE id IN ({}, {COPY_ID}) ORDER BY id",
        blob.id
    );
    let mut table = Rows::default();
    let mut rows = conn.query(&sql)?;
    while let Some(row) = rows.next()? {
        table.push(row)?;
    }
    plain("What the server says of the value and of its copy:");
    table.print();
    let sums: Vec<&str> = table.column(2).collect();
    if let [value, copy] = sums[..]
        && value == copy
    {
        shown("They are the same.");
        return Ok(());
    }
    Err(Failure::said(
        "the copy is not the same as the value: this is a mistake of onecopy's, please report it",
    ))
}
