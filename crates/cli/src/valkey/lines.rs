//! Commands from standard input, one a line.

use std::io::BufRead;

use super::words::Words;
use crate::failure::Failure;

/// Lines of an input, with their numbers.
#[derive(Debug)]
pub(super) struct Input<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Input<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            number: 0,
        }
    }

    /// Puts the words of the next line that is not blank into `words`; gives its number, `None` at the end.
    pub(super) fn next(&mut self, words: &mut Words) -> Result<Option<u64>, Failure> {
        loop {
            self.line.clear();
            let n = self
                .input
                .read_until(b'\n', &mut self.line)
                .map_err(|error| Failure::other(format!("can't read standard input: {error}")))?;
            if n == 0 {
                return Ok(None);
            }
            self.number += 1;
            words.split(&self.line).map_err(|why| {
                Failure::other(format!("line {} of standard input: {why}", self.number))
            })?;
            if !words.is_empty() {
                return Ok(Some(self.number));
            }
        }
    }
}
