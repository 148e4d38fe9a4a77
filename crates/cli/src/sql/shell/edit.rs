//! Programs that a shell starts: the editor, and what `\!` names. And the file that has a copy of the output.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Shell;
use super::message::say;

/// Runs a command of the operating system on this terminal.
pub(super) fn system(command: &str) {
    match Command::new("sh").arg("-c").arg(command).status() {
        Ok(status) if status.success() => {}
        Ok(status) => say(&format!("the command ended with {status}")),
        Err(error) => say(&format!("error: can't start sh: {error}")),
    }
}

/// The text as the editor leaves it, and as it was where there is no editor.
pub(super) fn edit(text: &str) -> String {
    match edited(text) {
        Ok(edited) => edited.trim_end().to_owned(),
        Err(error) => {
            say(&format!("error: can't edit the statement: {error}"));
            String::new()
        }
    }
}

fn edited(text: &str) -> io::Result<String> {
    let (path, mut file) = private_file()?;
    let edited = (|| {
        writeln!(file, "{text}")?;
        drop(file);
        let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let editor = set("VISUAL")
            .or_else(|| set("EDITOR"))
            .unwrap_or_else(|| "vi".into());
        let line = format!("{editor} \"$1\"");
        let status = Command::new("sh")
            .arg("-c")
            .arg(line)
            .arg("sh")
            .arg(&path)
            .status()?;
        if !status.success() {
            return Err(io::Error::other(format!("{editor} ended with {status}")));
        }
        fs::read_to_string(&path)
    })();
    let _ = fs::remove_file(&path);
    edited
}

/// A new file that only this user can read.
fn private_file() -> io::Result<(PathBuf, File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for number in 0..100 {
        let name = format!("onecopy-{}-{number}.sql", std::process::id());
        let path = env::temp_dir().join(name);
        match options.open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Shell {
    /// `\T` and `\t`
    pub(super) fn tee(&mut self, path: Option<&str>) {
        let Some(path) = path else {
            self.printer.out.set_copy(None);
            return say("the output is not copied");
        };
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(Path::new(path));
        match file {
            Ok(file) => {
                self.printer.out.set_copy(Some(file));
                say(&format!("the output is copied to {path}"));
            }
            Err(error) => say(&format!("error: can't write to {path}: {error}")),
        }
    }

    /// What was typed is part of the copy.
    pub(super) fn copy_to_tee(&mut self, line: &str) -> io::Result<()> {
        let (prompt, _) = self.prompt();
        match self.printer.out.copy() {
            Some(copy) => writeln!(copy, "{prompt}{line}"),
            None => Ok(()),
        }
    }
}
