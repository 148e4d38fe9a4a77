//! Keys of commands, compared with what a server says they are.

use std::io::IoSlice;

use onecopy_valkey::aio::Cluster;
use onecopy_valkey::command::word::{BitOperation, Extreme, Side, Unit};
use onecopy_valkey::command::{
    bitmap, generic, geo, hash, hyperloglog, list, pubsub, scripting, server, set, sorted_set,
    stream, string,
};
use onecopy_valkey::{Command, Error, Raw, Request, raw};
use onecopy_wire::WriteQueue;

use crate::common::{connect, shared};

/// The words of a command, as they are sent.
fn words(command: &impl Command) -> Vec<String> {
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
    let text = String::from_utf8(bytes).unwrap();
    text.split("\r\n")
        .skip(2)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

fn keys(command: &impl Command) -> Vec<String> {
    let mut keys = Vec::new();
    command.each_key(&mut |key| keys.push(String::from_utf8(key.to_vec()).unwrap()));
    keys
}

fn raw_of(words: &[String]) -> Raw<'_> {
    raw(&words[0]).args(&words[1..])
}

/// Compares the keys of the typed command, and of the same as a raw one, with the server's.
async fn check(cluster: &Cluster, command: &impl Command) {
    let words = words(command);
    let asked = cluster
        .run(&raw("COMMAND").arg("GETKEYS").args(&words))
        .await;
    let expected: Vec<String> = match asked {
        Ok(reply) => reply
            .reply()
            .children()
            .map(|key| key.as_str().unwrap().to_owned())
            .collect(),
        Err(error) if is_about_keys(&error) => Vec::new(),
        // A server that does not know the command, or has other options.
        Err(error) => {
            println!("{}: {error}", words.join(" "));
            return;
        }
    };
    assert_eq!(keys(&raw_of(&words)), expected, "{}", words.join(" "));
    assert_eq!(keys(command), expected, "{}", words.join(" "));
}

fn is_about_keys(error: &Error) -> bool {
    error.to_string().contains("no key arguments")
}

#[tokio::test]
async fn keys_are_where_the_server_finds_them() {
    let cluster = connect(shared()).await;
    macro_rules! check {
        ($($command:expr;)+) => {$(
            check(&cluster, &$command).await;
        )+};
    }
    check! {
        string::get("{k}a");
        string::set("{k}a", "v").ex(1);
        string::mget(["{k}a", "{k}b"]);
        string::mset([("{k}a", "1"), ("{k}b", "2")]);
        string::msetnx([("{k}a", "1"), ("{k}b", "2")]);
        string::lcs("{k}a", "{k}b");
        string::getex("{k}a").ex(1);
        generic::del(["{k}a", "{k}b"]);
        generic::copy("{k}a", "{k}b");
        generic::rename("{k}a", "{k}b");
        generic::object_encoding("{k}a");
        generic::sort("{k}a").store("{k}b");
        hash::hset("{k}a", [("f", "v")]);
        list::blpop(["{k}a", "{k}b"], 1.0);
        list::lmove("{k}a", "{k}b", Side::Left, Side::Right);
        list::blmove("{k}a", "{k}b", Side::Left, Side::Right, 1.0);
        list::lmpop(["{k}a", "{k}b"], Side::Left);
        list::blmpop(1.0, ["{k}a", "{k}b"], Side::Left);
        list::rpoplpush("{k}a", "{k}b");
        set::sinterstore("{k}a", ["{k}b", "{k}c"]);
        set::sintercard(["{k}a", "{k}b"]);
        set::smove("{k}a", "{k}b", "m");
        sorted_set::zunionstore("{k}d", ["{k}a", "{k}b"]);
        sorted_set::zinter(["{k}a", "{k}b"]);
        sorted_set::zrangestore("{k}a", "{k}b", "0", "1");
        sorted_set::bzpopmin(["{k}a", "{k}b"], 1.0);
        sorted_set::zmpop(["{k}a", "{k}b"], Extreme::Min);
        sorted_set::bzmpop(1.0, ["{k}a", "{k}b"], Extreme::Min);
        hyperloglog::pfmerge("{k}a", ["{k}b"]);
        bitmap::bitop(BitOperation::And, "{k}a", ["{k}b", "{k}c"]);
        geo::georadius("{k}a", 1.0, 2.0, 3.0, Unit::M);
        stream::xread(["{k}a", "{k}b"], ["0", "0"]);
        stream::xadd("{k}a", "*", [("f", "v")]);
        stream::xgroup_create("{k}a", "g", "$");
        stream::xinfo_stream("{k}a");
        scripting::eval("return 1").keys(["{k}a", "{k}b"]).args("x");
        scripting::fcall("f").keys("{k}a");
        server::memory_usage("{k}a");
        pubsub::publish("{k}a", "m");
    }
    for text in [
        "SORT {k}a BY w LIMIT 0 1 STORE {k}b",
        "GEORADIUS {k}a 1 2 3 m COUNT 5 STORE {k}b",
        "GEORADIUSBYMEMBER {k}a m 3 m STOREDIST {k}b",
        "GEOSEARCHSTORE {k}a {k}b FROMMEMBER m BYRADIUS 1 m",
        "XREADGROUP GROUP g c COUNT 1 STREAMS {k}a {k}b > >",
        "XREAD COUNT 1 STREAMS {k}a {k}b 0 0",
        "MIGRATE h 1 {k}a 0 10",
        "EVALSHA 0 2 {k}a {k}b c",
        "XGROUP CREATECONSUMER {k}a g c",
        "OBJECT FREQ {k}a",
        "ZADD {k}a 1 m",
        "BITFIELD {k}a GET u8 0",
        "WATCH {k}a {k}b",
    ] {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        check(&cluster, &raw_of(&words)).await;
    }
}

/// The positions in the server's own table: of each command that has fixed ones.
#[tokio::test]
async fn first_keys_are_those_of_the_servers_table() {
    let cluster = connect(shared()).await;
    let table = cluster.run(&raw("COMMAND")).await.unwrap();
    let mut checked = 0;
    for entry in table.reply().children() {
        let words: Vec<_> = entry.children().collect();
        let name = words[0].as_str().unwrap().to_uppercase();
        let number = |at: usize| words[at].as_i64().unwrap();
        let is_movable = words[2]
            .children()
            .any(|flag| flag.bytes() == b"movablekeys");
        let (arity, first, last, step) = (number(1), number(3), number(4), number(5));
        let subcommands = words.get(9).is_some_and(|list| !list.is_empty());
        if is_movable || subcommands || onecopy_valkey::command::table::find(&name).is_none() {
            continue;
        }
        let count = usize::try_from(arity.unsigned_abs()).unwrap() + 4;
        let mut request = vec![name.clone()];
        request.extend((1..count).map(|at| format!("word{at}")));
        let last = if last < 0 {
            i64::try_from(count).unwrap() + last
        } else {
            last
        };
        let mut expected = Vec::new();
        let mut at = first;
        while first > 0 && at <= last {
            expected.push(request[usize::try_from(at).unwrap()].clone());
            at += step.max(1);
        }
        assert_eq!(keys(&raw_of(&request)), expected, "{name}");
        checked += 1;
    }
    assert!(checked > 150, "{checked}");
}
