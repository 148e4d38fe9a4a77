//! Inserts many rows: `cargo run --release --example bulk_insert -- URL TABLE ROWS [execute|insert|pipeline|single]`.
//!
//! The table has the columns `id BIGINT, name VARCHAR(40), price DOUBLE, note VARCHAR(40)`. `pipeline` and `single` are an execution
//! a row, for comparison: the first sends 1,000 of them together.

use std::error::Error;
use std::io::Write;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{BulkMethod, BulkOptions, params};

/// Rows that `pipeline` sends together.
const BATCH: usize = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, table, rows, method @ ..] = &arguments[..] else {
        return Err("give URL TABLE ROWS [execute|insert|pipeline|single]".into());
    };
    let rows: u64 = rows.parse()?;
    let method = method.first().map_or("auto", String::as_str);
    let sql = format!("INSERT INTO {table} VALUES (?, ?, ?, ?)");
    let mut conn = Connection::connect(url)?;
    conn.run("BEGIN")?;
    if method == "single" {
        let insert = conn.prepare(&sql)?;
        for_each_row(rows, |id, name, note| {
            conn.execute(&insert, &params![id, name, price(id), note])?
                .finish()
                .map(drop)
        })?;
    } else if method == "pipeline" {
        let insert = conn.prepare(&sql)?;
        let mut batch = Vec::with_capacity(BATCH);
        for_each_row(rows, |id, name, note| {
            batch.push((id, name.to_owned(), note.map(str::to_owned)));
            if batch.len() < BATCH && id < rows {
                return Ok(());
            }
            let mut pipeline = conn.pipeline();
            for (id, name, note) in &batch {
                pipeline.execute(&insert, &params![id, name, price(*id), note])?;
            }
            pipeline.send()?.finish()?;
            batch.clear();
            Ok::<(), onecopy_mysql::Error>(())
        })?;
    } else {
        let mut options = BulkOptions::default();
        options.method = match method {
            "execute" => BulkMethod::Execute,
            "insert" => BulkMethod::Insert,
            _ => BulkMethod::Auto,
        };
        let mut bulk = conn.bulk_with(&sql, &options)?;
        for_each_row(rows, |id, name, note| {
            bulk.push(&params![id, name, price(id), note])
        })?;
        let done = bulk.finish()?;
        println!("{} rows", done.affected_rows);
    }
    conn.run("COMMIT")?;
    conn.close()?;
    Ok(())
}

#[allow(clippy::cast_precision_loss)] // there are no 2^52 rows
fn price(id: u64) -> f64 {
    id as f64 * 0.25
}

/// The texts are written into the same memory for each row.
fn for_each_row<E>(
    rows: u64,
    mut take: impl FnMut(u64, &str, Option<&str>) -> Result<(), E>,
) -> Result<(), Box<dyn Error>>
where
    E: Error + 'static,
{
    let (mut name, mut note) = (Vec::new(), Vec::new());
    for id in 1..=rows {
        name.clear();
        write!(name, "name of {id}")?;
        note.clear();
        write!(note, "note {}", id % 1000)?;
        let note = (id % 10 > 0)
            .then(|| std::str::from_utf8(&note))
            .transpose()?;
        take(id, std::str::from_utf8(&name)?, note)?;
    }
    Ok(())
}
