//! The crate `mysql`, which blocks.

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Row, Value};

use crate::shape::{Fold, Strings, Workload};
use crate::target::Target;

pub(crate) fn run(target: &Target, workload: Workload, iterations: u64) -> u64 {
    let options = OptsBuilder::new()
        .user(Some(&target.user))
        .pass(Some(&target.password))
        .db_name(Some(&target.database))
        .socket(Some(&target.socket));
    let mut conn = Conn::new(options).expect("a connection");
    let mut fold = Fold::default();
    if workload == Workload::Blob {
        for _ in 0..iterations {
            let value: Vec<u8> = conn.query_first(workload.sql()).expect("a row").expect("a value");
            fold.bytes(&value);
        }
        return fold.0;
    }
    let statement = conn.prep(workload.sql()).expect("a statement");
    let strings = Strings::new();
    let params = params(workload, &strings);
    for _ in 0..iterations {
        let rows = conn.exec_iter(&statement, params.clone()).expect("a result");
        for row in rows {
            fold_row(&mut fold, &row.expect("a row"));
        }
        fold.add(1);
    }
    fold.0
}

fn params(workload: Workload, strings: &Strings) -> mysql::Params {
    if workload != Workload::StmtParams {
        return mysql::Params::Empty;
    }
    mysql::Params::Positional(vec![
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
