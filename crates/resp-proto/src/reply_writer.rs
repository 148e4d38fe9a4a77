//! Replies: every type, written straight into the write queue, in the protocol's version that the client has.

use std::io::Write;

use onecopy_wire::{WireError, WriteQueue};

use crate::{Protocol, RequestWriter};

/// Longest decimal of an i64, its kind and line end around it.
const LINE: usize = 24;

/// Longest double as it is written.
const DOUBLE: usize = 32;

/// Writes one reply after the other into a queue. Nothing is kept in between: who opens an aggregate writes its elements.
///
/// A client of RESP2 gets the forms that servers give it: maps as arrays of keys and values, sets and pushes as arrays,
/// doubles, big numbers and verbatim strings as bulk strings, booleans as 1 and 0, null as `$-1`.
#[derive(Debug)]
pub struct ReplyWriter<'q> {
    queue: &'q mut WriteQueue,
    protocol: Protocol,
}

impl<'q> ReplyWriter<'q> {
    /// A writer at the end of the queue, where a reply begins. It is [ended](Self::end) when it is written.
    #[inline]
    pub fn new(queue: &'q mut WriteQueue, protocol: Protocol) -> Self {
        queue.begin_here();
        Self { queue, protocol }
    }

    fn is_resp2(&self) -> bool {
        self.protocol == Protocol::Resp2
    }

    /// A simple string. A line end in it would be another reply: it is written as a space.
    pub fn simple_string(&mut self, text: &[u8]) {
        self.line(b'+', text);
    }

    /// An error of one line, its code first, as in `ERR unknown command`. As [`simple_string`](Self::simple_string).
    pub fn error(&mut self, text: &[u8]) {
        self.line(b'-', text);
    }

    /// An error of any bytes; in RESP2 one of one line.
    pub fn bulk_error(&mut self, text: &[u8]) {
        if self.is_resp2() {
            return self.error(text);
        }
        self.string(b'!', text);
    }

    /// An integer.
    pub fn integer(&mut self, number: i64) {
        let mut line = [0; LINE];
        let mut rest = line.as_mut_slice();
        // The longest fits.
        let _ = write!(rest, ":{number}\r\n");
        let len = LINE - rest.len();
        self.queue.push(&line[..len]);
    }

    /// A bulk string, copied into the queue.
    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        RequestWriter::within(self.queue).bulk(bytes);
    }

    /// A bulk string of `len` bytes that the caller lends to the driver under `index`.
    pub fn bulk_borrowed(&mut self, index: u32, len: usize) {
        RequestWriter::within(self.queue).bulk_borrowed(index, len);
    }

    /// The header of a bulk string whose `len` bytes, and CR LF behind them, the caller sends in pieces.
    pub fn bulk_header(&mut self, len: u64) {
        RequestWriter::within(self.queue).bulk_header(len);
    }

    /// Null.
    pub fn null(&mut self) {
        match self.protocol {
            Protocol::Resp2 => self.queue.push_array(*b"$-1\r\n"),
            Protocol::Resp3 => self.queue.push_array(*b"_\r\n"),
        }
    }

    /// Null in the place of an array, which RESP2 tells apart.
    pub fn null_array(&mut self) {
        match self.protocol {
            Protocol::Resp2 => self.queue.push_array(*b"*-1\r\n"),
            Protocol::Resp3 => self.null(),
        }
    }

    /// A boolean.
    pub fn boolean(&mut self, is_true: bool) {
        self.queue.push(match (self.protocol, is_true) {
            (Protocol::Resp2, true) => b":1\r\n",
            (Protocol::Resp2, false) => b":0\r\n",
            (Protocol::Resp3, true) => b"#t\r\n",
            (Protocol::Resp3, false) => b"#f\r\n",
        });
    }

    /// A floating-point number, in the fewest digits that give it again.
    pub fn double(&mut self, number: f64) {
        let mut text = [0; DOUBLE];
        let len = format_double(number, &mut text);
        if self.is_resp2() {
            return self.bulk(&text[..len]);
        }
        self.line(b',', &text[..len]);
    }

    /// An integer of any length, which `digits` must be: a sign and digits.
    pub fn big_number(&mut self, digits: &[u8]) {
        if self.is_resp2() {
            return self.bulk(digits);
        }
        self.line(b'(', digits);
    }

    /// A text and the three bytes that tell its format, such as `txt` or `mkd`.
    pub fn verbatim_string(&mut self, format: [u8; 3], text: &[u8]) {
        if self.is_resp2() {
            return self.bulk(text);
        }
        self.header(b'=', text.len() as u64 + 4);
        self.queue.push_array(format);
        self.queue.push_array(*b":");
        self.queue.push(text);
        self.queue.push_array(*b"\r\n");
    }

    /// An array's header; `count` elements follow.
    pub fn array(&mut self, count: usize) {
        self.header(b'*', count as u64);
    }

    /// A map's header; `pairs` keys and values follow in turn.
    pub fn map(&mut self, pairs: usize) {
        match self.protocol {
            Protocol::Resp2 => self.header(b'*', pairs as u64 * 2),
            Protocol::Resp3 => self.header(b'%', pairs as u64),
        }
    }

    /// A set's header; `count` elements follow.
    pub fn set(&mut self, count: usize) {
        match self.protocol {
            Protocol::Resp2 => self.array(count),
            Protocol::Resp3 => self.header(b'~', count as u64),
        }
    }

    /// The header of something out of band; `count` elements follow, the first of which tells what it is.
    pub fn push(&mut self, count: usize) {
        match self.protocol {
            Protocol::Resp2 => self.array(count),
            Protocol::Resp3 => self.header(b'>', count as u64),
        }
    }

    /// The header of an attribute; `pairs` keys and values follow in turn, then the value that they are about. RESP2 has none:
    /// nothing is written, the answer is `false`, and the caller leaves keys and values out.
    #[must_use]
    pub fn attribute(&mut self, pairs: usize) -> bool {
        if self.is_resp2() {
            return false;
        }
        self.header(b'|', pairs as u64);
        true
    }

    /// The reply is written.
    ///
    /// # Errors
    /// Memory for a part of it could not be had. All of it is taken back; what was queued before it stays.
    #[inline]
    pub fn end(self) -> Result<(), WireError> {
        self.queue.end()
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.queue.push_array([kind]);
        for (index, part) in text
            .split(|&byte| matches!(byte, b'\r' | b'\n'))
            .enumerate()
        {
            if index > 0 {
                self.queue.push_array(*b" ");
            }
            self.queue.push(part);
        }
        self.queue.push_array(*b"\r\n");
    }

    fn string(&mut self, kind: u8, bytes: &[u8]) {
        self.header(kind, bytes.len() as u64);
        self.queue.push(bytes);
        self.queue.push_array(*b"\r\n");
    }

    fn header(&mut self, kind: u8, number: u64) {
        RequestWriter::within(self.queue).header(kind, number);
    }
}

/// Writes a double as servers do: without an exponent where it is short so, `inf`, `-inf`, `nan`. Gives its length.
fn format_double(number: f64, into: &mut [u8; DOUBLE]) -> usize {
    const SHORT: std::ops::Range<f64> = 1e-5..1e17;
    let mut rest = into.as_mut_slice();
    // The longest fits.
    let _ = if number.is_nan() {
        rest.write_all(b"nan")
    } else if number == 0.0 || number.is_infinite() || SHORT.contains(&number.abs()) {
        write!(rest, "{number}")
    } else {
        write!(rest, "{number:e}")
    };
    DOUBLE - rest.len()
}
