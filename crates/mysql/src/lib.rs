//! A client for MySQL and MariaDB that copies each received byte only once, and counts its copies.
//!
//! This holds for values that are borrowed, taken owned or streamed, without TLS. TLS adds two copies; they are counted too.
//!
//! ```no_run
//! use onecopy_mysql::blocking::Connection;
//!
//! # fn main() -> Result<(), onecopy_mysql::Error> {
//! // localhost is TCP. A user's first login to a default MySQL needs verified TLS,
//! // ?socket=PATH or ?server-public-key=FILE.
//! let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
//! let mut rows = conn.query("SELECT id, name FROM product")?;
//! while let Some(row) = rows.next()? {
//!     let id: i64 = row.get(0)?;
//!     let name: &str = row.get("name")?; // borrowed from the read buffer, not copied
//!     println!("{id} {name}");
//! }
//! println!("{}", conn.meter());
//! # Ok(()) }
//! ```
//!
//! [`blocking::Connection`] needs no async runtime. The feature `tokio` adds `aio::Connection`, which has the same methods with
//! `.await`.
//!
//! # When to use it
//! For services that read many or large rows, and want little CPU, bounded memory and no surprise when a future is dropped.
//! Executing a statement and reading a row with borrowed values allocates nothing without TLS; a value of any size is borrowed,
//! moved, or streamed. Its dependency tree with TLS and tokio has about half the crates of sqlx or `mysql_async`.
//!
//! [`blocking::Pool`] and `aio::Pool` are connection pools, [`blocking::Transaction`] rolls back on drop, and [`FromRow`] maps rows to
//! structs. Queries are not checked against a database at compile time: if you need that, use sqlx. `localhost` means TCP; a Unix
//! socket is `?socket=PATH`. Unix only.
//!
//! | feature | adds |
//! |---------|------|
//! | `tokio` | the async API, [`aio`] |
//! | `derive` | `#[derive(FromRow)]`, `FromValue` and `ToParam` |
//! | `with-jiff-0_2`, `with-uuid-1` and others | types of other crates as values and parameters: see [`foreign`] |
//! | `compression`, `zstd` | compressed connections with zlib, and with zstd, which is a C library |
//! | `tracing` | statements as spans of `tracing`, with OpenTelemetry's attributes |
//!
//! # Three ways to read a row
//! - [`Rows::next`](blocking::Rows::next) borrows the row from the read buffer: nothing is copied, and the next call ends the
//!   borrow.
//! - [`Rows::next_owned`](blocking::Rows::next_owned) returns an [`OwnedRow`]: large values are moved, not copied.
//! - [`Rows::next_streaming`](blocking::Rows::next_streaming) returns the row's values in order as readers, in constant memory.
//!
//! # TLS
//! Connections to remote servers verify the server by default, against the CAs in [`Config::ssl_ca`] or, without it, against the
//! system's CAs. [`SslMode`] lists the other modes. Connections to this host and over a Unix socket are in clear text by default.
//!
//! ```no_run
//! use onecopy_mysql::blocking::Connection;
//!
//! # fn main() -> Result<(), onecopy_mysql::Error> {
//! let conn = Connection::connect("mysql://user:password@db.example.com/shop?ssl-ca=/etc/shop/ca.pem")?;
//! println!("{:?}", conn.tls());
//! # Ok(()) }
//! ```
//!
//! # Abandoned statements and cancellation
//! Rows may be dropped before their end, a call may time out, and a future may be dropped at any await point: the next command on
//! the connection gets its own result or, after an abandoned change of user and an abandoned command with large borrowed parts that
//! was partly sent, an error that the connection is closed. [`Config::abandoned`] says what happens to the abandoned statement.
//! From another thread or task, a [`cancel_token`](blocking::Connection::cancel_token) cancels the running statement, and never a
//! later one.
#![forbid(unsafe_code)]

#[cfg(feature = "tokio")]
pub mod aio;
pub mod blocking;
mod bulk;
mod cancel;
mod collected;
mod compression;
mod config;
mod crypto;
mod done;
mod error;
pub mod format;
mod index;
mod link;
mod literal;
mod map;
mod named;
mod observe;
mod option_file;
mod owned_row;
mod pool;
mod progress;
mod row;
mod secret;
mod shown;
mod sql;
mod statement;
mod tls;
mod topology;
mod transaction;
mod url;

pub use bulk::{BulkMethod, BulkOptions};
pub use cancel::Cancelled;
pub use compression::Compression;
pub use config::{Abandoned, Config};
pub use crypto::AwsLc;
pub use done::Done;
pub use error::{Error, ServerError};
pub use index::ColumnIndex;
pub use map::{FromRow, FromRowOwned, FromValueOwned, PlannedRow, Planner, Slot};
pub use named::{BoundSql, NamedParam, NamedSql, NamedValue, ParamList, list};
pub use observe::{SlowQueries, SlowQuery, TraceParent};
#[cfg(feature = "derive")]
pub use onecopy_derive::{FromRow, FromValue, ToParam};
pub use onecopy_mysql_proto::auth::native_password::PasswordHash;
pub use onecopy_mysql_proto::auth::{
    AuthError, Dialog, Plugin, PluginSet, PublicKey, PublicKeyError, Question, Secret,
};
pub use onecopy_mysql_proto::client::{Column, Definitions, Limits};
pub use onecopy_mysql_proto::digest;
pub use onecopy_mysql_proto::packet::{
    SessionChange, SessionTrack, TransactionBegin, TransactionState,
};
pub use onecopy_mysql_proto::value::{
    Date, DateTime, Decimal, FromValue, FromValueError, Lossy, OwnedDecimal, Param, ParamProblem,
    SmallDecimal, Time, ToParam, Value, ValueError, ValueKind, ValueProblem, foreign,
};
#[cfg(feature = "with-serde_json-1")]
pub use onecopy_mysql_proto::value::{Json, JsonText};
pub use onecopy_mysql_proto::{
    CollationId, ColumnFlags, ColumnType, Error as ProtocolError, StatusFlags,
};
pub use onecopy_net::{Endpoint, Pem, SocketOptions, TlsError, TlsSession, Verify};
pub use onecopy_pool::{Closed as PoolClosed, PoolConfig, PoolStats, WaitError as PoolError};
pub use onecopy_wire::Meter;
pub use owned_row::OwnedRow;
pub use progress::{Progress, ProgressReports};
pub use row::Row;
pub use secret::Password;
pub use sql::SqlMode;
pub use statement::Statement;
pub use tls::SslMode;
pub use topology::ServerTarget;
pub use transaction::{Isolation, TransactionOptions};

/// Creates the parameters of an execution from values of any supported types: in order, or with their names.
///
/// ```
/// use onecopy_mysql::{NamedParam, Param, params};
///
/// let name = String::from("Ada");
/// let all: &[Param] = &params![7, &name, None::<f64>];
/// assert_eq!(all.len(), 3);
///
/// let named: &[NamedParam] = &params! { id: 7, name: &name };
/// assert_eq!(named[1].name, "name");
/// ```
#[macro_export]
macro_rules! params {
    ($($name:ident : $value:expr),+ $(,)?) => {
        [$($crate::NamedParam {
            name: ::core::stringify!($name),
            value: $crate::NamedValue::from($value),
        }),+]
    };
    ($($value:expr),* $(,)?) => { [$($crate::Param::from($value)),*] };
}
