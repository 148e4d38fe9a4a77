//! Records of ndjson: an object a line.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::records::{Field, Position, Records};

pub(super) struct NdjsonRecords<R> {
    input: R,
    line: Vec<u8>,
    /// Values that are not in the line as they are.
    text: Vec<u8>,
    fields: Vec<Value>,
    /// The field of a key; none for keys that are passed over.
    keys: HashMap<String, Option<usize>>,
    place: Position,
    end: Position,
}

#[derive(Debug, Clone)]
enum Value {
    Missing,
    Null,
    Text(Range<usize>),
}

impl<R: BufRead> NdjsonRecords<R> {
    /// `fields` are the keys in order; those of `passed_over` are no error.
    pub(super) fn new(input: R, fields: &[String], passed_over: &[String], base: Position) -> Self {
        let passed = passed_over.iter().map(|key| (key.clone(), None));
        let taken = fields
            .iter()
            .enumerate()
            .map(|(index, key)| (key.clone(), Some(index)));
        Self {
            input,
            line: Vec::new(),
            text: Vec::new(),
            fields: vec![Value::Missing; fields.len()],
            keys: passed.chain(taken).collect(),
            place: base,
            end: base,
        }
    }

    fn take(&mut self, key: &str, raw: &str) -> Result<(), String> {
        let Some(field) = self.keys.get(key) else {
            return Err(format!(
                "the key \"{key}\" is not a column of the table; name the columns with --columns"
            ));
        };
        let Some(field) = *field else { return Ok(()) };
        let start = self.text.len();
        match raw.as_bytes() {
            b"null" => {
                self.fields[field] = Value::Null;
                return Ok(());
            }
            b"true" => self.text.push(b'1'),
            b"false" => self.text.push(b'0'),
            [b'"', inside @ .., b'"'] if memchr::memchr(b'\\', inside).is_none() => {
                self.text.extend_from_slice(inside);
            }
            [b'"', ..] => {
                let text: Cow<'_, str> =
                    serde_json::from_str(raw).map_err(|error| error.to_string())?;
                self.text.extend_from_slice(text.as_bytes());
            }
            [b'{', ..] => match base64_in(raw) {
                Some(encoded) => STANDARD
                    .decode_vec(&*encoded, &mut self.text)
                    .map_err(|error| format!("the key \"{key}\" has no valid base64: {error}"))?,
                None => self.text.extend_from_slice(raw.as_bytes()),
            },
            other => self.text.extend_from_slice(other),
        }
        self.fields[field] = Value::Text(start..self.text.len());
        Ok(())
    }
}

impl<R: BufRead> Records for NdjsonRecords<R> {
    fn next(&mut self) -> Result<bool, String> {
        loop {
            self.line.clear();
            self.place = self.end;
            let read = self.input.read_until(b'\n', &mut self.line);
            let read = read.map_err(|error| error.to_string())?;
            if read == 0 {
                return Ok(false);
            }
            self.end.offset += read as u64;
            self.end.line += 1;
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        self.text.clear();
        self.fields.fill(Value::Missing);
        let line = std::mem::take(&mut self.line);
        let pairs = pairs(&line);
        let taken = pairs.and_then(|pairs| {
            pairs
                .iter()
                .try_for_each(|(key, raw)| self.take(key, raw.get()))
        });
        self.line = line;
        taken.map(|()| true)
    }

    fn len(&self) -> usize {
        self.fields.len()
    }

    fn field(&self, index: usize) -> Field<'_> {
        match self.fields.get(index) {
            None | Some(Value::Missing) => Field::Missing,
            Some(Value::Null) => Field::Null,
            Some(Value::Text(range)) => Field::Value(&self.text[range.clone()]),
        }
    }

    fn place(&self) -> Position {
        self.place
    }

    fn end(&self) -> Position {
        self.end
    }
}

/// The keys of an object and their values, as they are written.
type Pairs<'l> = Vec<(Cow<'l, str>, &'l RawValue)>;

fn pairs(line: &[u8]) -> Result<Pairs<'_>, String> {
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let pairs = deserializer.deserialize_map(Object);
    let pairs = pairs.and_then(|pairs| deserializer.end().map(|()| pairs));
    pairs.map_err(|error| format!("no JSON object: {error}"))
}

struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = Pairs<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of one line")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
            pairs.push((key, value));
        }
        Ok(pairs)
    }
}

/// A key, borrowed where it has no escape.
#[derive(serde::Deserialize)]
struct Key<'k>(#[serde(borrow)] Cow<'k, str>);

/// The text of `{"base64":"..."}`; none for any other object.
fn base64_in(raw: &str) -> Option<Cow<'_, str>> {
    let pairs = pairs(raw.as_bytes()).ok()?;
    match &pairs[..] {
        [(key, value)] if key == "base64" => serde_json::from_str(value.get()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Vec<Option<String>>>, String> {
        let names = ["a", "b", "c"].map(str::to_owned);
        let mut records =
            NdjsonRecords::new(text.as_bytes(), &names, &["g".to_owned()], Position::START);
        let mut all = Vec::new();
        while records.next()? {
            let field = |index| match records.field(index) {
                Field::Value(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
                Field::Null => Some("(null)".into()),
                Field::Missing => None,
            };
            all.push((0..records.len()).map(field).collect());
        }
        Ok(all)
    }

    #[test]
    fn values_are_taken_as_they_are_written() {
        let text = |text: &str| Some(text.to_owned());
        let rows = read(
            "{\"a\":12345678901234567890.50,\"b\":\"x\\n\\u00e9\",\"c\":null}\n\n\
             {\"c\":{\"base64\":\"AP8=\"},\"a\":true,\"g\":1}\r\n\
             {\"b\":{\"base64\":\"AP8=\",\"x\":1},\"c\":[1, 2]}",
        );
        assert_eq!(
            rows.unwrap(),
            [
                vec![
                    text("12345678901234567890.50"),
                    text("x\né"),
                    text("(null)")
                ],
                vec![text("1"), None, text("\0\u{fffd}")],
                vec![None, text("{\"base64\":\"AP8=\",\"x\":1}"), text("[1, 2]")],
            ]
        );
    }

    #[test]
    fn what_is_no_object_of_known_keys_is_an_error() {
        for (line, problem) in [
            ("[1]", "no JSON object"),
            ("{\"a\":1", "no JSON object"),
            ("{\"a\":1} 2", "no JSON object"),
            ("{\"z\":1}", "the key \"z\" is not a column"),
            ("{\"a\":{\"base64\":\"?\"}}", "no valid base64"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(problem), "{line}: {error}");
        }
    }
}
