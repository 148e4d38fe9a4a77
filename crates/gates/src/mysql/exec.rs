//! A text whose statement is in the cache.

use onecopy_mysql::blocking::{Connection, Stream};

use super::{Case, SQL, config, look_at};
use crate::workload::Body;

/// The small row by `exec`. Apart from executions: another caller of what they inline would change their counts.
pub(crate) struct Exec {
    conn: Connection,
}

impl Exec {
    pub(crate) fn new() -> Self {
        let mut config = config();
        // The recorded server answers a prepare before it hears more.
        config.pipelining = false;
        let stream = Stream::own(Case::SmallRow.peer());
        let conn = Connection::from_stream(&config, stream).expect("a login");
        Self { conn }
    }
}

impl Body for Exec {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            let mut rows = self.conn.exec(SQL, &[]).expect("a result");
            let mut seen = 0;
            while let Some(row) = rows.next().expect("a row") {
                look_at(row);
                seen += 1;
            }
            assert_eq!(seen, Case::SmallRow.rows());
        }
    }

    fn metered(&self) -> Option<u64> {
        Some(self.conn.meter().copied())
    }
}
