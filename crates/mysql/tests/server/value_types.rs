//! Every type at its smallest, its largest and NULL: the same value from both protocols, borrowed, owned and streamed, and the
//! same on the server when it is sent back as a parameter.

use onecopy_mysql::{
    ColumnType, Date, DateTime, Decimal, FromValue, Param, Statement, Time, Value,
};

use super::Connection;
use crate::common::{lacks, offered, urls};

/// A type and its values: as SQL, and as they are to come. NULL is added to each.
struct Type {
    sql: &'static str,
    /// Values are quoted in SQL.
    is_text: bool,
    values: Vec<(&'static str, Value<'static>)>,
}

#[tokio::test]
async fn integers_come_the_same_in_both_protocols() {
    let int = |sql, values: &[(&'static str, i64)]| {
        bytes(
            sql,
            values.iter().map(|&(sql, value)| (sql, Value::Int(value))),
        )
    };
    let uint = |sql, values: &[(&'static str, u64)]| {
        bytes(
            sql,
            values.iter().map(|&(sql, value)| (sql, Value::UInt(value))),
        )
    };
    check(vec![
        int(
            "TINYINT",
            &[("-128", -128), ("127", 127), ("0", 0), ("-1", -1)],
        ),
        uint("TINYINT UNSIGNED", &[("0", 0), ("255", 255)]),
        int("BOOL", &[("FALSE", 0), ("TRUE", 1)]),
        int("SMALLINT", &[("-32768", -32_768), ("32767", 32_767)]),
        uint("SMALLINT UNSIGNED", &[("0", 0), ("65535", 65_535)]),
        int(
            "MEDIUMINT",
            &[("-8388608", -8_388_608), ("8388607", 8_388_607)],
        ),
        uint("MEDIUMINT UNSIGNED", &[("0", 0), ("16777215", 16_777_215)]),
        int(
            "INT",
            &[
                ("-2147483648", -2_147_483_648),
                ("2147483647", 2_147_483_647),
            ],
        ),
        uint("INT UNSIGNED", &[("0", 0), ("4294967295", 4_294_967_295)]),
        // What ZEROFILL adds is in the text only.
        uint(
            "INT(10) ZEROFILL",
            &[("0", 0), ("42", 42), ("4294967295", 4_294_967_295)],
        ),
        int(
            "BIGINT",
            &[
                ("-9223372036854775808", i64::MIN),
                ("9223372036854775807", i64::MAX),
            ],
        ),
        uint(
            "BIGINT UNSIGNED",
            &[("0", 0), ("18446744073709551615", u64::MAX)],
        ),
        uint("YEAR", &[("0", 0), ("1901", 1901), ("2155", 2155)]),
    ])
    .await;
}

#[tokio::test]
async fn bits_come_the_same_in_both_protocols() {
    let bit = |sql, max: &'static str, value| {
        bytes(
            sql,
            [
                ("0", Value::UInt(0)),
                ("1", Value::UInt(1)),
                (max, Value::UInt(value)),
            ],
        )
    };
    check(vec![
        bit("BIT(1)", "b'1'", 1),
        bit("BIT(7)", "0x7F", 0x7F),
        bit("BIT(8)", "0xFF", 0xFF),
        bit("BIT(9)", "0x1FF", 0x1FF),
        bit("BIT(16)", "0xFFFE", 0xFFFE),
        bit("BIT(33)", "0x1FFFFFFFF", 0x1_FFFF_FFFF),
        bit("BIT(63)", "0x7FFFFFFFFFFFFFFF", u64::MAX >> 1),
        bit("BIT(64)", "0xFFFFFFFFFFFFFFFE", u64::MAX - 1),
    ])
    .await;
}

#[tokio::test]
async fn doubles_come_the_same_in_both_protocols() {
    let double = |sql, values: &[(&'static str, f64)]| {
        bytes(
            sql,
            values
                .iter()
                .map(|&(sql, value)| (sql, Value::Double(value))),
        )
    };
    check(vec![
        double(
            "DOUBLE",
            &[
                ("-1.7976931348623157e308", f64::MIN),
                ("1.7976931348623157e308", f64::MAX),
                ("2.2250738585072014e-308", f64::MIN_POSITIVE),
                ("0", 0.0),
                ("0.1", 0.1),
                ("0.3e0 - 0.1e0", 0.3 - 0.1),
                ("1e15 + 0.3e0", 1e15 + 0.3),
                ("9007199254740993", 9_007_199_254_740_992.0),
                ("-1.2345678901234567e-15", -1.234_567_890_123_456_7e-15),
            ],
        ),
        double(
            "DOUBLE UNSIGNED",
            &[("0", 0.0), ("1.7976931348623157e308", f64::MAX)],
        ),
        double(
            "DOUBLE(20,3)",
            &[("1.5", 1.5), ("-99999999999.125", -99_999_999_999.125)],
        ),
    ])
    .await;
}

/// The server writes a FLOAT as text with six significant digits: what comes by the text protocol is another number, and
/// nobody can restore it. The binary protocol has the number itself.
#[tokio::test]
async fn a_float_is_exact_in_the_binary_protocol_and_rounded_by_the_server_in_text() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    wait!(conn.run("CREATE TEMPORARY TABLE floats (id INT AUTO_INCREMENT PRIMARY KEY, v FLOAT)"))
        .unwrap();
    let exact = [
        f32::MIN,
        f32::MAX,
        f32::MIN_POSITIVE,
        0.0,
        0.1,
        16_777_216.0,
        1.234_567_8,
        0.5,
    ];
    let rounded = [
        -3.40282e38,
        3.40282e38,
        1.17549e-38,
        0.0,
        0.1,
        16_777_200.0,
        1.23457,
        0.5,
    ];
    let insert = wait!(conn.prepare("INSERT INTO floats (v) VALUES (?)")).unwrap();
    for value in exact {
        wait!(
            wait!(conn.execute(&insert, &[value.into()]))
                .unwrap()
                .finish()
        )
        .unwrap();
    }
    assert_eq!(
        column::<f32>(&mut conn, "SELECT v FROM floats ORDER BY id", true).await,
        exact
    );
    assert_eq!(
        column::<f32>(&mut conn, "SELECT v FROM floats ORDER BY id", false).await,
        rounded
    );
    // The way to the exact number by the text protocol.
    let doubles = column::<f64>(&mut conn, "SELECT v + 0e0 FROM floats ORDER BY id", false).await;
    assert_eq!(doubles, exact.map(f64::from));
    let sql = "SELECT CAST(NULL AS FLOAT)";
    for binary in [false, true] {
        assert_eq!(column::<Option<f32>>(&mut conn, sql, binary).await, [None]);
    }
}

#[tokio::test]
async fn decimals_come_the_same_in_both_protocols() {
    let decimal = |sql, values: &[&'static str]| {
        let value = |&text: &&'static str| (text, Value::Decimal(Decimal::try_from(text).unwrap()));
        bytes(sql, values.iter().map(value))
    };
    check(vec![
        decimal(
            "DECIMAL(65,30)",
            &[
                "-99999999999999999999999999999999999.999999999999999999999999999999",
                "99999999999999999999999999999999999.999999999999999999999999999999",
                "0.000000000000000000000000000001",
                "-0.000000000000000000000000000001",
                "0.000000000000000000000000000000",
            ],
        ),
        decimal(
            "DECIMAL(65,0)",
            &[
                "-99999999999999999999999999999999999999999999999999999999999999999",
                "99999999999999999999999999999999999999999999999999999999999999999",
            ],
        ),
        decimal("DECIMAL(1,1)", &["-0.9", "0.9", "0.0"]),
        decimal("DECIMAL(10,2) UNSIGNED", &["0.00", "99999999.99"]),
    ])
    .await;
}

#[tokio::test]
async fn dates_come_the_same_in_both_protocols() {
    let date = |sql: &'static str, year, month, day| (sql, Value::Date(Date { year, month, day }));
    check(vec![bytes(
        "DATE",
        [
            date("'0000-00-00'", 0, 0, 0),
            date("'0001-01-01'", 1, 1, 1),
            date("'1000-01-01'", 1000, 1, 1),
            date("'9999-12-31'", 9999, 12, 31),
            date("'2020-00-00'", 2020, 0, 0),
            date("'2020-02-00'", 2020, 2, 0),
            date("'0000-05-00'", 0, 5, 0),
            date("'2024-02-29'", 2024, 2, 29),
        ],
    )])
    .await;
}

#[tokio::test]
async fn moments_come_the_same_in_both_protocols() {
    let moment = |sql: &'static str| {
        let text = sql.trim_matches('\'').as_bytes();
        (sql, Value::DateTime(DateTime::parse_text(text).unwrap()))
    };
    check(vec![
        bytes(
            "DATETIME(6)",
            [
                "'0000-00-00 00:00:00.000000'",
                "'0000-00-00 00:00:00.000001'",
                "'1000-01-01 00:00:00.000000'",
                "'9999-12-31 23:59:59.999999'",
                "'2020-00-00 12:00:00.000000'",
                "'2024-02-29 01:02:03.000004'",
                "'2024-02-29 00:00:00.000000'",
                "'2024-02-29 00:00:01.000000'",
            ]
            .map(moment),
        ),
        bytes(
            "DATETIME",
            ["'0000-00-00 00:00:00'", "'9999-12-31 23:59:59'"].map(moment),
        ),
        bytes(
            "DATETIME(3)",
            ["'1000-01-01 00:00:00.000'", "'9999-12-31 23:59:59.999'"].map(moment),
        ),
        bytes(
            "TIMESTAMP(6) NULL",
            [
                "'0000-00-00 00:00:00.000000'",
                "'1970-01-01 00:00:01.000000'",
                "'2038-01-19 03:14:07.999999'",
            ]
            .map(moment),
        ),
        bytes(
            "TIMESTAMP NULL",
            ["'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"].map(moment),
        ),
    ])
    .await;
}

