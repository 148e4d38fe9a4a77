//! What can be set for the session.

use std::env;

use super::command::{Expanded, Setting};
use crate::output::{FormatName, Layout, Out, Paging, narrowest_table};
use crate::sql::{Args, Color};

/// How rows are shown, and what is said about them.
pub(super) struct Settings {
    format: FormatName,
    header: bool,
    pub(super) colours: bool,
    expanded: Expanded,
    /// Tables are cut to the screen's width.
    fit: bool,
    /// The command of the pager that was set last.
    pager: String,
    pages: bool,
    pub(super) timing: bool,
    /// Texts of warnings, and not their number only.
    pub(super) warnings: bool,
    /// Say how many rows there were.
    pub(super) counts: bool,
    /// Asks before whole tables are lost.
    pub(super) confirms: bool,
    /// `\G` was recommended.
    pub(super) recommended: bool,
}

/// Columns and lines of the screen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Screen {
    pub(super) width: usize,
    pub(super) height: usize,
}

impl Screen {
    /// `None` where standard output is no terminal, or one that does not know its size: then nothing is fitted to it.
    pub(super) fn now() -> Option<Self> {
        let (width, height) = terminal_size::terminal_size_of(std::io::stdout())?;
        let screen = Self {
            width: width.0.into(),
            height: height.0.into(),
        };
        (screen.width > 0 && screen.height > 0).then_some(screen)
    }
}

impl Settings {
    pub(super) fn of(args: &Args) -> Self {
        let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            format: args.format.unwrap_or(FormatName::Table),
            header: !args.no_header,
            colours: has_colours(args.color),
            expanded: Expanded::Off,
            fit: true,
            pager: set("PAGER").unwrap_or_else(|| "less".into()),
            pages: true,
            timing: true,
            warnings: true,
            counts: !args.quiet,
            confirms: true,
            recommended: false,
        }
    }

    /// Takes a setting, and says what is set now.
    pub(super) fn set(&mut self, setting: Setting) -> String {
        let on = |on: bool| if on { "on" } else { "off" };
        match setting {
            Setting::Timing(value) => {
                self.timing = value.unwrap_or(!self.timing);
                format!("timing is {}", on(self.timing))
            }
            Setting::Confirm(value) => {
                self.confirms = value.unwrap_or(!self.confirms);
                format!("confirm is {}", on(self.confirms))
            }
            Setting::Warnings(value) => {
                self.warnings = value;
                match value {
                    true => "warnings are shown".into(),
                    false => "warnings are counted".into(),
                }
            }
            Setting::Fit(value) => {
                self.fit = value.unwrap_or(!self.fit);
                match self.fit {
                    true => "fit is on: tables are cut to the width of the screen".into(),
                    false => "fit is off: tables are as wide as their values".into(),
                }
            }
            Setting::Expanded(value) => {
                let turned = match self.expanded {
                    Expanded::Off => Expanded::On,
                    _ => Expanded::Off,
                };
                self.expanded = value.unwrap_or(turned);
                match self.expanded {
                    Expanded::On => "expanded is on: a line for each column".into(),
                    Expanded::Off => "expanded is off: tables".into(),
                    Expanded::Auto => "expanded is auto: a line for each column where a row is wider than the screen".into(),
                }
            }
            Setting::Pager(command) => {
                self.pages = true;
                if let Some(command) = command {
                    self.pager = command;
                }
                format!("more than a screen is shown with {}", self.pager)
            }
            Setting::NoPager => {
                self.pages = false;
                "no pager".into()
            }
        }
    }

    /// Whether there is a pager; gives whether there was one.
    pub(super) fn set_paging(&mut self, pages: bool) -> bool {
        std::mem::replace(&mut self.pages, pages)
    }

    /// All settings, for people.
    pub(super) fn text(&self) -> String {
        let on = |on: bool| if on { "on" } else { "off" };
        let expanded = match self.expanded {
            Expanded::On => "on",
            Expanded::Off => "off",
            Expanded::Auto => "auto",
        };
        let pager = if self.pages { &self.pager } else { "off" };
        format!(
            "expanded (\\x) {expanded}, fit {}, timing {}, warnings (\\W, \\w) {}, confirm {}, pager {pager}",
            on(self.fit),
            on(self.timing),
            on(self.warnings),
            on(self.confirms),
        )
    }

    /// The form of a result, and how it is laid out. `vertical`: it was asked for with `\G`.
    pub(super) fn layout(&self, vertical: bool) -> (FormatName, Layout) {
        let name = match self.format {
            FormatName::Table if vertical || self.expanded == Expanded::On => FormatName::Vertical,
            name => name,
        };
        let is_auto = self.expanded == Expanded::Auto;
        let layout = Layout {
            width: Screen::now()
                .map(|screen| screen.width)
                .filter(|_| self.fit || is_auto),
            colours: self.colours,
            // Without colours nothing else tells it from a text.
            null: if self.colours { "NULL" } else { "<null>" },
            vertical_if_wide: is_auto,
            ..Layout::plain(self.header)
        };
        (name, layout)
    }

    /// What is written from now on goes to the pager where it is too much for the screen. `wide`: also where its lines are too
    /// wide.
    pub(super) fn begin_page(&self, wide: bool, out: &mut Out) {
        if let Some(screen) = Screen::now().filter(|_| self.pages) {
            out.begin_page(Paging::new(&self.pager, screen.width, screen.height, wide));
        }
    }

    /// Advice for a result of so many columns that no table of them fits, once.
    pub(super) fn advice(&mut self, name: FormatName, columns: usize) -> Option<&'static str> {
        let is_wide = Screen::now().is_some_and(|screen| narrowest_table(columns) > screen.width);
        let is_wanted = is_wide && name == FormatName::Table && self.expanded == Expanded::Off;
        if !is_wanted || self.recommended {
            return None;
        }
        self.recommended = true;
        Some(
            "the table is wider than the screen: \\G instead of ; shows a line for each column, \\x auto does so by itself",
        )
    }
}

fn has_colours(color: Color) -> bool {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb"),
    }
}
