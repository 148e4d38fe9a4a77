//! One line: when, how much it matters, what happened, and what belongs to it.

use std::fmt::Write;
use std::time::SystemTime;

use crate::config::{LogFormat, LogLevel};

/// One line.
#[derive(Debug)]
pub(super) struct Line {
    time: SystemTime,
    level: LogLevel,
    event: &'static str,
    fields: Vec<(&'static str, Value)>,
}

/// What a field holds.
#[derive(Debug)]
pub(super) enum Value {
    /// A word of the proxy's own, which needs no quotes.
    Word(&'static str),
    /// Anybody's text.
    Text(String),
    Number(u64),
}

impl Line {
    pub(super) fn new(time: SystemTime, level: LogLevel, event: &'static str) -> Self {
        Self {
            time,
            level,
            event,
            fields: Vec::new(),
        }
    }

    /// The same with one more field. An empty text is left out.
    pub(super) fn with(mut self, name: &'static str, value: Value) -> Self {
        if !matches!(&value, Value::Text(text) if text.is_empty()) {
            self.fields.push((name, value));
        }
        self
    }

    /// The line with its end. Whatever a peer has put into a text stays on this line.
    pub(super) fn render(&self, format: LogFormat) -> String {
        let mut line = String::new();
        let level = level_name(self.level);
        match format {
            LogFormat::Text => {
                push_time(&mut line, self.time);
                push(&mut line, format_args!(" {level:5} {}", self.event));
                for (name, value) in &self.fields {
                    push(&mut line, format_args!(" {name}="));
                    match value {
                        Value::Text(text) if needs_quotes(text) => push_quoted(&mut line, text),
                        Value::Text(text) => line.push_str(text),
                        value => value.push_plain(&mut line),
                    }
                }
            }
            LogFormat::Json => {
                line.push_str("{\"time\":\"");
                push_time(&mut line, self.time);
                let event = self.event;
                push(
                    &mut line,
                    format_args!("\",\"level\":\"{level}\",\"event\":\"{event}\""),
                );
                for (name, value) in &self.fields {
                    push(&mut line, format_args!(",\"{name}\":"));
                    match value {
                        Value::Text(text) => push_quoted(&mut line, text),
                        Value::Word(word) => push_quoted(&mut line, word),
                        value => value.push_plain(&mut line),
                    }
                }
                line.push('}');
            }
        }
        line.push('\n');
        line
    }
}

impl Value {
    fn push_plain(&self, line: &mut String) {
        match self {
            Self::Word(word) => line.push_str(word),
            Self::Text(text) => line.push_str(text),
            Self::Number(number) => push(line, format_args!("{number}")),
        }
    }
}

fn level_name(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    }
}

fn push(line: &mut String, text: std::fmt::Arguments<'_>) {
    // A string takes everything.
    let _ = line.write_fmt(text);
}

fn needs_quotes(text: &str) -> bool {
    text.chars()
        .any(|c| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\\' | '='))
}

/// A text in quotes, as JSON has it, which people can read as well.
fn push_quoted(line: &mut String, text: &str) {
    line.push('"');
    for c in text.chars() {
        match c {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            // Line ends of Unicode's own among them, which some readers of lines take for one.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                push(line, format_args!("\\u{:04x}", u32::from(c)));
            }
            c => line.push(c),
        }
    }
    line.push('"');
}

/// UTC, as RFC 3339 has it, with milliseconds; a clock that shows a year no date has, the year 1970.
fn push_time(line: &mut String, time: SystemTime) {
    let time = jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    push(line, format_args!("{time:.3}"));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7)
    }

    #[test]
    fn times_are_dates() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (951_782_399, "2000-02-28T23:59:59.007Z"),
            (951_782_400, "2000-02-29T00:00:00.007Z"),
            (1_709_251_199, "2024-02-29T23:59:59.007Z"),
            (1_795_132_800, "2026-11-20T00:00:00.007Z"),
            (4_107_542_400, "2100-03-01T00:00:00.007Z"),
        ] {
            let mut line = String::new();
            push_time(&mut line, at(seconds));
            assert_eq!(line, date);
        }
    }

    #[test]
    fn whatever_a_peer_says_stays_on_its_line() {
        let line = Line::new(at(0), LogLevel::Warn, "session_failed")
            .with("side", Value::Word("client"))
            .with("code", Value::Number(7))
            .with("user", Value::Text("a\nb\" c=1\\\u{1b}[2J".into()))
            .with("backend", Value::Text(String::new()))
            .with("client", Value::Text("127.0.0.1:5".into()));
        assert_eq!(
            line.render(LogFormat::Text),
            "1970-01-01T00:00:00.007Z warn  session_failed side=client code=7 \
             user=\"a\\nb\\\" c=1\\\\\\u001b[2J\" client=127.0.0.1:5\n"
        );
        assert_eq!(
            line.render(LogFormat::Json),
            "{\"time\":\"1970-01-01T00:00:00.007Z\",\"level\":\"warn\",\"event\":\"session_failed\",\"side\":\"client\",\
             \"code\":7,\"user\":\"a\\nb\\\" c=1\\\\\\u001b[2J\",\"client\":\"127.0.0.1:5\"}\n"
        );
    }
}
