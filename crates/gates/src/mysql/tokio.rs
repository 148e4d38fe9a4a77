//! The same over tokio.

use ::tokio::runtime::Runtime;
use onecopy_mysql::Statement;
use onecopy_mysql::aio::{Connection, Stream};

use super::parameters::Values;
use super::{Case, SQL, config, look_at};
use crate::workload::{Body, runtime};

pub(crate) struct Tokio {
    runtime: Runtime,
    conn: Connection,
    case: Case,
    statement: Statement,
    values: Values,
}

impl Tokio {
    /// Of a case that is prepared.
    pub(crate) fn new(case: Case) -> Self {
        let runtime = runtime();
        let (conn, statement) = runtime.block_on(async {
            let stream = Stream::own(case.peer());
            let mut conn = Connection::from_stream(&config(), stream)
                .await
                .expect("a login");
            let statement = conn.prepare(SQL).await.expect("a statement");
            (conn, statement)
        });
        Self {
            runtime,
            conn,
            case,
            statement,
            values: Values::new(),
        }
    }
}

impl Body for Tokio {
    fn run(&mut self, iterations: u64) {
        let Self {
            runtime,
            conn,
            case,
            statement,
            values,
        } = self;
        runtime.block_on(async {
            for _ in 0..iterations {
                let all;
                let params = if *case == Case::Parameters {
                    all = values.params();
                    &all[..]
                } else {
                    &[]
                };
                let mut rows = conn.execute(statement, params).await.expect("a result");
                let mut seen = 0;
                while let Some(row) = rows.next().await.expect("a row") {
                    look_at(row);
                    seen += 1;
                }
                assert_eq!(seen, case.rows());
            }
        });
    }

    fn metered(&self) -> Option<u64> {
        Some(self.conn.meter().copied())
    }
}
