//! A small file with the place at which a long command continues, as JSON.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

#[derive(Debug)]
pub(crate) struct StateFile(PathBuf);

impl StateFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The file of this name beside another one: its name with this ending.
    pub(crate) fn beside(path: &Path, ending: &str) -> Self {
        let mut path = path.as_os_str().to_owned();
        path.push(ending);
        Self(path.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// What an earlier run left, if anything.
    pub(crate) fn load<T: DeserializeOwned>(&self) -> Result<Option<T>, Failure> {
        let text = match fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.cannot("read", &error)),
        };
        let state = serde_json::from_str(&text);
        state.map_err(|error| self.cannot("understand", &error))
    }

    /// Keeps the place: all of it or nothing is in the file.
    pub(crate) fn save<T: Serialize>(&self, state: &T) -> Result<(), Failure> {
        let mut new = self.0.as_os_str().to_owned();
        new.push(".new");
        let text = serde_json::to_string(state).map_err(|error| self.cannot("write", &error))?;
        let saved = fs::write(&new, text).and_then(|()| fs::rename(&new, &self.0));
        saved.map_err(|error| self.cannot("write", &error))
    }

    /// The command is complete.
    pub(crate) fn remove(&self) -> Result<(), Failure> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.cannot("remove", &error)),
            _ => Ok(()),
        }
    }

    fn cannot(&self, what: &str, error: &dyn std::fmt::Display) -> Failure {
        Failure::other(format!("can't {what} {}: {error}", self.0.display()))
    }
}
