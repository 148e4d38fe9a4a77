//! How far a long statement is: a line at the bottom of the terminal, while MariaDB reports it.

use std::io::{self, IsTerminal, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use onecopy_mysql::{Progress, ProgressReports};
use unicode_width::UnicodeWidthChar;

use crate::output::text::{Lines, push_visible};

/// Where the width of the terminal is unknown.
const WIDTH: usize = 80;

/// The line is on the terminal, of which a process has one.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// What shows the line, if standard error is a terminal.
pub(crate) fn reports() -> Option<ProgressReports> {
    io::stderr()
        .is_terminal()
        .then(|| ProgressReports::new(show))
}

fn show(progress: &Progress<'_>) {
    let size = terminal_size::terminal_size_of(io::stderr());
    let width = size
        .map(|(width, _)| usize::from(width.0))
        .filter(|&width| width > 0);
    // The last column stays free: a terminal may go to the next line behind it.
    let text = text(progress);
    let line = fitted(&text, width.unwrap_or(WIDTH) - 1);
    let _ = write!(io::stderr().lock(), "\r\x1b[K{line}");
    IS_SHOWN.store(true, Ordering::Relaxed);
}

/// Takes the line away, before anything else is written.
#[inline]
pub(crate) fn clear() {
    if IS_SHOWN.load(Ordering::Relaxed) && IS_SHOWN.swap(false, Ordering::Relaxed) {
        let _ = write!(io::stderr().lock(), "\r\x1b[K");
    }
}

/// `stage 1 of 2, 42.7 %: copy to tmp table`
fn text(progress: &Progress<'_>) -> String {
    let percent = progress.fraction * 100.0;
    let (stage, stages) = (progress.stage, progress.stages);
    let mut text = format!("stage {stage} of {stages}, {percent:.1} %: ");
    push_visible(progress.description, Lines::Escaped, &mut text);
    text
}

fn fitted(text: &str, width: usize) -> &str {
    let mut left = width;
    let end = text.char_indices().find(|(_, character)| {
        let wide = character.width().unwrap_or(0);
        let fits = wide <= left;
        left = left.saturating_sub(wide);
        !fits
    });
    end.map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_never_wider_than_the_terminal() {
        assert_eq!(fitted("copy", 4), "copy");
        assert_eq!(fitted("copy", 3), "cop");
        assert_eq!(fitted("a\u{30c6}b", 2), "a");
        assert_eq!(fitted("a\u{30c6}b", 3), "a\u{30c6}");
        assert_eq!(fitted("", 0), "");
    }
}
