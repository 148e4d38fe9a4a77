//! Loads a CSV file into a table: transforms the rows, commits them in batches, and reports progress and bad lines.
//!
//!     cargo run -p onecopy-guide --example etl_csv -- mysql://user:password@localhost/shop products.csv
//!     zcat products.csv.gz | cargo run -p onecopy-guide --example etl_csv -- mysql://user:password@localhost/shop -
//!
//! The first line of the file names the columns `sku`, `name`, `price` and `stock` in any order; others are ignored. Bad lines go to
//! standard error, and all other lines are stored. A file may be loaded again: a row replaces the one with the same `sku`.
//!
//! One thread reads and transforms. Four threads store batches, each batch in a transaction on a connection of the pool. The memory
//! that this takes does not depend on the file's size. If a `sku` occurs twice in one file, either of the two rows may be the one that
//! stays, because batches are stored at the same time.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use csv::StringRecord;
use onecopy_mysql::blocking::Pool;
use onecopy_mysql::{OwnedDecimal, Param, params};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS product_import (sku VARCHAR(20) PRIMARY KEY, name VARCHAR(200) NOT NULL, \
     price DECIMAL(10,2) NOT NULL, stock INT UNSIGNED)";

/// It can be repeated without harm, so a batch whose commit was not confirmed is simply stored again.
const STORE: &str = "INSERT INTO product_import (sku, name, price, stock) VALUES (?, ?, ?, ?) \
     ON DUPLICATE KEY UPDATE name = VALUES(name), price = VALUES(price), stock = VALUES(stock)";

/// Rows in a batch. All of them are committed or none.
const BATCH: usize = 5_000;

/// Threads that store batches, each with a connection of the pool.
const WRITERS: usize = 4;

/// How often a batch is tried that fails because of a deadlock or a lost connection.
const ATTEMPTS: usize = 3;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<ExitCode, Failure> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("give URL FILE; - for FILE is standard input".into());
    };
    let input: Box<dyn Read> = match file.as_str() {
        "-" => Box::new(io::stdin()),
        path => Box::new(File::open(path)?),
    };
    let pool = Pool::from_url(&url)?;
    pool.get()?.run(TABLE)?;

    let progress = Progress::new();
    let (sender, receiver) = mpsc::sync_channel(WRITERS);
    let batches = Mutex::new(Some(receiver));
    let (read, stored) = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| scope.spawn(|| store_batches(&pool, &batches, &progress)))
            .collect();
        let read = read_batches(input, sender, &progress);
        let stored = writers
            .into_iter()
            .try_for_each(|writer| writer.join().expect("a writer does not panic"));
        (read, stored)
    });
    progress.print();
    stored?;
    read?;
    Ok(match progress.bad.load(Ordering::Relaxed) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// A row of the table, and the line that it comes from.
struct Product {
    line: u64,
    sku: String,
    name: String,
    price: OwnedDecimal,
    stock: Option<u32>,
}

impl Product {
    /// Transforms a record: upper-case `sku`, no spaces around the name, a decimal comma or point, an empty `stock` as NULL.
    fn new(record: &StringRecord, columns: &Columns) -> Result<Self, String> {
        let field = |column: usize| record.get(column).unwrap_or_default().trim();
        let sku = field(columns.sku).to_uppercase();
        if sku.is_empty() {
            return Err("there is no sku".into());
        }
        let price = field(columns.price);
        let stock = field(columns.stock);
        Ok(Self {
            line: record.position().map_or(0, csv::Position::line),
            sku,
            name: field(columns.name).into(),
            price: OwnedDecimal::from_str(&price.replace(',', "."))
                .map_err(|_| format!("the price '{price}' is not a number"))?,
            stock: match stock {
                "" => None,
                digits => Some(
                    digits
                        .parse()
                        .map_err(|_| format!("the stock '{digits}' is not a number"))?,
                ),
            },
        })
    }

    fn params(&self) -> [Param<'_>; 4] {
        params![&self.sku, &self.name, &self.price, self.stock]
    }
}

/// Where the file has its columns.
struct Columns {
    sku: usize,
    name: usize,
    price: usize,
    stock: usize,
}

impl Columns {
    fn find(header: &StringRecord) -> Result<Self, String> {
        let find = |name: &str| {
            let found = header.iter().position(|field| field.trim() == name);
            found.ok_or_else(|| format!("the first line has no column '{name}'"))
        };
        Ok(Self {
            sku: find("sku")?,
            name: find("name")?,
            price: find("price")?,
            stock: find("stock")?,
        })
    }
}

/// Reads the file and hands over batches. Ends early if nobody takes them any more.
fn read_batches(
    input: Box<dyn Read>,
    to: SyncSender<Vec<Product>>,
    progress: &Progress,
) -> Result<(), Failure> {
    let mut reader = csv::Reader::from_reader(input);
    let columns = Columns::find(reader.headers()?)?;
    let mut record = StringRecord::new();
    let mut batch = Vec::with_capacity(BATCH);
    let mut printed = Instant::now();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => match Product::new(&record, &columns) {
                Ok(product) => batch.push(product),
                Err(reason) => {
                    let line = record.position().map_or(0, csv::Position::line);
                    progress.bad_line(line, &reason);
                }
            },
            Ok(false) => break,
            Err(error) if error.is_io_error() => return Err(error.into()),
            // A wrong number of fields, or bytes that are not UTF-8. The next line may be good again.
            Err(error) => {
                let line = error.position().map_or(0, csv::Position::line);
                progress.bad_line(line, &error.to_string());
            }
        }
        if batch.len() == BATCH {
            let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
            if to.send(full).is_err() {
                return Ok(());
            }
        }
        if printed.elapsed() >= Duration::from_secs(1) {
            printed = Instant::now();
            progress.print();
        }
    }
    // If this fails, a writer has failed, and reports why.
    let _ = to.send(batch);
    Ok(())
}

