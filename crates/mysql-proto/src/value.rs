//! Values as the server sends them: lossless for each type, and the same from both protocols.
//!
//! No type of another crate has MySQL's ranges, such as dates that are in no calendar (`2020-00-00`), 838 hours or 65 digits.
//! These are therefore plain structs of our own. `parse_text` reads the text protocol, and `decode_binary` the binary one;
//! [`Value::decode_text`] and [`Value::decode_binary`] choose by the column's type.
#![deny(clippy::indexing_slicing)]

pub mod bit;
pub mod float;
pub mod integer;

mod date;
mod date_time;
mod decimal;
mod error;
pub mod foreign;
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
#[cfg(feature = "with-serde_json-1")]
pub use foreign::{Json, JsonText};
pub use from_value::{FromValue, FromValueError, Lossy};
pub use kind::ValueKind;
pub use param::{Param, ParamProblem, SmallDecimal, ToParam};
pub use time::Time;
pub use value_ref::Value;

#[cfg(test)]
mod tests;
