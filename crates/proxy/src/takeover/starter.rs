//! Starts the successor, as a child of another process that ends when the successor has taken over: a service manager then is its
//! parent, and sees its end.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long the process in between may take for its end.
const END: Duration = Duration::from_secs(5);

/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(5);

/// Variables that are meant for one process alone.
const OWN_VARIABLES: [&str; 4] = ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_PID"];

/// How a process is started that starts the successor.
///
/// The program starts the successor as its own child, and then waits for the first of two things: the end of its child, with whose exit
/// status it ends; or the end of its standard input, after which it ends and leaves the child alone. If there is a byte on its standard
/// input before, it kills the child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuccessorCommand {
    /// The program, by its path or as found in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// The process in between.
#[derive(Debug)]
pub(super) struct Starter(Child);

impl Starter {
    pub(super) fn start(command: &SuccessorCommand) -> io::Result<Self> {
        let mut starter = Command::new(&command.program);
        starter.args(&command.arguments).stdin(Stdio::piped());
        for name in OWN_VARIABLES {
            starter.env_remove(name);
        }
        let failed = |error: io::Error| {
            let program = command.program.display();
            io::Error::new(error.kind(), format!("can't start {program}: {error}"))
        };
        starter.spawn().map(Self).map_err(failed)
    }

    /// How it has ended, and with it the successor.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    /// The successor has taken over, and belongs to nobody.
    pub(super) fn release(mut self) {
        drop(self.0.stdin.take());
        self.wait(END);
    }

    /// The successor has not taken over. It ends by itself, or is ended.
    pub(super) fn give_up(mut self) {
        if self.wait(END) {
            return;
        }
        if let Some(input) = &mut self.0.stdin {
            let _ = input.write_all(b"k");
        }
        drop(self.0.stdin.take());
        if !self.wait(END) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Whether it has ended within that time.
    fn wait(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while self.ended().is_none() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }
}
