//! Commands from a stream: RESP arrays or plain lines, in any order.

use std::io::{self, BufRead, BufReader, Read};

use crate::failure::Failure;
use crate::valkey::words::Words;

/// Longest line of a header, `*3` or `$1024`: more is none.
const MAX_HEADER: u64 = 32;

/// Arguments of one command that servers take: 1,048,576.
const MAX_WORDS: u64 = 1 << 20;

/// The largest value that a header may claim: 4 GiB, which is more than any server stores.
const MAX_VALUE: u64 = 4 << 30;

/// Reads one command after the other, each whole: memory is that of the largest.
#[derive(Debug)]
pub(super) struct Source<R> {
    input: BufReader<R>,
    words: Words,
    line: Vec<u8>,
    /// Lines or arrays so far.
    taken: u64,
    /// Bytes so far.
    bytes: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: BufReader<R>) -> Self {
        Self {
            input,
            words: Words::default(),
            line: Vec::new(),
            taken: 0,
            bytes: 0,
        }
    }

    /// Bytes that were read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the next command may have to be waited for.
    pub(super) fn is_drained(&self) -> bool {
        self.input.buffer().is_empty()
    }

    /// The next command, never without a word; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&Words>, Failure> {
        loop {
            let Some(&first) = self.peek()?.first() else {
                return Ok(None);
            };
            self.taken += 1;
            if first == b'*' {
                self.array()?;
            } else {
                self.plain()?;
            }
            if !self.words.is_empty() {
                return Ok(Some(&self.words));
            }
        }
    }

    fn peek(&mut self) -> Result<&[u8], Failure> {
        loop {
            match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(&error)),
                // Asked again: the first answer may not be given away inside the loop.
                Ok(_) => break,
            }
        }
        self.input.fill_buf().map_err(|error| unreadable(&error))
    }

    fn plain(&mut self) -> Result<(), Failure> {
        self.line.clear();
        let n = self
            .input
            .read_until(b'\n', &mut self.line)
            .map_err(|error| unreadable(&error))?;
        self.bytes += n as u64;
        let split = self.words.split(&self.line);
        split.map_err(|why| self.wrong(&why.to_string()))
    }

    fn array(&mut self) -> Result<(), Failure> {
        let count = self.header(b'*', MAX_WORDS)?;
        self.words.clear();
        for _ in 0..count {
            let len = self.header(b'$', MAX_VALUE)?;
            self.value(len)?;
        }
        Ok(())
    }

    /// The number of a line such as `*3`.
    fn header(&mut self, kind: u8, max: u64) -> Result<u64, Failure> {
        self.line.clear();
        let mut limited = (&mut self.input).take(MAX_HEADER);
        let n = limited
            .read_until(b'\n', &mut self.line)
            .map_err(|error| unreadable(&error))?;
        self.bytes += n as u64;
        let number = self
            .line
            .strip_prefix(&[kind])
            .and_then(|line| line.strip_suffix(b"\r\n"))
            .filter(|digits| digits.iter().all(u8::is_ascii_digit))
            .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        match number {
            Some(number) if number <= max => Ok(number),
            Some(_) => Err(self.wrong(&format!(
                "{} is over {max}",
                self.line.trim_ascii().escape_ascii()
            ))),
            None if n == 0 => Err(self.wrong("the input ends inside it")),
            None => Err(self.wrong(&format!(
                "{} is not a line {}LENGTH",
                self.line.escape_ascii(),
                char::from(kind)
            ))),
        }
    }

    /// So many bytes and CR LF. Memory grows with what comes, not with what was claimed.
    fn value(&mut self, len: u64) -> Result<(), Failure> {
        let mut left = len;
        while left > 0 {
            let piece = self.peek()?;
            let n = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if n == 0 {
                return Err(self.wrong("the input ends inside it"));
            }
            // Both parts of `self` are used at once, which `peek` can't borrow.
            let piece = self.input.fill_buf().map_err(|error| unreadable(&error))?;
            self.words.extend(&piece[..n]);
            self.input.consume(n);
            left -= n as u64;
        }
        self.words.end_word();
        let mut end = [0; 2];
        let read = self.input.read_exact(&mut end);
        self.bytes += len + 2;
        match read {
            Ok(()) if end == *b"\r\n" => Ok(()),
            Ok(()) => {
                Err(self.wrong("a value of the length that it claims does not end with CR LF"))
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.wrong("the input ends inside it"))
            }
            Err(error) => Err(unreadable(&error)),
        }
    }

    fn wrong(&self, why: &str) -> Failure {
        Failure::other(format!(
            "command {} of standard input, near byte {}: {why}",
            self.taken, self.bytes
        ))
    }
}

fn unreadable(error: &io::Error) -> Failure {
    Failure::other(format!("can't read standard input: {error}"))
}

#[cfg(test)]
mod tests;
