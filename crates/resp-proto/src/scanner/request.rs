//! Requests: arrays of bulk strings, and nothing else.

use onecopy_wire::Buffers;

use super::body::Body;
use super::{Broken, Pause, Scanned, Scanner};
use crate::error::{ErrorKind, ProtocolError};
use crate::server::{Unbalanced, Words};
use crate::{Frame, Kind};

impl Scanner {
    /// Scans on until a request is complete, which begins with `*`, or input is missing.
    pub(crate) fn scan_request(&mut self, buffers: &mut Buffers) -> Result<Scanned, ProtocolError> {
        self.request(buffers).map_err(|Broken| self.error())
    }

    fn request(&mut self, buffers: &mut Buffers) -> Result<Scanned, Broken> {
        if self.is_fresh {
            self.begin(buffers);
        }
        loop {
            let pause = match self.body {
                Body::Home(home) => self.home(buffers, home)?,
                _ => Some(self.arguments(buffers.pending())?),
            };
            match pause {
                None => {}
                Some(Pause::Complete) => {
                    let is_push = self.complete(buffers);
                    return Ok(Scanned::Frame(self.frame(is_push)));
                }
                Some(Pause::Need { min, until_end }) => {
                    buffers.need(min, until_end);
                    return Ok(Scanned::NeedInput(min));
                }
                Some(pause @ Pause::Large { .. }) => self.leave_frame(buffers, pause)?,
                Some(Pause::Chunks | Pause::PushBehind) => {
                    return Err(self.fail(ErrorKind::InvalidLength, buffers.pending()));
                }
            }
        }
    }

    /// Scans from `at` to the end of `bytes`, which begin where the request does.
    fn arguments(&mut self, bytes: &[u8]) -> Result<Pause, Broken> {
        loop {
            let at = self.at;
            let Some(&first) = bytes.get(at) else {
                return Ok(Pause::Need {
                    min: 1,
                    until_end: 0,
                });
            };
            let pause = match first {
                b'*' if self.outer.is_empty() => self.value(bytes, first)?,
                b'$' if !self.outer.is_empty() => match self.fast_bulk(bytes, at) {
                    Some((start, end)) => {
                        self.push(Kind::BulkString, start, end - start)?;
                        self.at = end + 2;
                        self.close()?
                    }
                    None if bytes.get(at + 1) == Some(&b'?')
                        || bytes.get(at + 1) == Some(&b'-') =>
                    {
                        return Err(self.fail(ErrorKind::InvalidLength, bytes));
                    }
                    None => self.value(bytes, first)?,
                },
                _ => return Err(self.fail(ErrorKind::ExpectedBulk(first), bytes)),
            };
            if self.inner.is_streamed() {
                return Err(self.fail_at(ErrorKind::InvalidLength, self.offset, bytes));
            }
            if let Some(pause) = pause {
                return Ok(pause);
            }
        }
    }

    /// Makes a request of a line that ends with the line feed at `end`.
    pub(crate) fn scan_line(
        &mut self,
        buffers: &mut Buffers,
        end: usize,
    ) -> Result<Frame, ProtocolError> {
        self.begin(buffers);
        let split = self.split(&mut buffers.pending_mut()[..end]);
        split.map_err(|Broken| self.error())?;
        self.at = end + 1;
        let is_push = self.complete(buffers);
        Ok(self.frame(is_push))
    }

    fn split(&mut self, line: &mut [u8]) -> Result<(), Broken> {
        let mut words = Words::default();
        let mut count = 0;
        let array = self.push(Kind::Array, 0, 0)?;
        loop {
            let word = match words.next(line) {
                Ok(Some(word)) => word,
                Ok(None) => break,
                Err(Unbalanced) => return Err(self.fail(ErrorKind::UnbalancedQuotes, line)),
            };
            self.claim(1, line)?;
            self.push(Kind::BulkString, word.start, word.len())?;
            count += 1;
        }
        if let Some(array) = self.nodes.get_mut(array) {
            (array.len, array.next) = (count, count + 1);
        }
        Ok(())
    }
}
