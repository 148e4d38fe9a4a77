//! Statements and commands typed on a terminal: a real one, whose other end the test holds.

mod cancel;
mod commands;
mod completion;
mod editing;
mod favourites;
mod lost;
mod output;
mod pager;
mod progress;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use onecopy_mysql::blocking::Connection;

use crate::terminal::Terminal;
use crate::{onecopy, url};

/// What the line editor begins with in front of each prompt, and at no other time: bracketed paste.
const PROMPT: &str = "\x1b[?2004h";

/// `onecopy sql` on a terminal, with a folder of its own for its history and for files.
struct Session {
    terminal: Terminal,
    folder: PathBuf,
}

impl Session {
    /// On 200 columns, without colours.
    fn start(name: &str) -> Self {
        Self::start_with(name, url(), 200, |_| {})
    }

    fn start_with(name: &str, url: &str, columns: u16, set: impl FnOnce(&mut Command)) -> Self {
        let folder =
            std::env::temp_dir().join(format!("onecopy-sql-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut program = onecopy();
        for variable in ["PAGER", "LESS", "VISUAL", "EDITOR"] {
            program.env_remove(variable);
        }
        program
            .arg(url)
            .env("XDG_STATE_HOME", &folder)
            .env("NO_COLOR", "1");
        set(&mut program);
        let mut terminal = Terminal::start_sized(&mut program, columns);
        terminal.shows("Ctrl-D exits");
        let mut session = Self { terminal, folder };
        session.answer();
        // Most tests drop what they make.
        session.run("\\confirm off");
        session
    }

    /// Types a line, and waits for its echo.
    fn enter(&mut self, line: &str) {
        self.terminal.type_keys(line);
        self.terminal.type_keys("\r");
    }

    fn type_keys(&mut self, keys: &str) {
        self.terminal.type_keys(keys);
    }

    fn shows(&mut self, text: &str) -> String {
        self.terminal.shows(text)
    }

    /// What is shown up to the next prompt.
    fn answer(&mut self) -> String {
        self.terminal.shows(PROMPT) + &self.terminal.shows("> ")
    }

    /// Runs it, and gives what is shown up to the next prompt, the echo of the line first.
    fn run(&mut self, line: &str) -> String {
        self.enter(line);
        self.answer()
    }

    fn history(&self) -> PathBuf {
        self.folder.join("onecopy/sql_history")
    }

    /// Ctrl-D. The prompt is there: before, it would be taken for an end of the line.
    fn leave(mut self) {
        self.type_keys("\x04");
        self.terminal.ends();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Runs statements on a connection of the test's own.
fn prepare(statements: &[&str]) {
    let mut connection = Connection::connect(url()).unwrap();
    for statement in statements {
        connection.run(statement).unwrap();
    }
}
