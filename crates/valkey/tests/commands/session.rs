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
const FAMILIES: [&str; 13] = [
    "bitmap",
    "generic",
    "geo",
    "hash",
    "hyperloglog",
    "json",
    "list",
    "set",
    "sorted_set",
    "stream",
    "string",
    "scripting",
    "vector_set",
];

/// Commands of these families that only hold others, or that a lone server can't carry out.
const NOT_RUN: [(&str, &str); 14] = [
    ("FUNCTION", "holds others"),
    ("FUNCTION KILL", "nothing runs that it could end"),
    ("JSON.DEBUG", "holds others"),
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
        let known = super::known(&mut conn);
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
        let words = words(command);
        let entry = entry(&words);
        self.seen.insert(entry.name);
        self.check_keys(command, &words);
        match self.conn.run(command) {
            Ok(output) => output,
            Err(error) => panic!("{}: {error}", entry.name),
        }
    }

    /// The keys that the command names are those that the server sees.
    #[track_caller]
    fn check_keys(&mut self, command: &impl Command, words: &[Vec<u8>]) {
        let mut keys = Vec::new();
        command.each_key(&mut |key| keys.push(text(key)));
        if words.len() < 2 {
            return assert_eq!(keys, [""; 0]); // too little for the server to look at
        }
        let ask = server::command_getkeys(&words[0], &words[1..]);
        let expected = match self.conn.run(&ask) {
            Ok(keys) => texts(keys),
            Err(error) => {
                let message = error.server().unwrap().message();
                let has_none = ["no key arguments", "Invalid arguments", "Invalid number"];
                assert!(
                    has_none.iter().any(|text| message.contains(text)),
                    "{error}"
                );
                Vec::new()
            }
        };
        assert_eq!(keys, expected, "{}", words[0].escape_ascii());
    }

    /// Whether the server has that command. Where it has not, it says so.
    pub(crate) fn has(&mut self, name: &'static str) -> bool {
        let has = self.known.contains(name);
        if !has {
            let reason = match table::find(name).map(|entry| entry.family) {
                Some("json") => "this server has no JSON module with this command",
                Some("vector_set") => "this server has no vector sets, or none with this command",
                _ => "this server is older than this command",
            };
            lacks(name, reason);
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
fn entry(words: &[Vec<u8>]) -> &'static Entry {
    let name = text(&words[0]);
    let subcommand = words
        .get(1)
        .map(|word| format!("{name} {}", word.escape_ascii()));
    let entry = subcommand.and_then(|name| table::find(&name));
    entry.or_else(|| table::find(&name)).expect(&name)
}

/// A command's arguments as a server reads them.
fn words(command: &impl Command) -> Vec<Vec<u8>> {
    let (mut queue, mut parts) = (WriteQueue::new(), Vec::new());
    let mut request = Request::lending(&mut queue, &mut parts);
    command.encode(&mut request);
    request.end().unwrap();
    let mut slices = [IoSlice::new(&[]); 8];
    let count = queue.slices(parts.as_slice(), &mut slices);
    let bytes: Vec<u8> = slices[..count]
        .iter()
        .flat_map(|slice| slice.to_vec())
        .collect();
    let mut rest = bytes.as_slice();
    let words = (0..header(&mut rest)).map(|_| {
        let len = header(&mut rest);
        let word = rest[..len].to_vec();
        rest = &rest[len + 2..];
        word
    });
    words.collect()
}

/// The number of the line at the beginning, which is taken off.
fn header(bytes: &mut &[u8]) -> usize {
    let end = bytes.iter().position(|byte| *byte == b'\r').unwrap();
    let number = text(&bytes[1..end]).parse().unwrap();
    *bytes = &bytes[end + 2..];
    number
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
