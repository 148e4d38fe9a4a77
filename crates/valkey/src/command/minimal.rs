//! Every typed command in its shortest form agrees with the table: name, number of words, flags.
//!
//! The calls are part of what a declaration expands to: `minimal` of each family.

use std::collections::BTreeSet;
use std::io::IoSlice;

use onecopy_wire::WriteQueue;

use crate::command::{
    Command, Flags, bitmap, cluster, connection, generic, geo, hash, hyperloglog, json, list,
    pubsub, raw, scripting, sentinel, server, set, sorted_set, stream, string, table, transactions,
    vector_set,
};
use crate::request::Request;

#[test]
fn every_command_has_as_many_words_as_its_arity_says() {
    // By arity alone these could do without what makes them of use, or have a shorter form than the typed one.
    let longer = [
        ("CLUSTER SETSLOT", 1),
        ("CLUSTER SLOT-STATS", 1),
        ("CLIENT KILL", 1),
        ("GEOHASH", 1),
        ("GEOPOS", 1),
        ("PFADD", 1),
        ("PFMERGE", 1),
        ("PUBSUB NUMSUB", 1),
        ("PUBSUB SHARDNUMSUB", 1),
        ("ACL DRYRUN", 1),
        ("ACL SETUSER", 1),
        ("COMMAND GETKEYS", 1),
        ("COMMAND GETKEYSANDFLAGS", 1),
    ];
    assert_eq!(check_all().longer, longer);
}

#[test]
fn every_command_of_the_table_is_typed_but_those_that_only_hold_others() {
    let check = check_all();
    let rows = table::table().iter().map(|entry| entry.name);
    let missing: Vec<&str> = rows.filter(|name| !check.seen.contains(name)).collect();
    let containers = [
        "ACL",
        "CLIENT",
        "CLUSTER",
        "COMMANDLOG",
        "CONFIG",
        "FUNCTION",
        "JSON.DEBUG",
        "LATENCY",
        "MEMORY",
        "MODULE",
        "OBJECT",
        "PUBSUB",
        "SCRIPT",
        "SENTINEL",
        "SLOWLOG",
        "XGROUP",
        "XINFO",
    ];
    assert_eq!(missing, containers);
}

#[test]
fn commands_that_own_their_texts_are_sent_as_those_that_lend_them() {
    assert!(check_all().compared > 100);
}

#[test]
fn enums_have_the_words_that_declarations_show() {
    assert!(check_all().words > 50);
}

fn check_all() -> Check {
    let mut check = Check::default();
    for family in [
        bitmap::minimal,
        cluster::minimal,
        connection::minimal,
        generic::minimal,
        geo::minimal,
        hash::minimal,
        hyperloglog::minimal,
        json::minimal,
        list::minimal,
        pubsub::minimal,
        scripting::minimal,
        sentinel::minimal,
        server::minimal,
        set::minimal,
        sorted_set::minimal,
        stream::minimal,
        string::minimal,
        transactions::minimal,
        vector_set::minimal,
    ] {
        family(&mut check);
    }
    check
}

#[derive(Default)]
pub(super) struct Check {
    seen: BTreeSet<&'static str>,
    /// Names, and how many words more than the arity asks for.
    longer: Vec<(&'static str, i32)>,
    /// Commands that were compared.
    compared: usize,
    /// Words of enums that were compared.
    words: usize,
}

impl Check {
    pub(super) fn minimal(&mut self, name: &'static str, command: &impl Command) {
        let words = words(command);
        let entry = table::find(name).expect(name);
        assert!(self.seen.insert(entry.name), "{name} twice");
        let count = i32::try_from(words.len()).unwrap();
        let least = entry.arity.abs();
        let spelled = name.split(' ').map(str::as_bytes);
        assert!(
            spelled.eq(words
                .iter()
                .map(Vec::as_slice)
                .take(name.split(' ').count()))
        );
        if count != least {
            self.longer.push((name, count - least));
        }
        let flags = command.flags();
        let expected = match name {
            "XREAD" | "XREADGROUP" => entry.flags.without(Flags::BLOCKING),
            _ => entry.flags,
        };
        assert_eq!(flags, expected, "{name}");
        // The same words as a raw command are known as what they are.
        let again = words
            .iter()
            .skip(1)
            .fold(raw(&words[0]), |raw, word| raw.arg(word));
        assert_eq!(again.entry(), Some(entry), "{name}");
        assert_eq!(again.flags(), flags, "{name}");
        assert_eq!(again.blocking(), command.blocking(), "{name}");
        assert_eq!(words_of(&bytes(&again)), words, "{name}");
    }

    /// An enum has the word that the declaration has.
    pub(super) fn word(&mut self, declared: &str, word: &str) {
        assert_eq!(declared, word);
        self.words += 1;
    }

    /// Commands are the same whether they borrow their texts or own them.
    pub(super) fn same(&mut self, borrowed: &impl Command, owned: &impl Command) {
        let (borrowed, owned) = (bytes(borrowed), bytes(owned));
        assert_eq!(
            borrowed.escape_ascii().to_string(),
            owned.escape_ascii().to_string()
        );
        self.compared += 1;
    }
}

/// The arguments as a server reads them.
fn words(command: &impl Command) -> Vec<Vec<u8>> {
    words_of(&bytes(command))
}

fn bytes(command: &impl Command) -> Vec<u8> {
    let (mut queue, mut parts) = (WriteQueue::new(), Vec::new());
    let mut request = Request::lending(&mut queue, &mut parts);
    command.encode(&mut request);
    request.end().unwrap();
    let mut slices = [IoSlice::new(&[]); 8];
    let count = queue.slices(parts.as_slice(), &mut slices);
    slices[..count]
        .iter()
        .flat_map(|slice| slice.to_vec())
        .collect()
}

fn words_of(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let count = number(&mut bytes, b'*');
    let words = (0..count).map(|_| {
        let len = number(&mut bytes, b'$');
        let (word, rest) = bytes.split_at(len);
        bytes = rest.strip_prefix(b"\r\n").expect("CR LF behind a bulk");
        word.to_vec()
    });
    let words = words.collect();
    assert_eq!(bytes, b"", "bytes behind the last argument");
    words
}

fn number(bytes: &mut &[u8], kind: u8) -> usize {
    assert_eq!(bytes.first(), Some(&kind), "{}", bytes.escape_ascii());
    let end = bytes.windows(2).position(|two| two == b"\r\n").unwrap();
    let number = std::str::from_utf8(&bytes[1..end]).unwrap().parse();
    *bytes = &bytes[end + 2..];
    number.unwrap()
}
