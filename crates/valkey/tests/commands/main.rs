//! Every typed command of the data families on a real server, in RESP2 and in RESP3: it is taken, and its reply is what the
//! command's output is made of. A private server each: what they do to all keys, scripts and functions disturbs nobody.
#![allow(clippy::unwrap_used)]

mod bitmap;
mod connection;
mod generic;
mod geo;
mod hash;
mod list;
mod scripting;
mod server;
mod session;
mod set;
mod sorted_set;
mod stream;
mod string;

use std::collections::BTreeMap;

use onecopy_testkit::server::lacks;
use onecopy_testkit::valkey::Server;
use onecopy_valkey::blocking::Connection;
use onecopy_valkey::command::{server as commands, table};

use session::Session;

#[test]
fn every_command_of_the_data_families_is_taken_and_its_reply_read_in_resp2() {
    run_all(2);
}

#[test]
fn every_command_of_the_data_families_is_taken_and_its_reply_read_in_resp3() {
    run_all(3);
}

fn run_all(protocol: u8) {
    let server = Server::start().unwrap();
    let mut session = Session::connect(&server, protocol);
    for family in [
        bitmap::run,
        connection::run,
        generic::run,
        geo::run,
        hash::run,
        list::run,
        scripting::run,
        server::run,
        set::run,
        sorted_set::run,
        stream::run,
        string::run,
    ] {
        session.run(&commands::flushall());
        family(&mut session);
    }
    session.assert_complete();
}

#[test]
fn the_table_has_the_arity_that_the_server_has() {
    let server = Server::start().unwrap();
    let mut conn = Connection::connect(&server.url()).unwrap();
    let known = arities(&mut conn);
    assert!(known.len() > 200, "{}", known.len());
    let (mut newer, mut other) = (Vec::new(), Vec::new());
    for entry in table() {
        match known.get(entry.name) {
            Some(arity) if *arity == i64::from(entry.arity) => {}
            Some(arity) => other.push((entry.name, *arity)),
            // A server has Sentinel's own commands only where it is one.
            None if entry.family == "sentinel" => {}
            None => newer.push(entry.name),
        }
    }
    if !newer.is_empty() {
        lacks(
            &newer.join(", "),
            "this server is older than these commands",
        );
    }
    assert!(newer.len() < 20, "{newer:?}");
    // What servers before Valkey 8 and Redis 7.2 did not take yet.
    other.retain(|older| !OLDER.contains(older));
    assert_eq!(other, []);
}

const OLDER: [(&str, i64); 4] = [
    ("COMMAND GETKEYS", -4),
    ("COMMAND GETKEYSANDFLAGS", -4),
    ("ZRANK", 3),
    ("ZREVRANK", 3),
];

/// What COMMAND says, subcommands by both their words.
fn arities(conn: &mut Connection) -> BTreeMap<String, i64> {
    let mut known = BTreeMap::new();
    for command in conn.run(&commands::command()).unwrap().children() {
        let facts: Vec<_> = command.children().collect();
        let subcommands = facts.get(9).into_iter().flat_map(|all| all.children());
        for subcommand in subcommands {
            let facts: Vec<_> = subcommand.children().take(2).collect();
            let name = facts[0].as_str().unwrap().replace('|', " ");
            known.insert(name.to_uppercase(), facts[1].as_i64().unwrap());
        }
        let name = facts[0].as_str().unwrap().to_uppercase();
        known.insert(name, facts[1].as_i64().unwrap());
    }
    known
}
