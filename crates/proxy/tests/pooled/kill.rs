//! Clients that end or interrupt each other.

use std::time::{Duration, Instant};

use onecopy_proxy::config::Mode;

use crate::common::{Pooled, text};

#[test]
fn a_kill_of_a_query_interrupts_it_and_nothing_else() {
    let pooled = Pooled::start(Mode::Transaction, 3);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    let id = one.connection_id();
    let sleeping = std::thread::spawn(move || {
        let began = Instant::now();
        let mut rows = one.query("SELECT SLEEP(100)").unwrap();
        // MariaDB gives an error, MySQL a 1.
        let _ = rows.next();
        drop(rows);
        (began.elapsed(), text(&mut one, "SELECT 'there'"))
    });
    // It has to have begun.
    let mut direct = pooled.direct();
    while text(
        &mut direct,
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP(100)%'",
    ) == "0"
    {}
    other.run(format!("KILL QUERY {id}")).unwrap();
    let (took, after) = sleeping.join().unwrap();
    assert!(took < Duration::from_secs(90), "{took:?}");
    assert_eq!(after, "there");
    assert_eq!(text(&mut other, "SELECT 1"), "1");
}

#[test]
fn a_kill_ends_the_client_and_others_keep_theirs() {
    let pooled = Pooled::start(Mode::Transaction, 2);
    let (mut one, mut other) = (pooled.connect(), pooled.connect());
    one.run("BEGIN").unwrap();
    other.run(format!("KILL {}", one.connection_id())).unwrap();
    assert!(one.run("SELECT 1").is_err());
    let error = other
        .run(format!("KILL {}", one.connection_id()))
        .unwrap_err();
    assert_eq!(error.server().unwrap().code, 1094);
    assert_eq!(text(&mut other, "SELECT 1"), "1");
    // One that has no connection at all, and has sent nothing yet.
    let idle = pooled.connect();
    other.run(format!("KILL {}", idle.connection_id())).unwrap();
    let mut next = pooled.connect();
    assert_eq!(text(&mut next, "SELECT 2"), "2");
}
