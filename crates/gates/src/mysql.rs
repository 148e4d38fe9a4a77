//! The MySQL client, whole, through both of its APIs, against a recorded MariaDB.

mod blocking;
mod capture;
mod exec;
mod parameters;
mod pool;
mod tokio;

use onecopy_mysql::{Config, Date, DateTime, FromRow, FromValue, Row, Time, Value};

pub(crate) use blocking::Blocking;
pub(crate) use exec::Exec;
pub(crate) use pool::{checkout, tokio_checkout};
pub(crate) use tokio::Tokio;

use crate::memory::Memory;
use crate::peer::mysql::{MySqlPeer, Replies};

/// What is executed once an iteration, read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// Prepared: one row of 15 columns.
    SmallRow,
    /// The same, each value asked for as a type of the caller's.
    TypedRow,
    /// The same, mapped to a struct.
    DerivedRow,
    /// Prepared: 50 rows of 15 columns, each value asked for as a type of the caller's.
    TypedRows,
    /// The same, each mapped to a struct.
    DerivedRows,
    /// Prepared: one row of 18 columns, 105 kB.
    BigRow,
    /// Prepared: 50 of these rows.
    BigRows,
    /// Prepared: 17 parameters of 71 kB, and no row.
    Parameters,
    /// As text: one value of 4 MiB.
    Blob(Blob),
    /// As text: a statement without rows.
    Ok,
}

/// Who gets the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blob {
    Owned,
    Reused,
    Streamed,
}

const BIG_ROWS: usize = 50;
const BLOB_BYTES: usize = 4 << 20;
const SQL: &str = "SELECT data FROM onecopy_bench_blob WHERE id = 1";

impl Case {
    fn is_prepared(self) -> bool {
        !matches!(self, Self::Blob(_) | Self::Ok)
    }

    fn replies(self) -> Replies {
        match self {
            Self::SmallRow | Self::TypedRow | Self::DerivedRow => {
                capture::replies(capture::SMALL_ROW)
            }
            Self::TypedRows | Self::DerivedRows => {
                let replies = capture::replies(capture::SMALL_ROW);
                capture::with_row_repeated(replies, BIG_ROWS)
            }
            Self::BigRow => capture::replies(capture::BIG_ROW),
            Self::BigRows => {
                let replies = capture::replies(capture::BIG_ROW);
                capture::with_row_repeated(replies, BIG_ROWS)
            }
            Self::Parameters => capture::replies(capture::PARAMETERS),
            Self::Blob(_) => capture::with_value(BLOB_BYTES),
            Self::Ok => capture::with_ok(),
        }
    }

    fn peer(self) -> Memory<MySqlPeer> {
        Memory(MySqlPeer::new(self.replies()))
    }

    /// Rows of its result.
    fn rows(self) -> usize {
        match self {
            Self::SmallRow | Self::TypedRow | Self::DerivedRow | Self::BigRow | Self::Blob(_) => 1,
            Self::TypedRows | Self::DerivedRows | Self::BigRows => BIG_ROWS,
            Self::Parameters | Self::Ok => 0,
        }
    }
}

/// Of a user whom the recorded server lets in without a password.
fn config() -> Config {
    Config::from_url("mysql://root@localhost/test").expect("a URL")
}

/// Resolves every value of a row, as a program that reads all of them.
#[inline]
fn look_at(row: Row<'_>) {
    for index in 0..row.len() {
        let value: Value<'_> = row.value(index).expect("a value of its column's type");
        std::hint::black_box(&value);
    }
}

/// Asks for the values of the small row as a program with a struct for them does.
#[inline]
fn convert(row: Row<'_>) {
    get::<i8>(row, 0);
    get::<u8>(row, 1);
    get::<i16>(row, 2);
    get::<u16>(row, 3);
    get::<i32>(row, 4);
    get::<u32>(row, 5);
    get::<i64>(row, 6);
    get::<u64>(row, 7);
    get::<&str>(row, 8);
    get::<&[u8]>(row, 9);
    get::<f32>(row, 10);
    get::<f64>(row, 11);
    get::<Date>(row, 12);
    get::<DateTime>(row, 13);
    get::<Time>(row, 14);
}

/// The same as a struct, by the columns' names.
#[derive(FromRow)]
#[allow(dead_code)]
struct Small<'r> {
    s8: i8,
    u8: u8,
    s16: i16,
    u16: u16,
    s32: i32,
    u32: u32,
    s64: i64,
    u64: u64,
    s1: &'r str,
    b1: &'r [u8],
    flt: f32,
    dbl: f64,
    dt: Date,
    dtime: DateTime,
    t: Time,
}

#[inline]
fn get<'r, T: FromValue<'r>>(row: Row<'r>, index: usize) {
    let value: T = row.get(index).expect("a value of this type");
    std::hint::black_box(&value);
}
