//! Several results of one statement, and errors among them.

use onecopy_mysql::params;

use super::Connection;
use crate::common::{offered, url, urls, with_option};

#[tokio::test]
async fn several_statements_are_refused_unless_asked_for() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let error = wait!(conn.run("SELECT 1; SELECT 2")).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1064);
    wait!(conn.run("SELECT 1;")).unwrap();
    assert!(!conn.is_closed());
}

#[tokio::test]
async fn results_come_one_after_the_other() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&with_option(
            &url,
            "multi-statements=true"
        )))
        .unwrap();
        wait!(
            conn.run("CREATE TEMPORARY TABLE several (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
        )
        .unwrap();
        let sql = "SELECT 1 AS a; INSERT INTO several (v) VALUES (10), (20); SELECT v, id AS b FROM several ORDER BY id; \
                   SELECT 3 AS c WHERE FALSE; DO 0";
        let mut rows = wait!(conn.query(sql)).unwrap();
        assert_eq!(
            wait!(rows.next())
                .unwrap()
                .unwrap()
                .get::<i32>("a")
                .unwrap(),
            1
        );
        assert!(wait!(rows.next()).unwrap().is_none());
        assert!(wait!(rows.next()).unwrap().is_none());

        assert!(wait!(rows.next_result()).unwrap());
        assert!(rows.columns().is_none());
        assert_eq!(
            (rows.done().affected_rows, rows.done().last_insert_id),
            (2, 1)
        );
        assert!(wait!(rows.next()).unwrap().is_none());

        assert!(wait!(rows.next_result()).unwrap());
        assert_eq!(rows.columns().unwrap().len(), 2);
        let all = wait!(rows.collect_owned()).unwrap();
        let values: Vec<i32> = all.iter().map(|row| row.get("v").unwrap()).collect();
        assert_eq!(values, [10, 20]);

        assert!(wait!(rows.next_result()).unwrap());
        assert_eq!(rows.columns().unwrap().name(0), Some(&b"c"[..]));
        assert!(wait!(rows.next_owned()).unwrap().is_none());

        assert!(wait!(rows.next_result()).unwrap());
        assert!(rows.columns().is_none());
        assert!(!wait!(rows.next_result()).unwrap());
        assert!(!wait!(rows.next_result()).unwrap());
        // Rows of an earlier result keep their own columns.
        assert_eq!(all[1].get::<i32>("b").unwrap(), 2);
        wait!(conn.ping()).unwrap();
    }
}

#[tokio::test]
async fn results_and_rows_that_nobody_reads_are_passed_over() {
    let mut conn = wait!(Connection::connect(&with_option(
        &url(),
        "multi-statements=true"
    )))
    .unwrap();
    let sql = "SELECT seq FROM seq_1_to_5000; SELECT 'x', seq FROM seq_1_to_5000; SELECT 'last'";
    let mut rows = wait!(conn.query(sql)).unwrap();
    wait!(rows.next()).unwrap().unwrap();
    assert!(wait!(rows.next_result()).unwrap());
    wait!(rows.next()).unwrap().unwrap();
    assert!(wait!(rows.next_result()).unwrap());
    assert_eq!(
        wait!(rows.next()).unwrap().unwrap().get::<&str>(0).unwrap(),
        "last"
    );
    assert!(!wait!(rows.next_result()).unwrap());

    let mut rows = wait!(conn.query(sql)).unwrap();
    wait!(rows.next()).unwrap().unwrap();
    drop(rows);
    wait!(conn.ping()).unwrap();
    assert_eq!(
        wait!(wait!(conn.query(sql)).unwrap().finish())
            .unwrap()
            .warnings,
        0
    );
}

#[tokio::test]
async fn an_error_in_the_middle_ends_the_results_and_not_the_connection() {
    let mut conn = wait!(Connection::connect(&with_option(
        &url(),
        "multi-statements=true"
    )))
    .unwrap();
    let sql = "SELECT seq FROM seq_1_to_3; SELECT no_such_column; SELECT 3";
    let mut rows = wait!(conn.query(sql)).unwrap();
    assert_eq!(wait!(rows.collect_owned()).unwrap().len(), 3);
    let error = wait!(rows.next_result()).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1054);
    assert!(!wait!(rows.next_result()).unwrap());
    assert!(wait!(rows.next()).unwrap().is_none());
    assert_eq!(
        wait!(conn.run(sql)).unwrap_err().server().unwrap().code,
        1054
    );

    // Dropped before the error: it is nobody's.
    let mut rows = wait!(conn.query(sql)).unwrap();
    wait!(rows.next()).unwrap().unwrap();
    drop(rows);
    wait!(conn.ping()).unwrap();
}

