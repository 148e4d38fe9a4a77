//! Results of the text protocol, captured.

use onecopy_testkit::script::{Script, Talk, Trial};

use crate::login::{Style, login, login_multi};
use crate::talk::multi_statements;

/// Both styles of the same conversation.
macro_rules! both_styles {
    ($login:ident, $name:literal) => {
        [
            $login(Style::Eof).then(&Script::parse(include_str!(concat!(
                "data/", $name, "_eof.txt"
            )))),
            $login(Style::DeprecateEof).then(&Script::parse(include_str!(concat!(
                "data/",
                $name,
                "_deprecate_eof.txt"
            )))),
        ]
    };
}
pub(crate) use both_styles;

#[test]
fn rows_no_rows_ok_with_info_session_tracking_and_err() {
    let talk = talk!(|conn, log, wait, face| {
        let rows = wait!(conn.query("insert into t(name) values ('Ada'),('Grace')"))?;
        log.line(rows.info());
        log.done(wait!(rows.finish())?);

        let mut rows = wait!(conn.query("select id, name, null as n from t"))?;
        let columns = rows.columns().unwrap();
        log.line(format!("{} columns", columns.len()));
        log.bytes(columns.name(1).unwrap());
        log.bytes(columns.table(0).unwrap());
        log.bytes(columns.schema(0).unwrap());
        while let Some(row) = wait!(rows.next())? {
            assert_eq!(row.values().count(), 3);
            for (index, value) in row.values().enumerate() {
                assert_eq!(value?, row.value(index)?);
            }
            log.row(&row)?;
        }
        log.done(rows.done());

        let mut rows = wait!(conn.query("select id from t where 0"))?;
        assert!(rows.columns().is_some());
        assert!(wait!(rows.next())?.is_none());
        assert!(wait!(rows.next())?.is_none());
        assert!(!wait!(rows.next_result())?);

        wait!(conn.run("set session_track_system_variables='autocommit'"))?;
        assert_eq!(conn.session_changes().iter().count(), 0);
        wait!(conn.run("set autocommit=0"))?;
        for change in conn.session_changes() {
            log.line(format!("{:?}", change.unwrap()));
        }
        log.server(wait!(conn.run("select nonsense")))?;
        Ok(())
    });
    let seen = [
        "Records: 2  Duplicates: 0  Warnings: 0",
        "done: 2 rows, id 1, 0 warnings",
        "3 columns",
        "name",
        "t",
        "shop",
        "1 | Ada | NULL",
        "2 | Grace | NULL",
        "done: 0 rows, id 0, 0 warnings",
        "SystemVariable { name: [97, 117, 116, 111, 99, 111, 109, 109, 105, 116], value: [79, 70, 70] }",
        "server error 1054 (42S22): Unknown column 'nonsense' in 'SELECT'",
    ];
    for script in both_styles!(login, "text") {
        Trial::new(&script, talk, &seen).run();
    }
}

#[test]
fn several_results_with_an_error_in_the_middle() {
    let talk = talk!(multi_statements(), |conn, log, wait, face| {
        let sql = "select 1 as a; insert into t(name) values ('x'); select 2 as b";
        let mut rows = wait!(conn.query(sql))?;
        loop {
            while let Some(row) = wait!(rows.next())? {
                log.row(&row)?;
            }
            log.done(rows.done());
            if !wait!(rows.next_result())? {
                break;
            }
        }
        let mut rows = wait!(conn.query("select 1 as a; select nonsense; select 2"))?;
        while let Some(row) = wait!(rows.next_owned())? {
            log.owned_row(&row)?;
        }
        log.server(wait!(rows.next_result()))?;
        assert!(!wait!(rows.next_result())?, "the error ends them all");
        Ok(())
    });
    let seen = [
        "1",
        "done: 0 rows, id 0, 0 warnings",
        "done: 1 rows, id 1, 0 warnings",
        "2",
        "done: 0 rows, id 0, 0 warnings",
        "1",
        "server error 1054 (42S22): Unknown column 'nonsense' in 'SELECT'",
    ];
    for script in both_styles!(login_multi, "multi") {
        Trial::new(&script, talk, &seen).run();
    }
}

#[test]
fn several_results_that_nobody_reads() {
    let talk = talk!(multi_statements(), |conn, log, wait, face| {
        let sql = "select 1 as a; insert into t(name) values ('x'); select 2 as b";
        drop(wait!(conn.query(sql))?);
        let rows = wait!(conn.query("select 1 as a; select nonsense; select 2"))?;
        log.server(wait!(rows.finish()))?;
        Ok(())
    });
    let seen = ["server error 1054 (42S22): Unknown column 'nonsense' in 'SELECT'"];
    for script in both_styles!(login_multi, "multi") {
        Trial::new(&script, talk, &seen).run();
    }
}

const SUBQUERY: &str = "server error 1242 (21000): Subquery returns more than 1 row";
const ERROR_BEFORE: &str = "select id, (select id from t where id > 0 and t2.id < 99) from t t2";
const ERROR_AFTER: &str =
    "select id, if(id = 2, (select 1 union select 2), 0) as x from t order by id";

#[test]
fn err_in_the_middle_of_rows() {
    let borrowed: Talk = talk!(|conn, log, wait, face| {
        let mut rows = wait!(conn.query(ERROR_BEFORE))?;
        log.server(wait!(rows.next()))?;
        assert!(wait!(rows.next())?.is_none());
        let mut rows = wait!(conn.query(ERROR_AFTER))?;
        log.row(&wait!(rows.next())?.unwrap())?;
        log.server(wait!(rows.next()))?;
        assert!(wait!(rows.next())?.is_none());
        assert!(!wait!(rows.next_result())?);
        Ok(())
    });
    let streamed: Talk = talk!(|conn, log, wait, face| {
        log.server(wait!(wait!(conn.query(ERROR_BEFORE))?.next_streaming()))?;
        let mut rows = wait!(conn.query(ERROR_AFTER))?;
        let mut row = wait!(rows.next_streaming())?.unwrap();
        let mut values = Vec::new();
        while let Some(column) = wait!(row.next_column())? {
            values.extend(wait!(face::read(column, 100))?);
            values.extend(b" | ");
        }
        drop(row);
        values.truncate(values.len() - 3);
        log.bytes(&values);
        log.server(wait!(rows.next_streaming()))?;
        Ok(())
    });
    for script in both_styles!(login, "error_in_rows") {
        Trial::new(&script, borrowed, &[SUBQUERY, "1 | 0", SUBQUERY]).run();
        Trial::new(&script, streamed, &[SUBQUERY, "1 | 0", SUBQUERY]).run();
    }
}
