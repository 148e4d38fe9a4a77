//! Draws the state. It reads no clock and asks nobody, so that tests draw it on a screen in memory.

mod columns;
mod grid;
mod overlay;
mod text;

use std::time::Instant;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::proxy::{Flow, Link};
use super::screen::Screen;
use super::state::{Mode, State};
use super::value::{Shown, Tone, Value, grouped, time};
use text::{cut, put, wrap};

/// Lines of warnings: more proxies may be down than there is room for.
const WARNINGS: usize = 4;

/// On a lower terminal the tables need the line of the hints.
const TALL: u16 = 6;

/// Lines of a row's note, and of a message.
const NOTE: usize = 2;
const MESSAGE: usize = 3;

/// Colours, if there are any. What they say is also said by words.
#[derive(Clone, Copy)]
struct Look {
    has_colours: bool,
}

impl Look {
    fn tone(self, tone: Tone) -> Style {
        let colour = |colour| match self.has_colours {
            true => Style::new().fg(colour),
            false => Style::new(),
        };
        match tone {
            Tone::Plain => Style::new(),
            Tone::Good => colour(Color::Green),
            Tone::Warning => colour(Color::Yellow).add_modifier(Modifier::BOLD),
            Tone::Bad => colour(Color::Red).add_modifier(Modifier::BOLD),
        }
    }
}

/// Draws all of it, and returns the number of the first visible row of the main table.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, now: Instant) -> usize {
    let look = Look {
        has_colours: state.has_colours,
    };
    let area = frame.area();
    let buffer = frame.buffer_mut();
    let mut rest = area;
    tabs(buffer, top(&mut rest, 1), state);
    status(buffer, top(&mut rest, 1), state);
    for warning in warnings(state, now) {
        put(
            buffer,
            top(&mut rest, 1),
            0,
            warning.as_str(),
            look.tone(Tone::Bad),
        );
    }
    if area.height >= TALL {
        hints(buffer, bottom(&mut rest, 1), state);
    }
    foot(buffer, &mut rest, state, look);
    let first = tables(buffer, rest, state, look);
    match &state.mode {
        Mode::Table | Mode::Filter { .. } => {}
        Mode::Question(action) => overlay::question(buffer, area, &action.question),
        Mode::Help => overlay::help(buffer, area),
        Mode::Details(line) => overlay::details(buffer, area, state, *line),
    }
    first
}

/// Takes so many lines from the top of the rest.
fn top(rest: &mut Rect, lines: u16) -> Rect {
    let height = lines.min(rest.height);
    let taken = Rect { height, ..*rest };
    rest.y += height;
    rest.height -= height;
    taken
}

fn bottom(rest: &mut Rect, lines: u16) -> Rect {
    let height = lines.min(rest.height);
    rest.height -= height;
    Rect {
        y: rest.y + rest.height,
        height,
        ..*rest
    }
}

/// The names of the screens; on a narrow terminal only that of the one that is shown.
fn tabs(buffer: &mut Buffer, area: Rect, state: &State) {
    const WHOLE: u16 = 77;
    const ROOMY: u16 = 100;
    let (between, gap) = if area.width < ROOMY {
        ("", 1)
    } else {
        (" ", 2)
    };
    let mut x = 0;
    for (at, screen) in Screen::ALL.into_iter().enumerate() {
        let is_shown = screen == state.screen;
        let text = match is_shown || area.width >= WHOLE {
            true => format!("{}{between}{}", at + 1, screen.name()),
            false => (at + 1).to_string(),
        };
        let style = match is_shown {
            true => Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD),
            false => Style::new(),
        };
        x = put(buffer, area, x, &text, style) + gap;
    }
}

/// What matters on every screen, in one line.
fn status(buffer: &mut Buffer, area: Rect, state: &State) {
    let proxies = &state.proxies;
    let up = proxies.iter().filter(|proxy| proxy.link == Link::Up);
    let mut parts = match proxies.as_slice() {
        [only] => vec![only.name.to_string()],
        all => vec![format!("{} of {} proxies", up.count(), all.len())],
    };
    if state.is_paused {
        parts.insert(0, "PAUSED".to_owned());
    }
    if !state.filter.is_empty() || matches!(state.mode, Mode::Filter { .. }) {
        let cursor = match state.mode {
            Mode::Filter { .. } => "_",
            _ => "",
        };
        let filter = Shown::new(&state.filter);
        parts.insert(0, format!("filter: {filter}{cursor}"));
    }
    let rates = proxies
        .iter()
        .map(|proxy| Flow::of(proxy, |_| true).commands);
    let rates = rates.filter_map(|rate| match rate {
        Value::Rate(rate) => Some(rate),
        _ => None,
    });
    let rate = rates.reduce(|a, b| a + b);
    let rate = Value::of(rate, Value::Rate).shown();
    parts.push(format!("{rate} commands/s"));
    let clients = proxies
        .iter()
        .filter_map(|proxy| proxy.sum(super::grid::Show::Listeners, "Sessions"));
    let clients = clients.reduce(u64::saturating_add);
    let noun = if clients == Some(1) {
        "client"
    } else {
        "clients"
    };
    parts.push(format!(
        "{} {noun}",
        Value::of(clients, Value::Count).shown()
    ));
    parts.push(format!("every {}", interval(state)));
    put(buffer, area, 0, &parts.join(" | "), Style::new());
}