#[tokio::test]
async fn an_error_among_the_rows_ends_them_and_not_the_connection() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    // The subquery has two rows only for the third: the rows before are sent already.
    let sql = "SELECT seq, (SELECT s.seq FROM seq_1_to_2 AS s WHERE s.seq <= outside.seq - 1) FROM \
               seq_1_to_5 AS outside";
    let statement = wait!(conn.prepare(sql)).unwrap();
    for binary in [false, true] {
        for streamed in [false, true] {
            let mut rows = if binary {
                wait!(conn.execute(&statement, &[])).unwrap()
            } else {
                wait!(conn.query(sql)).unwrap()
            };
            let mut seen = 0;
            let error = loop {
                let next = if streamed {
                    wait!(rows.next_streaming()).map(|row| row.is_some())
                } else {
                    wait!(rows.next()).map(|row| row.is_some())
                };
                match next {
                    Ok(true) => seen += 1,
                    Ok(false) => panic!("the error was lost after {seen} rows"),
                    Err(error) => break error,
                }
            };
            assert_eq!(
                (seen, error.server().unwrap().code),
                (2, 1242),
                "{binary} {streamed}"
            );
            assert!(wait!(rows.next()).unwrap().is_none());
            assert!(!wait!(rows.next_result()).unwrap());
            wait!(conn.ping()).unwrap();
        }
    }
}

#[tokio::test]
async fn a_procedure_with_a_cursor_gives_its_results_in_both_protocols() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let name = format!("cursors_{}", conn.connection_id());
    // Servers say of the results behind OPEN that a cursor exists, and send their rows all the same.
    let body = "BEGIN DECLARE a INT; DECLARE c CURSOR FOR SELECT 1 UNION SELECT 2; SELECT 'before'; OPEN c; \
                FETCH c INTO a; SELECT a + 10; CLOSE c; SELECT 'behind'; END";
    wait!(conn.run(format!("CREATE PROCEDURE {name} () {body}"))).unwrap();
    let call = wait!(conn.prepare(format!("CALL {name}()"))).unwrap();
    for binary in [false, true] {
        let mut rows = if binary {
            wait!(conn.execute(&call, &[])).unwrap()
        } else {
            wait!(conn.query(format!("CALL {name}()"))).unwrap()
        };
        for expected in ["before", "11", "behind"] {
            let row = wait!(rows.next()).unwrap().unwrap();
            let value = match expected {
                "11" => row.get::<i64>(0).unwrap().to_string(),
                _ => row.get::<&str>(0).unwrap().to_owned(),
            };
            assert_eq!(value, expected);
            assert!(wait!(rows.next_result()).unwrap());
        }
        assert!(!wait!(rows.next_result()).unwrap());
    }
    wait!(conn.run(format!("DROP PROCEDURE {name}"))).unwrap();
}

#[tokio::test]
async fn a_procedure_gives_its_results_in_both_protocols() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let name = format!("several_{}", conn.connection_id());
    let body = "BEGIN SELECT n AS first; SELECT n + 1 AS second, 'x' AS x UNION ALL SELECT n + 2, 'y'; \
                IF n < 0 THEN SELECT * FROM no_such_table; END IF; SELECT 'end' AS third; END";
    wait!(conn.run(format!("CREATE PROCEDURE {name} (n INT) {body}"))).unwrap();
    let call = wait!(conn.prepare(format!("CALL {name}(?)"))).unwrap();
    for round in 0..3 {
        for binary in [false, true] {
            let mut rows = if binary {
                wait!(conn.execute(&call, &params![round])).unwrap()
            } else {
                wait!(conn.query(format!("CALL {name}({round})"))).unwrap()
            };
            assert_eq!(
                wait!(rows.next())
                    .unwrap()
                    .unwrap()
                    .get::<i32>("first")
                    .unwrap(),
                round
            );
            assert!(wait!(rows.next_result()).unwrap());
            let two = wait!(rows.collect_owned()).unwrap();
            assert_eq!(two[1].get::<i32>("second").unwrap(), round + 2);
            assert_eq!(two[1].get::<&str>("x").unwrap(), "y");
            assert!(wait!(rows.next_result()).unwrap());
            assert_eq!(
                wait!(rows.next())
                    .unwrap()
                    .unwrap()
                    .get::<&str>("third")
                    .unwrap(),
                "end"
            );
            assert!(wait!(rows.next_result()).unwrap());
            assert!(rows.columns().is_none());
            assert!(!wait!(rows.next_result()).unwrap());
        }
    }
    let mut rows = wait!(conn.execute(&call, &params![-5])).unwrap();
    assert!(wait!(rows.next_result()).unwrap());
    assert_eq!(wait!(rows.collect_owned()).unwrap().len(), 2);
    assert_eq!(
        wait!(rows.next_result())
            .unwrap_err()
            .server()
            .unwrap()
            .code,
        1146
    );
    assert!(!wait!(rows.next_result()).unwrap());
    wait!(conn.run(format!("DROP PROCEDURE {name}"))).unwrap();
}

