//! Rows as structs and tuples, from both protocols.

use std::fmt;

use onecopy_mysql::{Decimal, Error, FromRow, FromValue, FromValueError, Param, ToParam, params};

use super::Connection;
use crate::common::urls;

#[derive(Debug, PartialEq, FromRow)]
struct Product<'r> {
    id: u64,
    name: &'r str,
    #[onecopy(rename = "Price (EUR)")]
    price: Option<Decimal<'r>>,
    photo: &'r [u8],
}

const PRODUCTS: &str = "SELECT 'x' AS ignored, CAST('jpeg' AS BINARY) AS photo, 'cup' AS NAME, 7 AS id, 1.50 AS `price (eur)` \
                        UNION ALL SELECT 'y', CAST('png' AS BINARY), 'plate', 8, NULL";

#[tokio::test]
async fn columns_are_found_by_name_and_fields_borrow_from_the_row_in_both_protocols() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let statement = wait!(conn.prepare(PRODUCTS)).unwrap();
        for is_binary in [false, true, true] {
            let mut rows = match is_binary {
                true => wait!(conn.execute(&statement, &[])).unwrap(),
                false => wait!(conn.query(PRODUCTS)).unwrap(),
            };
            let cup = wait!(rows.next_as::<Product<'_>>()).unwrap().unwrap();
            assert_eq!((cup.id, cup.name, cup.photo), (7, "cup", &b"jpeg"[..]));
            assert_eq!(cup.price.unwrap().as_str(), "1.50");
            let plate = wait!(rows.next_as::<Product<'_>>()).unwrap().unwrap();
            assert_eq!((plate.name, plate.price), ("plate", None));
            assert_eq!(wait!(rows.next_as::<Product<'_>>()).unwrap(), None);
            wait!(rows.finish()).unwrap();
        }
    }
}

#[derive(Debug, PartialEq, FromRow)]
struct Pair<A, B>(A, B);

#[tokio::test]
async fn tuples_and_tuple_structs_are_read_by_position() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let sql = "SELECT 1, 'one' UNION ALL SELECT 2, NULL ORDER BY 1";
    let tuples: Vec<(u8, Option<String>)> = wait!(conn.query_as(sql)).unwrap();
    assert_eq!(tuples, [(1, Some("one".to_owned())), (2, None)]);
    let pairs = wait!(conn.query_as::<Pair<i64, Option<String>>>(sql)).unwrap();
    assert_eq!(pairs, [Pair(1, Some("one".to_owned())), Pair(2, None)]);
    let all = "SELECT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17";
    type Sixteen = (
        u8,
        u8,
        u8,
        u8,
        u8,
        u8,
        u8,
        u8,
        u8,
        u8,
        u8,
        u8,
        u8,
        u8,
        u8,
        u8,
    );
    let first: Sixteen = wait!(conn.query_one(all)).unwrap();
    assert_eq!((first.0, first.15), (1, 16));
    let error = wait!(conn.query_as::<(u8, String, u8)>(sql)).unwrap_err();
    assert_eq!(error.to_string(), "the row has no column 2: it has 2");
}

#[tokio::test]
async fn one_row_is_asked_for_and_a_missing_or_a_second_one_is_an_error_that_leaves_the_connection_open()
 {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let statement =
        wait!(conn.prepare("SELECT 7 FROM (SELECT 1 AS one) AS t WHERE one <= ?")).unwrap();
    let one = params![1];
    let none = params![0];
    assert_eq!(
        wait!(conn.execute_scalar::<u8>(&statement, &one)).unwrap(),
        7
    );
    assert_eq!(
        wait!(conn.execute_one::<(u8,)>(&statement, &one)).unwrap(),
        (7,)
    );
    assert_eq!(
        wait!(conn.execute_as::<(u8,)>(&statement, &one)).unwrap(),
        [(7,)]
    );
    assert_eq!(
        wait!(conn.execute_opt::<(u8,)>(&statement, &none)).unwrap(),
        None
    );
    let error = wait!(conn.execute_one::<(u8,)>(&statement, &none)).unwrap_err();
    assert!(error.is_no_row() && !error.is_closed(), "{error}");
    let sql = "SELECT 7 FROM (SELECT 1 AS one) AS t WHERE one <= ?";
    assert_eq!(wait!(conn.exec_scalar::<u8>(sql, &one)).unwrap(), 7);
    assert_eq!(wait!(conn.exec_one::<(u8,)>(sql, &one)).unwrap(), (7,));
    assert_eq!(wait!(conn.exec_as::<(u8,)>(sql, &one)).unwrap(), [(7,)]);
    assert_eq!(wait!(conn.exec_opt::<(u8,)>(sql, &none)).unwrap(), None);
    let error = wait!(conn.query_one::<(u8,)>("DO 1")).unwrap_err();
    assert!(error.is_no_row(), "{error}");
    let two = "SELECT seq FROM seq_1_to_100";
    let error = wait!(conn.query_opt::<(u8,)>(two)).unwrap_err();
    assert!(error.to_string().contains("more than one row"), "{error}");
    assert_eq!(
        wait!(conn.query_scalar::<Option<u8>>("SELECT NULL")).unwrap(),
        None
    );
    assert_eq!(
        wait!(conn.query_scalar::<u8>(format!("{two} LIMIT 1"))).unwrap(),
        1
    );
}

#[derive(Debug, PartialEq, FromRow)]
#[onecopy(rename_all = "camelCase")]
struct Order {
    order_id: u32,
    #[onecopy(flatten, prefix = "buyer_")]
    buyer: Customer,
    #[onecopy(flatten, prefix = "payer_")]
    payer: Option<Customer>,
    #[onecopy(default)]
    note_text: Option<String>,
    #[onecopy(skip)]
    seen: bool,
}

#[derive(Debug, PartialEq, FromRow)]
struct Customer {
    id: u32,
    name: String,
}

#[tokio::test]
async fn a_nested_type_has_columns_of_its_own_and_is_none_where_all_of_them_are_null() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let sql = "SELECT 1 AS orderId, 2 AS buyer_id, 'Ada' AS buyer_name, NULL AS payer_id, CAST(NULL AS CHAR) AS payer_name \
               UNION ALL SELECT 3, 4, 'Bob', 5, 'Eve'";
    let customer = |id, name: &str| Customer {
        id,
        name: name.to_owned(),
    };
    let order = |order_id, buyer, payer| Order {
        order_id,
        buyer,
        payer,
        note_text: None,
        seen: false,
    };
    assert_eq!(
        wait!(conn.query_as::<Order>(sql)).unwrap(),
        [
            order(1, customer(2, "Ada"), None),
            order(3, customer(4, "Bob"), Some(customer(5, "Eve"))),
        ]
    );
    // A part of it that is NULL is an error, of the row and the column.
    let sql = "SELECT 1 AS orderId, 2 AS buyer_id, 'Ada' AS buyer_name, 6 AS payer_id, CAST(NULL AS CHAR) AS payer_name, \
               'fragile' AS NOTETEXT";
    let error = wait!(conn.query_as::<Order>(sql)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "row 1, column 4 (payer_name, VARCHAR): asked for String, found null: ask for Option<String>"
    );
    let missing = wait!(conn.query_as::<Order>("SELECT 1 AS orderId, 2 AS buyer_id")).unwrap_err();
    assert_eq!(
        missing.to_string(),
        r#"the row has no column "buyer_name"; it has orderId, buyer_id"#
    );
}

