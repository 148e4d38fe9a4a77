//! Lines from a terminal, with editing and a history: what the prompts of all servers share.

mod above;
mod history;

use std::env;
use std::path::PathBuf;

use rustyline::config::BellStyle;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, EditMode, Editor, Helper};

pub(crate) use above::Above;
pub(crate) use history::file as state_file;
pub(crate) use rustyline::ColorMode;

use crate::failure::Failure;

/// Lines that are remembered.
const HISTORY: usize = 1_000;

/// A longer line was pasted, and would be in everybody's way: 64 KiB.
const LONGEST: usize = 64 << 10;

/// A line editor. `H` completes, hints and colours what is typed, and says whether it is whole.
pub(crate) struct Prompt<H: Helper> {
    editor: Editor<H, FileHistory>,
    file: Option<PathBuf>,
}

/// What was typed.
pub(crate) enum Typed {
    Line(String),
    /// Ctrl-C, which gives the line up.
    Nothing,
    /// Ctrl-D, or the end of the terminal.
    End,
}

impl<H: Helper> Prompt<H> {
    /// With the history in the file of that name, in the user's folder for such things.
    pub(crate) fn new(helper: H, history: &str, colours: ColorMode) -> Result<Self, Failure> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            .bell_style(BellStyle::None)
            .edit_mode(edit_mode())
            .history_ignore_space(true)
            .color_mode(colours)
            .max_history_size(HISTORY)
            .map_err(failed)?
            .build();
        let mut editor = Editor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(helper));
        let file = history::file(history);
        if let Some(file) = &file {
            // There is none yet, the first time.
            let _ = editor.load_history(file);
        }
        Ok(Self { editor, file })
    }

    /// The next line. `prompt`: without colours, and with them. `typed` is there already, as if it had been typed.
    pub(crate) fn next(
        &mut self,
        prompt: &(String, String),
        typed: &str,
    ) -> Result<Typed, Failure> {
        match self.editor.readline_with_initial(prompt, (typed, "")) {
            Ok(line) => Ok(Typed::Line(line)),
            Err(ReadlineError::Interrupted) => Ok(Typed::Nothing),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(failed(error)),
        }
    }

    /// `None` where the terminal can't move its cursor.
    pub(crate) fn above(&mut self) -> Option<Above> {
        self.editor.create_external_printer().ok().map(Above::new)
    }

    pub(crate) fn helper_mut(&mut self) -> Option<&mut H> {
        self.editor.helper_mut()
    }

    /// Written at once: another session, or a crash, must not lose it. A history that can't be written is no reason to
    /// fail.
    pub(crate) fn remember(&mut self, line: &str) {
        if line.len() > LONGEST || !self.editor.add_history_entry(line).unwrap_or(false) {
            return;
        }
        if let Some(file) = &self.file {
            let _ = self.editor.append_history(file);
        }
    }
}

/// That of the readline library: `set editing-mode vi` in ~/.inputrc, or in the file that INPUTRC names.
fn edit_mode() -> EditMode {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".inputrc"));
    let path = env::var_os("INPUTRC").map(PathBuf::from).or_else(home);
    let text = path
        .and_then(|path| std::fs::read_to_string(path).ok())
        .unwrap_or_default();
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    match text
        .lines()
        .any(|line| words(line) == ["set", "editing-mode", "vi"])
    {
        true => EditMode::Vi,
        false => EditMode::Emacs,
    }
}

fn failed(error: ReadlineError) -> Failure {
    Failure::other(format!("can't read from the terminal: {error}"))
}
