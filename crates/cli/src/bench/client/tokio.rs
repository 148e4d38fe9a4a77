//! The workloads through the tokio API, on a runtime of one thread.

use onecopy_mysql::aio::Connection;
use onecopy_mysql::{Config, Statement};
use tokio::io::AsyncBufReadExt;
use tokio::runtime::Builder;

use super::{Job, Outcome, Stretch, WARM_UP, same};
use crate::bench::failure::Failure;
use crate::bench::fold::{Fold, Pieces};
use crate::bench::workload::Workload;

pub(super) fn run(config: &Config, job: &Job<'_>) -> Result<Outcome, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // The runtime moves the future's output around at every wake-up: a pointer instead of the whole outcome.
    *runtime.block_on(async { Box::new(iterate(config, job).await) })
}

async fn iterate(config: &Config, job: &Job<'_>) -> Result<Outcome, Failure> {
    let mut conn = Connection::connect_with(config).await?;
    let statement = match job.workload.is_prepared() {
        true => Some(conn.prepare(&job.sql).await?),
        false => None,
    };
    let mut value = Vec::new();
    let mut expected = 0;
    for _ in 0..WARM_UP {
        expected = once(&mut conn, job, statement.as_ref(), &mut value).await?;
    }
    let mut progress = job.progress();
    let stretch = Stretch::start(conn.server_version(), conn.meter());
    for _ in 0..job.iterations {
        same(
            once(&mut conn, job, statement.as_ref(), &mut value).await?,
            expected,
        )?;
        progress.add(1);
    }
    let outcome = stretch.end(job.iterations, conn.meter(), Some(expected));
    conn.close().await?;
    Ok(outcome)
}

/// One iteration; gives its sum.
async fn once(
    conn: &mut Connection,
    job: &Job<'_>,
    statement: Option<&Statement>,
    value: &mut Vec<u8>,
) -> Result<u64, Failure> {
    let mut fold = Fold::default();
    match (statement, job.workload) {
        (Some(statement), _) => borrowed_rows(conn, statement, job, &mut fold).await?,
        (None, Workload::BlobReuse) => reused_value(conn, &job.sql, value, &mut fold).await?,
        (None, Workload::BlobStream) => streamed_value(conn, &job.sql, &mut fold).await?,
        (None, _) => fresh_value(conn, &job.sql, &mut fold).await?,
    }
    Ok(fold.sum())
}

async fn borrowed_rows(
    conn: &mut Connection,
    statement: &Statement,
    job: &Job<'_>,
    fold: &mut Fold,
) -> Result<(), Failure> {
    let mut rows = conn.execute(statement, job.params).await?;
    while let Some(row) = rows.next().await? {
        fold.row(row)?;
    }
    fold.end();
    Ok(())
}

async fn fresh_value(conn: &mut Connection, sql: &str, fold: &mut Fold) -> Result<(), Failure> {
    let mut rows = conn.query(sql).await?;
    while rows.next().await?.is_some() {
        let value = rows.take(0)?.unwrap_or_default();
        fold.bytes(&value);
    }
    Ok(())
}

async fn reused_value(
    conn: &mut Connection,
    sql: &str,
    value: &mut Vec<u8>,
    fold: &mut Fold,
) -> Result<(), Failure> {
    let mut rows = conn.query(sql).await?;
    while rows.next_into(0, value).await?.is_some() {
        fold.bytes(value);
    }
    Ok(())
}

async fn streamed_value(conn: &mut Connection, sql: &str, fold: &mut Fold) -> Result<(), Failure> {
    let mut rows = conn.query(sql).await?;
    while let Some(mut row) = rows.next_streaming().await? {
        while let Some(mut column) = row.next_column().await? {
            let mut pieces = Pieces::new(column.len().unwrap_or(0));
            loop {
                let piece = column.fill_buf().await?;
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
