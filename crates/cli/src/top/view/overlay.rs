//! What is drawn over the tables: a question, the help, all values of a row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Block, Clear, Widget};
use unicode_width::UnicodeWidthStr;

use super::text::{put, wrap};
use super::{line, top};
use crate::top::state::State;
use crate::top::value::{Shown, Value};

/// The widest that a question is.
const WIDEST: u16 = 76;

/// A row's values have at most so many lines each: a statement may be long.
const LINES: usize = 60;

pub(super) fn question(buffer: &mut Buffer, area: Rect, question: &Shown) {
    let inside = usize::from(area.width.min(WIDEST).saturating_sub(4));
    let mut lines = wrap(question.as_str(), inside, 8);
    lines.push(String::new());
    lines.push("y: yes    any other key: no".to_owned());
    boxed(buffer, area, " Are you sure? ", &lines, 0);
}

pub(super) fn help(buffer: &mut Buffer, area: Rect) {
    let lines: Vec<String> = HELP.lines().map(str::to_owned).collect();
    boxed(buffer, area, " Keys ", &lines, 0);
}

const HELP: &str = "\
1 to 9, Tab      screens
Up, Down, j, k   choose a row; PgUp, PgDn, Home, End
Left, Right      sort by another column; beyond the last one: unsorted
r                reverse the order
/                show only rows that have all these words; Esc: all rows
Enter            all values of the row
Space            pause, and go on
+, -             refresh less often, more often
Ctrl-L           draw the screen anew
q, Ctrl-C        quit; Ctrl-Z: to the shell

These ask first, and need a row:
K                kill the session (Sessions, Pins)
D, R, M          drain or resume the backend, or make its shared
                 connections anew (Backends)
P, R             pause or resume the listener (Overview)

Rates are of the last interval, percentiles of the last ten seconds.
! is a row that somebody should look at; Enter says why.
– is a value that is not known: there was nothing to measure.";

/// All values of the chosen row, from this line on.
pub(super) fn details(buffer: &mut Buffer, area: Rect, state: &State, from: u16) {
    let Some((table, row)) = state.main().zip(state.chosen_row()) else {
        return;
    };
    let widest = table.columns.iter().map(|column| column.name.width());
    let names = widest.max().unwrap_or_default() + 2;
    let room = usize::from(area.width).saturating_sub(names + 4);
    let mut lines = Vec::new();
    for (column, value) in table.columns.iter().zip(&row.values) {
        let values = wrap(&Value::shown(value), room.max(1), LINES);
        for (at, value) in values.iter().enumerate() {
            let name = if at == 0 { column.name } else { "" };
            let pad = " ".repeat(names.saturating_sub(name.width()));
            lines.push(format!("{name}{pad}{value}"));
        }
    }
    let height = usize::from(area.height.saturating_sub(2));
    let from = usize::from(from).min(lines.len().saturating_sub(height));
    boxed(buffer, area, &format!(" {} ", table.title), &lines, from);
}

/// A box in the middle, with lines from one of them on.
fn boxed(buffer: &mut Buffer, area: Rect, title: &str, lines: &[String], from: usize) {
    let widest = lines.iter().map(|line| line.width()).max();
    let widest = widest.unwrap_or_default().max(title.width());
    let width = u16::try_from(widest + 4)
        .unwrap_or(u16::MAX)
        .min(area.width);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let height = height.min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(place, buffer);
    let block = Block::bordered().title(title);
    let inside = block.inner(place);
    block.render(place, buffer);
    let mut rest = Rect {
        x: inside.x + 1_u16.min(inside.width),
        width: inside.width.saturating_sub(2),
        ..inside
    };
    for text in lines.iter().skip(from) {
        if rest.height == 0 {
            break;
        }
        let area = top(&mut rest, 1);
        put(buffer, area, 0, &line(text, area), Style::new());
    }
    if lines.len() > from + usize::from(inside.height) {
        let last = Rect {
            y: place.y + place.height.saturating_sub(1),
            height: 1,
            ..place
        };
        let style = Style::new().add_modifier(Modifier::BOLD);
        put(buffer, last, 2, " more below ", style);
    }
}
