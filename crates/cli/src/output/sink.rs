//! Standard output without the line buffer that the standard library puts before it.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use anstream::StripStream;

use super::Paging;

/// Small writes are gathered up to this size, larger ones go through: 64 KiB.
const BUFFER: usize = 64 << 10;

/// Rows that a pager gets in this time are written together: 20 ms.
const FAST: Duration = Duration::from_millis(20);

/// Standard output. Gathers small writes; large values go from the read buffer to the kernel without a copy.
pub(crate) struct Out {
    writer: BufWriter<Target>,
    is_terminal: bool,
    /// When a row was shown last.
    shown: Instant,
}

/// Where what was gathered goes.
struct Target {
    file: File,
    /// A shell's: what is longer than the screen.
    paging: Option<Paging>,
    /// A shell's: a file that has all of it too, without colours.
    copy: Option<StripStream<File>>,
}

impl Out {
    /// # Errors
    /// Standard output is closed.
    pub(crate) fn stdout() -> io::Result<Self> {
        let stdout = io::stdout();
        let file = File::from(stdout.as_fd().try_clone_to_owned()?);
        Ok(Self::new(file, stdout.is_terminal()))
    }

    /// A file.
    pub(crate) fn to_file(file: File) -> Self {
        Self::new(file, false)
    }

    pub(super) fn new(file: File, is_terminal: bool) -> Self {
        let target = Target {
            file,
            paging: None,
            copy: None,
        };
        Self {
            writer: BufWriter::with_capacity(BUFFER, target),
            is_terminal,
            shown: Instant::now(),
        }
    }

    /// Standard output behind what was gathered: pieces of any size go to the kernel without a copy.
    ///
    /// # Errors
    /// What was gathered could not be written.
    pub(crate) fn direct(&mut self) -> io::Result<&mut File> {
        self.writer.flush()?;
        Ok(&mut self.writer.get_mut().file)
    }

    /// Shows a row at once to a person; others get full buffers, and so does a pager, which has more to show than its screen
    /// holds, while rows come fast.
    pub(crate) fn end_row(&mut self) -> io::Result<()> {
        let paging = self.writer.get_ref().paging.as_ref();
        let is_paged = paging.is_some_and(Paging::is_open);
        if !self.is_terminal || (is_paged && self.shown.elapsed() < FAST) {
            return Ok(());
        }
        self.shown = Instant::now();
        self.writer.flush()
    }

    /// From now on a pager has it, where it is more than a screen holds.
    pub(crate) fn begin_page(&mut self, paging: Paging) {
        self.writer.get_mut().paging = Some(paging);
    }

    /// Ends [`begin_page`](Self::begin_page): returns when the user has left the pager. Gives the time that writing
    /// to it took, which is the user's and not the server's.
    pub(crate) fn end_page(&mut self) -> io::Result<Duration> {
        // A pager that is gone takes nothing any more, and what is left for it is dropped by the second call.
        let flushed = self.writer.flush().or_else(|_| self.writer.flush());
        let target = self.writer.get_mut();
        let Some(paging) = target.paging.take() else {
            return flushed.map(|()| Duration::ZERO);
        };
        let waited = paging.finish(&mut target.file)?;
        flushed.map(|()| waited)
    }

    /// Copies all of it to this file too.
    pub(crate) fn set_copy(&mut self, file: Option<File>) {
        self.writer.get_mut().copy = file.map(StripStream::new);
    }

    /// The file that has a copy of all of it.
    pub(crate) fn copy(&mut self) -> Option<&mut impl Write> {
        self.writer.get_mut().copy.as_mut()
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = match &mut self.paging {
            None => self.file.write(bytes)?,
            Some(paging) => paging.write(bytes, &mut self.file)?,
        };
        if let Some(copy) = &mut self.copy {
            copy.write_all(&bytes[..n])?;
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.paging {
            None => Ok(()),
            Some(paging) => paging.show_if_slow(&mut self.file),
        }
    }
}
