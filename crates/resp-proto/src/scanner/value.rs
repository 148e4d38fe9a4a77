//! One value by the slow path: every type, cut anywhere, with the error of the first byte that is wrong.
//!
//! What is decided here depends on bytes in the order of the stream only, never on how many of them have arrived: the same
//! input has the same outcome however it is cut.

use onecopy_wire::WireError;

use super::body::Body;
use super::line::{IntegerLine, Line, find_end, integer_line, length, text};
use super::{Broken, Open, Pause, Scanner, Stop};
use crate::Kind;
use crate::error::ErrorKind;

/// Nothing to wait for: the value, or an aggregate's header, was taken.
type Taken = Result<Option<Pause>, Broken>;

/// At least `min` bytes are missing, and nobody knows how many more.
const fn missing(min: usize) -> Option<Pause> {
    Some(Pause::Need { min, until_end: 0 })
}

impl Scanner {
    /// Takes the value at `at`, whose first byte is `first`.
    #[inline(never)]
    pub(super) fn value(&mut self, bytes: &[u8], first: u8) -> Taken {
        match first {
            b'*' => self.aggregate(bytes, Kind::Array),
            b'%' => self.aggregate(bytes, Kind::Map),
            b'~' => self.aggregate(bytes, Kind::Set),
            b'$' => self.bulk(bytes, Kind::BulkString),
            b'+' => self.line(bytes, Kind::SimpleString),
            b'-' => self.line(bytes, Kind::SimpleError),
            b':' => self.integer(bytes),
            b'_' => self.null(bytes),
            b'#' => self.boolean(bytes),
            b',' => self.line(bytes, Kind::Double),
            b'(' => self.line(bytes, Kind::BigNumber),
            b'!' => self.bulk(bytes, Kind::BulkError),
            b'=' => self.bulk(bytes, Kind::VerbatimString),
            b'|' => self.aggregate(bytes, Kind::Attribute),
            b'>' => self.push_header(bytes),
            b'.' => self.end_of_stream(bytes),
            _ => Err(self.fail(ErrorKind::UnknownType(first), bytes)),
        }
    }

    /// A value without others has arrived completely; the next one begins at `next`.
    fn leaf(&mut self, kind: Kind, start: usize, len: usize, next: usize) -> Taken {
        self.push(kind, start, len)?;
        self.at = next;
        self.close()
    }

    /// A value that is one line of any length.
    fn line(&mut self, bytes: &[u8], kind: Kind) -> Taken {
        let max = self.limits.max_line;
        let start = self.at + 1;
        let found = find_end(bytes, start + self.searched);
        let end = found.unwrap_or(bytes.len());
        if end - start > max {
            return Err(self.fail(ErrorKind::LineTooLong { max }, bytes));
        }
        if found.is_none() || (bytes[end] == b'\r' && end + 1 == bytes.len()) {
            self.searched = end - start;
            return Ok(missing(1));
        }
        if bytes.get(end..end + 2) != Some(b"\r\n") {
            return Err(self.fail(ErrorKind::LoneLineEnd, bytes));
        }
        if let Err(wrong) = text(kind, &bytes[start..end]) {
            return Err(self.fail(wrong, bytes));
        }
        self.searched = 0;
        self.leaf(kind, start, end - start, end + 2)
    }

    fn integer(&mut self, bytes: &[u8]) -> Taken {
        let start = self.at + 1;
        match integer_line(bytes, self.at) {
            IntegerLine::End(end) => self.leaf(Kind::Integer, start, end - start, end + 2),
            IntegerLine::Short => Ok(missing(1)),
            IntegerLine::Invalid(wrong) => Err(self.fail(wrong, bytes)),
        }
    }

    fn null(&mut self, bytes: &[u8]) -> Taken {
        match bytes[self.at + 1..] {
            [b'\r', b'\n', ..] => self.leaf(Kind::Null, self.at + 1, 0, self.at + 3),
            [] | [b'\r'] => Ok(missing(1)),
            [b'\r', _, ..] => Err(self.fail(ErrorKind::LoneLineEnd, bytes)),
            _ => Err(self.fail(ErrorKind::InvalidNull, bytes)),
        }
    }

    fn boolean(&mut self, bytes: &[u8]) -> Taken {
        match bytes[self.at + 1..] {
            [b't' | b'f', b'\r', b'\n', ..] => {
                self.leaf(Kind::Boolean, self.at + 1, 1, self.at + 4)
            }
            [] | [b't' | b'f'] | [b't' | b'f', b'\r'] => Ok(missing(1)),
            [b't' | b'f', b'\r', ..] => Err(self.fail(ErrorKind::LoneLineEnd, bytes)),
            _ => Err(self.fail(ErrorKind::InvalidBoolean, bytes)),
        }
    }

