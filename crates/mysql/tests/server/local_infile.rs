//! LOAD DATA LOCAL INFILE from readers: whole, failing, refused, and killed in the middle.

use onecopy_mysql::Done;

use super::Connection;
use crate::common::{Dribble, lacks, number, url, urls, with_option};

const ROWS: usize = 20_000;

/// Rows of a number and a text, as LOAD DATA reads them.
fn lines(rows: usize) -> Vec<u8> {
    let line = |row: usize| format!("{row}\tname of {row}\n");
    (1..=rows).flat_map(|row| line(row).into_bytes()).collect()
}

/// A connection over this transport with a table of its own; `None` where the server allows no local files, which is said.
async fn connect(url: &str) -> Option<(Connection, String)> {
    let mut conn = wait!(Connection::connect(&with_option(url, "local-infile=true"))).unwrap();
    let mut rows = wait!(conn.query("SELECT @@local_infile")).unwrap();
    let is_on: u8 = wait!(rows.next()).unwrap().unwrap().get(0).unwrap();
    wait!(rows.finish()).unwrap();
    if is_on == 0 {
        lacks("LOAD DATA LOCAL INFILE", "local_infile is OFF");
        return None;
    }
    let table = format!("{}_{}", face_name!("infile"), number());
    let create = "(id INT PRIMARY KEY, name VARCHAR(40)) ENGINE=InnoDB";
    wait!(conn.run(format!("CREATE TABLE {table} {create}"))).unwrap();
    Some((conn, table))
}

fn load(table: &str) -> String {
    format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table}")
}

/// Count and sum of what is stored.
async fn stored(conn: &mut Connection, table: &str) -> (u64, u64) {
    let sql = format!("SELECT COUNT(*), CAST(COALESCE(SUM(id), 0) AS UNSIGNED) FROM {table}");
    let mut rows = wait!(conn.query(sql)).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    let stored = (row.get(0).unwrap(), row.get(1).unwrap());
    wait!(rows.finish()).unwrap();
    stored
}

fn all(rows: usize) -> (u64, u64) {
    let rows = rows as u64;
    (rows, rows * (rows + 1) / 2)
}

#[tokio::test]
async fn what_a_reader_gives_is_stored_over_every_transport() {
    let data = lines(ROWS);
    for url in urls() {
        let Some((mut conn, table)) = connect(&url).await else {
            return;
        };
        for step in [1000, 200_000, usize::MAX] {
            let reader = Dribble::new(&data, step).that_pauses();
            let Done { affected_rows, .. } = wait!(conn.load_infile(load(&table), reader)).unwrap();
            assert_eq!(affected_rows, ROWS as u64);
            assert_eq!(stored(&mut conn, &table).await, all(ROWS));
            wait!(conn.run(format!("DELETE FROM {table}"))).unwrap();
        }
        let done = wait!(conn.load_infile(load(&table), &b""[..])).unwrap();
        assert_eq!(done.affected_rows, 0);
        wait!(conn.run(format!("DROP TABLE {table}"))).unwrap();
    }
}

#[tokio::test]
async fn the_handler_is_given_the_name_and_an_error_of_its_own_stores_nothing() {
    let Some((mut conn, table)) = connect(&url()).await else {
        return;
    };
    let mut names = Vec::new();
    let open = |name: &[u8]| -> std::io::Result<&[u8]> {
        names.push(name.to_vec());
        Err(std::io::Error::other("not here"))
    };
    let error = wait!(conn.load_infile_with(load(&table), open)).unwrap_err();
    assert!(error.to_string().ends_with("not here"), "{error}");
    assert!(!error.is_closed(), "{error}");
    assert_eq!(names, [b"rows"]);
    assert_eq!(stored(&mut conn, &table).await, (0, 0));
    wait!(conn.run(format!("DROP TABLE {table}"))).unwrap();
}

