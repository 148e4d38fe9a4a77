//! What the server documents of its commands, compared with the table. The declarations are written by hand: this finds what
//! they lack.

use onecopy_testkit::server::lacks;
use onecopy_testkit::valkey::Server;
use onecopy_valkey::blocking::Connection;
use onecopy_valkey::command::server as commands;
use onecopy_valkey::command::table::{self, Entry};
use onecopy_valkey::{Reply, raw};

#[test]
fn the_table_has_the_options_families_and_versions_that_the_server_documents() {
    let server = Server::start().unwrap();
    let mut conn = Connection::connect(&server.url()).unwrap();
    if conn.run(&raw("COMMAND").arg("DOCS")).is_err() {
        return lacks("COMMAND DOCS", "this server documents no commands");
    }
    let docs = conn.run(&commands::command_docs()).unwrap();
    let (mut count, mut other) = (0, Vec::new());
    for (name, doc) in docs.iter() {
        compare(name, doc, &mut count, &mut other);
    }
    assert!(count > 200, "{count}");
    other.retain(|(name, fact)| !KNOWN.contains(&(name.as_str(), fact.as_str())));
    assert_eq!(other, []);
}

/// What some servers say otherwise.
const KNOWN: [(&str, &str); 9] = [
    // Of Redis 7.0: a version that was never released, and a deprecation that Valkey withdrew.
    ("CLIENT PAUSE", "2.9.50"),
    ("CLUSTER SLOTS", "7.0.0"),
    // Of valkey-json: for its own tests.
    ("JSON.DEBUG KEYTABLE-CHECK", "is missing"),
    ("JSON.DEBUG KEYTABLE-CLEAR", "is missing"),
    ("JSON.DEBUG KEYTABLE-CORRUPT", "is missing"),
    ("JSON.DEBUG KEYTABLE-DISTRIBUTION", "is missing"),
    ("JSON.DEBUG MAX-DEPTH-KEY", "is missing"),
    ("JSON.DEBUG MAX-SIZE-KEY", "is missing"),
    ("JSON.DEBUG TEST-SHARED-API", "is missing"),
];

fn compare(name: &[u8], doc: Reply<'_>, count: &mut usize, other: &mut Vec<(String, String)>) {
    let name = String::from_utf8_lossy(name);
    let name = name.replace('|', " ").to_uppercase();
    *count += 1;
    let facts = match table::find(&name) {
        Some(entry) => differences(entry, doc),
        None => vec!["is missing".to_owned()],
    };
    other.extend(facts.into_iter().map(|fact| (name.clone(), fact)));
    let subcommands = field(doc, "subcommands");
    for (name, doc) in subcommands.into_iter().flat_map(|all| all.pairs()) {
        compare(name.bytes(), doc, count, other);
    }
}

/// What the server says, if the table says something else.
fn differences(entry: &Entry, doc: Reply<'_>) -> Vec<String> {
    // Modules are of one group, and need not document anything.
    let is_module = text(doc, "group") == "module";
    let family = text(doc, "group").replace('-', "_");
    let since = text(doc, "since");
    let deprecated = text(doc, "deprecated_since");
    let mut words = Vec::new();
    collect_words(doc, &mut words);
    let usage: Vec<&str> = entry.usage.split([' ', '[', ']', '<', '>', '|']).collect();
    // Servers spell some in capitals and some not, and take both.
    let is_known = |word: &String| usage.iter().any(|known| known.eq_ignore_ascii_case(word));
    words.retain(|word| !is_known(word));
    let facts = [
        (is_module || family == entry.family, family),
        (is_module || since == entry.since, since),
        (
            deprecated.is_empty() || Some(deprecated.as_str()) == entry.deprecated_since,
            deprecated,
        ),
    ];
    let facts = facts.into_iter().filter(|(is_same, _)| !is_same);
    facts.map(|(_, fact)| fact).chain(words).collect()
}

/// The words of all arguments, and of arguments within them.
fn collect_words(doc: Reply<'_>, words: &mut Vec<String>) {
    for argument in field(doc, "arguments")
        .into_iter()
        .flat_map(|all| all.children())
    {
        words.extend(field(argument, "token").map(show));
        collect_words(argument, words);
    }
}

fn text(doc: Reply<'_>, name: &str) -> String {
    field(doc, name).map(show).unwrap_or_default()
}

fn show(text: Reply<'_>) -> String {
    String::from_utf8_lossy(text.bytes()).into_owned()
}

fn field<'r>(doc: Reply<'r>, name: &str) -> Option<Reply<'r>> {
    let mut pairs = doc.pairs();
    let found = pairs.find(|(key, _)| key.bytes() == name.as_bytes());
    found.map(|(_, value)| value)
}
