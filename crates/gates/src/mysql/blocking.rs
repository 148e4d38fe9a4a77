//! `onecopy_mysql::blocking`.

use std::hint::black_box;
use std::io::BufRead;

use onecopy_mysql::Statement;
use onecopy_mysql::blocking::{Connection, Stream};

use super::parameters::Values;
use super::{BLOB_BYTES, Blob, Case, SQL, Small, config, convert, look_at};
use crate::workload::Body;

pub(crate) struct Blocking {
    conn: Connection,
    case: Case,
    statement: Option<Statement>,
    values: Values,
    reused: Vec<u8>,
}

impl Blocking {
    pub(crate) fn new(case: Case) -> Self {
        let stream = Stream::own(case.peer());
        let mut conn = Connection::from_stream(&config(), stream).expect("a login");
        let prepare = || conn.prepare(SQL).expect("a statement");
        let statement = case.is_prepared().then(prepare);
        Self {
            conn,
            case,
            statement,
            values: Values::new(),
            reused: Vec::new(),
        }
    }

    #[inline]
    fn execute(&mut self) {
        let all;
        let params = if self.case == Case::Parameters {
            all = self.values.params();
            &all[..]
        } else {
            &[]
        };
        let statement = self.statement.as_ref().expect("it is prepared");
        let mut rows = self.conn.execute(statement, params).expect("a result");
        let mut seen = 0;
        if matches!(self.case, Case::DerivedRow | Case::DerivedRows) {
            while let Some(row) = rows.next_as::<Small<'_>>().expect("a row") {
                black_box(&row);
                seen += 1;
            }
        }
        while let Some(row) = rows.next().expect("a row") {
            if matches!(self.case, Case::TypedRow | Case::TypedRows) {
                convert(row);
            } else {
                look_at(row);
            }
            seen += 1;
        }
        assert_eq!(seen, self.case.rows());
    }

    fn blob(&mut self, how: Blob) {
        let mut rows = self.conn.query(SQL).expect("a result");
        let length = match how {
            Blob::Owned => {
                rows.next().expect("a row");
                let value = rows.take(0).expect("a value");
                black_box(value).map_or(0, |value| value.len())
            }
            Blob::Reused => {
                rows.next_into(0, &mut self.reused).expect("a row");
                black_box(&self.reused).len()
            }
            Blob::Streamed => {
                let mut row = rows.next_streaming().expect("rows").expect("a row");
                let mut column = row.next_column().expect("columns").expect("a column");
                let mut length = 0;
                while let piece @ [_, ..] = column.fill_buf().expect("a piece") {
                    let n = black_box(piece).len();
                    column.consume(n);
                    length += n;
                }
                length
            }
        };
        assert_eq!(length, BLOB_BYTES);
    }
}

impl Body for Blocking {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            match self.case {
                Case::Blob(how) => self.blob(how),
                Case::Ok => {
                    self.conn.run("DO 1").expect("OK");
                }
                _ => self.execute(),
            }
        }
    }

    fn metered(&self) -> Option<u64> {
        Some(self.conn.meter().copied())
    }
}
