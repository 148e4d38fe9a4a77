//! What a page shows, without its looks: the same is made into HTML once, and sent as an event each second for the script.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// All that changes on a page.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    /// The proxy's state, in a few words.
    pub(super) state: Mark,
    /// The UTC time of day.
    pub(super) time: String,
    /// One line that matters now; empty for none.
    pub(super) note: String,
    pub(super) tiles: Vec<Tile>,
    pub(super) charts: Vec<Chart>,
    pub(super) tables: Vec<Table>,
}

/// A word with a colour: it never depends on the colour alone.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Mark {
    pub(super) text: String,
    pub(super) class: Class,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Class {
    Good,
    Warn,
    Bad,
    Plain,
}

impl Class {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
            Self::Plain => "plain",
        }
    }
}

/// A number that is seen first.
#[derive(Debug, Serialize)]
pub(super) struct Tile {
    pub(super) id: &'static str,
    #[serde(skip)]
    pub(super) label: &'static str,
    pub(super) text: String,
    /// A second line.
    pub(super) more: String,
}

/// A line over the last two minutes.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    pub(super) id: &'static str,
    #[serde(skip)]
    pub(super) label: &'static str,
    /// Of an SVG polyline in [`CHART`].
    pub(super) points: String,
    /// What the line says, in words.
    pub(super) text: String,
}

/// Width and height of charts.
pub(super) const CHART: (u32, u32) = (600, 60);

#[derive(Debug, Serialize)]
pub(super) struct Table {
    pub(super) id: &'static str,
    #[serde(skip)]
    pub(super) caption: &'static str,
    /// What is said if there is no row.
    #[serde(skip)]
    pub(super) none: &'static str,
    #[serde(skip)]
    pub(super) columns: &'static [Column],
    pub(super) rows: Vec<Row>,
}

/// Its name, and what it has.
pub(super) type Column = (&'static str, Kind);

/// What a column has, by which it is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Names and texts of others: lines are broken.
    Text,
    /// Words of ours, and links: each in one line.
    Word,
    /// Numbers, with their last digits below each other.
    Number,
}

impl Kind {
    /// Its class in HTML.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Text => "t",
            Self::Word => "w",
            Self::Number => "n",
        }
    }
}

/// The first cell is the row's header.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// What the script knows it by from one event to the next.
    pub(super) key: String,
    pub(super) cells: Vec<Cell>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) class: Option<Class>,
    pub(super) links: Vec<Link>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Link {
    pub(super) text: String,
    /// A path of this listener.
    pub(super) href: String,
    /// Its whole name, for those who don't see where it is; empty for `text`.
    pub(super) name: String,
}

impl Cell {
    pub(super) fn link(text: &str, href: String) -> Self {
        Self {
            links: vec![Link {
                text: shown(text),
                href,
                name: String::new(),
            }],
            ..Self::default()
        }
    }

    pub(super) fn links(links: Vec<Link>) -> Self {
        Self {
            links,
            ..Self::default()
        }
    }

    pub(super) fn mark(text: &str, class: Class) -> Self {
        Self {
            text: shown(text),
            class: Some(class),
            ..Self::default()
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text: shown(&text),
            ..Self::default()
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

/// A plain text is a string.
impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.class.is_none() && self.links.is_empty() {
            return serializer.serialize_str(&self.text);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("text", &self.text)?;
        if let Some(class) = self.class {
            map.serialize_entry("class", class.name())?;
        }
        if !self.links.is_empty() {
            map.serialize_entry("links", &self.links)?;
        }
        map.end()
    }
}

/// Characters of a text that are shown at most. Names that peers send may be longer.
const MAX_SHOWN: usize = 200;

/// A text of a peer, with nothing in it that is not seen: controls, and what changes the direction of other text, are escaped.
pub(super) fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(MAX_SHOWN).flat_map(escaped).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

/// The key of a row, of all that sets it apart from others.
pub(super) fn key(parts: &[&str]) -> String {
    let chars = parts.iter().flat_map(|part| part.chars().chain(['\n']));
    chars.flat_map(escaped).collect()
}

/// The character, or an escape of one that is not seen.
fn escaped(c: char) -> impl Iterator<Item = char> {
    let is_hidden = match c {
        // Marks, embeddings, overrides and isolates of directions; separators of lines; and characters of no width.
        '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' => true,
        '\u{FEFF}' | '\u{061C}' => true,
        c => c.is_control(),
    };
    let escape = is_hidden.then(|| c.escape_default());
    let plain = (!is_hidden).then_some(c);
    escape.into_iter().flatten().chain(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_hides_nothing() {
        for (text, expected) in [
            ("app", "app"),
            ("<script>", "<script>"),
            ("a\nb\0\u{7f}", "a\\nb\\u{0}\\u{7f}"),
            ("a\u{202e}txt.exe", "a\\u{202e}txt.exe"),
            ("\u{feff}ü", "\\u{feff}ü"),
        ] {
            assert_eq!(shown(text), expected);
        }
        let long = shown(&"x".repeat(10_000));
        assert_eq!(long.chars().count(), MAX_SHOWN + 1);
        assert!(long.ends_with('…'));
        assert_ne!(key(&["a", "bc"]), key(&["ab", "c"]));
        assert_eq!(key(&["a\u{202e}", "b"]), "a\\u{202e}\\nb\\n");
    }

    #[test]
    fn events_have_strings_for_plain_cells() {
        let json = |cell: Cell| serde_json::to_string(&cell).unwrap();
        assert_eq!(json("a\n\"".into()), r#""a\\n\"""#);
        assert_eq!(
            json(Cell::mark("up", Class::Good)),
            r#"{"text":"up","class":"good"}"#
        );
        assert_eq!(
            json(Cell::link("a", "/b".into())),
            r#"{"text":"","links":[{"text":"a","href":"/b","name":""}]}"#
        );
    }
}
