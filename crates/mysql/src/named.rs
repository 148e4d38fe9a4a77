//! Parameters by name: `:name` in the SQL, [`params!`](crate::params) for their values.

use std::fmt::Write;

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::value::{Param, ToParam};

use crate::sql::{Part, SqlMode, parts};
use crate::{Error, shown::shown};

/// Parameters that an execution can have: the protocol counts them in two bytes.
const MOST_PARAMS: usize = 0xFFFF;

/// An empty set, of which `IN` is false and `NOT IN` true for every value, NULL included. `IN (NULL)` would be NULL for both.
pub(crate) const EMPTY_SET: &[u8] = b"SELECT NULL FROM DUAL WHERE 1 = 0";

/// A parameter with its name: [`params!`](crate::params) makes them.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedParam<'a> {
    /// The name, without the colon.
    pub name: &'a str,
    /// The value that replaces the name.
    pub value: NamedValue<'a>,
}

/// The value that replaces a parameter's name.
#[derive(Debug, Clone, PartialEq)]
pub enum NamedValue<'a> {
    /// One value.
    One(Param<'a>),
    /// Values with commas between them.
    List(ParamList<'a>),
}

impl<'a, T: Into<Param<'a>>> From<T> for NamedValue<'a> {
    #[inline]
    fn from(value: T) -> Self {
        Self::One(value.into())
    }
}

impl<'a> From<ParamList<'a>> for NamedValue<'a> {
    #[inline]
    fn from(list: ParamList<'a>) -> Self {
        Self::List(list)
    }
}

/// The values of a list, see [`list`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParamList<'a>(Vec<Param<'a>>);

impl<'a> ParamList<'a> {
    /// Returns the values.
    #[must_use]
    pub fn params(&self) -> &[Param<'a>] {
        &self.0
    }
}

/// Makes a named parameter of many values, for `IN (:ids)`.
///
/// An empty list is the empty set: `x IN (:ids)` is then false and `x NOT IN (:ids)` true, as in set theory. Check for that before a
/// DELETE with `NOT IN`. If the parentheses contain anything else, an empty list is an error.
///
/// In a statement that is prepared, an `IN` list is filled to the next power of two with its last value, which does not change
/// the result: otherwise every length would be another statement to prepare and to keep on the server.
///
/// ```
/// use onecopy_mysql::{NamedSql, Param, list, params};
///
/// let ids = [3, 5, 8];
/// let sql = NamedSql::new("SELECT * FROM product WHERE id IN (:ids) AND price < :max");
/// let bound = sql.bind(&params! { ids: list(&ids), max: 100 })?;
/// assert_eq!(bound.sql(), b"SELECT * FROM product WHERE id IN (?,?,?,?) AND price < ?");
/// assert_eq!(bound.params(), [3, 5, 8, 8, 100].map(Param::from));
/// # Ok::<(), onecopy_mysql::Error>(())
/// ```
pub fn list<'a, T: ToParam + 'a>(values: impl IntoIterator<Item = &'a T>) -> ParamList<'a> {
    ParamList(values.into_iter().map(ToParam::to_param).collect())
}

/// SQL with names for its parameters.
///
/// Connections take such SQL themselves, in the methods whose name has `named` in it; use this type to bind it yourself.
///
/// A name is `:` and an ASCII letter or `_`, then letters, digits and `_`; names are case-sensitive. Text in strings, quoted
/// identifiers and comments is not a name, and neither are `::` and `:=`.
///
/// # Example
/// ```
/// use onecopy_mysql::{NamedSql, list, params};
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let sql = NamedSql::new("SELECT name FROM product WHERE id IN (:ids) AND price < :price");
/// let ids = [7, 8];
/// let bound = sql.bind(&params! { ids: list(&ids), price: 5 })?;
/// assert_eq!(bound.sql(), b"SELECT name FROM product WHERE id IN (?,?) AND price < ?");
/// assert_eq!(bound.params().len(), 3);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct NamedSql<'s> {
    sql: &'s [u8],
    mode: SqlMode,
}

impl<'s> NamedSql<'s> {
    /// SQL for a session whose `sql_mode` has neither `NO_BACKSLASH_ESCAPES` nor `ANSI_QUOTES`.
    #[must_use]
    pub fn new<T: AsRef<[u8]> + ?Sized>(sql: &'s T) -> Self {
        Self::with_mode(sql, SqlMode::default())
    }

    /// SQL for a session of this mode.
    #[must_use]
    pub fn with_mode<T: AsRef<[u8]> + ?Sized>(sql: &'s T, mode: SqlMode) -> Self {
        let sql = sql.as_ref();
        Self { sql, mode }
    }

