//! The programs of the folder `examples`, each on a private server or cluster.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use onecopy_testkit::server::lacks;
use onecopy_testkit::valkey::{Cluster, Server, test_server};
use onecopy_valkey::blocking::Connection;
use onecopy_valkey::command::table;
use onecopy_valkey::raw;

fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests
        .ancestors()
        .nth(2)
        .unwrap()
        .join("examples")
        .join(name)
}

/// What it prints; it has to succeed.
fn run(name: &str, args: &[&str]) -> String {
    let output = Command::new(program(name)).args(args).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn cache_aside_reads_each_value_of_the_database_once() {
    let said = run("cache_aside", &[&Server::start().unwrap().url()]);
    assert!(said.contains("product 7 costs 99"), "{said}");
    assert!(said.contains("1001 reads: 11 of the database"), "{said}");
    let hits = said
        .lines()
        .find_map(|line| line.split_once(" reads asked nobody"));
    let hits: u32 = hits.unwrap().0.parse().unwrap();
    assert!(hits > 900, "{said}");
}

#[test]
fn the_rate_limiter_lets_a_burst_through_and_no_more() {
    let said = run("rate_limiter", &[&test_server().url()]);
    for call in 1..=5 {
        assert!(said.contains(&format!("call {call} is allowed")), "{said}");
    }
    // On a machine that stands still for a second one more is allowed.
    assert!(said.contains("is refused; try again in"), "{said}");
}

#[test]
fn workers_finish_each_order_although_one_dies() {
    let server = test_server();
    let said = run("stream_worker", &[&server.url()]);
    assert!(said.contains("worker-1 dies with order"), "{said}");
    assert!(said.contains("100 orders were finished"), "{said}");
    assert!(said.contains("\n0 are left"), "{said}");
}

#[test]
fn the_small_ones_do_what_they_say() {
    let url = test_server().url();
    assert!(run("pipeline", &[&url]).contains("visit"));
    assert!(run("shared", &[&url]).contains("100 tasks over one connection"));
}

/// A chat, and what it says.
struct Chat {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Chat {
    fn enter(url: &str, room: &str, name: &str) -> Self {
        let mut child = Command::new(program("chat"))
            .args([url, room, name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let mut chat = Self { child, said };
        chat.until(&format!("(you are in the {room})"));
        chat
    }

    fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn until(&mut self, expected: &str) {
        let mut line = String::new();
        while line.trim_end() != expected {
            line.clear();
            let read = self.said.read_line(&mut line).unwrap();
            assert!(read > 0, "it ended without '{expected}'");
        }
    }

    fn leave(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

fn has_sharded_channels() -> bool {
    let mut conn = Connection::connect(&test_server().url()).unwrap();
    let info = conn
        .run(&raw("COMMAND").args(["INFO", "SSUBSCRIBE"]))
        .unwrap();
    let is_known = info.children().next().is_some_and(|entry| !entry.is_null());
    if !is_known {
        let since = table::find("SSUBSCRIBE").unwrap().since;
        lacks("SSUBSCRIBE", &format!("it is there since {since}"));
    }
    is_known
}

#[test]
fn a_chat_is_heard_on_a_server_and_on_all_nodes_of_a_cluster() {
    if !has_sharded_channels() {
        return;
    }
    let cluster = Cluster::start(2, 0).unwrap();
    for url in [Server::start().unwrap().url(), cluster.url()] {
        let mut ann = Chat::enter(&url, "kitchen", "Ann");
        let mut bob = Chat::enter(&url, "kitchen", "Bob");
        ann.say("hello");
        bob.until("Ann: hello");
        ann.until("(2 connections are in the room)");
        bob.say("hi");
        ann.until("Bob: hi");
        ann.leave();
        bob.leave();
    }
}