#[tokio::test]
async fn times_come_the_same_in_both_protocols() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let time = |sql: &'static str| {
        let text = sql.trim_matches('\'').as_bytes();
        (sql, Value::Time(Time::parse_text(text).unwrap()))
    };
    let (least, most) = if has_last_microsecond(&mut conn).await {
        ("'-838:59:59.999999'", "'838:59:59.999999'")
    } else {
        ("'-838:59:59.000000'", "'838:59:59.000000'")
    };
    check(vec![
        bytes(
            "TIME(6)",
            [
                least,
                most,
                "'00:00:00.000000'",
                "'-00:00:00.000001'",
                "'00:00:00.000001'",
                "'24:00:00.000000'",
                "'-23:59:59.000000'",
                "'100:00:01.000000'",
            ]
            .map(time),
        ),
        bytes(
            "TIME",
            ["'-838:59:59'", "'838:59:59'", "'00:00:00'"].map(time),
        ),
    ])
    .await;
}

#[tokio::test]
async fn text_comes_the_same_in_both_protocols() {
    let mut types = Vec::new();
    for sql in [
        "CHAR(255)",
        "VARCHAR(300)",
        "TINYTEXT",
        "TEXT",
        "MEDIUMTEXT",
        "LONGTEXT",
    ] {
        types.push(text(
            sql,
            &["", "a", "ä€😀", "null", "0123456789 0123456789"],
        ));
    }
    types.push(text("CHAR(0)", &[""]));
    types.push(text(
        "VARCHAR(100) CHARACTER SET latin1",
        &["", "äöüß", "€"],
    ));
    types.push(text("TEXT CHARACTER SET latin1", &["", "Ünï", "x"]));
    types.push(text("VARCHAR(100) CHARACTER SET utf16", &["", "ä€😀"]));
    types.push(text(
        "ENUM('', 'a', 'ß', 'with, comma')",
        &["", "a", "ß", "with, comma"],
    ));
    types.push(text("SET('x', 'y', 'ß')", &["", "x", "x,y,ß"]));
    types.push(text(
        "JSON",
        &["null", "[]", "{\"a\": [1, 2.5, null, \"ß\"]}"],
    ));
    check(types).await;
}