#[derive(Debug, PartialEq)]
struct Even(u8);

#[derive(Debug)]
struct Odd(u8);

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is odd", self.0)
    }
}

impl std::error::Error for Odd {}

impl TryFrom<u8> for Even {
    type Error = Odd;

    fn try_from(number: u8) -> Result<Self, Odd> {
        if number.is_multiple_of(2) {
            Ok(Self(number))
        } else {
            Err(Odd(number))
        }
    }
}

#[derive(Debug, PartialEq, FromRow)]
struct Converted {
    #[onecopy(try_from = "u8")]
    even: Even,
    #[onecopy(try_from = "u8")]
    maybe: Option<Even>,
}

#[tokio::test]
async fn a_conversion_of_the_callers_names_row_and_column_where_it_fails() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let sql = "SELECT 2 AS even, NULL AS maybe UNION ALL SELECT 4, 6";
    let rows = wait!(conn.query_as::<Converted>(sql)).unwrap();
    assert_eq!(
        rows[0],
        Converted {
            even: Even(2),
            maybe: None
        }
    );
    assert_eq!(
        rows[1],
        Converted {
            even: Even(4),
            maybe: Some(Even(6))
        }
    );
    let error =
        wait!(conn.query_as::<Converted>("SELECT 2 AS even, 2 AS maybe UNION ALL SELECT 3, 4"))
            .unwrap_err();
    assert!(
        error.to_string().starts_with("row 2, column 0 (even, "),
        "{error}"
    );
    assert!(error.to_string().ends_with(": 3 is odd"), "{error}");
    assert!(
        std::error::Error::source(&error)
            .unwrap()
            .downcast_ref::<Odd>()
            .is_some()
    );
}