#[tokio::test]
async fn out_parameters_are_the_only_row_of_a_result() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let name = format!("out_{}", conn.connection_id());
        let body = "BEGIN SELECT n AS own; SET doubled = 2 * n, word = CONCAT(word, '!'); END";
        let parameters = "IN n INT, OUT doubled INT, INOUT word VARCHAR(20)";
        wait!(conn.run(format!("CREATE PROCEDURE {name} ({parameters}) {body}"))).unwrap();
        let sql = format!("CALL {name}(?, ?, ?)");
        for round in 0..3 {
            let mut rows = wait!(conn.exec(&sql, &params![round, None::<i32>, "word"])).unwrap();
            let (own,): (i32,) = wait!(rows.next_as()).unwrap().unwrap();
            assert_eq!(own, round);
            assert!(wait!(rows.next_result()).unwrap());
            let out: (i32, String) = wait!(rows.next_as()).unwrap().unwrap();
            assert_eq!(out, (2 * round, "word!".to_owned()));
            assert_eq!(rows.columns().unwrap().name(1), Some(&b"word"[..]));
            assert!(wait!(rows.next()).unwrap().is_none());
            assert!(wait!(rows.next_result()).unwrap());
            assert!(rows.columns().is_none());
            assert!(!wait!(rows.next_result()).unwrap());
            // Neither is anything left of it, nor in the way if nobody reads it.
            assert_eq!(wait!(conn.query_scalar::<i32>("SELECT 7")).unwrap(), 7);
            drop(wait!(conn.exec(&sql, &params![1, 2, "word"])).unwrap());
            wait!(conn.ping()).unwrap();
        }
        wait!(conn.run(format!("DROP PROCEDURE {name}"))).unwrap();
    }
}

#[tokio::test]
async fn returning_gives_rows_in_both_protocols() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(
        conn.run(
            "CREATE TEMPORARY TABLE returned (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(10))"
        )
    )
    .unwrap();
    let asked = wait!(conn.run("DELETE FROM returned RETURNING id"));
    if !offered("RETURNING", asked) {
        return;
    }
    let mut rows =
        wait!(conn.query("INSERT INTO returned (v) VALUES ('a'), ('b') RETURNING id, v")).unwrap();
    assert_eq!(
        wait!(rows.collect_owned()).unwrap()[1]
            .get::<&str>("v")
            .unwrap(),
        "b"
    );
    wait!(rows.finish()).unwrap();
    // The prepare may tell no columns: they come with the execution.
    let insert = wait!(
        conn.prepare("INSERT INTO returned (v) VALUES (?) RETURNING id, CONCAT(v, '!') AS w")
    )
    .unwrap();
    for id in 3..6 {
        let mut rows = wait!(conn.execute(&insert, &params!["c"])).unwrap();
        let row = wait!(rows.next()).unwrap().unwrap();
        assert_eq!(
            (row.get::<i32>("id").unwrap(), row.get::<&str>("w").unwrap()),
            (id, "c!")
        );
        wait!(rows.finish()).unwrap();
    }
    let delete = wait!(conn.prepare("DELETE FROM returned WHERE id < ? RETURNING id")).unwrap();
    let mut rows = wait!(conn.execute(&delete, &params![4])).unwrap();
    assert_eq!(wait!(rows.collect_owned()).unwrap().len(), 3);
}

#[tokio::test]
async fn the_values_of_a_row_in_order_are_those_at_each_position() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let sql = "SELECT 1 AS a, NULL AS b, 'text' AS c, REPEAT('x', 300000) AS d, 2.5 AS e";
    let statement = wait!(conn.prepare(sql)).unwrap();
    for prepared in [false, true] {
        let mut rows = if prepared {
            wait!(conn.execute(&statement, &[])).unwrap()
        } else {
            wait!(conn.query(sql)).unwrap()
        };
        let row = wait!(rows.next()).unwrap().unwrap();
        let values: Vec<_> = row.values().map(Result::unwrap).collect();
        assert_eq!(values.len(), 5);
        for (index, value) in values.iter().enumerate() {
            assert_eq!(*value, row.value(index).unwrap(), "column {index}");
        }
        assert_eq!(values[1], onecopy_mysql::Value::Null);
        assert_eq!(row.get::<&str>("d").unwrap().len(), 300_000);

        let mut large = Vec::new();
        let mut rows = wait!(conn.query(sql)).unwrap();
        let row = wait!(rows.next_into("d", &mut large)).unwrap().unwrap();
        assert_eq!(large.len(), 300_000);
        assert!(row.values().nth(3).unwrap().is_err(), "it was moved out");
    }
}
