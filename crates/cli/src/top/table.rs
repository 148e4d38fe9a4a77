//! A table: columns, rows, the order and the choice of rows.

use super::value::{Shown, Value};

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    /// For people.
    pub(super) name: &'static str,
    /// For programs: one word, with the unit.
    pub(super) plain: &'static str,
    pub(super) is_number: bool,
}

pub(super) const fn text(name: &'static str, plain: &'static str) -> Column {
    Column {
        name,
        plain,
        is_number: false,
    }
}

pub(super) const fn number(name: &'static str, plain: &'static str) -> Column {
    Column {
        name,
        plain,
        is_number: true,
    }
}

/// The proxy's name, if there are several.
pub(super) const PROXY: Column = text("Proxy", "Proxy");

/// What a row is about, by its own names: what can be done with it. A name may do anything to a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    /// Nothing can be done.
    None,
    Session {
        listener: String,
        id: u64,
        user: String,
    },
    Backend(String),
    Listener {
        name: String,
        is_pooled: bool,
    },
}

/// A row.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// The place of its proxy.
    pub(super) proxy: usize,
    /// The same for the same thing at another time.
    pub(super) id: String,
    pub(super) values: Vec<Value>,
    pub(super) subject: Subject,
    /// Whether somebody should look at it: it has a mark.
    pub(super) is_alert: bool,
    /// Something that is too long for a column.
    pub(super) note: Option<Shown>,
}

impl Row {
    /// About what has these names; with a value for each column.
    pub(super) fn new(names: &[Option<&str>], values: impl IntoIterator<Item = Value>) -> Self {
        let names = names.iter().map(|name| name.unwrap_or_default());
        Self {
            proxy: 0,
            id: names.collect::<Vec<_>>().join("\0"),
            values: values.into_iter().collect(),
            subject: Subject::None,
            is_alert: false,
            note: None,
        }
    }

    pub(super) fn about(self, subject: Subject) -> Self {
        Self { subject, ..self }
    }

    pub(super) fn alerting(self, is_alert: bool) -> Self {
        Self { is_alert, ..self }
    }

    pub(super) fn noting(self, note: Option<&str>) -> Self {
        let note = note.filter(|note| !note.is_empty()).map(Shown::new);
        Self { note, ..self }
    }
}

/// A table.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) title: &'static str,
    /// One word, for programs.
    pub(super) plain: &'static str,
    /// What is said if there is no row.
    pub(super) none: &'static str,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    /// Whether a proxy has been asked for it, and has answered.
    pub(super) is_answered: bool,
    /// Rows that the filter left out.
    pub(super) hidden: usize,
    /// Why something is missing.
    pub(super) warnings: Vec<Shown>,
}

/// By which column rows are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) column: usize,
    pub(super) is_descending: bool,
}

impl Order {
    /// The direction in which people look first: the largest number, the first name.
    pub(super) fn by(columns: &[Column], column: usize) -> Self {
        let is_descending = columns.get(column).is_some_and(|column| column.is_number);
        Self {
            column,
            is_descending,
        }
    }
}

impl Table {
    /// Without an order rows stay as the proxy lists them.
    pub(super) fn sort(&mut self, order: Option<Order>) {
        let Some(order) = order else { return };
        self.rows.sort_by(|a, b| {
            let (Some(x), Some(y)) = (a.values.get(order.column), b.values.get(order.column))
            else {
                return std::cmp::Ordering::Equal;
            };
            let order = x.compare(y, order.is_descending);
            // Rows that are alike stay where they are from one answer to the next.
            order.then_with(|| (a.proxy, &a.id).cmp(&(b.proxy, &b.id)))
        });
    }

    /// Leaves the rows in which every word of the filter is found, in upper or lower case.
    pub(super) fn filter(&mut self, filter: &str) {
        let filter = filter.to_lowercase();
        let words: Vec<&str> = filter.split_whitespace().collect();
        if words.is_empty() {
            return;
        }
        let before = self.rows.len();
        self.rows.retain(|row| {
            let notes = row.note.iter().map(ToString::to_string);
            let values = row.values.iter().map(Value::shown).chain(notes);
            let text = values.collect::<Vec<_>>().join("\n").to_lowercase();
            words.iter().all(|word| text.contains(word))
        });
        self.hidden = before - self.rows.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let row = |name: &str, count: Option<u64>| {
            Row::new(
                &[Some(name)],
                [Value::text(Some(name)), Value::of(count, Value::Count)],
            )
        };
        Table {
            title: "Things",
            plain: "things",
            none: "There is none.",
            columns: vec![text("Name", "Name"), number("Count", "Count")],
            rows: vec![
                row("Beta", Some(7)),
                row("alpha", None),
                row("gamma ray", Some(1_000)),
                row("Delta", Some(7)),
            ],
            is_answered: true,
            hidden: 0,
            warnings: Vec::new(),
        }
    }

    fn names(table: &Table) -> Vec<String> {
        table.rows.iter().map(|row| row.values[0].shown()).collect()
    }

    #[test]
    fn rows_are_sorted_by_a_column_and_equal_ones_by_their_names() {
        let mut table = table();
        table.sort(None);
        assert_eq!(names(&table), ["Beta", "alpha", "gamma ray", "Delta"]);
        let order = Order::by(&table.columns, 1);
        assert!(order.is_descending);
        table.sort(Some(order));
        assert_eq!(names(&table), ["gamma ray", "Beta", "Delta", "alpha"]);
        table.sort(Some(Order {
            is_descending: false,
            ..order
        }));
        assert_eq!(names(&table), ["Beta", "Delta", "gamma ray", "alpha"]);
        // A column that this table does not have.
        table.sort(Some(Order {
            column: 9,
            is_descending: true,
        }));
        assert_eq!(names(&table).len(), 4);
    }

    #[test]
    fn a_filter_leaves_rows_that_have_all_its_words() {
        for (filter, left) in [
            ("", &["Beta", "alpha", "gamma ray", "Delta"][..]),
            ("  TA ", &["Beta", "Delta"]),
            ("ray 1,000", &["gamma ray"]),
            ("ray 7", &[]),
        ] {
            let mut table = table();
            table.filter(filter);
            assert_eq!(names(&table), left, "{filter}");
            assert_eq!(table.hidden, 4 - left.len());
        }
    }
}
