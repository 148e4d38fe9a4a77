//! The place behind the last batch that was committed, in a small file.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::records::Position;
use super::source::Source;
use crate::failure::Failure;

/// What the file has, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) table: String,
    /// Bytes of the whole input, where that is known: another file has another number.
    pub(super) bytes: Option<u64>,
    pub(super) offset: u64,
    pub(super) line: u64,
    pub(super) rows: u64,
    /// The fields' columns, as the first line or --columns named them.
    pub(super) fields: Vec<String>,
}

/// Where the state is kept, if at all.
#[derive(Debug)]
pub(super) struct Resume(Option<PathBuf>);

impl Resume {
    pub(super) fn new(
        is_wanted: bool,
        state: Option<&Path>,
        source: &Source,
    ) -> Result<Self, Failure> {
        if !is_wanted {
            return match state {
                None => Ok(Self(None)),
                Some(_) => Err(Failure::other("--state is for --resume; give both")),
            };
        }
        match (state, source.path()) {
            (Some(state), _) => Ok(Self(Some(state.to_owned()))),
            (None, Some(path)) => {
                let mut path = path.as_os_str().to_owned();
                path.push(".onecopy-load");
                Ok(Self(Some(path.into())))
            }
            (None, None) => Err(Failure::other(
                "--resume with standard input needs --state FILE",
            )),
        }
    }

    /// What an earlier run left.
    pub(super) fn load(&self, table: &str, source: &Source) -> Result<Option<State>, Failure> {
        let Some(path) = &self.0 else { return Ok(None) };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot(path, "read", &error)),
        };
        let state: State =
            serde_json::from_str(&text).map_err(|error| cannot(path, "understand", &error))?;
        if state.table != table || state.bytes != source.bytes {
            return Err(Failure::other(format!(
                "{} belongs to another load (of table {}, of a file of {} bytes); remove it to start from the beginning",
                path.display(),
                state.table,
                state
                    .bytes
                    .map_or("an unknown number of".into(), |bytes| bytes.to_string())
            )));
        }
        Ok(Some(state))
    }

    /// Keeps the place: all of it or nothing is in the file.
    pub(super) fn save(&self, state: &State) -> Result<(), Failure> {
        let Some(path) = &self.0 else { return Ok(()) };
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        let text = serde_json::to_string(state).map_err(|error| cannot(path, "write", &error))?;
        let saved = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
        saved.map_err(|error| cannot(path, "write", &error))
    }

    /// All rows are loaded.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        let Some(path) = &self.0 else { return Ok(()) };
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(cannot(path, "remove", &error))
            }
            _ => Ok(()),
        }
    }
}

impl State {
    /// So many more rows are committed, up to here.
    pub(super) fn advance(&mut self, rows: u64, to: Position) {
        self.rows += rows;
        (self.offset, self.line) = (to.offset, to.line);
    }

    pub(super) fn position(&self) -> Position {
        Position {
            offset: self.offset,
            line: self.line,
        }
    }
}

fn cannot(path: &Path, what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::other(format!("can't {what} {}: {error}", path.display()))
}
