//! The file: one TOML, every key of which has a default but the addresses.
//!
//! Text is parsed into [sections](section), which say what is there and where; then they are put over the defaults. A key is
//! known, has a default and is explained in three places that tests hold together: `section`, the plain structs, and
//! [`DEFAULTS`].

mod compression;
mod error;
mod section;
mod tls;
mod value;

use std::path::Path;

use super::Config;
pub use error::FileError;
use error::Problem;
pub use value::endpoint;

/// Every key with what it is for and its default, as a file: one listener and one backend, all else as by default.
pub const DEFAULTS: &str = include_str!("file/defaults.toml");

/// A larger file is not a configuration: 1 MiB.
const MAX_BYTES: u64 = 1 << 20;

impl Config {
    /// What a file says, and the defaults for all that it does not say. Reads the files that it names: certificates, keys
    /// and passwords, whose relative paths begin in its folder.
    ///
    /// # Errors
    /// With file, line and what can be done: what is no TOML, unknown keys, values that are none, files that can't be read.
    pub fn from_file(path: &Path) -> Result<Self, FileError> {
        let failed = |message: String| FileError::new(path, "", Problem::new(message));
        let read = |error: std::io::Error| failed(format!("can't be read: {error}"));
        if std::fs::metadata(path).map_err(read)?.len() > MAX_BYTES {
            return Err(failed("larger than 1 MiB".to_owned()));
        }
        Self::from_toml(&std::fs::read_to_string(path).map_err(read)?, path)
    }

    /// The same of text. `path` is where it is from, for errors and relative paths.
    ///
    /// # Errors
    /// As [`from_file`](Self::from_file).
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
