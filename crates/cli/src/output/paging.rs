//! Output that is longer than the screen, in a pager.

use std::env;
use std::fs::File;
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use unicode_width::UnicodeWidthStr;

use crate::failure::say;

/// Output is held back for at most this time: who waits for slow rows sees them come, without a pager.
const HELD: Duration = Duration::from_secs(1);
/// ... and for at most this many bytes: 1 MiB.
const HELD_BYTES: usize = 1 << 20;

/// Lines of the screen that other things need: the summary, and the prompt with what is typed.
const OTHER_LINES: usize = 3;

/// Options of `less` where LESS is not set: lines are cut at the screen's width and scroll sideways, colours are kept, and what
/// was read stays on the screen.
const LESS: &str = "SRX";

/// Holds output back until it is known whether the screen has room for it.
#[derive(Debug)]
pub(crate) struct Paging {
    /// For `sh`.
    pager: String,
    columns: usize,
    lines: usize,
    /// Lines that are wider than the screen go to the pager too, however few they are.
    wide: bool,
    stage: Stage,
    waited: Duration,
}

#[derive(Debug)]
enum Stage {
    Held {
        text: Vec<u8>,
        since: Option<Instant>,
        /// Lines of the screen that `text` takes.
        lines: usize,
        /// The start of its last line.
        last: usize,
    },
    /// To the screen.
    Through,
    Pager(Child, ChildStdin),
    /// The pager was closed.
    Gone(Child),
}

impl Paging {
    /// `columns`, `lines`: those of the screen.
    pub(crate) fn new(pager: &str, columns: usize, lines: usize, wide: bool) -> Self {
        Self {
            pager: pager.to_owned(),
            columns: columns.max(1),
            lines: lines.saturating_sub(OTHER_LINES).max(1),
            wide,
            stage: Stage::Held {
                text: Vec::new(),
                since: None,
                lines: 0,
                last: 0,
            },
            waited: Duration::ZERO,
        }
    }