fn interval(state: &State) -> String {
    match state.interval.subsec_millis() {
        0 => time(state.interval.as_secs()),
        _ => format!("{:.1}s", state.interval.as_secs_f64()),
    }
}

/// Proxies that do not answer, then what is missing in the tables.
fn warnings(state: &State, now: Instant) -> Vec<Shown> {
    let down = state.proxies.iter().filter_map(|proxy| match &proxy.link {
        Link::Down { why, retry_at } => {
            let left = retry_at.saturating_duration_since(now).as_secs_f64().ceil();
            Some(format!(
                "{} is down: {why}; next try in {left:.0}s",
                proxy.name
            ))
        }
        Link::Connecting | Link::Up => None,
    });
    let tables = state.tables.iter().flat_map(|table| &table.warnings);
    let all = down.chain(tables.map(ToString::to_string));
    let all: Vec<_> = all.map(|line| Shown::new(&line)).collect();
    let more = all.len().saturating_sub(WARNINGS);
    let mut lines: Vec<_> = all.into_iter().take(WARNINGS).collect();
    if more > 0 {
        lines.pop();
        lines.push(Shown::new(&format!("and {} more warnings", more + 1)));
    }
    lines
}

fn hints(buffer: &mut Buffer, area: Rect, state: &State) {
    let own = match state.screen {
        Screen::Overview => "P pause  R resume  ",
        Screen::Backends => "D drain  R resume  M move  ",
        Screen::Sessions | Screen::Pins => "K kill  ",
        _ => "",
    };
    let own = if state.is_read_only { "" } else { own };
    let text = match state.mode {
        Mode::Filter { .. } => "Enter keeps the filter, Esc restores the one before".to_owned(),
        Mode::Question(_) => "y does it, any other key does not".to_owned(),
        Mode::Help => "any key goes back".to_owned(),
        Mode::Details(_) => "up and down scroll, any other key goes back".to_owned(),
        Mode::Table => {
            format!("{own}? help  / filter  < > sort  Enter details  q quit")
        }
    };
    put(
        buffer,
        area,
        0,
        &text,
        Style::new().add_modifier(Modifier::DIM),
    );
}

/// Above the hints: a message, or what is too long for a column of the chosen row.
fn foot(buffer: &mut Buffer, rest: &mut Rect, state: &State, look: Look) {
    let width = usize::from(rest.width);
    let (lines, style) = match &state.message {
        Some(message) => (
            wrap(message.text.as_str(), width, MESSAGE),
            look.tone(message.tone).add_modifier(Modifier::BOLD),
        ),
        None => {
            let note = state.chosen_row().and_then(|row| row.note.as_ref());
            let note = note.map(|note| wrap(note.as_str(), width, NOTE));
            (note.unwrap_or_default(), Style::new())
        }
    };
    // The table needs the room more.
    if rest.height < 8 && state.message.is_none() {
        return;
    }
    for line in lines.iter().rev() {
        put(buffer, bottom(rest, 1), 0, line, style);
    }
}

/// Returns the number of the first visible row of the main table.
fn tables(buffer: &mut Buffer, area: Rect, state: &State, look: Look) -> usize {
    let mut rest = area;
    let [main, others @ ..] = state.tables.as_slice() else {
        return 0;
    };
    for table in others.iter().filter(|table| !table.rows.is_empty()) {
        // Half of the screen is the main table's.
        let lines = u16::try_from(table.rows.len() + 2).unwrap_or(u16::MAX);
        let lines = lines.min(rest.height / 2);
        if lines < 3 {
            continue;
        }
        let mut part = match state.screen {
            Screen::Overview => top(&mut rest, lines),
            _ => bottom(&mut rest, lines),
        };
        // An empty line between the two.
        match state.screen {
            Screen::Overview => part.height -= 1,
            _ => _ = top(&mut part, 1),
        }
        grid::draw(buffer, part, table, None, look);
    }
    let visible = usize::from(rest.height.saturating_sub(1));
    let first = state.first(visible);
    if main.rows.is_empty() {
        let text = match (main.is_answered, main.hidden) {
            (false, _) => "Waiting for an answer.".to_owned(),
            (true, 0) => main.none.to_owned(),
            (true, hidden) => {
                let hidden = grouped(hidden as u64);
                format!("The filter hides all {hidden} rows; Esc clears it.")
            }
        };
        for line in wrap(&text, usize::from(rest.width), 3) {
            put(buffer, top(&mut rest, 1), 0, &line, Style::new());
        }
        return 0;
    }
    let chosen = grid::Chosen {
        row: state.chosen(),
        first,
        order: state.order(),
    };
    grid::draw(buffer, rest, main, Some(chosen), look);
    first
}

/// A line that is cut to the width of an area.
fn line(text: &str, area: Rect) -> String {
    cut(text, usize::from(area.width))
}

#[cfg(test)]
mod tests;
