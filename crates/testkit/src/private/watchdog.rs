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
use std::thread;

use super::{POLL, StartError};

const SCRIPT: &str = include_str!("watchdog.sh");

/// Enough of a log to see the error and what led to it.
const LOG_LINES: usize = 20;

/// A running command in a folder; dropping it stops the command and removes the folder.
#[derive(Debug)]
pub(crate) struct Watchdog {
    folder: PathBuf,
    script: Child,
    /// `Some` until the script was told to stop.
    pipe: Option<ChildStdin>,
}

impl Watchdog {
    /// Runs `command` with the bytes of `input` as its standard input.
    pub(crate) fn start(
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
    pub(crate) fn exit_status(&self) -> Option<i32> {
        fs::read_to_string(self.folder.join("exit"))
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    /// The last lines of what the command wrote.
    pub(crate) fn log_tail(&self) -> String {
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    /// Ends the command as a crash would, by SIGKILL, and returns when it is gone. The folder stays for now, and is still
    /// removed when this is dropped or this process ends.
    pub(crate) fn kill(&mut self) {
        if let Some(pipe) = &mut self.pipe {
            // A script that is gone has stopped the command.
            let _ = pipe.write_all(b"kill\n");
        }
        // Nothing outlives the signal; a script that is gone writes no status.
        while self.exit_status().is_none() && matches!(self.script.try_wait(), Ok(None)) {
            thread::sleep(POLL);
        }
    }

    /// Stops the command where it is, by SIGSTOP: its sockets stay open, and the kernel continues to accept what it sends there.
    pub(crate) fn pause(&mut self) {
        self.signal("pause");
    }

    /// Lets a paused command continue.
    pub(crate) fn resume(&mut self) {
        self.signal("resume");
    }

    /// Has the script send a signal; returns when that is done.
    fn signal(&mut self, word: &str) {
        let done = self.folder.join("word");
        let _ = fs::remove_file(&done);
        if let Some(pipe) = &mut self.pipe {
            let _ = pipe.write_all(format!("{word}\n").as_bytes());
        }
        let is_done = || fs::read_to_string(&done).is_ok_and(|text| text.trim() == word);
        while !is_done() && matches!(self.script.try_wait(), Ok(None)) {
            thread::sleep(POLL);
        }
    }

    /// Stops the command and leaves the folder; returns when both are done.
    pub(crate) fn leave_folder(&mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // A script that is gone already removes nothing.
            let _ = pipe.write_all(b"keep\n");
        }
        // Bounded by the script's own patience; without it the next start could meet our leavings.
        let _ = self.script.wait();
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.pipe = None;
        // As above.
        let _ = self.script.wait();
    }
}
