//! Query strings and forms: `user=app&listener=front+1`.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Fields that are read. No form here has more.
const MAX_FIELDS: usize = 32;

/// What is not escaped in values.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The fields of one, in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Bytes that are no UTF-8 become replacement characters.
    pub(super) fn parse(text: &str) -> Self {
        let fields = text.split('&').filter(|field| !field.is_empty());
        let decode = |text: &str| {
            let text = text.replace('+', " ");
            percent_decode_str(&text).decode_utf8_lossy().into_owned()
        };
        let fields = fields.take(MAX_FIELDS).map(|field| {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            (decode(name), decode(value))
        });
        Self(fields.collect())
    }

    /// The first value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut fields = self.0.iter();
        let (_, value) = fields.find(|(known, _)| known == name)?;
        Some(value)
    }

    /// The same, empty if there is none.
    pub(super) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }
}

/// A path with a query of these fields; those without a value are left out.
pub(super) fn path(path: &str, fields: &[(&str, &str)]) -> String {
    let mut text = path.to_owned();
    let mut before = '?';
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        text.push(before);
        text.push_str(name);
        text.push('=');
        text.extend(utf8_percent_encode(value, PLAIN));
        before = '&';
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let fields = [("user", "a&b=c+d \"<\u{e9}%"), ("empty", ""), ("id", "7")];
        let text = path("/sessions", &fields);
        assert_eq!(text, "/sessions?user=a%26b%3Dc%2Bd%20%22%3C%C3%A9%25&id=7");
        let read = Fields::parse(text.split_once('?').unwrap().1);
        assert_eq!(read.text("user"), fields[0].1);
        assert_eq!((read.get("id"), read.get("empty")), (Some("7"), None));
    }

    #[test]
    fn any_text_is_a_form() {
        for text in ["", "&", "&&=&", "%", "%4", "%zz=%ff", "a=1&a=2"] {
            let fields = Fields::parse(text);
            assert!(fields.0.len() <= 2, "{text}: {fields:?}");
        }
        assert_eq!(Fields::parse("a=1&a=2").get("a"), Some("1"));
        assert_eq!(Fields::parse("front+1=x+y").get("front 1"), Some("x y"));
        assert_eq!(Fields::parse(&"a=b&".repeat(100)).0.len(), MAX_FIELDS);
    }
}
