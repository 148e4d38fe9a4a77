//! Running a server so that it cannot outlive us.
//!
//! A destructor does not run when this process is killed, and for a `static` it never runs. So the server is the child
//! of a small shell script that holds the read end of a pipe: when the kernel closes our end, for whatever reason, the
//! script stops the server and removes its folder. The script has a process group of its own, which keeps Ctrl-C away
//! from it and from the server.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use super::StartError;

const SCRIPT: &str = include_str!("watchdog.sh");

/// Enough of a log to see the error and what led to it.
const LOG_LINES: usize = 20;

/// A running command in a folder; dropping it stops the command and removes the folder.
#[derive(Debug)]
pub(super) struct Watchdog {
    folder: PathBuf,
    script: Child,
    /// `Some` until the script was told to stop.
    pipe: Option<ChildStdin>,
}

impl Watchdog {
    /// Runs `command` with the bytes of `input` as its standard input.
    pub(super) fn start(
        folder: &Path,
        input: &Path,
        command: &[OsString],
    ) -> Result<Self, StartError> {
        // The last command's status must not be taken for this one's.
        let _ = fs::remove_file(folder.join("exit"));
        let mut script = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "watchdog"])
            .args([folder, input])
            .args(command)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(StartError::io("run", "/bin/sh"))?;
        let pipe = script.stdin.take();
        Ok(Self {
            folder: folder.to_owned(),
            script,
            pipe,
        })
    }

    /// The command's exit status once it has ended, as a shell gives it.
    pub(super) fn exit_status(&self) -> Option<i32> {
        fs::read_to_string(self.folder.join("exit"))
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    /// The last lines of what the command wrote.
    pub(super) fn log_tail(&self) -> String {
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    /// Stops the command and leaves the folder.
    pub(super) fn stop_and_keep_folder(mut self) {
        if let Some(pipe) = &mut self.pipe {
            // A script that is gone already removes nothing.
            let _ = pipe.write_all(b"keep\n");
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.pipe = None;
        // Bounded by the script's own patience; without it the next test could meet our leavings.
        let _ = self.script.wait();
    }
}