#[tokio::test]
async fn bytes_come_the_same_in_both_protocols() {
    let all = |sql| {
        let values: [(&'static str, &'static [u8]); 3] = [
            ("''", b""),
            ("x'00FF80FEFB'", b"\x00\xFF\x80\xFE\xFB"),
            ("'text'", b"text"),
        ];
        bytes(sql, values.map(|(sql, value)| (sql, Value::Bytes(value))))
    };
    let mut types: Vec<Type> = [
        "VARBINARY(300)",
        "TINYBLOB",
        "BLOB",
        "MEDIUMBLOB",
        "LONGBLOB",
    ]
    .into_iter()
    .map(all)
    .collect();
    types.push(bytes(
        "BINARY(4)",
        [
            ("''", &b"\0\0\0\0"[..]),
            ("x'FFFFFFFF'", b"\xFF\xFF\xFF\xFF"),
            ("'ab'", b"ab\0\0"),
        ]
        .map(|(sql, value)| (sql, Value::Bytes(value))),
    ));
    // Four bytes SRID, then well-known binary: byte order, type, coordinates.
    let point = b"\0\0\0\0\x01\x01\0\0\0\0\0\0\0\0\0\xF0\x3F\0\0\0\0\0\0\0\xC0";
    let line = b"\0\0\0\0\x01\x02\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xF0\x3F\0\0\0\0\0\0\xF0\x3F";
    types.push(bytes(
        "GEOMETRY",
        [
            ("ST_GeomFromText('POINT(1 -2)')", Value::Bytes(point)),
            (
                "ST_GeomFromText('LINESTRING(0 0, 1 1)')",
                Value::Bytes(line),
            ),
        ],
    ));
    types.push(bytes(
        "POINT",
        [("ST_GeomFromText('POINT(1 -2)')", Value::Bytes(point))],
    ));
    check(types).await;
}

