//! Records of TSV: a line each, fields between tabs, `\t \n \r \0 \\` in them, as LOAD DATA reads them by default.

use std::io::BufRead;
use std::ops::Range;

use super::records::{Field, Position, Records};

pub(super) struct TsvRecords<R> {
    input: R,
    /// The line without its end, then the fields that had escapes, without them.
    text: Vec<u8>,
    fields: Vec<Option<Range<usize>>>,
    null: Vec<u8>,
    place: Position,
    end: Position,
}

impl<R: BufRead> TsvRecords<R> {
    pub(super) fn new(input: R, null: &str, base: Position) -> Self {
        Self {
            input,
            text: Vec::new(),
            fields: Vec::new(),
            null: null.as_bytes().to_vec(),
            place: base,
            end: base,
        }
    }

    /// Gives the input back, behind the last record.
    pub(super) fn into_input(self) -> (R, Position) {
        (self.input, self.end)
    }

    /// Reads a line; one that ends with an escaped line feed continues with the next.
    fn read_line(&mut self) -> Result<bool, String> {
        self.text.clear();
        self.place = self.end;
        loop {
            let read = self.input.read_until(b'\n', &mut self.text);
            let read = read.map_err(|error| error.to_string())?;
            self.end.offset += read as u64;
            if read == 0 {
                return Ok(!self.text.is_empty());
            }
            self.end.line += 1;
            if self.text.pop_if(|byte| *byte == b'\n').is_none() {
                return Ok(true);
            }
            if !ends_escaped(&self.text) {
                self.text.pop_if(|byte| *byte == b'\r');
                return Ok(true);
            }
            self.text.push(b'\n');
        }
    }

    fn split(&mut self) {
        self.fields.clear();
        let line = self.text.len();
        let (mut start, mut at, mut escaped) = (0, 0, false);
        loop {
            let next = memchr::memchr2(b'\t', b'\\', &self.text[at..line])
                .map_or(line, |found| at + found);
            if next < line && self.text[next] == b'\\' {
                escaped = true;
                at = (next + 2).min(line);
                continue;
            }
            self.add(start..next, escaped);
            if next == line {
                return;
            }
            (start, at, escaped) = (next + 1, next + 1, false);
        }
    }

    fn add(&mut self, field: Range<usize>, escaped: bool) {
        if self.text[field.clone()] == self.null[..] {
            return self.fields.push(None);
        }
        if !escaped {
            return self.fields.push(Some(field));
        }
        let start = self.text.len();
        let mut at = field.start;
        while at < field.end {
            let byte = self.text[at];
            at += 1;
            let byte = if byte == b'\\' && at < field.end {
                at += 1;
                unescaped(self.text[at - 1])
            } else {
                byte
            };
            self.text.push(byte);
        }
        self.fields.push(Some(start..self.text.len()));
    }
}

/// Whether what follows the text belongs to an escape.
pub(super) fn ends_escaped(text: &[u8]) -> bool {
    text.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

/// The character that is written with a backslash and this one.
fn unescaped(byte: u8) -> u8 {
    match byte {
        b't' => b'\t',
        b'n' => b'\n',
        b'r' => b'\r',
        b'0' => 0,
        b'b' => 8,
        b'Z' => 26,
        other => other,
    }
}

impl<R: BufRead> Records for TsvRecords<R> {
    fn next(&mut self) -> Result<bool, String> {
        if !self.read_line()? {
            return Ok(false);
        }
        self.split();
        Ok(true)
    }

    fn len(&self) -> usize {
        self.fields.len()
    }

    fn field(&self, index: usize) -> Field<'_> {
        match self.fields.get(index) {
            None => Field::Missing,
            Some(None) => Field::Null,
            Some(Some(field)) => Field::Value(&self.text[field.clone()]),
        }
    }

    fn place(&self) -> Position {
        self.place
    }

    fn end(&self) -> Position {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Vec<Option<String>>> {
        let mut records = TsvRecords::new(text.as_bytes(), r"\N", Position::START);
        let mut all = Vec::new();
        while records.next().unwrap() {
            let field = |index| match records.field(index) {
                Field::Value(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
                _ => None,
            };
            all.push((0..records.len()).map(field).collect());
        }
        assert_eq!(records.end().offset, text.len() as u64);
        all
    }

    #[test]
    fn fields_are_unescaped_and_an_empty_line_is_an_empty_field() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            read("a\t\\N\t\n\nb\\tc\\n\\r\\0\\\\N\t\\\\\r\nd\\\ne\n\\"),
            [
                vec![text("a"), None, text("")],
                vec![text("")],
                vec![text("b\tc\n\r\0\\N"), text("\\")],
                vec![text("d\ne")],
                vec![text("\\")],
            ]
        );
    }
}
