use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use super::*;

/// What a table of a number and a text writes of these rows, on a terminal of `width`.
struct Shown {
    table: Table,
    columns: Vec<Column>,
    out: Out,
    pipe: std::io::PipeReader,
}

impl Shown {
    fn new(width: usize) -> Self {
        let (pipe, writer) = std::io::pipe().unwrap();
        let column = |name: &str, kind| Column {
            name: name.into(),
            kind,
            max_bytes: 0,
        };
        let columns = vec![column("id", Kind::Number), column("text", Kind::Text)];
        let mut out = Out::new(File::from(OwnedFd::from(writer)), true);
        let mut table = Table::new(Layout {
            width: Some(width),
            ..Layout::plain(true)
        });
        table.begin(&columns, &mut out).unwrap();
        Self {
            table,
            columns,
            out,
            pipe,
        }
    }

    fn row(&mut self, id: &str, text: &str) {
        for (column, text) in self.columns.iter().zip([id, text]) {
            let value = Value {
                len: text.len() as u64,
                bytes: &mut text.as_bytes(),
            };
            self.table
                .value(column, Some(value), &mut self.out)
                .unwrap();
        }
        self.table.end_row(&mut self.out).unwrap();
    }

    fn text(self) -> String {
        let Self { out, mut pipe, .. } = self;
        drop(out);
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        text
    }
}

#[test]
fn a_long_value_is_cut_at_the_terminals_width() {
    let mut shown = Shown::new(20);
    shown.row("123456", "a long text of several words");
    shown.row("7", "short");
    shown.table.end(&mut shown.out).unwrap();
    let expected = "\
+--------+---------+
|     id | text    |
+--------+---------+
| 123456 | a long… |
|      7 | short   |
+--------+---------+
";
    assert_eq!(shown.text(), expected);
}

#[test]
fn a_later_value_widens_its_column_until_the_terminal_is_full() {
    let mut shown = Shown::new(16);
    for _ in 0..SAMPLE_ROWS {
        shown.row("1", "a");
    }
    shown.row("2", "abcdef");
    shown.row("12345", "abcdef");
    shown.row("3", "a");
    shown.table.end(&mut shown.out).unwrap();
    let text = shown.text();
    let expected = "\
|  1 | a    |
|  2 | abcdef |
| 12… | abcdef |
|   3 | a      |
+-----+--------+
";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn a_table_that_breaks_off_has_its_rows_and_no_end() {
    let mut shown = Shown::new(80);
    shown.row("1", "a");
    shown.table.break_off(&mut shown.out).unwrap();
    assert!(shown.text().ends_with("|  1 | a    |\n"));
    let mut shown = Shown::new(80);
    shown.table.break_off(&mut shown.out).unwrap();
    assert_eq!(shown.text(), "");
}
