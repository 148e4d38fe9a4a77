//! The outcome of a statement without rows.

/// The counters at the end of a statement.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
///
/// let done = conn.run("INSERT INTO product (name) VALUES ('cup'), ('plate')")?;
/// println!("{} rows, the first has id {}, {} warnings", done.affected_rows, done.last_insert_id, done.warnings);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    /// Number of rows that were changed, or that were found if [`Config::found_rows`](crate::Config::found_rows) is set.
    pub affected_rows: u64,
    /// First value that `AUTO_INCREMENT` generated, or 0 if none.
    pub last_insert_id: u64,
    /// Number of warnings; `SHOW WARNINGS` returns their texts.
    pub warnings: u16,
}