#[derive(Debug, FromRow)]
#[allow(dead_code)]
struct Typed {
    id: i64,
    name: i64,
}

#[tokio::test]
async fn a_column_of_the_wrong_type_is_an_error_before_the_first_row() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    // Both where there is no row, and where all values are NULL.
    for sql in [
        "SELECT 1 AS id, 'x' AS name FROM (SELECT 1 AS one) AS t WHERE one = 2",
        "SELECT 1 AS id, CAST(NULL AS CHAR(9)) AS name",
    ] {
        let statement = wait!(conn.prepare(sql)).unwrap();
        let text = wait!(conn.query_as::<Typed>(sql)).unwrap_err();
        let binary = wait!(conn.execute_as::<Typed>(&statement, &[])).unwrap_err();
        for error in [text, binary] {
            assert_eq!(
                error.to_string(),
                "column 1 (name, VARCHAR): asked for i64, found text: ask for &str, String, &[u8] or Vec<u8>"
            );
            assert!(matches!(
                error.conversion(),
                Some(FromValueError::WrongKind { .. })
            ));
            assert!(!error.is_closed());
        }
    }
    let error = wait!(conn.query_as::<Typed>("SELECT 1 AS id, 2 AS Name, 3 AS name")).unwrap_err();
    assert!(
        error.to_string().contains("two columns of one name"),
        "{error}"
    );
    let error =
        wait!(conn.query_as::<Typed>("SELECT 1 AS id, 18446744073709551615 AS name")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "row 1, column 1 (name, BIGINT UNSIGNED): the unsigned int does not fit i64 without loss: ask for u64 or i128"
    );
}

#[tokio::test]
async fn a_bad_row_is_skipped_and_those_after_it_can_be_read() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let sql = "SELECT 1 UNION ALL SELECT NULL UNION ALL SELECT 3";
    let mut rows = wait!(conn.query(sql)).unwrap();
    let mut seen = Vec::new();
    loop {
        match wait!(rows.next_as::<(u8,)>()) {
            Ok(Some((number,))) => seen.push(Ok(number)),
            Ok(None) => break,
            Err(error) => seen.push(Err(error.to_string())),
        }
    }
    assert!(
        matches!(&seen[..], [Ok(1), Err(error), Ok(3)] if error.starts_with("row 2, column 0 (")),
        "{seen:?}"
    );
    drop(rows);
    wait!(conn.ping()).unwrap();
}

#[tokio::test]
async fn a_plan_is_made_anew_where_the_columns_change() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    let pair = |id, name: &str| Customer {
        id,
        name: name.to_owned(),
    };
    wait!(conn.run("CREATE TEMPORARY TABLE planned (id INT, name VARCHAR(9))")).unwrap();
    wait!(conn.run("INSERT INTO planned VALUES (1, 'a')")).unwrap();
    let statement = wait!(conn.prepare("SELECT * FROM planned")).unwrap();
    for _ in 0..2 {
        let one: Customer = wait!(conn.execute_one(&statement, &[])).unwrap();
        assert_eq!(one, pair(1, "a"));
        // Other statements, in the same place and of the same names.
        assert_eq!(
            wait!(conn.query_one::<Customer>("SELECT 'b' AS name, 2 AS id")).unwrap(),
            pair(2, "b")
        );
        assert_eq!(
            wait!(conn.query_one::<Customer>("SELECT 3 AS id, 'c' AS name")).unwrap(),
            pair(3, "c")
        );
        assert_eq!(
            wait!(conn.query_one::<(String,)>("SELECT 'd' AS name, 4 AS id"))
                .unwrap()
                .0,
            "d"
        );
    }
    wait!(conn.run("ALTER TABLE planned ADD COLUMN first VARCHAR(9) DEFAULT 'f' FIRST")).unwrap();
    let one: Customer = wait!(conn.execute_one(&statement, &[])).unwrap();
    assert_eq!(one, pair(1, "a"));
    // More columns' places than are kept.
    for round in 0..3 {
        for number in 0..40u32 {
            let fill = "0, ".repeat(usize::try_from(number).unwrap());
            let sql = format!("SELECT {fill} {number} AS id, 'x' AS name");
            let one: Customer = wait!(conn.query_one(sql)).unwrap();
            assert_eq!(one, pair(number, "x"), "round {round}");
        }
    }
    conn.release(0);
    assert_eq!(
        wait!(conn.query_one::<Customer>("SELECT 3 AS id, 'c' AS name")).unwrap(),
        pair(3, "c")
    );
}

