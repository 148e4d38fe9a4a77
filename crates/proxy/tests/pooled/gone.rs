//! Clients that are gone without a word.

use std::time::{Duration, Instant};

use onecopy_proxy::config::Mode;

use crate::common::{Pooled, text};

/// Servers look after their clients every 5 seconds of a SLEEP.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_statement_of_a_client_that_is_gone_ends_as_without_the_proxy() {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let mut direct = pooled.direct();
    let mut count = || {
        let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP(444)%'";
        text(&mut direct, sql)
    };
    let until = |count: &mut dyn FnMut() -> String, wanted: &str| {
        let deadline = Instant::now() + PATIENCE;
        while count() != wanted {
            assert!(Instant::now() < deadline, "not {wanted}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let mut config = onecopy_mysql::Config::from_url(&pooled.url()).unwrap();
    config.call_timeout = Some(Duration::from_secs(1));
    let mut gone = onecopy_mysql::blocking::Connection::connect_with(&config).unwrap();
    let sleep = std::thread::spawn(move || {
        // It gives up after a second, and its socket closes.
        assert!(gone.query("SELECT SLEEP(444)").is_err());
        drop(gone);
    });
    until(&mut count, "1");
    sleep.join().unwrap();
    until(&mut count, "0");
    // The only place of the pool is free again.
    let mut next = pooled.connect();
    assert_eq!(text(&mut next, "SELECT 'there'"), "there");
}
