//! What keys do.

use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::action::{Action, Verb};
use super::screen::Screen;
use super::state::{Mode, State};
use super::value::{Shown, Tone};

/// What has to be done outside of the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    Quit,
    /// Ctrl-Z: the shell wants the terminal.
    Suspend,
    /// Other statements are needed.
    Watch,
    Interval,
    Pause,
    Do(Action),
    /// The screen may have been written to by others.
    Redraw,
}

/// Between two refreshes.
pub(super) const SHORTEST: Duration = Duration::from_millis(500);
pub(super) const LONGEST: Duration = Duration::from_secs(600);

/// Intervals that `+` and `-` lead to.
const INTERVALS: [u64; 9] = [
    500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000,
];

/// A longer filter is pasted by mistake.
const LONGEST_FILTER: usize = 200;

/// Rows that a page key passes over, whatever fits the terminal.
const PAGE: usize = 10;

pub(super) fn press(state: &mut State, key: KeyEvent) -> Effect {
    if key.kind == KeyEventKind::Release {
        return Effect::Nothing;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        match key.code {
            KeyCode::Char('c') => return Effect::Quit,
            KeyCode::Char('z') => return Effect::Suspend,
            KeyCode::Char('l') => return Effect::Redraw,
            _ => {}
        }
    }
    match state.mode.clone() {
        Mode::Table => in_table(state, key),
        Mode::Filter { before } => in_filter(state, key, before),
        Mode::Question(action) => in_question(state, key, action),
        Mode::Help => {
            state.mode = Mode::Table;
            Effect::Nothing
        }
        Mode::Details(line) => in_details(state, key, line),
    }
}

fn in_table(state: &mut State, key: KeyEvent) -> Effect {
    state.message = None;
    let row = state.chosen();
    match key.code {
        KeyCode::Char('q') => return Effect::Quit,
        KeyCode::Char('?' | 'h') | KeyCode::F(1) => state.mode = Mode::Help,
        KeyCode::Char(digit @ '1'..='9') => {
            let at = usize::try_from(u32::from(digit) - u32::from('1')).unwrap_or_default();
            return switch(state, at);
        }
        KeyCode::Tab => return switch(state, (state.screen.number() + 1) % Screen::ALL.len()),
        KeyCode::BackTab => {
            let before = state.screen.number() + Screen::ALL.len() - 1;
            return switch(state, before % Screen::ALL.len());
        }
        KeyCode::Up | KeyCode::Char('k') => state.choose(row.saturating_sub(1)),
        KeyCode::Down | KeyCode::Char('j') => state.choose(row + 1),
        KeyCode::PageUp => state.choose(row.saturating_sub(PAGE)),
        KeyCode::PageDown => state.choose(row + PAGE),
        KeyCode::Home | KeyCode::Char('g') => state.choose(0),
        KeyCode::End | KeyCode::Char('G') => state.choose(usize::MAX),
        KeyCode::Right | KeyCode::Char('>') => state.sort_by_next(true),
        KeyCode::Left | KeyCode::Char('<') => state.sort_by_next(false),
        KeyCode::Char('r') => state.reverse(),
        KeyCode::Char('/') => {
            let before = state.filter.clone();
            state.mode = Mode::Filter { before };
        }
        KeyCode::Esc if !state.filter.is_empty() => {
            state.filter.clear();
            state.refresh();
        }
        KeyCode::Enter if state.chosen_row().is_some() => state.mode = Mode::Details(0),
        KeyCode::Char(' ' | 'p') => {
            state.is_paused = !state.is_paused;
            return Effect::Pause;
        }
        KeyCode::Char('+' | '=') => return interval(state, true),
        KeyCode::Char('-' | '_') => return interval(state, false),
        KeyCode::Char('K') => state.ask(Verb::Kill),
        KeyCode::Char('D') => state.ask(Verb::Drain),
        KeyCode::Char('R') => state.ask(Verb::Resume),
        KeyCode::Char('P') => state.ask(Verb::Pause),
        KeyCode::Char('M') => state.ask(Verb::Move),
        _ => {}
    }
    Effect::Nothing
}

fn switch(state: &mut State, number: usize) -> Effect {
    match Screen::ALL.get(number) {
        Some(&screen) if screen != state.screen => {
            state.switch(screen);
            Effect::Watch
        }
        _ => Effect::Nothing,
    }
}

/// To the next longer or shorter of the usual intervals.
fn interval(state: &mut State, is_longer: bool) -> Effect {
    let now = state.interval;
    let mut all = INTERVALS.map(Duration::from_millis).into_iter();
    let next = match is_longer {
        true => all.find(|one| *one > now),
        false => all.rfind(|one| *one < now),
    };
    let Some(next) = next else {
        return Effect::Nothing;
    };
    state.interval = next;
    Effect::Interval
}

fn in_filter(state: &mut State, key: KeyEvent, before: String) -> Effect {
    match key.code {
        KeyCode::Enter => state.mode = Mode::Table,
        KeyCode::Esc => {
            state.filter = before;
            state.mode = Mode::Table;
        }
        KeyCode::Backspace => {
            state.filter.pop();
        }
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            state.filter.clear();
        }
        KeyCode::Char(typed)
            if !key.modifiers.contains(KeyModifiers::CONTROL)
                && !typed.is_control()
                && state.filter.len() < LONGEST_FILTER =>
        {
            state.filter.push(typed);
        }
        _ => return Effect::Nothing,
    }
    state.refresh();
    Effect::Nothing
}

/// Only `y` is yes.
fn in_question(state: &mut State, key: KeyEvent, action: Action) -> Effect {
    state.mode = Mode::Table;
    match key.code {
        KeyCode::Char('y' | 'Y') => {
            state.say(Shown::new("waiting for the proxy's answer"), Tone::Plain);
            Effect::Do(action)
        }
        _ => {
            state.say(Shown::new("nothing was done"), Tone::Plain);
            Effect::Nothing
        }
    }
}

fn in_details(state: &mut State, key: KeyEvent, line: u16) -> Effect {
    state.mode = match key.code {
        KeyCode::Up | KeyCode::Char('k') => Mode::Details(line.saturating_sub(1)),
        KeyCode::Down | KeyCode::Char('j') => Mode::Details(line.saturating_add(1)),
        KeyCode::PageUp => Mode::Details(line.saturating_sub(10)),
        KeyCode::PageDown => Mode::Details(line.saturating_add(10)),
        _ => Mode::Table,
    };
    Effect::Nothing
}

#[cfg(test)]
mod tests;
