//! One value of a table: its text, and its place in the order.

use std::cmp::Ordering;
use std::fmt;

use crate::output::text::{Lines, push_visible};

/// Where a value is not known.
const UNKNOWN: &str = "–";

/// More of a text is never shown: 16 KiB.
const LONGEST: usize = 16 << 10;

/// Text that can't make a terminal do anything: control characters are spelled out. What comes from a proxy reaches the screen only
/// as this.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Shown(String);

impl Shown {
    pub(super) fn new(text: &str) -> Self {
        let start = &text[..text.floor_char_boundary(LONGEST)];
        let mut visible = String::new();
        push_visible(start, Lines::Escaped, &mut visible);
        Self(visible)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a word says of its thing, in addition to the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Warning,
    Bad,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Unknown,
    Text(Shown),
    /// A word with a meaning.
    State(Shown, Tone),
    Count(u64),
    /// A number that is a name: a server knows it without separators.
    Id(u64),
    /// A second.
    Rate(f64),
    Micros(u64),
    Bytes(u64),
    /// A second.
    ByteRate(f64),
    Seconds(u64),
    /// Of 100.
    Percent(f64),
}

impl Value {
    pub(super) fn text(text: Option<&str>) -> Self {
        match text {
            None | Some("") => Self::Unknown,
            Some(text) => Self::Text(Shown::new(text)),
        }
    }

    pub(super) fn of<T>(value: Option<T>, kind: fn(T) -> Self) -> Self {
        value.map_or(Self::Unknown, kind)
    }

    /// A part of a whole.
    #[allow(clippy::cast_precision_loss)] // of a share that is shown with two digits
    pub(super) fn share(part: f64, whole: f64) -> Self {
        match whole > 0.0 {
            true => Self::Percent(part * 100.0 / whole),
            false => Self::Unknown,
        }
    }

    pub(super) fn tone(&self) -> Tone {
        match self {
            Self::State(_, tone) => *tone,
            _ => Tone::Plain,
        }
    }

    /// For people.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Unknown => UNKNOWN.to_owned(),
            Self::Text(text) | Self::State(text, _) => text.0.clone(),
            Self::Count(count) => grouped(*count),
            Self::Id(id) => id.to_string(),
            Self::Rate(rate) if *rate > 0.0 && *rate < 9.95 => format!("{rate:.1}"),
            Self::Rate(rate) => grouped(whole(*rate)),
            Self::Micros(micros) => duration(*micros),
            Self::Bytes(bytes) => size(*bytes),
            Self::ByteRate(rate) => format!("{}/s", size(whole(*rate))),
            Self::Seconds(seconds) => time(*seconds),
            Self::Percent(percent) => format!("{percent:.2} %"),
        }
    }

    /// For programs: numbers have all digits and no unit.
    pub(super) fn plain(&self) -> String {
        match self {
            Self::Unknown => "-".to_owned(),
            Self::Text(text) | Self::State(text, _) => text.0.clone(),
            Self::Count(number)
            | Self::Id(number)
            | Self::Micros(number)
            | Self::Bytes(number)
            | Self::Seconds(number) => number.to_string(),
            Self::Rate(number) | Self::ByteRate(number) => format!("{number:.1}"),
            Self::Percent(number) => format!("{number:.2}"),
        }
    }

    /// What is not known is behind everything else in either direction.
    pub(super) fn compare(&self, other: &Self, is_descending: bool) -> Ordering {
        let order = match (self, other) {
            (Self::Unknown, Self::Unknown) => return Ordering::Equal,
            (Self::Unknown, _) => return Ordering::Greater,
            (_, Self::Unknown) => return Ordering::Less,
            (Self::Text(a) | Self::State(a, _), Self::Text(b) | Self::State(b, _)) => a.cmp(b),
            (a, b) => a.number().total_cmp(&b.number()),
        };
        match is_descending {
            true => order.reverse(),
            false => order,
        }
    }

    #[allow(clippy::cast_precision_loss)] // for an order of what looks alike
    fn number(&self) -> f64 {
        match self {
            Self::Unknown | Self::Text(_) | Self::State(..) => 0.0,
            Self::Count(number)
            | Self::Id(number)
            | Self::Micros(number)
            | Self::Bytes(number)
            | Self::Seconds(number) => *number as f64,
            Self::Rate(number) | Self::ByteRate(number) | Self::Percent(number) => *number,
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // rounded, and saturating
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// `1,234,567`
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `75 µs`, `2.5 ms`, `10 s`
fn duration(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{} ms", tenths(micros, 1_000)),
        1_000_000..100_000_000 => format!("{} s", tenths(micros, 1_000_000)),
        _ => time(micros / 1_000_000),
    }
}

/// `512 B`, `1.5 KiB`, `64 MiB`
fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1 << 10 {
        return format!("{bytes} B");
    }
    let mut unit = 1_u64 << 10;
    let mut at = 0;
    while bytes / unit >= 1 << 10 && at + 1 < UNITS.len() {
        unit <<= 10;
        at += 1;
    }
    format!("{} {}", tenths(bytes, unit), UNITS[at])
}

