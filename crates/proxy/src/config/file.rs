//! The configuration file: a TOML file in which every key except the addresses has a default.
//!
//! Text is parsed into [sections](section), which record the keys that are present and their position; then they are applied to
//! the defaults. Each key occurs in three places, whose consistency tests check: it is known in `section`, has its default in the
//! plain structs, and is explained in [`DEFAULTS`].

mod account;
mod compression;
mod digests;
mod discovery;
mod error;
mod reads;
mod rule;
mod secrets;
mod section;
mod statement_log;
mod tls;
mod traces;
mod upgrade;
mod value;

use std::path::Path;

use super::Config;
pub use error::FileError;
use error::Problem;
pub use value::endpoint;

/// Every key with its explanation and default, as a file with one listener and one backend.
pub const DEFAULTS: &str = include_str!("file/defaults.toml");

/// A larger file is not a configuration: 1 MiB.
const MAX_BYTES: u64 = 1 << 20;

impl Config {
    /// Reads a configuration file; keys that are not set get their defaults. Also reads the files named in it: certificates, keys
    /// and passwords, whose relative paths are relative to the file's directory.
    ///
    /// # Errors
    /// Fails if the file is not TOML, on unknown keys and invalid values, and if a file cannot be read. The error contains the
    /// file, the line and what to do.
    pub fn from_file(path: &Path) -> Result<Self, FileError> {
        let failed = |message: String| FileError::new(path, "", Problem::new(message));
        let read = |error: std::io::Error| failed(format!("can't be read: {error}"));
        if std::fs::metadata(path).map_err(read)?.len() > MAX_BYTES {
            return Err(failed("larger than 1 MiB".to_owned()));
        }
        Self::from_toml(&std::fs::read_to_string(path).map_err(read)?, path)
    }

    /// Parses the text of a configuration file. `path` is the file's path, for errors and relative paths.
    ///
    /// # Errors
    /// Fails like [`from_file`](Self::from_file).
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, FileError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let failed = |problem| FileError::new(path, text, problem);
        let sections: section::File =
            toml::from_str(text).map_err(|error| failed(Problem::parsing(&error, text)))?;
        sections.config(folder).map_err(failed)
    }
}

#[cfg(test)]
mod tests;
