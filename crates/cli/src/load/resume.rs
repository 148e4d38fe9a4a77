//! The place behind the last batch that was committed, in a small file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::records::Position;
use super::source::Source;
use crate::failure::Failure;
use crate::state_file::StateFile;

/// What the file has.
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
pub(super) struct Resume(Option<StateFile>);

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
            (Some(state), _) => Ok(Self(Some(StateFile::new(state.to_owned())))),
            (None, Some(path)) => Ok(Self(Some(StateFile::beside(path, ".onecopy-load")))),
            (None, None) => Err(Failure::other(
                "--resume with standard input needs --state FILE",
            )),
        }
    }

    /// What an earlier run left.
    pub(super) fn load(&self, table: &str, source: &Source) -> Result<Option<State>, Failure> {
        let Some(file) = &self.0 else { return Ok(None) };
        let Some(state) = file.load::<State>()? else {
            return Ok(None);
        };
        if state.table != table || state.bytes != source.bytes {
            return Err(Failure::other(format!(
                "{} belongs to another load (of table {}, of a file of {} bytes); remove it to start from the beginning",
                file.path().display(),
                state.table,
                state
                    .bytes
                    .map_or("an unknown number of".into(), |bytes| bytes.to_string())
            )));
        }
        Ok(Some(state))
    }

    pub(super) fn save(&self, state: &State) -> Result<(), Failure> {
        self.0.as_ref().map_or(Ok(()), |file| file.save(state))
    }

    /// All rows are loaded.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        self.0.as_ref().map_or(Ok(()), StateFile::remove)
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
