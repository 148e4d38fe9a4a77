//! A connection that remembers which commands it ran.

use std::collections::BTreeSet;
use std::io::IoSlice;

use onecopy_testkit::server::lacks;
use onecopy_testkit::valkey::Server;
use onecopy_valkey::blocking::Connection;
use onecopy_valkey::command::table::{self, Entry};
use onecopy_valkey::command::{Array, Map, server, table as all};
use onecopy_valkey::{Command, Request};
use onecopy_wire::WriteQueue;

/// The families whose every command is run.
const FAMILIES: [&str; 11] = [
    "bitmap",
    "generic",
    "geo",
    "hash",
    "hyperloglog",
    "list",
    "set",
    "sorted_set",
    "stream",
    "string",
    "scripting",
];

/// Commands of these families that only hold others, or that a lone server can't carry out.
const NOT_RUN: [(&str, &str); 13] = [
    ("FUNCTION", "holds others"),
    ("FUNCTION KILL", "nothing runs that it could end"),
    ("MIGRATE", "wants a second server"),
    ("OBJECT", "holds others"),
    ("PFDEBUG", "is for the server's own tests"),
    ("PFSELFTEST", "is for the server's own tests"),
    ("SCRIPT", "holds others"),
    ("SCRIPT DEBUG", "is refused: it breaks the order of replies"),
    ("SCRIPT KILL", "nothing runs that it could end"),
    ("OBJECT FREQ", "wants another policy of eviction"),
    ("WAITAOF", "wants a file that is appended to"),
    ("XGROUP", "holds others"),
    ("XINFO", "holds others"),
];

pub(crate) struct Session {
    conn: Connection,
    url: String,
    /// What the server knows, by the table's names.
    known: BTreeSet<&'static str>,
    seen: BTreeSet<&'static str>,
}

impl Session {
    pub(crate) fn connect(server: &Server, protocol: u8) -> Self {
        let url = format!("{}?protocol={protocol}", server.url());
        let mut conn = Connection::connect(&url).unwrap();
        let known = super::arities(&mut conn);
        let known = all()
            .iter()
            .map(|entry| entry.name)
            .filter(|name| known.contains_key(*name));
        let known = known.collect();
        Self {
            conn,
            url,
            known,
            seen: BTreeSet::new(),
        }
    }

    /// Runs a command; its reply has to be what its output is made of.
    #[track_caller]
    pub(crate) fn run<C: Command>(&mut self, command: &C) -> C::Output<'_> {
        let entry = entry(command);
        self.seen.insert(entry.name);
        match self.conn.run(command) {
            Ok(output) => output,
            Err(error) => panic!("{}: {error}", entry.name),
        }
    }

    /// Whether the server has that command. Where it has not, it says so.
    pub(crate) fn has(&mut self, name: &'static str) -> bool {
        let has = self.known.contains(name);
        if !has {
            lacks(name, "this server is older than this command");
        }
        has
    }

    /// A second connection to the same server.
    pub(crate) fn another(&self) -> Connection {
        Connection::connect(&self.url).unwrap()
    }

    pub(crate) fn assert_complete(&self) {
        let missing = all().iter().filter(|entry| {
            let is_wanted = FAMILIES.contains(&entry.family) && self.known.contains(entry.name);
            let is_excused = NOT_RUN.iter().any(|(name, _)| *name == entry.name);
            is_wanted && !is_excused && !self.seen.contains(entry.name)
        });
        let missing: Vec<&str> = missing.map(|entry| entry.name).collect();
        assert_eq!(missing, [""; 0]);
    }
}

/// The row of a command, by the words it goes out with.
fn entry(command: &impl Command) -> &'static Entry {
    let (mut queue, mut parts) = (WriteQueue::new(), Vec::new());
    let mut request = Request::lending(&mut queue, &mut parts);
    command.encode(&mut request);
    request.end().unwrap();
    let mut slices = [IoSlice::new(&[]); 1];
    queue.slices(parts.as_slice(), &mut slices);
    let text = String::from_utf8_lossy(&slices[0]);
    let mut lines = text.split("\r\n").skip(2).step_by(2);
    let name = lines.next().unwrap();
    let subcommand = lines.next().map(|word| format!("{name} {word}"));
    let entry = subcommand.and_then(|name| table::find(&name));
    entry.or_else(|| table::find(name)).expect(name)
}

/// The elements as texts.
pub(crate) fn texts(elements: Array<'_, &[u8]>) -> Vec<String> {
    elements.iter().map(text).collect()
}

/// The same where their order is the server's own affair.
pub(crate) fn sorted(elements: Array<'_, &[u8]>) -> Vec<String> {
    let mut texts = texts(elements);
    texts.sort();
    texts
}

/// Members and scores as texts.
pub(crate) fn scores(scores: Map<'_, &[u8], f64>) -> Vec<String> {
    let show = |(member, score): (&[u8], f64)| format!("{}={score}", text(member));
    scores.iter().map(show).collect()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(crate) fn flush(session: &mut Session) {
    session.run(&server::flushdb());
}