#[tokio::test]
async fn mariadbs_own_types_come_the_same_in_both_protocols() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let types = vec![
        text(
            "UUID",
            &[
                "00000000-0000-0000-0000-000000000000",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
                "123e4567-e89b-12d3-a456-426655440000",
            ],
        ),
        text(
            "INET6",
            &[
                "::",
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "2001:db8::1",
                "::ffff:192.0.2.1",
            ],
        ),
        text("INET4", &["0.0.0.0", "255.255.255.255"]),
    ];
    let mut offered_types = Vec::new();
    for ty in types {
        let sql = format!("CREATE TEMPORARY TABLE {} (v {0})", ty.sql);
        if offered(ty.sql, wait!(conn.run(&sql))) {
            offered_types.push(ty);
        }
    }
    check(offered_types).await;
}

#[tokio::test]
async fn vectors_come_the_same_in_both_protocols() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let (mysql, mariadb) = (
        "STRING_TO_VECTOR('[1,2.5,-3]')",
        "VEC_FromText('[1,2.5,-3]')",
    );
    let is_mysqls = wait!(conn.run(format!("DO {mysql}"))).is_ok();
    if !is_mysqls && !offered("VECTOR", wait!(conn.run(format!("DO {mariadb}")))) {
        return;
    }
    let small = if is_mysqls { mysql } else { mariadb };
    // Little-endian: 1, 2.5, -3; the smallest, then as much as MariaDB can take the length of.
    let small_bytes = b"\x00\x00\x80\x3F\x00\x00\x20\x40\x00\x00\x40\xC0";
    let limits = b"\x00\x00\x80\x00\x6B\x0B\x5E\x5D\x6B\x0B\x5E\xDD";
    check(vec![bytes(
        "VECTOR(3)",
        [
            (small, Value::Bytes(small_bytes)),
            ("x'000080006B0B5E5D6B0B5EDD'", Value::Bytes(limits)),
        ],
    )])
    .await;

    // What else there is to know of it: MySQL has a type for it, MariaDB sends a string.
    let mut rows = wait!(conn.query(format!("SELECT {small} AS v"))).unwrap();
    let column_type = rows.columns().unwrap().columns()[0].column_type;
    assert_eq!(
        column_type == ColumnType::VECTOR,
        is_mysqls,
        "{column_type:?}"
    );
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(row.get::<Vec<u8>>("v").unwrap(), small_bytes);
}

#[tokio::test]
async fn json_is_text_whatever_its_type_is_called() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    wait!(conn.run("CREATE TEMPORARY TABLE documents (v JSON)")).unwrap();
    let insert = wait!(conn.prepare("INSERT INTO documents VALUES (?)")).unwrap();
    let large = format!("[\"{}\"]", "ß".repeat(100_000));
    for text in ["{\"a\": \"ß\"}", "18446744073709551615", "\"😀\"", &large] {
        wait!(
            wait!(conn.execute(&insert, &[text.into()]))
                .unwrap()
                .finish()
        )
        .unwrap();
        let sql = "SELECT v FROM documents";
        let select = wait!(conn.prepare(sql)).unwrap();
        for binary in [false, true] {
            let mut rows = start(&mut conn, sql, &select, binary).await;
            let column_type = rows.columns().unwrap().columns()[0].column_type;
            if column_type != ColumnType::JSON {
                // MariaDB's JSON is a name for LONGTEXT.
                lacks("type JSON", &format!("it is told as {column_type}"));
            }
            let row = wait!(rows.next()).unwrap().unwrap();
            assert_eq!(row.get::<&str>("v").unwrap(), text, "binary {binary}");
            wait!(rows.finish()).unwrap();
        }
        wait!(conn.run("DELETE FROM documents")).unwrap();
    }
}

