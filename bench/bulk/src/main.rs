//! mysql_async on the rows of bulk.py: `METHOD URL TABLE ROWS`.
//!
//! `batch` is its own `exec_batch`, an execution a row; `insert` is one prepared INSERT of 1,000 rows, as its users write
//! it by hand; `rows` writes the table to standard output as tab-separated text, as its users do with `query_iter`.

use std::io::{BufWriter, Write, stdout};

use mysql_async::prelude::*;
use mysql_async::{Conn, Opts, Params, Value};

const ROWS_A_STATEMENT: u64 = 1_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [method, url, table, rows] = &arguments[..] else {
        panic!("METHOD URL TABLE ROWS");
    };
    let rows: u64 = rows.parse().expect("a number of rows");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(run(method, url, table, rows)).expect("rows are inserted");
}

async fn run(method: &str, url: &str, table: &str, rows: u64) -> Result<(), mysql_async::Error> {
    let mut conn = Conn::new(Opts::from_url(url).expect("a url")).await?;
    conn.query_drop("BEGIN").await?;
    match method {
        "batch" => {
            let sql = format!("INSERT INTO {table} VALUES (?, ?, ?, ?)");
            let all = (1..=rows).map(|id| Params::Positional(row(id).into()));
            conn.exec_batch(sql, all).await?;
        }
        "insert" => {
            let places = vec!["(?, ?, ?, ?)"; ROWS_A_STATEMENT as usize].join(", ");
            let statement = conn.prep(format!("INSERT INTO {table} VALUES {places}")).await?;
            for first in (1..=rows).step_by(ROWS_A_STATEMENT as usize) {
                let values: Vec<Value> = (first..first + ROWS_A_STATEMENT).flat_map(row).collect();
                conn.exec_drop(&statement, Params::Positional(values)).await?;
            }
        }
        "rows" => {
            let mut out = BufWriter::with_capacity(64 << 10, stdout().lock());
            let mut result = conn.query_iter(format!("SELECT * FROM {table}")).await?;
            while let Some(row) = result.next().await? {
                for (column, value) in row.unwrap().into_iter().enumerate() {
                    if column > 0 {
                        out.write_all(b"\t").expect("standard output takes it");
                    }
                    write_value(&mut out, &value).expect("standard output takes it");
                }
                out.write_all(b"\n").expect("standard output takes it");
            }
            out.flush().expect("standard output takes it");
        }
        other => panic!("no method {other}"),
    }
    conn.query_drop("COMMIT").await?;
    conn.disconnect().await
}

/// The text protocol has NULL and bytes only. Tabs, newlines and backslashes are escaped.
fn write_value(out: &mut impl Write, value: &Value) -> std::io::Result<()> {
    let Value::Bytes(bytes) = value else {
        return out.write_all(b"\\N");
    };
    let mut rest = &bytes[..];
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\t' | b'\n' | b'\\')) {
        out.write_all(&rest[..at])?;
        let escaped = match rest[at] {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            _ => b"\\\\",
        };
        out.write_all(escaped)?;
        rest = &rest[at + 1..];
    }
    out.write_all(rest)
}

/// As bulk.py and the example of onecopy-mysql make it.
fn row(id: u64) -> [Value; 4] {
    let note = if id % 10 == 0 { Value::NULL } else { format!("note {}", id % 1000).into() };
    [id.into(), format!("name of {id}").into(), (id as f64 * 0.25).into(), note]
}
