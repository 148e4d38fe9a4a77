//! Draws a table.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;

use super::columns::{Placed, gap, place};
use super::text::{cut, put};
use super::{Look, top};
use crate::top::table::{Order, Table};
use crate::top::value::{Tone, Value};

/// In front of the rows: which one is chosen, and at which ones somebody should look.
const GUTTER: u16 = 1;

/// What is chosen in a table.
#[derive(Clone, Copy)]
pub(super) struct Chosen {
    pub(super) row: usize,
    /// The first visible row.
    pub(super) first: usize,
    pub(super) order: Option<Order>,
}

/// Draws the header and as many rows as fit.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    table: &Table,
    chosen: Option<Chosen>,
    look: Look,
) {
    let mut rest = area;
    let head = top(&mut rest, 1);
    let (first, order) = chosen.map_or((0, None), |chosen| (chosen.first, chosen.order));
    let rows = table.rows.iter().enumerate().skip(first);
    let rows: Vec<_> = rows.take(usize::from(rest.height)).collect();
    let texts: Vec<Vec<String>> = rows
        .iter()
        .map(|(_, row)| row.values.iter().map(Value::shown).collect())
        .collect();
    // The last column of the terminal is for a mark.
    let room = usize::from(area.width.saturating_sub(GUTTER + 1));
    let placed = place(&table.columns, &texts, order, room);
    let gap = gap(room);
    header(buffer, head, table, &placed, (order, gap));
    for ((at, row), texts) in rows.iter().zip(&texts) {
        let line = top(&mut rest, 1);
        let is_chosen = chosen.is_some_and(|chosen| chosen.row == *at);
        let mark = match (is_chosen, row.is_alert) {
            (true, _) => ">",
            (false, true) => "!",
            (false, false) => " ",
        };
        put(buffer, line, 0, mark, look.tone(Tone::Warning));
        let mut x = GUTTER;
        for one in &placed {
            let text = texts.get(one.column).map_or("", String::as_str);
            let is_number = table
                .columns
                .get(one.column)
                .is_some_and(|column| column.is_number);
            let tone = row.values.get(one.column).map_or(Tone::Plain, Value::tone);
            let text = padded(text, one.width, is_number);
            put(buffer, line, x, &text, look.tone(tone));
            x = after(x, one.width + gap);
        }
        if is_chosen {
            let line = line.intersection(buffer.area);
            buffer.set_style(line, Style::new().add_modifier(Modifier::REVERSED));
        }
    }
}

/// Names of columns. The one that rows are sorted by has an arrow; `<` and `>` at the sides say that there are more columns.
fn header(
    buffer: &mut Buffer,
    area: Rect,
    table: &Table,
    placed: &[Placed],
    (order, gap): (Option<Order>, usize),
) {
    let mut x = GUTTER;
    let plain = Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
    for one in placed {
        let Some(column) = table.columns.get(one.column) else {
            continue;
        };
        let (mark, style) = match order {
            Some(order) if order.column == one.column => {
                let mark = if order.is_descending { "▼" } else { "▲" };
                (mark, plain.add_modifier(Modifier::REVERSED))
            }
            _ => ("", plain),
        };
        let name = format!("{}{mark}", column.name);
        put(
            buffer,
            area,
            x,
            &padded(&name, one.width, column.is_number),
            style,
        );
        x = after(x, one.width + gap);
    }
    let is_first_hidden = placed.get(1).is_some_and(|one| one.column > 1);
    if let (true, Some(first)) = (is_first_hidden, placed.first()) {
        put(buffer, area, GUTTER + narrow(first.width), "<", plain);
    }
    let last = placed.last().map_or(0, |one| one.column);
    if last + 1 < table.columns.len() {
        put(buffer, area, area.width.saturating_sub(1), ">", plain);
    }
}

fn after(x: u16, width: usize) -> u16 {
    x.saturating_add(narrow(width))
}

fn narrow(width: usize) -> u16 {
    u16::try_from(width).unwrap_or(u16::MAX)
}

/// The text in a column; numbers end at its right side.
fn padded(text: &str, width: usize, is_number: bool) -> String {
    let text = cut(text, width);
    let pad = " ".repeat(width.saturating_sub(text.width()));
    match is_number {
        true => pad + &text,
        false => text + &pad,
    }
}
