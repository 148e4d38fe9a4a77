//! The types of the rows of a batch.

use onecopy_mysql_proto::packet::{Indicator, ParameterType};

use crate::{ColumnType, Param};

/// The type of a parameter that is NULL in all rows: it does not matter.
pub(super) const ANY: ParameterType = ParameterType::new(ColumnType::VAR_STRING.0, false);

/// Whether the value can be sent with the type that its column has; the first value decides it. An integer that both signs have
/// agrees with both.
#[inline]
pub(super) fn agree(ty: &mut Option<ParameterType>, param: &Param<'_>) -> bool {
    let own = ParameterType::new(param.column_type().0, param.is_unsigned());
    match *ty {
        Some(ty) if ty == own => true,
        _ if Indicator::of(param) != Indicator::None => true,
        None => {
            *ty = Some(own);
            true
        }
        Some(ty) => {
            let both = match *param {
                Param::Int(number) => number >= 0,
                Param::UInt(number) => i64::try_from(number).is_ok(),
                _ => false,
            };
            both && ty.column_type() == own.column_type()
        }
    }
}

/// The types of all parameters of an execution for many rows, where each parameter has its own.
#[derive(Debug)]
pub(super) struct Types {
    /// Of the columns; `None` as long as a column has had no value.
    columns: Vec<Option<ParameterType>>,
    /// Of all parameters, from the first row on that has not the types of its columns; empty up to there.
    each: Vec<ParameterType>,
    /// What `columns` are sent as.
    row: Vec<ParameterType>,
}

impl Types {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            columns: vec![None; columns],
            each: Vec::new(),
            row: Vec::new(),
        }
    }

    /// Adds those of a row behind so many others.
    #[inline]
    pub(super) fn add(&mut self, row: &[Param<'_>], rows: usize) {
        let mut agrees = true;
        for (ty, param) in self.columns.iter_mut().zip(row) {
            agrees &= agree(ty, param);
        }
        if !agrees || !self.each.is_empty() {
            self.add_apart(row, rows);
        }
    }

    #[cold]
    fn add_apart(&mut self, row: &[Param<'_>], rows: usize) {
        if self.each.is_empty() {
            let columns = self.columns.iter().map(|ty| ty.unwrap_or(ANY));
            let count = rows * self.columns.len();
            self.each.extend(columns.cycle().take(count));
        }
        let own = row.iter().map(|param| match param {
            Param::Null => ANY,
            _ => ParameterType::new(param.column_type().0, param.is_unsigned()),
        });
        self.each.extend(own);
    }

    /// Keeps those of the first parameters.
    pub(super) fn truncate(&mut self, parameters: usize) {
        self.each.truncate(parameters);
    }

    pub(super) fn clear(&mut self) {
        self.columns.fill(None);
        self.each.clear();
    }

    /// The types to send, repeated for each row, and whether they are those of the statement's last execution, `sent`, which becomes
    /// this one.
    pub(super) fn for_execution(
        &mut self,
        sent: &mut Vec<ParameterType>,
    ) -> (&[ParameterType], bool) {
        self.row.clear();
        let types = if self.each.is_empty() {
            for (index, ty) in self.columns.iter().enumerate() {
                let last = sent.get(index).copied().unwrap_or(ANY);
                self.row.push(ty.unwrap_or(last));
            }
            &self.row
        } else {
            &self.each
        };
        let hold = types == sent;
        if !hold {
            sent.clone_from(types);
        }
        (types, hold)
    }
}

#[cfg(test)]
mod tests;
