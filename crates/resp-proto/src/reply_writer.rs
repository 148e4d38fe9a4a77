//! Writes replies of every type directly into the write queue, in the client's protocol version.

use std::io::Write;

use onecopy_wire::{WireError, WriteQueue};

use crate::{Protocol, RequestWriter};

/// Longest decimal of an i64, its kind and line end around it.
const LINE: usize = 24;

/// Longest double as it is written.
const DOUBLE: usize = 32;

/// Writes replies into a queue, one after the other. It keeps no state in between: after the header of an aggregate the caller
/// writes its elements.
///
/// RESP2 clients get the forms that servers send them: maps as arrays of alternating keys and values, sets and push messages as
/// arrays, doubles, big numbers and verbatim strings as bulk strings, booleans as 1 and 0, null as `$-1`.
#[derive(Debug)]
pub struct ReplyWriter<'q> {
    queue: &'q mut WriteQueue,
    protocol: Protocol,
}

impl<'q> ReplyWriter<'q> {
    /// Begins a reply at the end of the queue. Call [`end`](Self::end) when it is written.
    #[inline]
    pub fn new(queue: &'q mut WriteQueue, protocol: Protocol) -> Self {
        queue.begin_here();
        Self { queue, protocol }
    }

    fn is_resp2(&self) -> bool {
        self.protocol == Protocol::Resp2
    }

    /// Writes a simple string. Line ends in it are written as spaces, because they would start another reply.
    pub fn simple_string(&mut self, text: &[u8]) {
        self.line(b'+', text);
    }

    /// Writes an error of one line, beginning with its code, as in `ERR unknown command`. Line ends are handled as in
    /// [`simple_string`](Self::simple_string).
    pub fn error(&mut self, text: &[u8]) {
        self.line(b'-', text);
    }

    /// Writes an error that may contain any bytes; for RESP2, an error of one line.
    pub fn bulk_error(&mut self, text: &[u8]) {
        if self.is_resp2() {
            return self.error(text);
        }
        self.string(b'!', text);
    }

    /// Writes an integer.
    pub fn integer(&mut self, number: i64) {
        let mut line = [0; LINE];
        let mut rest = line.as_mut_slice();
        // The longest fits.
        let _ = write!(rest, ":{number}\r\n");
        let len = LINE - rest.len();
        self.queue.push(&line[..len]);
    }

    /// Writes a bulk string, copied into the queue.
    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        RequestWriter::within(self.queue).bulk(bytes);
    }

    /// Writes a bulk string of `len` bytes by reference: the caller passes the bytes to the I/O driver under `index`.
    pub fn bulk_borrowed(&mut self, index: u32, len: usize) {
        RequestWriter::within(self.queue).bulk_borrowed(index, len);
    }

    /// Writes the header of a bulk string. The caller sends its `len` bytes, and CR LF after them, in pieces.
    pub fn bulk_header(&mut self, len: u64) {
        RequestWriter::within(self.queue).bulk_header(len);
    }

    /// Writes null.
    pub fn null(&mut self) {
        match self.protocol {
            Protocol::Resp2 => self.queue.push_array(*b"$-1\r\n"),
            Protocol::Resp3 => self.queue.push_array(*b"_\r\n"),
        }
    }

    /// Writes null in place of an array, which RESP2 distinguishes.
    pub fn null_array(&mut self) {
        match self.protocol {
            Protocol::Resp2 => self.queue.push_array(*b"*-1\r\n"),
            Protocol::Resp3 => self.null(),
        }
    }

    /// Writes a boolean.
    pub fn boolean(&mut self, is_true: bool) {
        self.queue.push(match (self.protocol, is_true) {
            (Protocol::Resp2, true) => b":1\r\n",
            (Protocol::Resp2, false) => b":0\r\n",
            (Protocol::Resp3, true) => b"#t\r\n",
            (Protocol::Resp3, false) => b"#f\r\n",
        });
    }

    /// Writes a floating-point number, in the fewest digits that parse back to the same value.
    pub fn double(&mut self, number: f64) {
        let mut text = [0; DOUBLE];
        let len = format_double(number, &mut text);
        if self.is_resp2() {
            return self.bulk(&text[..len]);
        }
        self.line(b',', &text[..len]);
    }

    /// Writes an integer of any length. `digits` must be digits with an optional sign.
    pub fn big_number(&mut self, digits: &[u8]) {
        if self.is_resp2() {
            return self.bulk(digits);
        }
        self.line(b'(', digits);
    }

    /// Writes a text with its format of three bytes, such as `txt` or `mkd`.
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

    /// Writes the header of an array; `count` elements follow.
    pub fn array(&mut self, count: usize) {
        self.header(b'*', count as u64);
    }

    /// Writes the header of a map; `pairs` alternating keys and values follow.
    pub fn map(&mut self, pairs: usize) {
        match self.protocol {
            Protocol::Resp2 => self.header(b'*', pairs as u64 * 2),
            Protocol::Resp3 => self.header(b'%', pairs as u64),
        }
    }

    /// Writes the header of a set; `count` elements follow.
    pub fn set(&mut self, count: usize) {
        match self.protocol {
            Protocol::Resp2 => self.array(count),
            Protocol::Resp3 => self.header(b'~', count as u64),
        }
    }

    /// Writes the header of a push message; `count` elements follow, the first of which names its type.
    pub fn push(&mut self, count: usize) {
        match self.protocol {
            Protocol::Resp2 => self.array(count),
            Protocol::Resp3 => self.header(b'>', count as u64),
        }
    }

    /// Writes the header of an attribute; `pairs` alternating keys and values follow, then the value that they describe. RESP2
    /// has no attributes: nothing is written, the method returns `false`, and the caller must not write the keys and values.
    #[must_use]
    pub fn attribute(&mut self, pairs: usize) -> bool {
        if self.is_resp2() {
            return false;
        }
        self.header(b'|', pairs as u64);
        true
    }

    /// Ends the reply.
    ///
    /// # Errors
    /// Fails if memory for a part of it could not be allocated. The whole reply is taken back; what was queued before it stays.
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
