//! The terminal: taken for the screen, and given back whatever happens.

use std::io::{self, BufWriter, Stdout, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// A screen is written in one piece.
const BUFFER: usize = 64 << 10;

/// Whether it is ours.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

static HOOK: Once = Once::new();

pub(super) type Drawn = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// The terminal while it is ours. It is given back when this is dropped, and before the message of a panic in any thread.
pub(super) struct Taken {
    pub(super) terminal: Drawn,
}

impl Taken {
    pub(super) fn take() -> io::Result<Self> {
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                give_back();
                before(info);
            }));
        });
        let out = BufWriter::with_capacity(BUFFER, io::stdout());
        let terminal = Terminal::new(CrosstermBackend::new(out))?;
        let mut taken = Self { terminal };
        taken.enter()?;
        Ok(taken)
    }

    /// Takes it, also again after another program had it.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        IS_TAKEN.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        self.redraw()
    }

    /// Has the next drawing write all of the screen. Not by `Terminal::clear`, which asks the terminal where its cursor is, and fails if it
    /// does not answer.
    pub(super) fn redraw(&mut self) -> io::Result<()> {
        let area = self.terminal.size()?.into();
        self.terminal.resize(area)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// As it was, once.
pub(super) fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // There is nobody to tell: a terminal that is gone needs nothing.
    let mut out = io::stdout();
    let _ = execute!(out, Show, LeaveAlternateScreen);
    let _ = out.flush();
    let _ = disable_raw_mode();
}

/// Only its settings, without a byte: it may not take any.
pub(super) fn give_back_settings() {
    if IS_TAKEN.load(Ordering::SeqCst) {
        let _ = disable_raw_mode();
    }
}

#[cfg(test)]
mod tests;