    /// A value of a length that is told before it.
    fn bulk(&mut self, bytes: &[u8], kind: Kind) -> Taken {
        let (len, body) = match length(bytes, self.at) {
            Line::Length(len, body) => (len, body),
            Line::Streamed(next) if kind == Kind::BulkString => {
                self.at = next;
                return Ok(Some(Pause::Chunks));
            }
            other => return self.odd_length(bytes, kind, other),
        };
        // What is passed over takes no memory.
        let max = if self.skips && self.outer.is_empty() {
            super::MAX_STREAMED
        } else {
            self.max_bulk
        };
        if len > max {
            return Err(self.fail(ErrorKind::BulkTooLarge { len, max }, bytes));
        }
        self.count_string(len.saturating_add(body as u64), bytes)?;
        if kind == Kind::VerbatimString && len < 4 {
            return Err(self.fail(ErrorKind::InvalidVerbatim, bytes));
        }
        let come = bytes.len() - body;
        if self.skips && len + 2 > come as u64 {
            return Ok(Some(Pause::Large { kind, len, body }));
        }
        #[allow(clippy::cast_possible_truncation)] // at most u32::MAX, or all of it has arrived
        let len = len as usize;
        let end = body + len;
        let Some(line_end) = bytes.get(end..end + 2) else {
            if len >= self.limits.large && come < len {
                let len = len as u64;
                return Ok(Some(Pause::Large { kind, len, body }));
            }
            let missing = len + 2 - come;
            return Ok(Some(Pause::Need {
                min: missing,
                until_end: missing,
            }));
        };
        if line_end != b"\r\n" {
            return Err(self.fail(ErrorKind::MissingLineEnd, bytes));
        }
        if kind == Kind::VerbatimString && bytes[body + 3] != b':' && !self.skips {
            return Err(self.fail(ErrorKind::InvalidVerbatim, bytes));
        }
        self.leaf(kind, body, len, end + 2)
    }

    /// A header that is no plain length.
    fn odd_length(&mut self, bytes: &[u8], kind: Kind, line: Line) -> Taken {
        match line {
            Line::Short => Ok(missing(1)),
            Line::Null(next) if matches!(kind, Kind::BulkString | Kind::Array) => {
                self.leaf(Kind::Null, next, 0, next)
            }
            _ => Err(self.fail(ErrorKind::InvalidLength, bytes)),
        }
    }

    /// The header of a push, which nothing may hold.
    fn push_header(&mut self, bytes: &[u8]) -> Taken {
        if !self.outer.is_empty() {
            return Err(self.fail(ErrorKind::PushInside, bytes));
        }
        if self.skips {
            return Ok(Some(Pause::PushBehind));
        }
        let taken = self.aggregate(bytes, Kind::Push)?;
        self.is_push |= !matches!(taken, Some(Pause::Need { .. }));
        Ok(taken)
    }

    /// The header of a value that holds others.
    fn aggregate(&mut self, bytes: &[u8], kind: Kind) -> Taken {
        let (count, next) = match length(bytes, self.at) {
            Line::Length(count, next) => (Some(count), next),
            Line::Streamed(next) if matches!(kind, Kind::Array | Kind::Map | Kind::Set) => {
                (None, next)
            }
            other => return self.odd_length(bytes, kind, other),
        };
        let each = if kind.is_pairs() { 2 } else { 1 };
        let elements = count.map(|count| count.saturating_mul(each));
        // An attribute is no element of what it stands in: nothing else would bound how many there are.
        let itself = u64::from(kind == Kind::Attribute);
        self.claim(elements.unwrap_or(0).saturating_add(itself), bytes)?;
        if elements != Some(0) && self.outer.len() >= self.limits.max_depth {
            let max = self.limits.max_depth;
            return Err(self.fail(ErrorKind::TooDeep { max }, bytes));
        }
        if elements == Some(0) {
            self.push(kind, self.at, 0)?;
            self.at = next;
            if kind != Kind::Attribute {
                return self.close();
            }
            self.attribute_end = self.position();
            return Ok(None);
        }
        if self.outer.len() == self.outer.capacity() {
            self.deepen()?;
        }
        #[allow(clippy::cast_possible_truncation)] // at most `MAX_ELEMENTS`
        let count = elements.unwrap_or(0) as usize;
        let node = self.push(kind, self.at, count)?;
        self.open(node, kind, count, next);
        if elements.is_none() {
            self.inner.left = u32::MAX;
        }
        Ok(None)
    }

    /// Makes room for aggregates around each other.
    #[cold]
    fn deepen(&mut self) -> Result<(), Broken> {
        const MORE: usize = 8;
        self.outer.try_reserve(MORE).map_err(|_| {
            self.out_of_memory(WireError::OutOfMemory {
                bytes: (MORE * size_of::<Open>()) as u64,
            })
        })
    }

    /// `.`, the end of a streamed aggregate.
    fn end_of_stream(&mut self, bytes: &[u8]) -> Taken {
        let Open { node, left, kind } = self.inner;
        let elements = u32::MAX - left;
        let is_half = kind.is_pairs() && elements % 2 == 1;
        let is_attribute = self.attribute_end == self.position() && self.position() > 0;
        if !self.inner.is_streamed() || is_half || is_attribute {
            return Err(self.fail(ErrorKind::InvalidStream, bytes));
        }
        match bytes[self.at + 1..] {
            [b'\r', b'\n', ..] => {}
            [] | [b'\r'] => return Ok(missing(1)),
            _ => return Err(self.fail(ErrorKind::LoneLineEnd, bytes)),
        }
        self.at += 3;
        self.inner.left = 0;
        if let Some(node) = self.nodes.get_mut(node) {
            node.len = elements;
        }
        match self.ascend() {
            None => Ok(None),
            Some(Stop::Complete) => Ok(Some(Pause::Complete)),
            Some(Stop::Paused | Stop::Broken) => Err(Broken),
        }
    }

    /// The value under way is one whose bytes do not lie in the frame as they came, and is complete.
    pub(super) fn end_body(&mut self) -> Taken {
        self.body = Body::None;
        self.close()
    }
}