    /// The pager was started.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Pager(..))
    }

    pub(super) fn write(&mut self, bytes: &[u8], screen: &mut File) -> io::Result<usize> {
        match &mut self.stage {
            Stage::Held { text, since, .. } => {
                since.get_or_insert_with(Instant::now);
                text.extend_from_slice(bytes);
                if self.is_too_long() {
                    self.open(screen)?;
                }
                Ok(bytes.len())
            }
            Stage::Through => screen.write(bytes),
            Stage::Pager(..) => {
                self.feed(bytes)?;
                Ok(bytes.len())
            }
            Stage::Gone(_) => Ok(bytes.len()),
        }
    }

    /// Counts the lines that have arrived, and says whether they are too many or too wide.
    fn is_too_long(&mut self) -> bool {
        let Stage::Held {
            text, lines, last, ..
        } = &mut self.stage
        else {
            return false;
        };
        let mut is_wide = false;
        while let Some(len) = text[*last..].iter().position(|&byte| byte == b'\n') {
            let width = match len > self.columns {
                // Colours and letters of several bytes take less.
                true => width(&text[*last..*last + len]),
                false => len,
            };
            is_wide |= width > self.columns;
            *lines += width.div_ceil(self.columns).max(1);
            *last += len + 1;
        }
        *lines > self.lines || text.len() > HELD_BYTES || (self.wide && is_wide)
    }

    /// Starts the pager with what was held back. Where there is none the screen has it.
    fn open(&mut self, screen: &mut File) -> io::Result<()> {
        let Stage::Held { text, .. } = std::mem::replace(&mut self.stage, Stage::Through) else {
            return Ok(());
        };
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(&self.pager).stdin(Stdio::piped());
        if env::var_os("LESS").is_none() {
            shell.env("LESS", LESS);
        }
        match shell.spawn() {
            Ok(mut child) => {
                let Some(pipe) = child.stdin.take() else {
                    return screen.write_all(&text);
                };
                self.stage = Stage::Pager(child, pipe);
                self.feed(&text)
            }
            Err(error) => {
                say(&format!("can't start the pager {}: {error}", self.pager));
                screen.write_all(&text)
            }
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Stage::Pager(_, pipe) = &mut self.stage else {
            return Ok(());
        };
        let start = Instant::now();
        let written = pipe.write_all(bytes);
        self.waited += start.elapsed();
        if written.is_err()
            && let Stage::Pager(child, _) = std::mem::replace(&mut self.stage, Stage::Through)
        {
            self.stage = Stage::Gone(child);
        }
        written
    }

    /// What has been held back for long goes to the screen, and so does what follows.
    pub(super) fn show_if_slow(&mut self, screen: &mut File) -> io::Result<()> {
        match &mut self.stage {
            Stage::Held {
                text,
                since: Some(since),
                ..
            } if since.elapsed() > HELD => {
                screen.write_all(text)?;
                self.stage = Stage::Through;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Shows what is still held back, or waits for the end of the pager. Gives the time that writing to it took.
    pub(super) fn finish(self, screen: &mut File) -> io::Result<Duration> {
        match self.stage {
            Stage::Held { text, .. } => screen.write_all(&text)?,
            Stage::Through => {}
            Stage::Pager(mut child, pipe) => {
                drop(pipe);
                child.wait()?;
            }
            Stage::Gone(mut child) => {
                child.wait()?;
            }
        }
        Ok(self.waited)
    }
}

fn width(line: &[u8]) -> usize {
    let text = String::from_utf8_lossy(line);
    anstream::adapter::strip_str(&text).to_string().width()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What is on the screen and what the pager got, of lines that are written one by one.
    fn shown(name: &str, wide: bool, lines: &[&str]) -> (String, Option<String>) {
        let folder = std::env::temp_dir();
        let file =
            |what: &str| folder.join(format!("onecopy-{what}-{name}-{}", std::process::id()));
        let (screen, paged) = (file("screen"), file("paged"));
        let mut out = File::create(&screen).unwrap();
        let mut paging = Paging::new(&format!("cat > '{}'", paged.display()), 20, 10, wide);
        for line in lines {
            paging.write(line.as_bytes(), &mut out).unwrap();
            paging.write(b"\n", &mut out).unwrap();
        }
        paging.finish(&mut out).unwrap();
        let texts = (fs::read_to_string(&screen), fs::read_to_string(&paged));
        let _ = (fs::remove_file(&screen), fs::remove_file(&paged));
        (texts.0.unwrap(), texts.1.ok())
    }

    #[test]
    fn what_the_screen_holds_goes_there_and_more_to_the_pager() {
        let (screen, paged) = shown("few", true, &["a"; 7]);
        assert_eq!((screen, paged), ("a\n".repeat(7), None));
        let (screen, paged) = shown("many", true, &["a"; 30]);
        assert_eq!((screen.as_str(), paged), ("", Some("a\n".repeat(30))));
    }

    #[test]
    fn lines_wider_than_the_screen_count_as_what_they_take_or_go_to_the_pager() {
        let wide = "a".repeat(21);
        let (screen, paged) = shown("wide", true, &[&wide]);
        assert_eq!((screen.as_str(), paged), ("", Some(wide.clone() + "\n")));
        assert_eq!(shown("folded", false, &[wide.as_str(); 3]).1, None);
        assert!(shown("many-folded", false, &[wide.as_str(); 4]).1.is_some());
        // Not wide: colours take no room, and these letters have three bytes.
        let narrow = format!("\x1b[1m{}\x1b[0m", "─".repeat(20));
        assert_eq!(shown("narrow", true, &[narrow.as_str(); 7]).1, None);
    }

    #[test]
    fn a_pager_that_is_left_early_is_an_error_once() {
        let mut out = File::from(std::os::fd::OwnedFd::from(std::io::pipe().unwrap().1));
        let mut paging = Paging::new("exit 0", 20, 1, false);
        let mut failed = None;
        for _ in 0..1000 {
            if let Err(error) = paging.write(&[b'\n'; 1000], &mut out) {
                failed = Some(error.kind());
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(failed, Some(io::ErrorKind::BrokenPipe));
        assert_eq!(paging.write(b"more", &mut out).unwrap(), 4);
        paging.finish(&mut out).unwrap();
    }
}
