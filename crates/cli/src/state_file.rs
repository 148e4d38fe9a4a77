//! A small file with the place at which a long command continues, as JSON.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
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

    /// Keeps the place: all of it or nothing is in the file, whatever stops.
    pub(crate) fn save<T: Serialize>(&self, state: &T) -> Result<(), Failure> {
        let text = serde_json::to_string(state).map_err(|error| self.cannot("write", &error))?;
        let saved = self.write(text.as_bytes());
        saved.map_err(|error| self.cannot("write", &error))
    }

    fn write(&self, text: &[u8]) -> io::Result<()> {
        let mut new = self.0.as_os_str().to_owned();
        new.push(".new");
        let mut file = File::create(&new)?;
        file.write_all(text)?;
        file.sync_data()?;
        fs::rename(&new, &self.0)?;
        sync_folder(&self.0)
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

/// Has the names of files in the folder of this one on the disk.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
