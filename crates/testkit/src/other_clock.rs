//! A clock that differs from the system's, for a server.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Error, Result};
use std::os::unix::fs::FileExt;
use std::process::Command;

use crate::private::TempFolder;

/// What stands between a server and the C library.
const LIBRARY: &str = include_str!("other_clock.c");

/// The time of day that servers see that are started [with it](crate::server::Builder::with_clock). It runs as the system's does, and can be
/// set while they run.
#[derive(Debug)]
pub struct OtherClock {
    folder: TempFolder,
    ahead: File,
}

impl OtherClock {
    /// A clock that shows what the system's does, until it is set.
    ///
    /// # Errors
    /// Where there is no C compiler, `cc` or the one that `CC` names, or it fails.
    pub fn new() -> Result<Self> {
        let folder = TempFolder::new().map_err(Error::other)?;
        let source = folder.path().join("clock.c");
        fs::write(&source, LIBRARY)?;
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let output = Command::new(&compiler)
            .args(["-O1", "-shared", "-fPIC", "-pthread", "-o"])
            .args([&folder.path().join("clock.so"), &source])
            .output()
            .map_err(|error| {
                Error::new(error.kind(), format!("{}: {error}", compiler.display()))
            })?;
        if !output.status.success() {
            return Err(Error::other(String::from_utf8_lossy(&output.stderr)));
        }
        let ahead = File::create(folder.path().join("ahead"))?;
        let clock = Self { folder, ahead };
        clock.set(0)?;
        Ok(clock)
    }

    /// Sets it to so many seconds ahead of the system's, or behind it below zero, for its servers at once.
    ///
    /// # Errors
    /// Where its file can't be written.
    pub fn set(&self, ahead: i64) -> Result<()> {
        self.ahead.write_all_at(&ahead.to_ne_bytes(), 0)
    }

    /// What runs a command with it, in front of it.
    pub(crate) fn entry(&self) -> [OsString; 3] {
        let variable = |name: &str, file: &str| {
            let mut variable = OsString::from(name);
            variable.push(self.folder.path().join(file));
            variable
        };
        [
            "env".into(),
            variable("LD_PRELOAD=", "clock.so"),
            variable("ONECOPY_CLOCK=", "ahead"),
        ]
    }
}
