//! The crate `sqlx`, on tokio's runtime of one thread.

use futures_util::TryStreamExt;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlRow, MySqlSslMode};
use sqlx::{AssertSqlSafe, Connection, Row, ValueRef};

use crate::shape::{Fold, Strings, Workload};
use crate::target::Target;

pub(crate) fn run(target: &Target, workload: Workload, iterations: u64) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(run_async(target, workload, iterations))
}

async fn run_async(target: &Target, workload: Workload, iterations: u64) -> u64 {
    let options = MySqlConnectOptions::new()
        .socket(&target.socket)
        .username(&target.user)
        .password(&target.password)
        .database(&target.database)
        .ssl_mode(MySqlSslMode::Disabled);
    let mut conn = MySqlConnection::connect_with(&options).await.expect("a connection");
    let mut fold = Fold::default();
    let strings = Strings::new();
    for _ in 0..iterations {
        if workload == Workload::Blob {
            let mut rows = sqlx::raw_sql(AssertSqlSafe(workload.sql())).fetch(&mut conn);
            while let Some(row) = rows.try_next().await.expect("a row") {
                fold.bytes(&row.get::<Vec<u8>, _>(0));
            }
            continue;
        }
        let mut query = sqlx::query(workload.sql());
        if workload == Workload::StmtParams {
            query = query
                .bind(64i8)
                .bind(172u8)
                .bind(-129i16)
                .bind(0xfe21u16)
                .bind(42i32)
                .bind(0xfe_8173u32)
                .bind(-1i64)
                .bind(98_302_402u64)
                .bind(&strings.s1)
                .bind(&strings.s2)
                .bind(&strings.b1)
                .bind(&strings.b2)
                .bind(3.14e10f32)
                .bind(7.1e-150f64)
                // Dates need one more crate; text of the same length stands for them.
                .bind("2010-06-20")
                .bind("2020-03-21 10:40:10.123456")
                .bind("126:18:40.123456");
        }
        let mut rows = query.fetch(&mut conn);
        while let Some(row) = rows.try_next().await.expect("a row") {
            fold_row(&mut fold, &row);
        }
        fold.add(1);
    }
    fold.0
}

/// Numbers and byte strings are decoded; dates, which need one more crate, are looked at raw.
fn fold_row(fold: &mut Fold, row: &MySqlRow) {
    use sqlx::{Column, TypeInfo};
    for (index, column) in row.columns().iter().enumerate() {
        match column.type_info().name() {
            "TINYINT" | "SMALLINT" | "INT" | "BIGINT" => fold.add(row.get_unchecked::<i64, _>(index).cast_unsigned()),
            name if name.ends_with("UNSIGNED") => fold.add(row.get_unchecked::<u64, _>(index)),
            "FLOAT" => fold.add(row.get_unchecked::<f32, _>(index).to_bits().into()),
            "DOUBLE" => fold.add(row.get_unchecked::<f64, _>(index).to_bits()),
            "DATE" | "DATETIME" | "TIME" => {
                fold.add(u64::from(row.try_get_raw(index).expect("a value").is_null()));
            }
            "VARCHAR" | "TEXT" => fold.bytes(row.get_unchecked::<&str, _>(index).as_bytes()),
            _ => fold.bytes(row.get_unchecked::<&[u8], _>(index)),
        }
    }
}
