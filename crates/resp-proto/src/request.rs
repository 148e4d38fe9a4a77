//! Writes requests, arrays of bulk strings, directly into the write queue.

use onecopy_wire::{BORROWED_THRESHOLD, WireError, WriteQueue};

/// Longest decimal of a u64, with a sign before it and `$`, CR LF around it.
const HEADER: usize = 24;

/// Writes requests into a queue, one after the other. It keeps no state in between.
///
/// # Example
/// ```
/// use onecopy_resp_proto::RequestWriter;
/// use onecopy_wire::WriteQueue;
///
/// let mut queue = WriteQueue::new();
/// let mut request = RequestWriter::new(&mut queue);
/// request.array(2);
/// request.bulk(b"GET");
/// request.bulk(b"key");
/// request.end()?;
/// assert_eq!(queue.whole(), Some(&b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n"[..]));
/// # Ok::<(), onecopy_wire::WireError>(())
/// ```
#[derive(Debug)]
pub struct RequestWriter<'q> {
    queue: &'q mut WriteQueue,
}

impl<'q> RequestWriter<'q> {
    /// Begins a request at the end of the queue. Call [`end`](Self::end) when its last argument is written.
    #[inline]
    pub fn new(queue: &'q mut WriteQueue) -> Self {
        queue.begin_here();
        Self { queue }
    }

    /// Continues a request of which a part was sent. Call [`end`](Self::end) as for a new one. If memory runs out, only what this
    /// writer wrote is taken back.
    #[inline]
    pub fn go_on(queue: &'q mut WriteQueue) -> Self {
        Self::new(queue)
    }

    /// A writer inside something else that is being written.
    #[inline]
    pub(crate) fn within(queue: &'q mut WriteQueue) -> Self {
        Self { queue }
    }

    /// Writes the constant start of a request, already encoded: its count, its name, and anything else that is always the same.
    #[inline]
    pub fn encoded(&mut self, bytes: &[u8]) {
        self.queue.push(bytes);
    }

    /// Writes at most 64 bytes that were just computed, like [`encoded`](Self::encoded), but from registers.
    #[inline]
    pub fn encoded_array<const N: usize>(&mut self, bytes: [u8; N]) {
        self.queue.push_array(bytes);
    }

    /// Writes `*count`: the number of bulk strings that follow.
    #[inline]
    pub fn array(&mut self, count: usize) {
        match u8::try_from(count) {
            Ok(count @ ..10) => self.queue.push_array([b'*', b'0' + count, b'\r', b'\n']),
            _ => self.header(b'*', count as u64),
        }
    }

    /// Writes an argument, copied into the queue.
    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        push_bulk(self.queue, bytes);
    }

    /// Writes a number as an argument, in decimal.
    #[inline(never)] // or its digits weigh down what writes texts
    pub fn integer(&mut self, number: u64) {
        // A header is a number with something around it.
        let short = usize::try_from(number)
            .ok()
            .and_then(|number| short_header(b'$', number));
        match short {
            Some((line, len)) => self.bulk(&line[1..len - 2]),
            None => {
                let mut line = [0; HEADER];
                let start = format_header(&mut line, b'$', number);
                self.bulk(&line[start + 1..HEADER - 2]);
            }
        }
    }

    /// Writes a signed number as an argument, in decimal.
    #[inline(never)]
    pub fn signed(&mut self, number: i64) {
        match u64::try_from(number) {
            Ok(number) => self.integer(number),
            Err(_) => {
                let mut line = [0; HEADER];
                // In place of a header's kind the sign.
                let start = format_header(&mut line, b'-', number.unsigned_abs());
                self.bulk(&line[start..HEADER - 2]);
            }
        }
    }

    /// Returns whether an argument of this many bytes should be borrowed instead of copied.
    #[inline]
    pub const fn is_large(len: usize) -> bool {
        len >= BORROWED_THRESHOLD
    }

    /// Writes an argument of `len` bytes by reference: the caller passes the bytes to the I/O driver under `index`.
    pub fn bulk_borrowed(&mut self, index: u32, len: usize) {
        self.header(b'$', len as u64);
        self.queue.push_borrowed(index, 0, len);
        self.queue.push_array(*b"\r\n");
    }

    /// Writes the header of an argument whose `len` bytes follow in pieces, with [`bulk_end`](Self::bulk_end) after them. If they
    /// do not all fit in memory, [end](Self::end) and flush the request, and [continue](Self::go_on) it for each piece.
    #[inline]
    pub fn bulk_header(&mut self, len: u64) {
        self.header(b'$', len);
    }

    /// Writes a piece of such an argument, copied into the queue.
    #[inline]
    pub fn piece(&mut self, bytes: &[u8]) {
        self.queue.push(bytes);
    }

    /// Writes a piece of such an argument by reference: the caller passes its `len` bytes to the I/O driver under `index`.
    #[inline]
    pub fn piece_borrowed(&mut self, index: u32, len: usize) {
        self.queue.push_borrowed(index, 0, len);
    }

    /// Ends an argument that was written in pieces.
    #[inline]
    pub fn bulk_end(&mut self) {
        self.queue.push_array(*b"\r\n");
    }

    pub(crate) fn header(&mut self, kind: u8, number: u64) {
        push_header(self.queue, kind, number);
    }

    /// Takes the request back, instead of [ending](Self::end) it.
    #[cold]
    pub fn withdraw(self) {
        self.queue.withdraw();
    }

    /// Ends the request.
    ///
    /// # Errors
    /// Fails if memory for a part of it could not be allocated. The whole request is taken back; what was queued before it stays.
    #[inline]
    pub fn end(self) -> Result<(), WireError> {
        self.queue.end()
    }
}