#[tokio::test]
async fn parameters_without_a_column_come_back_as_they_are() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let statement = wait!(conn.prepare("SELECT ?, ?, ?, ?, ?, ?, ?, ?")).unwrap();
    let date = Date {
        year: 2024,
        month: 2,
        day: 29,
    };
    let time: &[u8] = if has_last_microsecond(&mut conn).await {
        b"-838:59:59.999999"
    } else {
        b"-838:59:59.000000"
    };
    let time = Time::parse_text(time).unwrap();
    let params = onecopy_mysql::params![
        i64::MIN,
        u64::MAX,
        f64::MAX,
        "ß",
        &b"\xFF\0"[..],
        date,
        time,
        None::<i8>
    ];
    let mut rows = wait!(conn.execute(&statement, &params)).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(row.get::<i64>(0).unwrap(), i64::MIN);
    assert_eq!(row.get::<u64>(1).unwrap(), u64::MAX);
    assert_eq!(row.get::<f64>(2).unwrap(), f64::MAX);
    assert_eq!(row.get::<&str>(3).unwrap(), "ß");
    assert_eq!(row.get::<&[u8]>(4).unwrap(), b"\xFF\0");
    assert_eq!(row.get::<Date>(5).unwrap(), date);
    assert_eq!(row.get::<Time>(6).unwrap(), time);
    assert_eq!(row.value(7).unwrap(), Value::Null);
}

#[tokio::test]
async fn a_value_that_does_not_fit_is_an_error_and_the_row_goes_on() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let mut rows =
        wait!(conn.query("SELECT 300 AS n, NULL AS none, x'FF' AS b, 2.5 AS d")).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    let message = |error: onecopy_mysql::Error| error.to_string();
    assert_eq!(
        message(row.get::<u8>("n").unwrap_err()),
        "column 0 (n): the int does not fit u8 without loss: ask for i64 or i128"
    );
    assert_eq!(
        message(row.get::<i32>("none").unwrap_err()),
        "column 1 (none): asked for i32, found null: ask for Option<i32>"
    );
    assert_eq!(
        message(row.get::<&str>("b").unwrap_err()),
        "column 2 (b): asked for &str, found bytes that are not utf-8 at byte 0: ask for &[u8] or Vec<u8>"
    );
    assert!(row.get::<i32>("d").is_err());
    assert_eq!(
        message(row.get::<i32>("x").unwrap_err()),
        "the row has no column \"x\""
    );
    assert_eq!(
        message(row.get::<i32>(4).unwrap_err()),
        "the row has no column 4"
    );
    assert_eq!(row.get::<i32>("n").unwrap(), 300);
}

/// MySQL's times end with the whole second.
async fn has_last_microsecond(conn: &mut Connection) -> bool {
    let last = "838:59:59.999999";
    let sql = format!("SELECT CAST('{last}' AS TIME(6))");
    let most: Time = column(conn, &sql, false).await[0];
    let has = most == Time::parse_text(last.as_bytes()).unwrap();
    if !has {
        lacks(
            "TIME up to 838:59:59.999999",
            &format!("{last} becomes {most}"),
        );
    }
    has
}

fn bytes(
    sql: &'static str,
    values: impl IntoIterator<Item = (&'static str, Value<'static>)>,
) -> Type {
    Type {
        sql,
        is_text: false,
        values: values.into_iter().collect(),
    }
}

/// Values without quotes, which are added here.
fn text(sql: &'static str, values: &[&'static str]) -> Type {
    let value = |text: &&'static str| (*text, Value::from(*text));
    Type {
        sql,
        is_text: true,
        values: values.iter().map(value).collect(),
    }
}

async fn check(types: Vec<Type>) {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        wait!(conn.run("SET sql_mode = '', time_zone = '+00:00'")).unwrap();
        for (number, ty) in types.iter().enumerate() {
            check_type(&mut conn, ty, number).await;
        }
    }
}

