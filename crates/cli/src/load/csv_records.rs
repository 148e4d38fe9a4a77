//! Records of CSV, by the csv crate.

use std::io::BufRead;

use csv::{ByteRecord, Reader, ReaderBuilder};

use super::records::{Field, Position, Records};

/// A field of backslashes and an N: with one backslash it is NULL, with more a text of one less. So every text has a form.
pub(super) struct CsvRecords<R> {
    reader: Reader<R>,
    record: ByteRecord,
    null: Vec<u8>,
    /// Where the reader began.
    base: Position,
}

/// What stands for NULL unless the user says otherwise.
const NULL: &[u8] = br"\N";

impl<R: BufRead> CsvRecords<R> {
    pub(super) fn new(input: R, delimiter: u8, null: &str, base: Position) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .buffer_capacity(256 << 10)
            .from_reader(input);
        Self {
            reader,
            record: ByteRecord::new(),
            null: null.as_bytes().to_vec(),
            base,
        }
    }

    fn position(&self, position: &csv::Position) -> Position {
        Position {
            offset: self.base.offset + position.byte(),
            line: self.base.line + position.line() - 1,
        }
    }
}

impl<R: BufRead> Records for CsvRecords<R> {
    fn next(&mut self) -> Result<bool, String> {
        let read = self.reader.read_byte_record(&mut self.record);
        read.map_err(|error| error.to_string())
    }

    fn len(&self) -> usize {
        self.record.len()
    }

    fn field(&self, index: usize) -> Field<'_> {
        match self.record.get(index) {
            None => Field::Missing,
            Some(field) if field == self.null => Field::Null,
            Some(field) => Field::Value(unescaped(field)),
        }
    }

    fn place(&self) -> Position {
        self.record
            .position()
            .map_or(self.base, |position| self.position(position))
    }

    fn end(&self) -> Position {
        self.position(self.reader.position())
    }
}

fn unescaped(field: &[u8]) -> &[u8] {
    match field {
        [b'\\', rest @ .., b'N']
            if field.ends_with(NULL)
                && rest.iter().all(|&byte| byte == b'\\')
                && !rest.is_empty() =>
        {
            &field[1..]
        }
        _ => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, null: &str) -> Vec<Vec<Option<String>>> {
        let mut records = CsvRecords::new(
            text.as_bytes(),
            b',',
            null,
            Position {
                offset: 100,
                line: 11,
            },
        );
        let mut all = Vec::new();
        while records.next().unwrap() {
            let field = |index| match records.field(index) {
                Field::Value(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
                _ => None,
            };
            all.push((0..records.len()).map(field).collect());
        }
        assert_eq!(records.end().offset, 100 + text.len() as u64);
        all
    }

    #[test]
    fn null_has_a_form_and_so_has_the_text_that_looks_like_it() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            read(
                "\\N,\"\",a\r\n\"\\N\",\\\\N,\"a\nb\"\"\"\r\n\\\\\\N,\\,N\r\n",
                r"\N"
            ),
            [
                vec![None, text(""), text("a")],
                vec![None, text(r"\N"), text("a\nb\"")],
                vec![text(r"\\N"), text(r"\"), text("N")],
            ]
        );
        assert_eq!(read(",\\N\n", ""), [vec![None, text(r"\N")]]);
    }

    #[test]
    fn places_go_on_from_where_the_reader_began() {
        let mut records = CsvRecords::new(
            &b"a\n\"b\nc\"\nd\n"[..],
            b',',
            r"\N",
            Position {
                offset: 100,
                line: 11,
            },
        );
        let mut places = Vec::new();
        while records.next().unwrap() {
            places.push((records.place(), records.end()));
        }
        let at = |offset, line| Position { offset, line };
        assert_eq!(
            places,
            [
                (at(100, 11), at(102, 12)),
                (at(102, 12), at(108, 14)),
                (at(108, 14), at(110, 15))
            ]
        );
    }
}
