//! Rows as types of the caller's: which columns they need is found once per result, and kept while its columns stay the same.
//!
//! Design and costs: `docs/design/mapping.md`.

mod kept;
mod planned_row;
mod planner;
mod sql_type;
mod tuple;

pub(crate) use kept::Plans;
pub use planned_row::PlannedRow;
pub use planner::{Planner, Slot};

use onecopy_mysql_proto::value::FromValue;

use crate::Error;

/// A type that is made from a row: by `#[derive(FromRow)]` with the feature `derive`, or a tuple of up to 16 values by position.
///
/// The columns are found and their types checked once per result, by [`plan`](Self::plan); then each row costs what reading its
/// values by position costs. A connection keeps the plans that it used last, so that a statement which is executed again with the
/// same columns is not planned again. Nothing is allocated but what the fields need.
///
/// Fields may borrow from the row: `&'r str`, `&'r [u8]`, [`Decimal<'r>`](crate::Decimal). Such a type is read with
/// [`Rows::next_as`](crate::blocking::Rows::next_as), one row at a time. Types without borrowed fields are [`FromRowOwned`], and
/// can be collected.
///
/// A type that is made by hand writes both functions and the constant: see the example.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
/// use onecopy_mysql::{Error, FromRow, PlannedRow, Planner};
///
/// struct Product<'r> {
///     id: u64,
///     name: &'r str,
/// }
///
/// // What #[derive(FromRow)] writes.
/// impl<'r> FromRow<'r> for Product<'r> {
///     const COLUMNS: usize = 2;
///
///     fn plan(planner: &mut Planner<'_>) -> Result<(), Error> {
///         planner.column::<u64>("id")?;
///         planner.column::<&str>("name")
///     }
///
///     fn from_row(row: &PlannedRow<'r>) -> Result<Self, Error> {
///         let ([id, name], _) = row.take()?;
///         Ok(Self { id: row.get(id)?, name: row.get(name)? })
///     }
/// }
///
/// # fn main() -> Result<(), Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
/// let mut rows = conn.query("SELECT name, id FROM product")?;
/// while let Some(product) = rows.next_as::<Product>()? {
///     println!("{} {}", product.id, product.name);
/// }
///
/// let pairs: Vec<(u64, String)> = conn.query_as("SELECT id, name FROM product")?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be made from a row",
    note = "derive it: #[derive(onecopy_mysql::FromRow)], with the feature `derive`",
    note = "a tuple of up to 16 values is made by position; one value is `(T,)`, or use query_scalar"
)]
pub trait FromRow<'r>: Sized {
    /// The number of columns that the type reads, which is the number of slots that [`plan`](Self::plan) adds.
    const COLUMNS: usize;

    /// Finds the columns and checks their types, in the order in which [`from_row`](Self::from_row) takes them.
    ///
    /// # Errors
    /// Fails if a column does not exist, or if none of its values can have the field's type.
    fn plan(planner: &mut Planner<'_>) -> Result<(), Error>;

    /// Makes the value from a row.
    ///
    /// # Errors
    /// Fails if a value is NULL and its field is not an `Option`, or if it does not fit the field's type.
    fn from_row(row: &PlannedRow<'r>) -> Result<Self, Error>;
}

/// A type that is made from a row and borrows nothing from it. It is implemented for every such [`FromRow`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be collected from rows",
    note = "it is made from a row that it borrows from, or not at all: collect a type that owns its fields, or read a borrowing \
            one row by row with `rows.next_as`",
    note = "derive it: #[derive(onecopy_mysql::FromRow)], with the feature `derive`; one value is `(T,)`, or use query_scalar"
)]
pub trait FromRowOwned: for<'r> FromRow<'r> {}

impl<T: for<'r> FromRow<'r>> FromRowOwned for T {}

/// A type that a value converts to and that borrows nothing from it. It is implemented for every such [`FromValue`].
pub trait FromValueOwned: for<'v> FromValue<'v> {}

impl<T: for<'v> FromValue<'v>> FromValueOwned for T {}

/// A part of another row that may be missing as a whole, as after a LEFT JOIN: `None` if each of its columns is NULL.
impl<'r, T: FromRow<'r>> FromRow<'r> for Option<T> {
    const COLUMNS: usize = T::COLUMNS;

    fn plan(planner: &mut Planner<'_>) -> Result<(), Error> {
        T::plan(planner)
    }

    #[inline]
    fn from_row(row: &PlannedRow<'r>) -> Result<Self, Error> {
        if row.is_all_null() {
            return Ok(None);
        }
        T::from_row(row).map(Some)
    }
}
