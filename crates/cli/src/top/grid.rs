//! A result of the admin listener: names of columns, and rows of texts.

use std::time::Instant;

/// The statements of the admin listener that say what runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Show {
    Listeners,
    Servers,
    Pools,
    Traffic,
    Latencies,
    Stats,
    Buffers,
    Clients,
    Digests,
    Pins,
    Rules,
    Users,
}

impl Show {
    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::Listeners => "SHOW LISTENERS",
            Self::Servers => "SHOW SERVERS",
            Self::Pools => "SHOW POOLS",
            Self::Traffic => "SHOW TRAFFIC",
            Self::Latencies => "SHOW LATENCIES",
            Self::Stats => "SHOW STATS",
            Self::Buffers => "SHOW BUFFERS",
            Self::Clients => "SHOW CLIENTS",
            // Those that took most time; a screen of thousands is no help.
            Self::Digests => "SHOW DIGESTS LIMIT 1000",
            Self::Pins => "SHOW PINS",
            Self::Rules => "SHOW RULES",
            Self::Users => "SHOW USERS",
        }
    }
}

/// A result.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    /// When it came.
    pub(super) at: Instant,
    columns: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
    /// There were more rows than are kept.
    pub(super) is_cut: bool,
}

impl Grid {
    pub(super) fn new(at: Instant, columns: Vec<String>) -> Self {
        Self {
            at,
            columns,
            rows: Vec::new(),
            is_cut: false,
        }
    }

    /// One more row, with a value for each column.
    pub(super) fn push(&mut self, row: Vec<Option<String>>) {
        self.rows.push(row);
    }

    pub(super) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.rows.iter().map(|row| Record { grid: self, row })
    }

    /// The first row in which these columns have these values.
    pub(super) fn find(&self, values: &[(&str, &str)]) -> Option<Record<'_>> {
        let is_it = |record: &Record<'_>| {
            let mut values = values.iter();
            values.all(|(column, value)| record.text(column) == Some(value))
        };
        self.records().find(is_it)
    }
}

/// A row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'g> {
    grid: &'g Grid,
    row: &'g [Option<String>],
}

impl<'g> Record<'g> {
    /// The value of a column as it is, which may do anything to a terminal. `None`: NULL, or there is no such column: proxies of
    /// other versions have others.
    pub(super) fn text(&self, column: &str) -> Option<&'g str> {
        let mut columns = self.grid.columns.iter();
        let at = columns.position(|name| name == column)?;
        self.row.get(at)?.as_deref()
    }

    pub(super) fn number(&self, column: &str) -> Option<u64> {
        self.text(column)?.parse().ok()
    }
}
