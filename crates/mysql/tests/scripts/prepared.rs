//! Prepared statements, captured.

use onecopy_mysql::params;
use onecopy_testkit::script::{Script, Trial};

use crate::login::{Style, login};
use crate::text::both_styles;

const KINDS: &str = "select cast(-5 as signed) i, cast(7 as unsigned) u, 2.5e0 d, \
    cast('12.50' as decimal(5,2)) m, date'2024-02-29' a, timestamp'2024-02-29 12:34:56.789012' b, \
    time'-101:02:03.5' c, 'text' s, x'00ff' x, null n";

#[test]
fn every_kind_of_value_twice_with_the_same_columns() {
    let talk = talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare(KINDS))?;
        let columns = conn.statement_columns(&statement)?;
        log.line(format!("{} columns", columns.len()));
        for _ in 0..2 {
            let mut rows = wait!(conn.execute(&statement, &[]))?;
            while let Some(row) = wait!(rows.next())? {
                log.row(&row)?;
            }
        }
        Ok(())
    });
    let row = "-5 | 7 | 2.5 | 12.50 | 2024-02-29 | 2024-02-29 12:34:56.789012 | -101:02:03.500000 | text | \\x00\\xff | NULL";
    for script in both_styles!(login, "prepared") {
        Trial::new(&script, talk, &["10 columns", row, row]).run();
    }
}

const CHANGING: &str = "select ? as a, id from t where id < ?";

#[test]
fn columns_that_change_from_one_execution_to_the_next() {
    let talk = talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare(CHANGING))?;
        let mut rows = wait!(conn.execute(&statement, &params!["x", 9]))?;
        log.row(&wait!(rows.next())?.unwrap())?;
        assert!(wait!(rows.next())?.is_none());
        let mut rows = wait!(conn.execute(&statement, &params![9, 9]))?;
        log.owned_row(&wait!(rows.next_owned())?.unwrap())?;
        assert!(wait!(rows.next())?.is_none());
        Ok(())
    });
    for script in both_styles!(login, "changed_columns") {
        Trial::new(&script, talk, &["x | 1", "9 | 1"]).run();
    }
}

#[test]
fn cached_metadata_is_used_until_it_changes() {
    let talk = talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare(CHANGING))?;
        for params in [params!["x", 9], params!["y", 9], params![9, 9]] {
            let mut rows = wait!(conn.execute(&statement, &params))?;
            log.row(&wait!(rows.next())?.unwrap())?;
            assert!(wait!(rows.next())?.is_none());
        }
        let mut rows = wait!(conn.query("select id from t"))?;
        log.row(&wait!(rows.next())?.unwrap())?;
        assert!(wait!(rows.next())?.is_none());
        Ok(())
    });
    let script =
        login(Style::CachedMetadata).then(&Script::parse(include_str!("data/cached_metadata.txt")));
    Trial::new(&script, talk, &["x | 1", "y | 1", "9 | 1", "1"]).run();
}

#[test]
fn returning_has_columns_that_the_prepare_did_not_tell() {
    let talk = talk!(|conn, log, wait, face| {
        let sql = "insert into t(name) values (?) returning id, name";
        let statement = wait!(conn.prepare(sql))?;
        log.line(format!(
            "{} columns",
            conn.statement_columns(&statement)?.len()
        ));
        for name in ["Eve", "Ida"] {
            let mut rows = wait!(conn.execute(&statement, &params![name]))?;
            log.row(&wait!(rows.next())?.unwrap())?;
            assert!(wait!(rows.next())?.is_none());
        }
        Ok(())
    });
    for script in both_styles!(login, "returning") {
        Trial::new(&script, talk, &["0 columns", "1 | Eve", "2 | Ida"]).run();
    }
}
