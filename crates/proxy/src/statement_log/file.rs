//! A file that lines are appended to, and that is rotated.
//!
//! ```text
//!   slow.json --> slow.json.1 --> slow.json.2 --> ... --> slow.json.KEEP --> removed
//! ```

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// For its owner and its group.
const MODE: u32 = 0o640;

#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    max_size: Option<u64>,
    keep: u32,
    /// `None` where it could not be opened again.
    open: Option<Open>,
    /// Why it could not be rotated when that was tried last: it is not tried again before the next reload.
    pub(super) not_rotated: Option<io::Error>,
}

#[derive(Debug)]
struct Open {
    file: File,
    size: u64,
    /// Others, as pipes and devices, have no size and are not renamed.
    is_regular: bool,
    /// It may end with a part of a line.
    is_torn: bool,
}

impl Open {
    fn new(path: &Path) -> io::Result<Self> {
        // A pipe that nobody reads from must not hold up the thread.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(MODE)
            .custom_flags(flags.bits().cast_signed())
            .open(path)?;
        let metadata = file.metadata()?;
        Ok(Self {
            file,
            size: metadata.len(),
            is_regular: metadata.is_file(),
            is_torn: false,
        })
    }

    /// Appends all, or leaves the file as it was.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_torn {
            self.file.write_all(b"\n")?;
            (self.is_torn, self.size) = (false, self.size + 1);
        }
        match self.file.write_all(bytes) {
            Ok(()) => {
                self.size += bytes.len() as u64;
                Ok(())
            }
            Err(error) => {
                self.is_torn = !self.is_regular || self.file.set_len(self.size).is_err();
                Err(error)
            }
        }
    }
}

impl LogFile {
    pub(super) fn open(path: &Path, max_size: Option<u64>, keep: u32) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            max_size,
            keep,
            open: Some(Open::new(path)?),
            not_rotated: None,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends whole lines.
    ///
    /// # Errors
    /// Fails if the file cannot be opened or written. None of them is in it then.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let is_full = |open: &Open, max| {
            open.is_regular && open.size > 0 && open.size + lines.len() as u64 > max
        };
        if let (Some(open), Some(max)) = (&self.open, self.max_size)
            && is_full(open, max)
            && self.not_rotated.is_none()
        {
            match self.rotate() {
                Ok(()) => self.open = None,
                // It goes on in the file that there is: lines are worth more than the limit.
                Err(error) => self.not_rotated = Some(error),
            }
        }
        let open = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(Open::new(&self.path)?),
        };
        open.append(lines)
    }

    /// Renames it, and those before it.
    fn rotate(&self) -> io::Result<()> {
        if self.keep == 0 {
            return gone(fs::remove_file(&self.path));
        }
        gone(fs::remove_file(self.numbered(self.keep)))?;
        for number in (1..self.keep).rev() {
            gone(fs::rename(self.numbered(number), self.numbered(number + 1)))?;
        }
        gone(fs::rename(&self.path, self.numbered(1)))
    }

    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(format!(".{number}"));
        name.into()
    }
}

/// What is not there need not be renamed or removed.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests;
