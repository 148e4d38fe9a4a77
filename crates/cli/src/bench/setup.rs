//! `onecopy bench setup`: creates the tables that do not exist yet, with the client itself.

use onecopy_mysql::Param;
use onecopy_mysql::blocking::Connection;

use super::failure::Failure;
use super::progress::Progress;
use super::shape::{self, BLOB, BLOB_TABLE, Blob, LARGE_BLOB, ROWS, ROWS_TABLE, Rows};

/// Create the tables for `onecopy bench client`.
///
/// `onecopy_bench_rows` has 5,001 rows of about 90 kB, `onecopy_bench_blob` one value of 64 MiB: about 520 MB, the same on every
/// server. Complete tables are kept, so you can run this again at any time.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Server and database: mysql://user:password@host:port/database.
    #[arg(long)]
    url: String,
    /// Recreate all tables.
    #[arg(long)]
    force: bool,
    /// Add a value of 256 MiB, for `onecopy bench client blob --large`.
    #[arg(long)]
    large: bool,
    /// Fewer rows, for tests.
    #[arg(long, hide = true, default_value_t = ROWS)]
    rows: u32,
    /// A smaller value, for tests.
    #[arg(long, hide = true, default_value_t = BLOB.bytes)]
    blob_bytes: u64,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let mut conn = Connection::connect(&args.url)?;
    let blob = Blob {
        bytes: args.blob_bytes,
        ..BLOB
    };
    say(ROWS_TABLE, rows(&mut conn, args.rows, args.force)?);
    if args.force {
        conn.run(format!("DROP TABLE IF EXISTS {BLOB_TABLE}"))?;
    }
    say(
        &format!("{BLOB_TABLE}, {} bytes", blob.bytes),
        value(&mut conn, blob)?,
    );
    if args.large {
        say(
            &format!("{BLOB_TABLE}, {} bytes", LARGE_BLOB.bytes),
            value(&mut conn, LARGE_BLOB)?,
        );
    }
    Ok(conn.close()?)
}

fn say(what: &str, made: Made) {
    let made = match made {
        Made::Now => "made",
        Made::Before => "there already",
    };
    println!("{what}: {made}");
}

/// Whether something had to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    Now,
    Before,
}

/// Rows of one transaction: about 9 MB, which every server's log takes.
const ROWS_A_TRANSACTION: u32 = 100;

/// What the comment of each of our tables starts with. Without it a table is somebody else's and is left alone.
const OURS: &str = "onecopy bench";

/// Makes the table of rows, unless it is there with all of them.
pub(crate) fn rows(conn: &mut Connection, count: u32, force: bool) -> Result<Made, Failure> {
    let whole = format!("{OURS} 1: {count} rows");
    let comment = table_comment(conn, ROWS_TABLE)?;
    match comment {
        Some(comment) if comment == whole && !force => return Ok(Made::Before),
        Some(comment) if !comment.starts_with(OURS) && !force => return Err(not_ours(ROWS_TABLE)),
        Some(_) => conn.run(format!("DROP TABLE {ROWS_TABLE}"))?,
        None => Default::default(),
    };
    // Only a table that is filled to the end gets the comment by which it is known again.
    conn.run(shape::create_rows(&format!("{OURS} 1: being filled")))?;
    let insert = conn.prepare(shape::insert_row())?;
    let mut rows = Rows::new();
    let mut progress = Progress::of_steps("rows", count.into());
    for first in (1..=count).step_by(ROWS_A_TRANSACTION as usize) {
        conn.run("START TRANSACTION")?;
        for id in first..=count.min(first + ROWS_A_TRANSACTION - 1) {
            conn.execute(&insert, &rows.next(id))?.finish()?;
            progress.add(1);
        }
        conn.run("COMMIT")?;
    }
    conn.close_statement(insert)?;
    conn.run(format!("ALTER TABLE {ROWS_TABLE} COMMENT = '{whole}'"))?;
    Ok(Made::Now)
}

/// Makes a large value, unless it is there with its length. Its one statement makes it whole or not at all.
pub(crate) fn value(conn: &mut Connection, blob: Blob) -> Result<Made, Failure> {
    match table_comment(conn, BLOB_TABLE)? {
        Some(comment) if !comment.starts_with(OURS) => return Err(not_ours(BLOB_TABLE)),
        Some(_) => {}
        None => {
            conn.run(shape::create_blobs(OURS))?;
        }
    }
    let length = number(
        conn,
        &format!(
            "SELECT LENGTH(data) FROM {BLOB_TABLE} WHERE id = {}",
            blob.id
        ),
    )?;
    if length == Some(blob.bytes) {
        return Ok(Made::Before);
    }
    check_packet_limit(conn, blob.bytes)?;
    let insert = conn.prepare(format!("REPLACE INTO {BLOB_TABLE} VALUES (?, ?)"))?;
    let mut progress = Progress::of_bytes("value", blob.bytes);
    conn.send_long_data(&insert, 1, progress.reading(blob.reader()))?;
    conn.execute(&insert, &[blob.id.into(), Param::LongData])?
        .finish()?;
    conn.close_statement(insert)?;
    Ok(Made::Now)
}

/// Whether the server takes a value of so many bytes, by its own limit.
///
/// # Errors
/// It does not; with what to do.
pub(crate) fn check_packet_limit(conn: &mut Connection, bytes: u64) -> Result<(), Failure> {
    let limit = packet_limit(conn)?;
    if limit >= bytes {
        return Ok(());
    }
    Err(Failure::said(format!(
        "the server takes values of at most {limit} bytes (max_allowed_packet), and this one has {bytes}; as an \
         administrator type SET GLOBAL max_allowed_packet = {}, then try again",
        bytes * 2
    )))
}

/// The longest value that the server takes, in bytes.
pub(crate) fn packet_limit(conn: &mut Connection) -> Result<u64, Failure> {
    Ok(number(conn, "SELECT @@max_allowed_packet")?.unwrap_or(u64::MAX))
}

/// Whether the database has such a table.
pub(crate) fn is_there(conn: &mut Connection, table: &str) -> Result<bool, Failure> {
    Ok(table_comment(conn, table)?.is_some())
}

fn table_comment(conn: &mut Connection, table: &str) -> Result<Option<String>, Failure> {
    let sql = format!(
        "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND \
         TABLE_NAME = '{table}'"
    );
    let mut rows = conn.query(&sql)?;
    let comment = match rows.next()? {
        Some(row) => Some(row.get(0)?),
        None => None,
    };
    rows.finish()?;
    Ok(comment)
}

fn number(conn: &mut Connection, sql: &str) -> Result<Option<u64>, Failure> {
    let mut rows = conn.query(sql)?;
    let number = match rows.next()? {
        Some(row) => row.get(0)?,
        None => None,
    };
    rows.finish()?;
    Ok(number)
}

fn not_ours(table: &str) -> Failure {
    Failure::said(format!(
        "a table {table} is there and was not made by onecopy; drop it, or use --force, which drops it"
    ))
}
