//! The same on a real server, the login included. After each failure the next command asks for a word that nobody else
//! asked for.

use onecopy_mysql::{Config, Error, Param};
use onecopy_testkit::alloc::Watch;
use onecopy_testkit::script::noise;
use onecopy_testkit::server::test_server;

use crate::LARGE;

/// Everything that a connection is asked for, in order, up to the first error.
///
/// What the test itself allocates in here is small.
macro_rules! everything {
    ($conn:ident, $many:ident, $wait:ident, $read:path) => {{
        let large = "SELECT n, REPEAT('a', 90000), REPEAT('b', 300000) FROM (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3) AS three";
        let mut rows = $wait!($conn.query($many))?;
        while let Some(row) = $wait!(rows.next())? {
            assert_eq!(row.get::<&str>(599)?, "c".repeat(20));
        }
        let mut rows = $wait!($conn.query(large))?;
        while let Some(row) = $wait!(rows.next())? {
            assert_eq!(row.get::<String>(1)?.len(), 90_000);
            assert_eq!(row.get::<&str>(2)?.len(), 300_000);
        }
        let mut rows = $wait!($conn.query(large))?;
        assert_eq!($wait!(rows.collect_owned())?.len(), 3);
        let mut rows = $wait!($conn.query(large))?;
        let mut value = Vec::new();
        while $wait!(rows.next_into(2, &mut value))?.is_some() {
            assert!(value.len() == 300_000 && value.iter().all(|byte| *byte == b'b'));
        }
        // Left where they are: the next command reads them.
        $wait!($wait!($conn.query(large))?.next())?;
        let select = "SELECT LENGTH(?), CRC32(?), ?";
        let statement = $wait!($conn.prepare(select))?;
        let values = [noise(20_000), noise(9000), noise(200_000)].map(Param::Bytes);
        let mut rows = $wait!($conn.execute(&statement, &values))?;
        let row = $wait!(rows.next_owned())?.unwrap();
        assert_eq!(row.get::<u64>(0)?, 20_000);
        assert_eq!(row.get::<u64>(1)?, u64::from(crc32fast::hash(noise(9000))));
        assert_eq!(row.bytes(2)?, Some(noise(200_000)));
        $wait!(rows.finish())?;
        $wait!($conn.send_long_data(&statement, 2, noise(300_000)))?;
        let values = [values[0], values[1], Param::LongData];
        let mut rows = $wait!($conn.execute(&statement, &values))?;
        let mut row = $wait!(rows.next_streaming())?.unwrap();
        let mut read = 0;
        while let Some(mut column) = $wait!(row.next_column())? {
            let mut piece = vec![0; 4000];
            loop {
                match $wait!($read(&mut column, &mut piece))? {
                    0 => break,
                    n => read += n,
                }
            }
        }
        assert!(read > 300_000);
        drop(row);
        $wait!($wait!($conn.query("SELECT 1; SELECT REPEAT('z', 50000)"))?.finish())?;
        Ok(())
    }};
}

/// A query of 600 columns.
fn many_columns() -> String {
    let columns: Vec<_> = (0..600)
        .map(|number| format!("REPEAT('c', 20) AS c{number}"))
        .collect();
    format!("SELECT {}", columns.join(", "))
}

fn assert_want_of_memory(error: &Error, watch: &Watch) {
    assert!(watch.failed().is_some(), "{error:?}");
    assert!(error.is_out_of_memory(), "{error:?}");
}

fn config() -> Config {
    noise(0); // made once, outside of any watch
    let server = test_server();
    let url = server.socket_url().unwrap_or_else(|| server.url());
    let mut config = Config::from_url(&url).unwrap();
    config.multi_statements = true;
    // Nothing is kept, so that each command needs all of its memory.
    config.idle_keep = 0;
    config
}

/// More than there are, so that a loop that does not end is seen.
const MOST: usize = 500;

/// At least so many allocations are large: else the loop has watched nothing.
const LEAST: usize = 20;

#[test]
fn each_large_allocation_of_the_blocking_face() {
    use onecopy_mysql::blocking::Connection;

    use crate::conversation::{blocking_read as read, blocking_wait as wait};

    fn work(conn: &mut Connection, many: &str) -> Result<(), Error> {
        everything!(conn, many, wait, read)
    }
    let (config, many) = (config(), many_columns());
    let rounds = (1..MOST).take_while(|nth| {
        let watch = Watch::above(LARGE).failing(*nth);
        match watch.run(|| Connection::connect_with(&config)) {
            Err(error) => assert_want_of_memory(&error, &watch),
            Ok(mut conn) => {
                let done = watch.run(|| work(&mut conn, &many));
                assert_state(&done, conn.is_closed(), &watch);
                let word = conn.query(ask(*nth)).and_then(|mut rows| {
                    let row = rows.next()?.expect("a row");
                    row.get::<String>(0)
                });
                assert_word(word, &done, *nth);
            }
        }
        watch.failed().is_some()
    });
    assert!((LEAST..MOST - 1).contains(&rounds.count()));
}

#[tokio::test]
async fn each_large_allocation_of_the_tokio_face() {
    use onecopy_mysql::aio::Connection;

    use crate::conversation::{tokio_read as read, tokio_wait as wait};

    async fn work(conn: &mut Connection, many: &str) -> Result<(), Error> {
        everything!(conn, many, wait, read)
    }
    let (config, many) = (config(), many_columns());
    for nth in 1..MOST {
        let watch = Watch::above(LARGE).failing(nth);
        match watch.poll(Connection::connect_with(&config)).await {
            Err(error) => assert_want_of_memory(&error, &watch),
            Ok(mut conn) => {
                let done = watch.poll(work(&mut conn, &many)).await;
                assert_state(&done, conn.is_closed(), &watch);
                let word = match conn.query(&ask(nth)).await {
                    Ok(mut rows) => rows
                        .next()
                        .await
                        .and_then(|row| row.expect("a row").get::<String>(0)),
                    Err(error) => Err(error),
                };
                assert_word(word, &done, nth);
            }
        }
        if watch.failed().is_none() {
            assert!(nth > LEAST, "{nth}");
            return;
        }
    }
    panic!("{MOST} allocations are large");
}

/// What failed is a want of memory, and the connection is closed where its error says so.
fn assert_state(done: &Result<(), Error>, is_closed: bool, watch: &Watch) {
    if let Err(error) = done {
        assert_want_of_memory(error, watch);
    }
    let says_so = done.as_ref().is_err_and(Error::is_closed);
    assert_eq!(is_closed, says_so, "{done:?}");
}

/// A query for a word that nobody else asked for.
fn ask(nth: usize) -> String {
    format!("SELECT 'word {nth}'")
}

/// A connection gives the word that it was asked for, or says that it is closed.
fn assert_word(word: Result<String, Error>, done: &Result<(), Error>, nth: usize) {
    match word {
        Ok(word) => assert_eq!(word, format!("word {nth}")),
        Err(error) => {
            assert!(error.is_closed(), "{error:?}");
            assert!(done.as_ref().is_err_and(Error::is_closed), "{done:?}");
        }
    }
}
