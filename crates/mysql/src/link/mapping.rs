//! Rows as the caller's types: the plans that the connection keeps.

use onecopy_wire::Span;

use super::Link;
use crate::Error;
use crate::map::{FromRow, PlannedRow};

impl Link {
    /// Finds the columns that a type needs, unless that was done for the same columns before.
    #[inline]
    pub(crate) fn plan<'r, T: FromRow<'r>>(&mut self) -> Result<(), Error> {
        let plans = self.plans.get_or_insert_default();
        let selected = plans.select(self.core.definitions(), T::plan);
        selected.map_err(|error| error.after_sending(true))
    }

    /// The row as the type that was planned last.
    #[inline]
    pub(crate) fn mapped<'r, T: FromRow<'r>>(
        &'r self,
        span: Span,
        number: u64,
    ) -> Result<T, Error> {
        let slots = self.plans.as_ref().map_or(&[][..], |plans| plans.slots());
        match T::from_row(&PlannedRow::new(self.row(span), slots)) {
            Ok(value) => Ok(value),
            Err(error) => Err(error.in_row(number).after_sending(true)),
        }
    }
}