/// By the queue and not by its writer, which then need not lie in memory.
#[inline(always)] // or it depends on what else a program sends: 20 instructions an argument
fn push_bulk(queue: &mut WriteQueue, bytes: &[u8]) {
    if let Some((header, len)) = short_header(b'$', bytes.len()) {
        queue.push_framed(header, len, bytes, *b"\r\n");
    } else {
        push_long_bulk(queue, bytes);
    }
}

#[cold]
fn push_long_bulk(queue: &mut WriteQueue, bytes: &[u8]) {
    push_header(queue, b'$', bytes.len() as u64);
    queue.push(bytes);
    queue.push_array(*b"\r\n");
}

fn push_header(queue: &mut WriteQueue, kind: u8, number: u64) {
    let mut line = [0; HEADER];
    let start = format_header(&mut line, kind, number);
    queue.push(&line[start..]);
}

/// Kind, digits and line end of a number of at most five digits, as all arguments have that are copied; and how many bytes
/// they are. By twos from a table: a division a digit costs half a request.
#[inline]
#[allow(clippy::cast_possible_truncation)] // a digit
fn short_header(kind: u8, number: usize) -> Option<([u8; 8], usize)> {
    let (cr, lf) = (b'\r', b'\n');
    let digit = |number: usize| b'0' + number as u8;
    Some(match number {
        0..10 => ([kind, digit(number), cr, lf, 0, 0, 0, 0], 4),
        10..100 => {
            let [a, b] = DIGITS[number];
            ([kind, a, b, cr, lf, 0, 0, 0], 5)
        }
        100..1_000 => {
            let [a, b] = DIGITS[number % 100];
            ([kind, digit(number / 100), a, b, cr, lf, 0, 0], 6)
        }
        1_000..10_000 => {
            let ([a, b], [c, d]) = (DIGITS[number / 100], DIGITS[number % 100]);
            ([kind, a, b, c, d, cr, lf, 0], 7)
        }
        10_000..100_000 => {
            let rest = number % 10_000;
            let ([a, b], [c, d]) = (DIGITS[rest / 100], DIGITS[rest % 100]);
            ([kind, digit(number / 10_000), a, b, c, d, cr, lf], 8)
        }
        _ => return None,
    })
}

/// `00` to `99`.
#[allow(clippy::cast_possible_truncation)] // digits
const DIGITS: [[u8; 2]; 100] = {
    let mut digits = [[0; 2]; 100];
    let mut number = 0;
    while number < digits.len() {
        digits[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    digits
};

/// Writes kind, digits and line end to the end of `line`; gives where they start.
#[inline]
fn format_header(line: &mut [u8; HEADER], kind: u8, mut number: u64) -> usize {
    line[HEADER - 2..].copy_from_slice(b"\r\n");
    let mut at = HEADER - 2;
    loop {
        at -= 1;
        #[allow(clippy::cast_possible_truncation)] // a digit
        let digit = (number % 10) as u8;
        line[at] = b'0' + digit;
        number /= 10;
        if number == 0 || at == 1 {
            break;
        }
    }
    at -= 1;
    line[at] = kind;
    at
}

#[cfg(test)]
mod tests;