#[derive(Debug, Clone, Copy, PartialEq, FromValue, ToParam)]
struct UserId(u64);

#[derive(Debug, Clone, PartialEq, FromValue, ToParam)]
struct Name(String);

#[derive(Debug, Clone, Copy, PartialEq, FromValue, ToParam)]
#[onecopy(rename_all = "snake_case")]
enum Color {
    DarkRed,
    #[onecopy(rename = "green!")]
    Green,
}

#[derive(Debug, Clone, Copy, PartialEq, FromValue, ToParam)]
#[onecopy(repr = "i16")]
enum Level {
    Low = -1,
    High = 300,
}

#[tokio::test]
async fn newtypes_and_enums_are_parameters_and_values() {
    let mut conn = wait!(Connection::connect(&urls()[0])).unwrap();
    wait!(conn.run(
        "CREATE TEMPORARY TABLE typed (id BIGINT UNSIGNED, name TEXT, color ENUM('dark_red', 'green!', 'blue'), level SMALLINT)"
    ))
    .unwrap();
    let insert = wait!(conn.prepare("INSERT INTO typed VALUES (?, ?, ?, ?)")).unwrap();
    let name = Name("Ada".to_owned());
    type Row = (UserId, Name, Option<Color>, Level);
    let rows: [Row; 2] = [
        (
            UserId(u64::MAX),
            name.clone(),
            Some(Color::DarkRed),
            Level::Low,
        ),
        (UserId(0), name, None, Level::High),
    ];
    for (id, name, color, level) in &rows {
        wait!(
            wait!(conn.execute(&insert, &params![*id, name, color, level]))
                .unwrap()
                .finish()
        )
        .unwrap();
    }
    let select = wait!(conn.prepare("SELECT * FROM typed")).unwrap();
    assert_eq!(
        wait!(conn.query_as::<Row>("SELECT * FROM typed")).unwrap(),
        rows
    );
    assert_eq!(wait!(conn.execute_as::<Row>(&select, &[])).unwrap(), rows);
    let error = wait!(conn.query_one::<(Color,)>("SELECT 'blue'")).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("the value is none of Color: dark_red, green!"),
        "{error}"
    );
    let error = wait!(conn.query_one::<(Level,)>("SELECT 2")).unwrap_err();
    assert!(
        error.to_string().ends_with("none of Level: Low, High"),
        "{error}"
    );
    assert_eq!(Level::High.to_param(), Param::Int(300));
    assert_eq!(Color::Green.to_param(), Param::Str("green!"));
}

#[tokio::test]
async fn the_rows_of_several_results_are_mapped_each_by_its_own_columns() {
    let mut conn = wait!(Connection::connect(&crate::common::with_option(
        &urls()[0],
        "multi-statements=true"
    )))
    .unwrap();
    let mut rows =
        wait!(conn.query("SELECT 1 AS id, 'a' AS name; DO 1; SELECT 'b' AS name, 2 AS id"))
            .unwrap();
    let customers = wait!(rows.collect_as::<Customer>()).unwrap();
    assert_eq!(customers[0].id, 1);
    assert!(wait!(rows.next_result()).unwrap());
    assert!(wait!(rows.collect_as::<Customer>()).unwrap().is_empty());
    assert!(wait!(rows.next_result()).unwrap());
    assert_eq!(wait!(rows.collect_as::<Customer>()).unwrap()[0].name, "b");
    drop(rows);
    // An error of a later result is not lost.
    let error: Error = wait!(conn.query_as::<(u8,)>("SELECT 1; SELECT nothing")).unwrap_err();
    assert!(error.server().is_some(), "{error}");
}