    /// Puts a `?` in the place of each name, and the parameters into the same order. Reads the SQL once.
    ///
    /// # Errors
    /// Fails if the SQL has names that `params` lacks, or `params` has names that the SQL lacks: the error lists both. Fails if a
    /// list is empty where it may not be, if the SQL has a `?`, and if there are more than 65,535 parameters.
    pub fn bind<'a>(&self, params: &[NamedParam<'a>]) -> Result<BoundSql<'a>, Error> {
        let mut bound = BoundSql {
            sql: Vec::new(),
            params: Vec::new(),
        };
        self.bind_into(params, &mut bound.sql, &mut bound.params)?;
        Ok(bound)
    }

    /// Does what [`bind`](Self::bind) does, into memory that can be reused. Its old content is replaced.
    ///
    /// # Errors
    /// Fails like [`bind`](Self::bind).
    pub fn bind_into<'a>(
        &self,
        params: &[NamedParam<'a>],
        sql: &mut Vec<u8>,
        out: &mut Vec<Param<'a>>,
    ) -> Result<(), Error> {
        sql.clear();
        out.clear();
        reserve(sql, self.sql.len())?;
        reserve(out, params.len())?;
        let mut unknown = String::new();
        let mut used = 0u64;
        for part in parts(self.sql, self.mode) {
            match part {
                Part::Text(text) => put(sql, text)?,
                Part::Question => return Err(mixed()),
                Part::Name { name, is_in_list } => {
                    let Some(index) = params.iter().position(|param| param.name == name) else {
                        let _ = write!(unknown, " :{name}");
                        continue;
                    };
                    used |= bit(index);
                    match &params[index].value {
                        NamedValue::One(param) => push(sql, out, &[*param], 1)?,
                        NamedValue::List(list) => push_list(sql, out, name, list, is_in_list)?,
                    }
                }
            }
        }
        let unused = self.unused(params, used);
        if unknown.is_empty() && unused.is_empty() {
            return Ok(());
        }
        Err(names(unknown, unused))
    }

    /// Names of `params` that the SQL does not have. The bits of `used` stand for the first 64.
    fn unused(&self, params: &[NamedParam<'_>], used: u64) -> String {
        let mut unused = String::new();
        for (index, param) in params.iter().enumerate() {
            let is_used = match bit(index) {
                0 => parts(self.sql, self.mode)
                    .any(|part| matches!(part, Part::Name { name, .. } if name == param.name)),
                bit => used & bit != 0,
            };
            if !is_used {
                let _ = write!(unused, " {}", param.name);
            }
        }
        unused
    }
}

/// SQL with a `?` in the place of each name, and its parameters in order: [`NamedSql::bind`] makes it.
///
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
/// use onecopy_mysql::{NamedSql, params};
///
/// # fn main() -> Result<(), onecopy_mysql::Error> {
/// let mut conn = Connection::connect("mysql://user:password@localhost/shop")?;
/// let bound = NamedSql::new("SELECT name FROM product WHERE id = :id").bind(&params! { id: 7 })?;
/// let statement = conn.prepare(bound.sql())?;
/// let name: String = conn.execute_scalar(&statement, bound.params())?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BoundSql<'a> {
    sql: Vec<u8>,
    params: Vec<Param<'a>>,
}

impl<'a> BoundSql<'a> {
    /// Returns the SQL.
    #[must_use]
    pub fn sql(&self) -> &[u8] {
        &self.sql
    }

    /// Returns the parameters in order.
    #[must_use]
    pub fn params(&self) -> &[Param<'a>] {
        &self.params
    }
}

fn push_list<'a>(
    sql: &mut Vec<u8>,
    out: &mut Vec<Param<'a>>,
    name: &str,
    list: &ParamList<'a>,
    is_in_list: bool,
) -> Result<(), Error> {
    let params = &list.0[..];
    match (params.len(), is_in_list) {
        (0, true) => put(sql, EMPTY_SET),
        (0, false) => Err(Error::named(format!(
            "the list {name} is empty, which is allowed only as the whole of IN (:{name})"
        ))),
        // Up to the limit: a list that fits it unfilled does so filled.
        (len, true) => {
            let room = MOST_PARAMS.saturating_sub(out.len()).max(len);
            push(sql, out, params, len.next_power_of_two().min(room))
        }
        (len, false) => push(sql, out, params, len),
    }
}

/// Adds the parameters, of which the last one is repeated up to `count`.
fn push<'a>(
    sql: &mut Vec<u8>,
    out: &mut Vec<Param<'a>>,
    params: &[Param<'a>],
    count: usize,
) -> Result<(), Error> {
    if out.len() + count > MOST_PARAMS {
        return Err(Error::named(format!(
            "the statement has more than {MOST_PARAMS} parameters: split its list"
        )));
    }
    reserve(sql, 2 * count)?;
    reserve(out, count)?;
    for index in 0..count {
        sql.extend_from_slice(if index == 0 { b"?" } else { b",?" });
    }
    out.extend_from_slice(params);
    if let Some(last) = params.last() {
        out.extend(std::iter::repeat_n(*last, count - params.len()));
    }
    Ok(())
}

fn put(sql: &mut Vec<u8>, text: &[u8]) -> Result<(), Error> {
    reserve(sql, text.len())?;
    sql.extend_from_slice(text);
    Ok(())
}

fn reserve<T>(vec: &mut Vec<T>, count: usize) -> Result<(), Error> {
    let bytes = (count * size_of::<T>()) as u64;
    let reserved = vec.try_reserve(count);
    reserved.map_err(|_| ProtocolError::OutOfMemory { bytes }.into())
}

/// 0 beyond the first 64.
fn bit(index: usize) -> u64 {
    u32::try_from(index)
        .ok()
        .and_then(|index| 1u64.checked_shl(index))
        .unwrap_or(0)
}

#[cold]
fn mixed() -> Error {
    Error::named("the statement has a ?, which has no name: write :name".to_owned())
}

#[cold]
fn names(unknown: String, unused: String) -> Error {
    let mut problems = Vec::new();
    if !unknown.is_empty() {
        problems.push(format!("no value is given for{unknown}"));
    }
    if !unused.is_empty() {
        problems.push(format!("the statement does not have{unused}"));
    }
    Error::named(shown(problems.join(", and ")))
}

#[cfg(test)]
mod tests;
