//! A table for people.

mod cell;
mod fit;

use std::io::Write;
use std::time::{Duration, Instant};

use anstyle::Style;

use super::style::{ABSENT, NAME, NUMBER, PLAIN};
use super::{Column, Format, Kind, Layout, Out, Value};
use crate::failure::Failure;
use cell::Cell;

pub(super) use cell::width as cell_width;

/// The columns' widths are taken from this many rows at most ...
const SAMPLE_ROWS: usize = 1_000;
/// ... from this many bytes of text ...
const SAMPLE_BYTES: usize = 256 << 10;
/// ... and from what came in this time, so that somebody who waits sees rows.
const SAMPLE_TIME: Duration = Duration::from_secs(1);

/// Columns between lines. The first rows are held back to find the widths; from then on each row is written as it comes.
/// A later value that is wider widens its column where the terminal has room, and is cut with … where it has not.
pub(super) struct Table {
    layout: Layout,
    names: Vec<Cell>,
    numeric: Vec<bool>,
    widths: Vec<usize>,
    row: Vec<Cell>,
    stage: Stage,
    line: String,
}

enum Stage {
    Sampling {
        rows: Vec<Vec<Cell>>,
        bytes: usize,
        since: Instant,
    },
    Streaming,
}

impl Table {
    pub(super) fn new(layout: Layout) -> Self {
        Self {
            layout,
            names: Vec::new(),
            numeric: Vec::new(),
            widths: Vec::new(),
            row: Vec::new(),
            stage: Stage::Streaming,
            line: String::new(),
        }
    }

    /// Fixes the widths, writes the head and what was held back.
    fn settle(&mut self, out: &mut Out) -> Result<(), Failure> {
        let Stage::Sampling { rows, .. } = std::mem::replace(&mut self.stage, Stage::Streaming)
        else {
            return Ok(());
        };
        let mut natural: Vec<usize> = self
            .names
            .iter()
            .map(|name| if self.layout.header { name.width } else { 1 })
            .collect();
        for row in &rows {
            for (width, cell) in natural.iter_mut().zip(row) {
                *width = cell.width.max(*width);
            }
        }
        self.widths = match self.layout.width {
            Some(room) => fit::fit(
                &natural,
                &self.numeric,
                room.saturating_sub(frame(natural.len())),
            ),
            None => natural,
        };
        self.write_rule(out)?;
        if self.layout.header {
            let names = std::mem::take(&mut self.names);
            self.write_row(&names, Some(NAME), out)?;
            self.write_rule(out)?;
        }
        for row in &rows {
            self.write_row(row, None, out)?;
        }
        Ok(())
    }

    fn write_rule(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.line.clear();
        for width in &self.widths {
            self.line.push_str("+-");
            self.line.extend(std::iter::repeat_n('-', width + 1));
        }
        self.line.push_str("+\n");
        Ok(out.write_all(self.line.as_bytes())?)
    }

    /// `style` instead of those that the values have.
    fn write_row(
        &mut self,
        row: &[Cell],
        style: Option<Style>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        self.line.clear();
        for ((cell, &width), &numeric) in row.iter().zip(&self.widths).zip(&self.numeric) {
            self.line.push_str("| ");
            let style = match (self.layout.colours, style) {
                (false, _) => PLAIN,
                (true, Some(style)) => style,
                (true, None) if cell.is_null => ABSENT,
                (true, None) if numeric => NUMBER,
                (true, None) => PLAIN,
            };
            cell.push(width, numeric, style, &mut self.line);
            self.line.push(' ');
        }
        self.line.push_str("|\n");
        Ok(out.write_all(self.line.as_bytes())?)
    }

    fn widen(&mut self) {
        let mut room = match self.layout.width {
            Some(width) => {
                width.saturating_sub(frame(self.widths.len()) + self.widths.iter().sum::<usize>())
            }
            None => usize::MAX,
        };
        for (width, cell) in self.widths.iter_mut().zip(&self.row) {
            let more = cell.width.saturating_sub(*width).min(room);
            *width += more;
            room -= more;
        }
    }
}

/// The narrowest table of so many columns.
pub(super) fn narrowest(columns: usize) -> usize {
    frame(columns) + columns * fit::MIN_WIDTH
}

/// Characters of a row that are not a value's.
pub(super) fn frame(columns: usize) -> usize {
    3 * columns + 1
}

impl Format for Table {
    fn begin(&mut self, columns: &[Column], _out: &mut Out) -> Result<(), Failure> {
        self.names = columns
            .iter()
            .map(|column| Cell::name(&column.name))
            .collect();
        self.numeric = columns
            .iter()
            .map(|column| matches!(column.kind, Kind::Number | Kind::Bit))
            .collect();
        self.row.clear();
        self.stage = Stage::Sampling {
            rows: Vec::new(),
            bytes: 0,
            since: Instant::now(),
        };
        Ok(())
    }

    fn value(
        &mut self,
        column: &Column,
        value: Option<Value<'_>>,
        _out: &mut Out,
    ) -> Result<(), Failure> {
        self.row.push(match value {
            Some(value) => Cell::read(column, value)?,
            None => Cell::null(self.layout.null),
        });
        Ok(())
    }

    fn end_row(&mut self, out: &mut Out) -> Result<(), Failure> {
        let mut row = std::mem::take(&mut self.row);
        if let Stage::Sampling { rows, bytes, since } = &mut self.stage {
            *bytes += row.iter().map(Cell::bytes).sum::<usize>();
            rows.push(row);
            if rows.len() >= SAMPLE_ROWS || *bytes >= SAMPLE_BYTES || since.elapsed() >= SAMPLE_TIME
            {
                self.settle(out)?;
                out.end_row()?;
            }
            return Ok(());
        }
        self.row = row;
        self.widen();
        row = std::mem::take(&mut self.row);
        self.write_row(&row, None, out)?;
        row.clear();
        self.row = row;
        Ok(out.end_row()?)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.settle(out)?;
        self.write_rule(out)?;
        Ok(out.end_row()?)
    }

    fn break_off(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.row.clear();
        match &self.stage {
            Stage::Sampling { rows, .. } if rows.is_empty() => Ok(()),
            _ => self.settle(out),
        }
    }
}

#[cfg(test)]
mod tests;
