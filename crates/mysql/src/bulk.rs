//! Many rows for one statement: options, and what both APIs share.

mod batch;
mod insert;
mod template;
mod types;

pub(crate) use batch::{Batch, Pushed};

/// How a bulk sends its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BulkMethod {
    /// `Execute` if the server has it, otherwise `Insert`.
    #[default]
    Auto,
    /// MariaDB's COM_STMT_BULK_EXECUTE, for INSERT, REPLACE, UPDATE and DELETE: the types once for each batch, the values in
    /// binary. MySQL has no such command.
    Execute,
    /// `INSERT ... VALUES (...), (...), ...`: one statement for each batch. The first batch has its values as literals; for the next ones
    /// the statement is prepared with as many rows as a batch has, at most 4,096 parameters, and the values are sent in binary. Rows
    /// with [`Param::Default`](crate::Param::Default), and what the server does not prepare, are sent as literals. A statement of
    /// another form is run once for each row.
    Insert,
}

/// The settings of a bulk.
///
/// ```
/// use onecopy_mysql::BulkOptions;
///
/// let mut options = BulkOptions::default();
/// options.max_rows = 1_000;
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BulkOptions {
    /// How the rows are sent. Default: `Auto`.
    pub method: BulkMethod,
    /// The maximum number of rows in a batch. Default: 10,000.
    pub max_rows: u64,
    /// A batch is sent once it has this many bytes. It is the memory that a bulk takes, unless a row is larger. Default: 1 MiB.
    pub max_bytes: usize,
    /// The server's `max_allowed_packet`, which no batch exceeds. `None`: it is asked for, once for each connection. Default:
    /// `None`.
    pub max_packet_bytes: Option<u64>,
}

impl Default for BulkOptions {
    fn default() -> Self {
        Self {
            method: BulkMethod::Auto,
            max_rows: 10_000,
            max_bytes: 1 << 20,
            max_packet_bytes: None,
        }
    }
}

/// The question for the largest packet that the server accepts.
pub(crate) const MAX_PACKET: &str = "SELECT @@max_allowed_packet";
