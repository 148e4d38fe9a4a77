//! The workloads through the blocking API.

use std::io::BufRead;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, Error, Statement};

use super::{Job, Outcome, Stretch, WARM_UP, same};
use crate::bench::failure::Failure;
use crate::bench::fold::{Fold, Pieces};
use crate::bench::workload::Workload;

pub(super) fn run(config: &Config, job: &Job<'_>) -> Result<Outcome, Failure> {
    let mut runner = Runner::connect(config, job)?;
    let mut expected = 0;
    for _ in 0..WARM_UP {
        expected = runner.once()?;
    }
    let mut progress = job.progress();
    let stretch = Stretch::start(runner.conn.server_version(), runner.conn.meter());
    for _ in 0..job.iterations {
        same(runner.once()?, expected)?;
        progress.add(1);
    }
    let outcome = stretch.end(job.iterations, runner.conn.meter(), Some(expected));
    runner.conn.close()?;
    Ok(outcome)
}

struct Runner<'j> {
    conn: Connection,
    job: &'j Job<'j>,
    statement: Option<Statement>,
    /// The value of `blob-reuse`.
    value: Vec<u8>,
}

impl<'j> Runner<'j> {
    fn connect(config: &Config, job: &'j Job<'j>) -> Result<Self, Error> {
        let mut conn = Connection::connect_with(config)?;
        let statement = prepare(&mut conn, job)?;
        Ok(Self {
            conn,
            job,
            statement,
            value: Vec::new(),
        })
    }

    #[inline]
    fn once(&mut self) -> Result<u64, Failure> {
        once(
            &mut self.conn,
            self.job,
            self.statement.as_ref(),
            &mut self.value,
        )
    }
}

/// The job's statement, where it is prepared.
pub(crate) fn prepare(conn: &mut Connection, job: &Job<'_>) -> Result<Option<Statement>, Error> {
    job.workload
        .is_prepared()
        .then(|| conn.prepare(&job.sql))
        .transpose()
}

/// One iteration; gives its sum.
#[inline]
pub(crate) fn once(
    conn: &mut Connection,
    job: &Job<'_>,
    statement: Option<&Statement>,
    value: &mut Vec<u8>,
) -> Result<u64, Failure> {
    let mut fold = Fold::default();
    match (statement, job.workload) {
        (Some(statement), _) => borrowed_rows(conn, statement, job, &mut fold)?,
        (None, Workload::BlobReuse) => reused_value(conn, &job.sql, value, &mut fold)?,
        (None, Workload::BlobStream) => streamed_value(conn, &job.sql, &mut fold)?,
        (None, _) => fresh_value(conn, &job.sql, &mut fold)?,
    }
    Ok(fold.sum())
}

#[inline]
fn borrowed_rows(
    conn: &mut Connection,
    statement: &Statement,
    job: &Job<'_>,
    fold: &mut Fold,
) -> Result<(), Failure> {
    let mut rows = conn.execute(statement, job.params)?;
    while let Some(row) = rows.next()? {
        fold.row(row)?;
    }
    fold.end();
    Ok(())
}

fn fresh_value(conn: &mut Connection, sql: &str, fold: &mut Fold) -> Result<(), Failure> {
    let mut rows = conn.query(sql)?;
    while rows.next()?.is_some() {
        let value = rows.take(0)?.unwrap_or_default();
        fold.bytes(&value);
    }
    Ok(())
}

fn reused_value(
    conn: &mut Connection,
    sql: &str,
    value: &mut Vec<u8>,
    fold: &mut Fold,
) -> Result<(), Failure> {
    let mut rows = conn.query(sql)?;
    while rows.next_into(0, value)?.is_some() {
        fold.bytes(value);
    }
    Ok(())
}

fn streamed_value(conn: &mut Connection, sql: &str, fold: &mut Fold) -> Result<(), Failure> {
    let mut rows = conn.query(sql)?;
    while let Some(mut row) = rows.next_streaming()? {
        while let Some(mut column) = row.next_column()? {
            let mut pieces = Pieces::new(column.len().unwrap_or(0));
            loop {
                let piece = column.fill_buf()?;
                if piece.is_empty() {
                    break;
                }
                pieces.pass(piece);
                let passed = piece.len();
                column.consume(passed);
            }
            fold.pieces(&pieces);
        }
    }
    Ok(())
}
