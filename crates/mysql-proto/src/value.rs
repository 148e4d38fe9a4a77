//! Values as the server sends them, each type without loss, and the same from both protocols.
//!
//! A date that no calendar has (`2020-00-00`), 838 hours, 65 digits: no type of another crate holds MySQL's ranges, so
//! these are plain structs of our own. The text protocol is read by `parse_text`, the binary one by `decode_binary`;
//! [`Value::decode_text`] and [`Value::decode_binary`] choose by the column's type.
#![deny(clippy::indexing_slicing)]

pub mod bit;
pub mod float;
pub mod integer;

mod date;
mod date_time;
mod decimal;
mod error;
mod form;
mod from_value;
mod kind;
mod param;
mod text;
mod time;
mod value_ref;

pub use date::Date;
pub use date_time::DateTime;
pub use decimal::{Decimal, OwnedDecimal};
pub(crate) use form::Form;

pub use error::{ValueError, ValueProblem};
pub use from_value::{FromValue, FromValueError, Lossy};
pub use kind::ValueKind;
pub use param::Param;
pub use time::Time;
pub use value_ref::Value;

#[cfg(test)]
mod tests;
