//! The mirror: the same script, run by sessions of their own and by clients that share a few connections. Every reply has to be equal.
//!
//! The statements run one after the other, so that both runs see the same data; the sessions take turns at random. At most
//! as many sessions as there are connections less one are in a transaction, or keep a connection, at the same time: the others
//! would wait for them for ever.
#![allow(clippy::unwrap_used)]

#[path = "../common/replication.rs"]
mod replication;
mod reply;
mod script;
mod side;

use std::sync::mpsc::sync_channel;
use std::thread;

use onecopy_mysql::Config as ClientConfig;
use script::Script;
use side::Side;

/// Sessions at the same time, and connections that they share.
const SESSIONS: usize = 100;
const CONNECTIONS: usize = 4;

/// How many statements a run has, unless the environment says otherwise (`ONECOPY_MIRROR_STATEMENTS`, `ONECOPY_MIRROR_SEED`).
const STATEMENTS: usize = 100_000;

/// The same with `ONECOPY_SOAK=1`.
const SOAK_STATEMENTS: usize = 1_000_000;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// So many steps the run on the server may be ahead of the one through the proxy.
const AHEAD: usize = 256;

/// The first difference between a run on the server and one through `mirrored`, in words. Both run at the same time: the script goes on
/// by what the server says.
fn difference(
    seed: u64,
    statements: usize,
    mirrored: &mut Side,
    direct: &mut Side,
) -> Option<String> {
    let (sender, steps) = sync_channel(AHEAD);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut script = Script::new(seed, SESSIONS, CONNECTIONS - 1);
            for _ in 0..statements {
                let (session, step) = script.next();
                let wanted = direct.run(session, &step);
                script.done(session, &step, &wanted);
                // Nobody listens behind a difference.
                if sender.send((session, step, wanted)).is_err() {
                    return;
                }
            }
        });
        let mut said: Vec<(usize, String)> = Vec::new();
        let mut added = 0;
        for (at, (session, step, wanted)) in steps.into_iter().enumerate() {
            let mut found = mirrored.run(session, &step);
            // Now and then a session keeps its connection where the script does not know of it. Nothing of the step has run.
            while found.0.is_wait_timeout() && added < statements / 50_000 {
                added += 1;
                mirrored.add_connection();
                found = mirrored.run(session, &step);
            }
            said.push((session, format!("{step:?}")));
            if wanted != found {
                let (keepers, of_keepers) = mirrored.keepers();
                let of_keepers = of_keepers.iter().map(|&session| last(&said, Some(session)));
                let of_keepers = of_keepers.collect::<Vec<_>>().join("\n    ");
                return Some(format!(
                    "seed {seed}, statement {at}, session {session}: {step:?}\n  direct: {wanted:?}\n  pooled: {found:?}\n  \
                     the session's last statements:\n    {}\n  connections in use:\n    {keepers}\n    {of_keepers}\n  all sessions' last statements:\n    {}",
                    last(&said, Some(session)),
                    last(&said, None)
                ));
            }
        }
        println!("{statements} statements, {added} connections added");
        None
    })
}

/// The last statements of a session or of all.
fn last(said: &[(usize, String)], of: Option<usize>) -> String {
    let most = number("ONECOPY_MIRROR_HISTORY", 12);
    let own = said
        .iter()
        .rev()
        .filter(|(session, _)| of.is_none_or(|of| of == *session));
    let mut lines: Vec<_> = own
        .take(most)
        .map(|(session, step)| format!("Of {session}: {step}"))
        .collect();
    lines.reverse();
    lines.join("\n    ")
}

/// Seed and statements of a run, unless the environment says otherwise.
fn asked_for(seed: u64, statements: usize) -> (u64, usize) {
    let statements = match std::env::var_os("ONECOPY_SOAK") {
        None => statements,
        Some(_) => SOAK_STATEMENTS,
    };
    let statements = number("ONECOPY_MIRROR_STATEMENTS", statements);
    let seed = number("ONECOPY_MIRROR_SEED", usize::try_from(seed).unwrap()) as u64;
    (seed, statements)
}

fn mirror(seed: u64, statements: usize, change: impl Fn(&mut ClientConfig) + Copy + 'static) {
    let (seed, statements) = asked_for(seed, statements);
    let mut direct = Side::direct(SESSIONS, change);
    let mut pooled = Side::pooled(SESSIONS, CONNECTIONS, change);
    if let Some(difference) = difference(seed, statements, &mut pooled, &mut direct) {
        panic!("{difference}");
    }
}

#[test]
fn sessions_that_share_connections_see_what_they_would_see_alone() {
    mirror(1, STATEMENTS, |_| {});
}

/// Moves between two servers all the time.
#[test]
fn sessions_that_read_on_a_replica_see_what_they_would_see_alone() {
    let mut direct = Side::direct_with_log(SESSIONS);
    let mut reading = Side::reading(SESSIONS, CONNECTIONS, |_| {});
    reading.await_replica();
    let (seed, statements) = asked_for(3, STATEMENTS / 10);
    if let Some(difference) = difference(seed, statements, &mut reading, &mut direct) {
        panic!("{difference}");
    }
}

/// All that can leave a server does so again and again, with all of its state.
#[test]
fn sessions_whose_backends_are_drained_in_turn_see_what_they_would_see_alone() {
    let mut direct = Side::direct(SESSIONS, |_| {});
    let mut moving = Side::moving(SESSIONS);
    let (seed, statements) = asked_for(4, STATEMENTS / 20);
    if let Some(difference) = difference(seed, statements, &mut moving, &mut direct) {
        panic!("{difference}");
    }
    let (connects, moves) = moving.moved();
    println!("{statements} statements, {moves} drains, {connects} connections");
    // Each drain closes the connections that nobody needs.
    assert!(connects >= moves as u64, "{connects} connections");
}

#[test]
fn clients_that_are_told_of_found_rows_see_the_same() {
    mirror(2, STATEMENTS / 10, |config| config.found_rows = true);
}
