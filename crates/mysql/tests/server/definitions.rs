//! Column definitions: told once, kept, and told again when the table changes.

use onecopy_mysql::ColumnType;

use super::Connection;
use crate::common::{lacks, url};

const FIFTEEN: &str = "SELECT 1 AS a, 'b' AS b, 2.5 AS c, NULL AS d, 5 AS e, 6 AS f, 7 AS g, 8 AS h, 9 AS i, 10 AS j, \
                       11 AS k, 12 AS l, 13 AS m, 14 AS n, 15 AS o";

#[tokio::test]
async fn unchanged_definitions_are_not_kept_again() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.run(FIFTEEN)).unwrap();
    let first = conn.meter();
    assert!(first.bytes_copied_to_metadata > 0);
    for _ in 0..3 {
        wait!(conn.run(FIFTEEN)).unwrap();
    }
    assert_eq!(
        conn.meter().bytes_copied_to_metadata,
        first.bytes_copied_to_metadata
    );

    let statement = wait!(conn.prepare(FIFTEEN)).unwrap();
    wait!(wait!(conn.execute(&statement, &[])).unwrap().finish()).unwrap();
    let first = conn.meter();
    for _ in 0..3 {
        wait!(wait!(conn.execute(&statement, &[])).unwrap().finish()).unwrap();
    }
    assert_eq!(
        conn.meter().bytes_copied_to_metadata,
        first.bytes_copied_to_metadata
    );
}

#[tokio::test]
async fn the_servers_cached_metadata_is_used() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let cached = conn.server_version().contains("MariaDB");
    if !cached {
        lacks(
            "cached metadata",
            "the capability is MariaDB's; MySQL's optional metadata is not asked for",
        );
    }
    let mut executed = Vec::new();
    let statement = wait!(conn.prepare(FIFTEEN)).unwrap();
    let definitions = conn.statement_columns(&statement).unwrap().raw_len() as u64;
    let before = conn.meter();
    wait!(conn.run(FIFTEEN)).unwrap();
    let as_text = conn.meter().since(&before).bytes_read;
    for _ in 0..3 {
        let before = conn.meter();
        let mut rows = wait!(conn.execute(&statement, &[])).unwrap();
        assert_eq!(rows.columns().unwrap().name(14), Some(&b"o"[..]));
        let row = wait!(rows.next()).unwrap().unwrap();
        assert_eq!(row.get::<i32>("o").unwrap(), 15);
        wait!(rows.finish()).unwrap();
        executed.push(conn.meter().since(&before).bytes_read);
    }
    assert!(definitions > 300, "{definitions}");
    assert_eq!(executed[1], executed[2]);
    assert_eq!(
        executed[1] + definitions < as_text,
        cached,
        "{executed:?} {definitions} {as_text}"
    );
}

#[tokio::test]
async fn an_altered_table_gives_its_new_columns() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let table = format!("altered_{}", conn.connection_id());
    wait!(conn.run(format!("CREATE TABLE {table} (a INT, b INT)"))).unwrap();
    wait!(conn.run(format!("INSERT INTO {table} VALUES (1, 2)"))).unwrap();
    let statement = wait!(conn.prepare(format!("SELECT * FROM {table}"))).unwrap();
    assert_eq!(names(&mut conn, &statement).await, ["a", "b"]);
    assert_eq!(names(&mut conn, &statement).await, ["a", "b"]);

    wait!(conn.run(format!(
        "ALTER TABLE {table} ADD c VARCHAR(5) DEFAULT 'new', MODIFY a BIGINT"
    )))
    .unwrap();
    assert_eq!(names(&mut conn, &statement).await, ["a", "b", "c"]);
    let columns = conn.statement_columns(&statement).unwrap();
    assert_eq!(columns.columns()[0].column_type, ColumnType::LONGLONG);

    wait!(conn.run(format!("ALTER TABLE {table} DROP a, DROP b"))).unwrap();
    assert_eq!(names(&mut conn, &statement).await, ["c"]);
    wait!(conn.run(format!("ALTER TABLE {table} CHANGE c d INT DEFAULT 0"))).unwrap_err();
    wait!(conn.run(format!("ALTER TABLE {table} RENAME COLUMN c TO d"))).unwrap();
    // `*` was replaced by its columns when the statement was prepared again: the server's choice, its error.
    let again = names_or_code(&mut conn, &statement).await;
    assert!(
        again == Ok(vec!["d".into()]) || again == Err(1054),
        "{again:?}"
    );
    wait!(conn.run(format!("DROP TABLE {table}"))).unwrap();
    assert_eq!(names_or_code(&mut conn, &statement).await, Err(1146));
}

#[tokio::test]
async fn definitions_tell_where_a_column_is_from() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.run("CREATE TEMPORARY TABLE origin (id BIGINT UNSIGNED PRIMARY KEY, note TEXT)"))
        .unwrap();
    let mut rows =
        wait!(conn.query("SELECT o.id AS number, note, 1.25 AS half FROM origin AS o")).unwrap();
    let columns = rows.columns().unwrap();
    let parts = |index| {
        [
            columns.name(index),
            columns.org_name(index),
            columns.table(index),
            columns.org_table(index),
        ]
        .map(|part| String::from_utf8(part.unwrap().to_vec()).unwrap())
    };
    assert_eq!(parts(0), ["number", "id", "o", "origin"]);
    assert_eq!(parts(1), ["note", "note", "o", "origin"]);
    assert_eq!(parts(2), ["half", "", "", ""]);
    let flags = columns.columns()[0].flags;
    assert!(flags.is_unsigned() && flags.is_not_null());
    assert_eq!(columns.columns()[2].decimals, 2);
    assert_eq!(columns.index_of("NUMBER"), Some(0));
    assert_eq!(columns.index_of("id"), None);
    assert!(wait!(rows.next()).unwrap().is_none());
}

