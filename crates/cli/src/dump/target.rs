//! Where a dump is written.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::output::Out;
use crate::state_file::{StateFile, sync_folder};

/// Standard output, or a file that gets its name when it is complete.
pub(super) struct Target {
    pub(super) out: Out,
    /// Its name for now, and at the end.
    names: Option<(PathBuf, PathBuf)>,
    /// Whether what there is stays if the dump fails.
    is_kept: bool,
}

impl Target {
    pub(super) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            let out = Out::stdout()
                .map_err(|error| Failure::other(format!("standard output is closed: {error}")))?;
            return Ok(Self {
                out,
                names: None,
                is_kept: false,
            });
        };
        // What is no file, a pipe or /dev/null, is written to as it is.
        if !may_be_file(path) {
            let file = File::options()
                .write(true)
                .open(path)
                .map_err(|error| cannot_write(path, &error))?;
            return Ok(Self {
                out: Out::to_file(file),
                names: None,
                is_kept: false,
            });
        }
        let part = part_of(path);
        let state = state_of(path);
        if state.path().exists() {
            return Err(Failure::other(format!(
                "{} belongs to an interrupted dump: continue it with --resume, or remove the file",
                state.path().display()
            )));
        }
        let file = File::create(&part).map_err(|error| cannot_write(&part, &error))?;
        Ok(Self {
            out: Out::to_file(file),
            names: Some((part, path.to_owned())),
            is_kept: false,
        })
    }

    /// Opens what an earlier run has written, for this run alone.
    pub(super) fn resume(path: &Path) -> Result<Self, Failure> {
        let part = part_of(path);
        let cannot_write = |error| cannot_write(&part, &error);
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&part)
            .map_err(cannot_write)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(cannot_write(error)),
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::other(format!(
                    "another dump is writing {}; wait for its end",
                    part.display()
                )));
            }
        }
        // Between the two steps another run may have completed this file, and given it its name.
        let opened = file.metadata().map_err(cannot_write)?.ino();
        if fs::metadata(&part).map_or(true, |there| there.ino() != opened) {
            return Err(Failure::other(format!(
                "another dump has just completed {}",
                path.display()
            )));
        }
        Ok(Self {
            out: Out::to_file(file),
            names: Some((part, path.to_owned())),
            is_kept: true,
        })
    }

    /// Cuts off what stands behind the last batch.
    pub(super) fn keep(&mut self, bytes: u64) -> Result<(), Failure> {
        let Some((part, path)) = &self.names else {
            return Ok(());
        };
        let cannot_write = |error| cannot_write(part, &error);
        let file = self.out.direct()?;
        let len = file.metadata().map_err(cannot_write)?.len();
        if len < bytes {
            return Err(Failure::other(format!(
                "{} has {len} bytes, and the interrupted dump had written {bytes}; remove {} to start from the beginning",
                part.display(),
                state_of(path).path().display()
            )));
        }
        file.set_len(bytes).map_err(cannot_write)?;
        file.seek(SeekFrom::End(0)).map_err(cannot_write)?;
        sync_folder(part).map_err(cannot_write)
    }

    /// The number of bytes in the file, all of which are on the disk.
    pub(super) fn synced(&mut self) -> Result<u64, Failure> {
        let file = self.out.direct()?;
        file.sync_data()?;
        Ok(file.metadata()?.len())
    }

    pub(super) fn complete(&mut self) -> Result<(), Failure> {
        self.out.flush()?;
        if let Some((part, path)) = self.names.take() {
            fs::rename(&part, &path).map_err(|error| cannot_write(&path, &error))?;
        }
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some((part, _)) = &self.names
            && !self.is_kept
        {
            // It failed, and its failure is what is reported.
            let _ = fs::remove_file(part);
        }
    }
}

/// Whether there is a file of this name, or nothing yet.
pub(super) fn may_be_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) || !path.exists()
}

/// The name while it is not complete.
pub(super) fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    part.into()
}

/// The file with the place at which a dump continues.
pub(super) fn state_of(path: &Path) -> StateFile {
    StateFile::beside(path, ".onecopy-dump")
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::other(format!("can't write {}: {error}", path.display()))
}
