//! Standard output without the line buffer that the standard library puts before it.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

/// Small writes are gathered up to this size, larger ones go through: 64 KiB.
const BUFFER: usize = 64 << 10;

/// Standard output. Gathers small writes; large values go from the read buffer to the kernel without a copy.
pub(crate) struct Out {
    writer: BufWriter<File>,
    is_terminal: bool,
}

impl Out {
    /// # Errors
    /// Standard output is closed.
    pub(crate) fn stdout() -> io::Result<Self> {
        let stdout = io::stdout();
        let file = File::from(stdout.as_fd().try_clone_to_owned()?);
        Ok(Self::new(file, stdout.is_terminal()))
    }

    pub(super) fn new(file: File, is_terminal: bool) -> Self {
        Self {
            writer: BufWriter::with_capacity(BUFFER, file),
            is_terminal,
        }
    }

    /// Standard output behind what was gathered: pieces of any size go to the kernel without a copy.
    ///
    /// # Errors
    /// What was gathered could not be written.
    pub(crate) fn direct(&mut self) -> io::Result<&mut File> {
        self.writer.flush()?;
        Ok(self.writer.get_mut())
    }

    /// Shows a row at once to a person; others get full buffers.
    pub(crate) fn end_row(&mut self) -> io::Result<()> {
        if self.is_terminal {
            self.writer.flush()
        } else {
            Ok(())
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