#[tokio::test]
async fn any_number_of_columns_is_addressed_by_position_and_by_name() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    // What a table can have, one more, and the most that a prepared statement's reply counts.
    for count in [4096, 4097, 65_535] {
        let sql = wide(count);
        read_wide(&mut conn, &sql, None, count).await;
        let statement = wait!(conn.prepare(&sql)).unwrap();
        assert_eq!(conn.statement_columns(&statement).unwrap().len(), count);
        read_wide(&mut conn, &sql, Some(&statement), count).await;
        wait!(conn.close_statement(statement)).unwrap();
    }
    read_wide(&mut conn, &wide(70_000), None, 70_000).await;
}

/// Columns `c0`, `c1` and on, whose values are their positions.
fn wide(count: usize) -> String {
    let columns: Vec<String> = (0..count).map(|n| format!("{n} AS c{n}")).collect();
    format!("SELECT {}", columns.join(","))
}

async fn read_wide(
    conn: &mut Connection,
    sql: &str,
    statement: Option<&onecopy_mysql::Statement>,
    count: usize,
) {
    let mut rows = match statement {
        Some(statement) => wait!(conn.execute(statement, &[])).unwrap(),
        None => wait!(conn.query(sql)).unwrap(),
    };
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(row.len(), count);
    assert!((0..count).all(|n| row.get::<i64>(n).unwrap() == n as i64));
    for n in [0, 1, 2047, count - 1] {
        assert_eq!(row.get::<usize>(format!("C{n}").as_str()).unwrap(), n);
    }
    wait!(rows.finish()).unwrap();

    let mut rows = match statement {
        Some(statement) => wait!(conn.execute(statement, &[])).unwrap(),
        None => wait!(conn.query(sql)).unwrap(),
    };
    let mut row = wait!(rows.next_streaming()).unwrap().unwrap();
    let mut n = 0;
    while let Some(mut column) = wait!(row.next_column()).unwrap() {
        assert_eq!(wait!(column.get::<usize>()).unwrap(), n);
        n += 1;
    }
    assert_eq!(n, count);
    drop(row);
    wait!(rows.finish()).unwrap();
    wait!(conn.run(sql)).unwrap();
}

#[tokio::test]
async fn a_prepared_statement_of_more_columns_than_its_reply_counts_gives_no_wrong_row() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    // The reply to the prepare says 4,464 columns and continues with 70,000 definitions, whose end nothing tells.
    let error = async {
        let statement = wait!(conn.prepare(wide(70_000)))?;
        wait!(wait!(conn.execute(&statement, &[]))?.next())?;
        Ok::<_, onecopy_mysql::Error>(())
    };
    let error = error.await.unwrap_err();
    assert!(error.server().is_none(), "{error}");
    assert!(conn.is_closed(), "{error}");
}

#[tokio::test]
async fn a_statement_takes_65535_parameters() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let marks = vec!["?"; 65_535].join(",");
    let statement = wait!(conn.prepare(format!("SELECT 65534 IN ({marks})"))).unwrap();
    let params: Vec<onecopy_mysql::Param<'_>> = (0..65_535_u32).map(Into::into).collect();
    let mut rows = wait!(conn.execute(&statement, &params)).unwrap();
    assert_eq!(
        wait!(rows.next()).unwrap().unwrap().get::<i32>(0).unwrap(),
        1
    );
    wait!(rows.finish()).unwrap();
    let error = wait!(conn.prepare(format!("SELECT ?, {marks}"))).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1390, "too many placeholders");
}

async fn names(conn: &mut Connection, statement: &onecopy_mysql::Statement) -> Vec<String> {
    names_or_code(conn, statement).await.unwrap()
}

async fn names_or_code(
    conn: &mut Connection,
    statement: &onecopy_mysql::Statement,
) -> Result<Vec<String>, u16> {
    let mut rows = match wait!(conn.execute(statement, &[])) {
        Ok(rows) => rows,
        Err(error) => return Err(error.server().unwrap().code),
    };
    let row = wait!(rows.next()).unwrap().unwrap();
    let columns = row.columns();
    assert_eq!(row.len(), columns.len());
    let name = |n| String::from_utf8(columns.name(n).unwrap().to_vec()).unwrap();
    let names = (0..row.len()).map(name).collect();
    wait!(rows.finish()).unwrap();
    Ok(names)
}

#[tokio::test]
async fn all_definitions_are_sent_each_time_where_caching_is_off() {
    let url = crate::common::with_option(&url(), "cached-metadata=false");
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    let statement = wait!(conn.prepare(FIFTEEN)).unwrap();
    let definitions = conn.statement_columns(&statement).unwrap().raw_len() as u64;
    for _ in 0..2 {
        let before = conn.meter();
        let mut rows = wait!(conn.execute(&statement, &[])).unwrap();
        let row = wait!(rows.next()).unwrap().unwrap();
        assert_eq!(row.get::<i32>("o").unwrap(), 15);
        wait!(rows.finish()).unwrap();
        let cost = conn.meter().since(&before);
        assert!(cost.bytes_read > definitions, "{cost:?}");
    }
}