#[tokio::test]
async fn a_reader_that_fails_ends_the_file_and_a_transaction_undoes_it() {
    let Some((mut conn, table)) = connect(&url()).await else {
        return;
    };
    let data = lines(ROWS);
    wait!(conn.run("BEGIN")).unwrap();
    let error =
        wait!(conn.load_infile(load(&table), Dribble::new(&data, 9999).that_fails())).unwrap_err();
    assert!(error.to_string().ends_with("the pipe broke"), "{error}");
    assert!(!error.is_closed() && error.maybe_executed(), "{error:?}");
    assert_eq!(stored(&mut conn, &table).await, all(ROWS));
    wait!(conn.run("ROLLBACK")).unwrap();
    assert_eq!(stored(&mut conn, &table).await, (0, 0));
    wait!(conn.run(format!("DROP TABLE {table}"))).unwrap();
}

#[tokio::test]
async fn an_error_of_the_server_in_the_middle_comes_after_the_data_and_stores_nothing() {
    let Some((mut conn, table)) = connect(&url()).await else {
        return;
    };
    // The first line again, and then more than sockets hold. Without LOCAL's IGNORE a duplicate is an error on no server, so
    // the error is another one.
    let mut data = lines(ROWS);
    data.extend(b"twenty-thousand-and-one\tno number\n".repeat(300_000));
    wait!(conn.run("SET sql_mode = 'STRICT_ALL_TABLES', max_statement_time = 0")).ok();
    let result = wait!(conn.load_infile(
        format!(
            "{} (id, @n) SET name = (SELECT seq FROM seq_1_to_2)",
            load(&table)
        ),
        &data[..]
    ));
    let error = result.unwrap_err();
    assert_eq!(error.server().unwrap().code, 1242, "{error}");
    assert_eq!(stored(&mut conn, &table).await, (0, 0));
    let error = wait!(conn.load_infile(load("no_such_table"), &data[..])).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1146, "{error}");
    assert_eq!(stored(&mut conn, &table).await, (0, 0));
    wait!(conn.run(format!("DROP TABLE {table}"))).unwrap();
}

#[tokio::test]
async fn a_statement_without_a_file_is_run_and_a_query_never_sends_one() {
    let Some((mut conn, table)) = connect(&url()).await else {
        return;
    };
    let done = wait!(conn.load_infile(
        format!("INSERT INTO {table} VALUES (1, 'a')"),
        &b"2\tb\n"[..]
    ))
    .unwrap();
    assert_eq!(done.affected_rows, 1);
    wait!(conn.load_infile("SELECT 1 UNION SELECT 2", &b"2\tb\n"[..])).unwrap();
    assert_eq!(stored(&mut conn, &table).await, (1, 1));
    let error = wait!(conn.run(load(&table))).unwrap_err();
    assert!(error.is_closed() && conn.is_closed(), "{error}");

    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let error = wait!(conn.load_infile(load(&table), &b"2\tb\n"[..])).unwrap_err();
    assert!(error.to_string().contains("local-infile=true"), "{error}");
    // The server refuses the statement to a client that does not know local files.
    let error = wait!(conn.run(load(&table))).unwrap_err();
    assert!(error.server().is_some() && !error.is_closed(), "{error}");
    wait!(conn.run(format!("DROP TABLE {table}"))).unwrap();
}

#[tokio::test]
async fn a_connection_that_is_killed_in_the_middle_of_an_endless_file_says_so() {
    let Some((mut conn, table)) = connect(&url()).await else {
        return;
    };
    let id = conn.connection_id();
    let killer = spawn!({
        let mut other = wait!(Connection::connect(&url())).unwrap();
        pause!(std::time::Duration::from_millis(100));
        wait!(other.run(format!("KILL CONNECTION {id}"))).unwrap();
    });
    let error = wait!(conn.load_infile(load(&table), endless!())).unwrap_err();
    join!(killer);
    assert!(error.is_closed() && conn.is_closed(), "{error:?}");
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    assert_eq!(stored(&mut conn, &table).await, (0, 0));
    wait!(conn.run(format!("DROP TABLE {table}"))).unwrap();
}
