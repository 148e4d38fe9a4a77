//! Colours of what people read.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

/// Names of columns.
pub(crate) const NAME: Style = Style::new().bold();
/// Values of columns of numbers.
pub(crate) const NUMBER: Style = AnsiColor::Cyan.on_default();
/// What is not there: NULL.
pub(crate) const ABSENT: Style = Style::new().dimmed();
/// Between values.
pub(crate) const PLAIN: Style = Style::new();

/// What to write in front of a text and behind it.
pub(crate) fn around(style: Style, colours: bool) -> (impl Display, impl Display) {
    let style = if colours { style } else { PLAIN };
    (style.render(), style.render_reset())
}
