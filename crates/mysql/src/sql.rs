//! SQL as text: where its placeholders are.

mod mode;
mod part;

pub use mode::SqlMode;
pub(crate) use part::{Part, parts};
