//! Text above the line that is being typed.

use std::sync::mpsc::{self, Sender};
use std::thread;

use rustyline::ExternalPrinter;
use rustyline::completion::longest_common_prefix;
use unicode_width::UnicodeWidthStr;

/// Shows lists of what a word can be completed to. The editor's own list is erased by the line itself where that takes more
/// than one line of the screen.
#[derive(Debug, Clone)]
pub(crate) struct Above(Sender<String>);

impl Above {
    /// Prints on a thread of its own: the editor takes what is printed between two keys, and both are on one thread.
    pub(super) fn new(mut printer: impl ExternalPrinter + Send + 'static) -> Self {
        let (sender, texts) = mpsc::channel::<String>();
        // Without the thread nothing is listed.
        let _ = thread::Builder::new().name("above".into()).spawn(move || {
            while let Ok(text) = texts.recv() {
                // What keys that were pressed meanwhile have made of it.
                let last = texts.try_iter().last().unwrap_or(text);
                let _ = printer.print(last);
            }
        });
        Self(sender)
    }

    /// What Tab puts in the place of `typed`: what all candidates begin with. Where that is there already they are listed.
    pub(crate) fn offer(&self, typed: &str, candidates: Vec<String>) -> Vec<String> {
        if candidates.len() < 2 {
            return candidates;
        }
        match longest_common_prefix(&candidates) {
            Some(common) if common.len() > typed.len() => vec![common.to_owned()],
            _ => {
                let size = terminal_size::terminal_size_of(std::io::stdout());
                let size = size.map(|(width, height)| (width.0, height.0));
                // One that does not know its size has none.
                let known = size.filter(|&(width, height)| width > 0 && height > 0);
                let (width, height) = known.unwrap_or((80, 24));
                let _ = self.0.send(list(&candidates, width.into(), height.into()));
                Vec::new()
            }
        }
    }
}

/// Spaces between two columns.
const GAP: usize = 2;

/// The candidates in columns, from top to bottom, on at most half of the screen.
fn list(candidates: &[String], width: usize, height: usize) -> String {
    let widest = candidates
        .iter()
        .map(|text| text.width())
        .max()
        .unwrap_or(0)
        + GAP;
    let columns = (width / widest).max(1);
    let most = (height / 2).max(1);
    let rows = candidates.len().div_ceil(columns);
    // Where some are left out, those that are shown are the first ones.
    let shown = candidates.len().min(most * columns);
    let rows = rows.min(most);
    let mut text = String::new();
    for row in 0..rows {
        let mut line = String::new();
        for column in 0..columns {
            let index = column * rows + row;
            if let Some(candidate) = candidates[..shown].get(index) {
                let pad = (column * widest).saturating_sub(line.width());
                line.extend(std::iter::repeat_n(' ', pad));
                line.push_str(candidate);
            }
        }
        text.push_str(&line);
        text.push('\n');
    }
    if shown < candidates.len() {
        text.push_str(&format!("... and {} more\n", candidates.len() - shown));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (1..=count).map(|number| format!("name{number}")).collect()
    }

    #[test]
    fn candidates_stand_in_columns_on_half_of_the_screen() {
        assert_eq!(
            list(&names(5), 16, 10),
            "name1  name4\nname2  name5\nname3\n"
        );
        assert_eq!(list(&names(3), 80, 10), "name1  name2  name3\n");
        assert_eq!(
            list(&names(9), 16, 4),
            "name1  name3\nname2  name4\n... and 5 more\n"
        );
        assert_eq!(list(&["日本".into(), "a".into()], 80, 10), "日本  a\n");
        assert_eq!(list(&["a".repeat(100)], 80, 10), "a".repeat(100) + "\n");
    }

    #[test]
    fn tab_takes_what_all_begin_with_and_lists_them_then() {
        let (sender, texts) = mpsc::channel();
        let above = Above(sender);
        let both = || vec!["customer".to_owned(), "customs".to_owned()];
        assert_eq!(above.offer("cu", both()), ["custom"]);
        assert_eq!(texts.try_recv().ok(), None);
        assert_eq!(above.offer("custom", both()), [""; 0]);
        assert_eq!(texts.try_recv().unwrap(), "customer  customs\n");
        assert_eq!(above.offer("cu", vec!["cup".into()]), ["cup"]);
    }
}
