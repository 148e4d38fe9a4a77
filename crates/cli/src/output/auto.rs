//! A table where its rows fit the terminal, otherwise a line for each column.

use std::io::Read;
use std::mem::take;
use std::time::{Duration, Instant};

use unicode_width::UnicodeWidthStr;

use super::table::{Table, cell_width, frame};
use super::vertical::Vertical;
use super::{Column, Format, Kind, Layout, Out, Value};
use crate::failure::Failure;

/// The first rows decide: so many at most ...
const SAMPLE_ROWS: usize = 200;
/// ... of so many bytes ...
const SAMPLE_BYTES: usize = 64 << 10;
/// ... and what came in this time, so that somebody who waits sees rows.
const SAMPLE_TIME: Duration = Duration::from_millis(500);

/// Holds the first rows back until it is known whether they fit.
pub(super) struct Auto {
    layout: Layout,
    width: usize,
    columns: Vec<Column>,
    widths: Vec<usize>,
    stage: Stage,
}

enum Stage {
    Sampling {
        /// Values one after the other; all rows have as many.
        values: Vec<Option<Vec<u8>>>,
        bytes: usize,
        since: Instant,
    },
    Decided(Box<dyn Format>),
}

impl Auto {
    pub(super) fn new(layout: Layout, width: usize) -> Self {
        Self {
            layout,
            width,
            columns: Vec::new(),
            widths: Vec::new(),
            stage: Stage::sampling(),
        }
    }

    /// Room for more values beside those that are there, in columns of the terminal.
    fn room(&self) -> usize {
        let used = frame(self.widths.len()) + self.widths.iter().sum::<usize>();
        self.width.saturating_sub(used)
    }

    fn is_wide(&self) -> bool {
        frame(self.widths.len()) + self.widths.iter().sum::<usize>() > self.width
    }

    /// Writes what was held back, as `is_wide` says.
    fn decide(&mut self, is_wide: bool, out: &mut Out) -> Result<&mut dyn Format, Failure> {
        if let Stage::Sampling { values, .. } = &mut self.stage {
            let values = take(values);
            let mut format: Box<dyn Format> = match is_wide {
                true => Box::new(Vertical::new(self.layout)),
                false => Box::new(Table::new(self.layout)),
            };
            format.begin(&self.columns, out)?;
            let count = self.columns.len();
            for (index, value) in values.iter().enumerate() {
                let mut bytes = value.as_deref().unwrap_or_default();
                let lent = value.as_ref().map(|value| Value {
                    len: value.len() as u64,
                    bytes: &mut bytes,
                });
                format.value(&self.columns[index % count], lent, out)?;
                if index % count + 1 == count {
                    format.end_row(out)?;
                }
            }
            self.stage = Stage::Decided(format);
        }
        match &mut self.stage {
            Stage::Decided(format) => Ok(&mut **format),
            Stage::Sampling { .. } => Err(Failure::other("the form of the rows is not decided")),
        }
    }
}

impl Stage {
    fn sampling() -> Self {
        Self::Sampling {
            values: Vec::new(),
            bytes: 0,
            since: Instant::now(),
        }
    }
}

impl Format for Auto {
    fn begin(&mut self, columns: &[Column], _out: &mut Out) -> Result<(), Failure> {
        self.columns = columns.to_vec();
        self.widths = columns.iter().map(|column| column.name.width()).collect();
        self.stage = Stage::sampling();
        Ok(())
    }

    fn value(
        &mut self,
        column: &Column,
        value: Option<Value<'_>>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let room = self.room();
        let Stage::Sampling { values, bytes, .. } = &mut self.stage else {
            let is_wide = false;
            return self.decide(is_wide, out)?.value(column, value, out);
        };
        let index = values.len() % self.columns.len().max(1);
        let Some(value) = value else {
            self.widths[index] = self.widths[index].max(self.layout.null.width());
            values.push(None);
            return Ok(());
        };
        // Four bytes a character: more can't fit, and is not held back either.
        let most = 4 * (self.widths[index] + room) as u64;
        if value.len > most && column.kind != Kind::Bit {
            return self.decide(true, out)?.value(column, Some(value), out);
        }
        let mut held = Vec::new();
        Read::take(&mut *value.bytes, value.len).read_to_end(&mut held)?;
        *bytes += held.len();
        self.widths[index] = self.widths[index].max(cell_width(column, &held));
        values.push(Some(held));
        Ok(())
    }

    fn end_row(&mut self, out: &mut Out) -> Result<(), Failure> {
        let is_wide = self.is_wide();
        let Stage::Sampling {
            values,
            bytes,
            since,
        } = &self.stage
        else {
            return self.decide(is_wide, out)?.end_row(out);
        };
        let rows = values.len() / self.columns.len().max(1);
        if is_wide
            || rows >= SAMPLE_ROWS
            || *bytes >= SAMPLE_BYTES
            || since.elapsed() >= SAMPLE_TIME
        {
            self.decide(is_wide, out)?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let is_wide = self.is_wide();
        self.decide(is_wide, out)?.end(out)
    }

    fn break_off(&mut self, out: &mut Out) -> Result<(), Failure> {
        let is_wide = self.is_wide();
        self.decide(is_wide, out)?.break_off(out)
    }
}