async fn check_type(conn: &mut Connection, ty: &Type, number: usize) {
    let (from, to) = (format!("from_{number}"), format!("to_{number}"));
    for table in [&from, &to] {
        let sql = format!(
            "CREATE TEMPORARY TABLE {table} (id INT AUTO_INCREMENT PRIMARY KEY, v {})",
            ty.sql
        );
        wait!(conn.run(&sql)).unwrap();
    }
    for (value, _) in &ty.values {
        let value = if ty.is_text {
            format!("'{value}'")
        } else {
            (*value).to_owned()
        };
        let done = wait!(conn.run(format!("INSERT INTO {from} (v) VALUES ({value})"))).unwrap();
        assert_eq!(done.warnings, 0, "{} {value}", ty.sql);
    }
    wait!(conn.run(format!("INSERT INTO {from} (v) VALUES (NULL)"))).unwrap();
    let mut expected: Vec<Value<'_>> = ty.values.iter().map(|(_, value)| *value).collect();
    expected.push(Value::Null);

    check_column(conn, ty.sql, &from, &expected).await;
    let insert = wait!(conn.prepare(format!("INSERT INTO {to} (v) VALUES (?)"))).unwrap();
    for value in &expected {
        send(conn, &insert, ty, *value).await;
    }
    check_column(conn, ty.sql, &to, &expected).await;
    let same =
        format!("SELECT COUNT(*) FROM {from} JOIN {to} USING (id) WHERE {from}.v <=> {to}.v");
    assert_eq!(
        column::<i64>(conn, &same, false).await,
        [expected.len() as i64],
        "{}",
        ty.sql
    );
}

async fn send(conn: &mut Connection, insert: &Statement, ty: &Type, value: Value<'_>) {
    let params = [Param::from(value)];
    let done = wait!(wait!(conn.execute(insert, &params)).unwrap().finish()).unwrap();
    assert_eq!(done.warnings, 0, "{} {value:?}", ty.sql);
}

async fn check_column(conn: &mut Connection, ty: &str, table: &str, expected: &[Value<'_>]) {
    let sql = format!("SELECT id, v FROM {table} ORDER BY id");
    let statement = wait!(conn.prepare(&sql)).unwrap();
    for binary in [false, true] {
        let mut rows = start(conn, &sql, &statement, binary).await;
        for expected in expected {
            let row = wait!(rows.next()).unwrap().unwrap();
            assert_eq!(
                row.value("v").unwrap(),
                *expected,
                "{ty}, borrowed, binary {binary}"
            );
        }
        wait!(rows.finish()).unwrap();

        let mut rows = start(conn, &sql, &statement, binary).await;
        for (row, expected) in wait!(rows.collect_owned()).unwrap().iter().zip(expected) {
            assert_eq!(
                row.value("v").unwrap(),
                *expected,
                "{ty}, owned, binary {binary}"
            );
        }
        wait!(rows.finish()).unwrap();

        let mut rows = start(conn, &sql, &statement, binary).await;
        for expected in expected {
            let mut row = wait!(rows.next_streaming()).unwrap().unwrap();
            wait!(row.next_column()).unwrap().unwrap();
            let mut column = wait!(row.next_column()).unwrap().unwrap();
            let value = wait!(column.get::<Value<'_>>()).unwrap();
            assert_eq!(value, *expected, "{ty}, streamed, binary {binary}");
        }
        wait!(rows.finish()).unwrap();
    }
    wait!(conn.close_statement(statement)).unwrap();
}

async fn start<'c>(
    conn: &'c mut Connection,
    sql: &str,
    statement: &Statement,
    binary: bool,
) -> face!(Rows<'c>) {
    if binary {
        wait!(conn.execute(statement, &[])).unwrap()
    } else {
        wait!(conn.query(sql)).unwrap()
    }
}

/// The first column of every row.
async fn column<T: for<'v> FromValue<'v>>(
    conn: &mut Connection,
    sql: &str,
    binary: bool,
) -> Vec<T> {
    let statement = wait!(conn.prepare(sql)).unwrap();
    let mut rows = start(conn, sql, &statement, binary).await;
    let mut values = Vec::new();
    while let Some(row) = wait!(rows.next()).unwrap() {
        values.push(row.get(0).unwrap());
    }
    wait!(rows.finish()).unwrap();
    values
}
