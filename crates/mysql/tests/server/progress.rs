//! Progress reports of a real MariaDB, in front of the reply and between rows.

use std::sync::{Arc, Mutex};

use onecopy_mysql::{Config, ProgressReports};

use super::Connection;
use crate::common::{lacks, number, url};

/// Stage, stages, fraction and description of each report, and the connection.
type Seen = Arc<Mutex<Vec<(u8, u8, f64, String, u32)>>>;

fn listening(url: &str) -> (Config, Seen) {
    let mut config = Config::from_url(url).unwrap();
    let seen = Seen::default();
    let told = Arc::clone(&seen);
    config.progress = Some(ProgressReports::new(move |progress| {
        told.lock().unwrap().push((
            progress.stage,
            progress.stages,
            progress.fraction,
            progress.description.to_owned(),
            progress.connection_id,
        ));
    }));
    (config, seen)
}

#[tokio::test]
async fn the_progress_of_a_long_statement_is_told_while_it_runs() {
    let (config, seen) = listening(&url());
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    let mut other = wait!(Connection::connect(&url())).unwrap();
    let is_mariadb = conn.server_version().contains("MariaDB");
    let table = format!("progress_{}", number());
    wait!(conn.run(format!("CREATE TABLE {table} (id INT PRIMARY KEY, t TEXT)"))).unwrap();
    let rows: Vec<String> = (0..2000).map(|id| format!("({id},'x')")).collect();
    wait!(conn.run(format!("INSERT INTO {table} VALUES {}", rows.join(",")))).unwrap();
    assert_eq!(seen.lock().unwrap().len(), 0, "an INSERT is not reported");

    // The first report comes with the 100th row, whatever time that takes.
    let alter = format!("ALTER TABLE {table} FORCE, ALGORITHM = COPY");
    for round in 0..2 {
        let done = if round == 0 {
            wait!(conn.run(&alter)).unwrap()
        } else {
            wait!(wait!(conn.exec(&alter, &[])).unwrap().finish()).unwrap()
        };
        assert_eq!(done.affected_rows, 2000);
        let reports = std::mem::take(&mut *seen.lock().unwrap());
        if !is_mariadb {
            assert!(reports.is_empty());
            wait!(conn.run(format!("DROP TABLE {table}"))).unwrap();
            return lacks("progress reports", conn.server_version());
        }
        for (stage, stages, fraction, description, connection) in &reports {
            assert!(1 <= *stage && stage <= stages, "{reports:?}");
            assert!((0.0..=1.0).contains(fraction));
            assert_eq!(*connection, conn.connection_id());
            assert!(!description.is_empty());
        }
        assert!(!reports.is_empty());
    }
    // The result of the next statement is its own, and nothing is told to who did not ask.
    assert_eq!(wait!(conn.query_scalar::<i64>("SELECT 5")).unwrap(), 5);
    wait!(other.run(&alter)).unwrap();
    wait!(other.run(format!("DROP TABLE {table}"))).unwrap();
    assert!(seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn reports_come_between_the_rows_of_a_check() {
    let (config, seen) = listening(&url());
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    if !conn.server_version().contains("MariaDB") {
        return lacks("progress reports", conn.server_version());
    }
    let rows: Vec<String> = (0..60_000).map(|id| format!("({id})")).collect();
    let mut tables = Vec::new();
    for _ in 0..3 {
        let table = format!("progress_{}", number());
        let create = format!("CREATE TABLE {table} (id INT PRIMARY KEY, KEY (id)) ENGINE = Aria");
        wait!(conn.run(create)).unwrap();
        wait!(conn.run(format!("INSERT INTO {table} VALUES {}", rows.join(",")))).unwrap();
        tables.push(table);
    }
    for sql in ["CHECK TABLE", "REPAIR TABLE"] {
        let sql = format!("{sql} {} EXTENDED", tables.join(", "));
        let mut rows = wait!(conn.query(&sql)).unwrap();
        let mut checked = Vec::new();
        while let Some(row) = wait!(rows.next()).unwrap() {
            assert_eq!(row.get::<&str>("Msg_text").unwrap(), "OK");
            let name = row.get::<&str>("Table").unwrap();
            checked.push(name.rsplit('.').next().unwrap().to_owned());
        }
        assert_eq!(checked, tables);
    }
    assert!(!seen.lock().unwrap().is_empty());
    // Skipped rows are not reported.
    seen.lock().unwrap().clear();
    wait!(conn.run(format!("CHECK TABLE {} EXTENDED", tables.join(", ")))).unwrap();
    wait!(conn.run(format!("DROP TABLE {}", tables.join(", ")))).unwrap();
}
