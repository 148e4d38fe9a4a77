//! The crate `mysql_async`, on a runtime of one thread.

use futures_util::TryStreamExt;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Params, Row, Value};

use crate::shape::{Fold, Strings, Workload};
use crate::target::Target;

pub(crate) fn run(target: &Target, workload: Workload, iterations: u64) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(run_async(target, workload, iterations))
}

async fn run_async(target: &Target, workload: Workload, iterations: u64) -> u64 {
    let options = OptsBuilder::default()
        .ip_or_hostname("localhost")
        .user(Some(&target.user))
        .pass(Some(&target.password))
        .db_name(Some(&target.database))
        .socket(Some(&target.socket));
    let mut conn = Conn::new(options).await.expect("a connection");
    let mut fold = Fold::default();
    if workload == Workload::Blob {
        for _ in 0..iterations {
            let value: Vec<u8> = conn.query_first(workload.sql()).await.expect("a row").expect("a value");
            fold.bytes(&value);
        }
        return fold.0;
    }
    let statement = conn.prep(workload.sql()).await.expect("a statement");
    let strings = Strings::new();
    let params = params(workload, &strings);
    for _ in 0..iterations {
        let mut rows = conn.exec_stream::<Row, _, _>(&statement, params.clone()).await.expect("a result");
        while let Some(row) = rows.try_next().await.expect("a row") {
            fold_row(&mut fold, &row);
        }
        fold.add(1);
    }
    fold.0
}

fn params(workload: Workload, strings: &Strings) -> Params {
    if workload != Workload::StmtParams {
        return Params::Empty;
    }
    Params::Positional(vec![
        64i8.into(),
        172u8.into(),
        (-129i16).into(),
        0xfe21u16.into(),
        42i32.into(),
        0xfe_8173u32.into(),
        (-1i64).into(),
        98_302_402u64.into(),
        strings.s1.as_bytes().into(),
        strings.s2.as_bytes().into(),
        strings.b1.as_slice().into(),
        strings.b2.as_slice().into(),
        3.14e10f32.into(),
        7.1e-150f64.into(),
        Value::Date(2010, 6, 20, 0, 0, 0, 0),
        Value::Date(2020, 3, 21, 10, 40, 10, 123_456),
        Value::Time(false, 5, 6, 18, 40, 123_456),
    ])
}

fn fold_row(fold: &mut Fold, row: &Row) {
    for index in 0..row.len() {
        match row.as_ref(index).expect("a value") {
            Value::NULL => fold.add(0),
            Value::Bytes(bytes) => fold.bytes(bytes),
            Value::Int(number) => fold.add(number.cast_unsigned()),
            Value::UInt(number) => fold.add(*number),
            Value::Float(number) => fold.add(number.to_bits().into()),
            Value::Double(number) => fold.add(number.to_bits()),
            Value::Date(year, month, day, ..) => fold.add(u64::from(*year) << 16 | u64::from(*month) << 8 | u64::from(*day)),
            Value::Time(_, days, hours, ..) => fold.add(u64::from(*days) << 8 | u64::from(*hours)),
        }
    }
}
