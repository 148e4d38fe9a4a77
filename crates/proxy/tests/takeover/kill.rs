//! `KILL` of a session that is left with the old proxy, by a client of the new one.

use crate::common::{Ground, text, until};

#[test]
fn a_kill_through_a_single_server_reaches_sessions_of_both() {
    let ground = Ground::new();
    let old = ground.start();
    let mut stays = ground.connect(&old, 0);
    let new = ground.take_over().unwrap();
    let mut comes = ground.connect(&new, 0);
    comes
        .run(format!("KILL {}", stays.connection_id()))
        .unwrap();
    assert!(stays.run("SELECT 1").is_err());
    until("its end", || old.sessions() == 0);
    // The server's own session may take a moment to end.
    until("there is nobody to kill", || {
        let killed = comes.run(format!("KILL {}", stays.connection_id()));
        killed.is_err_and(|error| error.server().is_some_and(|error| error.code == 1094))
    });
}

#[test]
fn ids_of_pooled_clients_are_not_given_again_and_a_kill_of_one_that_stays_fails() {
    let ground = Ground::new();
    let old = ground.start();
    let mut stays: Vec<_> = (0..3).map(|_| ground.connect(&old, 1)).collect();
    for conn in &mut stays {
        // What is open keeps it where it is.
        conn.run("BEGIN").unwrap();
    }
    let new = ground.take_over().unwrap();
    let mut comes: Vec<_> = (0..5).map(|_| ground.connect(&new, 1)).collect();
    let ids: std::collections::HashSet<_> = stays
        .iter()
        .chain(&comes)
        .map(|conn| conn.connection_id())
        .collect();
    assert_eq!(ids.len(), 8);
    let error = comes[0].run(format!("KILL {}", stays[0].connection_id()));
    assert_eq!(error.unwrap_err().server().unwrap().code, 1094);
    assert_eq!(text(&mut stays[0], "SELECT 1"), "1");
    // Each process knows its own.
    let other = comes[1].connection_id();
    comes[0].run(format!("KILL {other}")).unwrap();
    assert!(comes[1].run("SELECT 1").is_err());
}