/// Stores batches until there are no more. On a failure the receiver is dropped, which stops the reader and the other writers.
fn store_batches(
    pool: &Pool,
    batches: &Mutex<Option<Receiver<Vec<Product>>>>,
    progress: &Progress,
) -> Result<(), Failure> {
    loop {
        let next = {
            let batches = batches.lock().unwrap_or_else(PoisonError::into_inner);
            batches.as_ref().and_then(|batches| batches.recv().ok())
        };
        let Some(batch) = next else { return Ok(()) };
        if let Err(error) = store_repeatedly(pool, &batch, progress) {
            *batches.lock().unwrap_or_else(PoisonError::into_inner) = None;
            return Err(error.into());
        }
    }
}

/// Stores a batch; again if it lost a deadlock, or the connection was lost.
fn store_repeatedly(
    pool: &Pool,
    batch: &[Product],
    progress: &Progress,
) -> Result<(), onecopy_mysql::Error> {
    for attempt in 1.. {
        match store_at_once(pool, batch) {
            Err(error) if error.is_retryable() || error.is_closed() => {
                if attempt == ATTEMPTS {
                    return Err(error);
                }
            }
            // The server refuses a row, and the whole batch was rolled back. Find the row, and store all others.
            Err(error) if error.server().is_some() => return store_singly(pool, batch, progress),
            Err(error) => return Err(error),
            Ok(()) => {
                progress.stored(batch.len());
                break;
            }
        }
    }
    Ok(())
}

/// Stores a batch in one transaction. It is rolled back if any row fails.
fn store_at_once(pool: &Pool, batch: &[Product]) -> Result<(), onecopy_mysql::Error> {
    let mut conn = pool.get()?;
    let mut tx = conn.transaction()?;
    let mut bulk = tx.bulk(STORE)?;
    for product in batch {
        bulk.push(&product.params())?;
    }
    bulk.finish()?;
    tx.commit()
}

/// Stores the rows of a batch one by one, in one transaction, without those that the server refuses.
fn store_singly(
    pool: &Pool,
    batch: &[Product],
    progress: &Progress,
) -> Result<(), onecopy_mysql::Error> {
    let mut conn = pool.get()?;
    let mut tx = conn.transaction()?;
    let mut stored = 0;
    for product in batch {
        match tx
            .exec(STORE, &product.params())
            .and_then(|rows| rows.finish())
        {
            Ok(_) => stored += 1,
            Err(error) => match error.server() {
                Some(refusal) if !error.is_retryable() => {
                    progress.bad_line(product.line, &refusal.message)
                }
                _ => return Err(error),
            },
        }
    }
    tx.commit()?;
    progress.stored(stored);
    Ok(())
}

/// What was done so far.
struct Progress {
    start: Instant,
    stored: AtomicU64,
    bad: AtomicU64,
}

impl Progress {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            stored: AtomicU64::new(0),
            bad: AtomicU64::new(0),
        }
    }

    fn stored(&self, rows: usize) {
        let rows = u64::try_from(rows).unwrap_or(u64::MAX);
        self.stored.fetch_add(rows, Ordering::Relaxed);
    }

    fn bad_line(&self, line: u64, reason: &str) {
        self.bad.fetch_add(1, Ordering::Relaxed);
        eprintln!("line {line}: {reason}");
    }

    fn print(&self) {
        eprintln!(
            "{} rows stored, {} bad lines, {:.1} s",
            self.stored.load(Ordering::Relaxed),
            self.bad.load(Ordering::Relaxed),
            self.start.elapsed().as_secs_f64()
        );
    }
}
