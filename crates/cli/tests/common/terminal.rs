//! A terminal, whose other end the test holds.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::pty::openpty;
use nix::sys::termios::LocalFlags;

/// Far longer than anything takes here.
const PATIENCE: Duration = Duration::from_secs(60);

/// Columns of a terminal on which lines are not wrapped.
const WIDE: u16 = 200;

/// A program on a terminal.
pub(crate) struct Terminal {
    child: Child,
    keys: File,
    shown: Arc<(Mutex<String>, Condvar)>,
    /// Bytes of it that were looked at.
    seen: usize,
}

impl Terminal {
    #[allow(dead_code)] // not by all who have one
    pub(crate) fn start(program: &mut Command) -> Self {
        Self::start_with(program.env("NO_COLOR", "1"), None, WIDE)
    }

    /// Of so many columns, and with colours unless the program's environment says otherwise.
    #[allow(dead_code)] // not by all who have one
    pub(crate) fn start_sized(program: &mut Command, columns: u16) -> Self {
        Self::start_with(program, None, columns)
    }

    /// Of so many columns and rows, without colours: for a program that draws a screen.
    #[allow(dead_code)] // not by all who have one
    pub(crate) fn start_screen(program: &mut Command, columns: u16, rows: u16) -> Self {
        Self::start_on(program.env("NO_COLOR", "1"), None, columns, rows)
    }

    /// With this for standard input: the terminal is for looking alone.
    #[allow(dead_code)] // not by all who have one
    pub(crate) fn start_with_input(program: &mut Command, input: Stdio) -> Self {
        Self::start_with(program.env("NO_COLOR", "1"), Some(input), WIDE)
    }

    fn start_with(program: &mut Command, input: Option<Stdio>, columns: u16) -> Self {
        Self::start_on(program, input, columns, 50)
    }

    fn start_on(program: &mut Command, input: Option<Stdio>, columns: u16, rows: u16) -> Self {
        let size = nix::pty::Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(&size, None).unwrap();
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        let child = program
            .env("TERM", "xterm")
            .stdin(input.unwrap_or_else(end))
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        drop(pty.slave);
        let keys = File::from(pty.master);
        let mut screen = keys.try_clone().unwrap();
        let shown = Arc::new((Mutex::new(String::new()), Condvar::new()));
        let filled = shown.clone();
        thread::spawn(move || {
            let mut piece = [0; 4096];
            // The end of a piece may cut a character, which waits for the next one.
            let mut bytes = Vec::new();
            // An error at the end: the other end is closed.
            while let Ok(n) = screen.read(&mut piece) {
                bytes.extend_from_slice(&piece[..n]);
                let whole = match std::str::from_utf8(&bytes) {
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    _ => bytes.len(),
                };
                let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
                bytes.drain(..whole);
                filled.0.lock().unwrap().push_str(&text);
                filled.1.notify_all();
                if n == 0 {
                    break;
                }
            }
        });
        Self {
            child,
            keys,
            shown,
            seen: 0,
        }
    }

    #[allow(dead_code)]
    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until `text` is shown behind what was looked at before, and gives what was shown in front of it.
    pub(crate) fn shows(&mut self, text: &str) -> String {
        let (lock, filled) = &*self.shown;
        let seen = self.seen;
        let (shown, timeout) = filled
            .wait_timeout_while(lock.lock().unwrap(), PATIENCE, |shown| {
                !shown[seen..].contains(text)
            })
            .unwrap();
        assert!(!timeout.timed_out(), "no {text:?} in {:?}", &shown[seen..]);
        let at = seen + shown[seen..].find(text).unwrap();
        self.seen = at + text.len();
        shown[seen..at].to_owned()
    }

    /// All that was shown since the start, with what moves the cursor.
    #[allow(dead_code)] // not by all who have one
    pub(crate) fn all(&self) -> String {
        self.shown.0.lock().unwrap().clone()
    }

    /// What Ctrl-C is where this is its terminal.
    #[allow(dead_code)] // not by all who have one
    pub(crate) fn interrupt(&self) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(status.success());
    }

    /// Whether keys are echoed and lines are edited by the terminal itself, as for a program that knows nothing of it.
    #[allow(dead_code)] // not by all who have one
    pub(crate) fn is_plain(&self) -> bool {
        let flags = nix::sys::termios::tcgetattr(&self.keys)
            .unwrap()
            .local_flags;
        flags.contains(LocalFlags::ICANON | LocalFlags::ECHO)
    }

    /// Waits until what is typed is not echoed.
    #[allow(dead_code)] // not by all who have one
    pub(crate) fn hides_keys(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let flags = nix::sys::termios::tcgetattr(&self.keys)
                .unwrap()
                .local_flags;
            if !flags.contains(LocalFlags::ECHO) {
                return;
            }
            assert!(Instant::now() < deadline, "keys are echoed");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Its exit status, by which signal it may have ended.
    #[allow(dead_code)] // not by all who have one
    pub(crate) fn terminate(&mut self) -> std::process::ExitStatus {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(status.success());
        self.child.wait().unwrap()
    }

    /// Its exit status once it has ended by itself.
    #[allow(dead_code)] // not by all who have one
    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < deadline, "it does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[allow(dead_code)] // not by all who have one
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// By itself, and well.
    pub(crate) fn ends(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            assert!(Instant::now() < deadline, "it does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
