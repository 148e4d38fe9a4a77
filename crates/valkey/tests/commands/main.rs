//! Every typed command of the data families on a real server, in RESP2 and in RESP3: it is taken, and its reply is what the
//! command's output is made of. A private server each: what they do to all keys, scripts and functions disturbs nobody.
#![allow(clippy::unwrap_used)]

mod bitmap;
mod connection;
mod documented;
mod generic;
mod geo;
mod hash;
mod json;
mod list;
mod scripting;
mod server;
mod session;
mod set;
mod sorted_set;
mod stream;
mod string;
mod vector_set;

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
        json::run,
        list::run,
        scripting::run,
        server::run,
        set::run,
        sorted_set::run,
        stream::run,
        string::run,
        vector_set::run,
    ] {
        session.run(&commands::flushall());
        family(&mut session);
    }
    session.assert_complete();
}

#[test]
fn the_table_has_the_arities_and_flags_that_the_server_has() {
    let server = Server::start().unwrap();
    let mut conn = Connection::connect(&server.url()).unwrap();
    let known = known(&mut conn);
    assert!(known.len() > 200, "{}", known.len());
    let (mut newer, mut other) = (Vec::new(), Vec::new());
    let mut modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in table() {
        match known.get(entry.name) {
            // Only those of them that connections go by.
            Some((arity, flags)) => {
                let own: Vec<&str> = entry
                    .flags
                    .names()
                    .filter(|name| FLAGS.contains(name))
                    .collect();
                if *flags != own {
                    other.push((entry.name, flags.join(" ")));
                }
                // A module need not say how many words a command has.
                let is_unknown = *arity == -1 && MODULES.contains(&entry.family);
                if *arity != i64::from(entry.arity) && !is_unknown {
                    other.push((entry.name, arity.to_string()));
                }
            }
            // A server has Sentinel's own commands only where it is one.
            None if entry.family == "sentinel" => {}
            None if MODULES.contains(&entry.family) => {
                modules.entry(entry.family).or_default().push(entry.name);
            }
            None => newer.push(entry.name),
        }
    }
    if !newer.is_empty() {
        lacks(
            &newer.join(", "),
            "this server is older than these commands",
        );
    }
    for (family, names) in modules {
        lacks(
            &names.join(", "),
            &format!("this server has no module, or another one, for {family}"),
        );
    }
    assert!(newer.len() < 20, "{newer:?}");
    other.retain(|(name, fact)| !OLDER.contains(&(*name, fact.as_str())));
    assert_eq!(other, []);
}

/// Families that only servers with a module have.
const MODULES: [&str; 2] = ["json", "vector_set"];

/// What servers before Valkey 8 and Redis 7.2 have otherwise, and what valkey-json does not say.
const OLDER: [(&str, &str); 8] = [
    ("COMMAND GETKEYS", "-4"),
    ("COMMAND GETKEYSANDFLAGS", "-4"),
    ("WAIT", ""),
    ("ZRANK", "3"),
    ("ZREVRANK", "3"),
    ("JSON.DEBUG DEPTH", ""),
    ("JSON.DEBUG FIELDS", ""),
    ("JSON.DEBUG MEMORY", ""),
];

/// Flags that the server has too.
const FLAGS: [&str; 4] = ["readonly", "write", "admin", "blocking"];

/// Arity and flags by what COMMAND says, subcommands by both their words.
fn known(conn: &mut Connection) -> BTreeMap<String, (i64, Vec<String>)> {
    let mut known = BTreeMap::new();
    for command in conn.run(&commands::command()).unwrap().children() {
        let subcommands = command.children().nth(9);
        let all = subcommands.iter().flat_map(|all| all.children());
        for command in all.chain([command]) {
            let facts: Vec<_> = command.children().take(3).collect();
            let name = facts[0].as_str().unwrap().replace('|', " ").to_uppercase();
            let flags: Vec<_> = facts[2]
                .children()
                .filter_map(|flag| flag.as_str())
                .collect();
            let flags = FLAGS.iter().filter(|flag| flags.contains(flag));
            let flags = flags.map(|flag| (*flag).to_owned()).collect();
            known.insert(name, (facts[1].as_i64().unwrap(), flags));
        }
    }
    known
}