/// `45s`, `2m05s`, `3h20m`, `4d02h`
pub(super) fn time(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// One digit behind the point where it says something.
fn tenths(value: u64, unit: u64) -> String {
    let tenths = u128::from(value) * 10 / u128::from(unit);
    match (tenths / 10, tenths % 10) {
        (whole, rest) if rest == 0 || whole >= 100 => whole.to_string(),
        (whole, rest) => format!("{whole}.{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_units_for_people_and_all_digits_for_programs() {
        for (value, shown, plain) in [
            (Value::Unknown, "–", "-"),
            (Value::Count(1_234_567), "1,234,567", "1234567"),
            (Value::Id(1_234_567), "1234567", "1234567"),
            (Value::Rate(0.0), "0", "0.0"),
            (Value::Rate(3.21), "3.2", "3.2"),
            (Value::Rate(12_345.4), "12,345", "12345.4"),
            (Value::Micros(75), "75 µs", "75"),
            (Value::Micros(2_500), "2.5 ms", "2500"),
            (Value::Micros(10_000_000), "10 s", "10000000"),
            (Value::Micros(7_200_000_000), "2h00m", "7200000000"),
            (Value::Bytes(512), "512 B", "512"),
            (Value::Bytes(1_536), "1.5 KiB", "1536"),
            (Value::ByteRate(1_048_576.0), "1 MiB/s", "1048576.0"),
            (Value::Seconds(125), "2m05s", "125"),
            (Value::Seconds(360_000), "4d04h", "360000"),
            (Value::share(1.0, 400.0), "0.25 %", "0.25"),
            (Value::share(1.0, 0.0), "–", "-"),
        ] {
            assert_eq!(
                (value.shown().as_str(), value.plain().as_str()),
                (shown, plain)
            );
        }
        assert_eq!(Value::Bytes(u64::MAX).shown(), "16383 PiB");
    }

    #[test]
    fn what_is_not_known_is_last_in_either_direction() {
        for is_descending in [false, true] {
            let mut values = [Value::Count(2), Value::Unknown, Value::Count(10)];
            values.sort_by(|a, b| a.compare(b, is_descending));
            assert_eq!(values[2], Value::Unknown);
            assert_eq!(values[0] == Value::Count(10), is_descending);
        }
        let text = |text| Value::text(Some(text));
        assert_eq!(text("a").compare(&text("b"), false), Ordering::Less);
    }

    #[test]
    fn control_characters_are_spelled_out_and_long_texts_are_cut() {
        let hostile = Shown::new("a\x1b]0;owned\x07\u{9b}31m\u{202e}\n");
        assert_eq!(
            hostile.as_str(),
            "a\\u{1b}]0;owned\\u{7}\\u{9b}31m\\u{202e}\\n"
        );
        assert_eq!(Shown::new(&"ä".repeat(LONGEST)).as_str().len(), LONGEST);
        let odd = format!("a{}", "ä".repeat(LONGEST));
        assert_eq!(Shown::new(&odd).as_str().len(), LONGEST - 1);
    }
}
