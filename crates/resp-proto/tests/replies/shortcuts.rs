//! What is told by a few comparisons where it has arrived completely is what the slow path makes of it byte by byte.

use onecopy_resp_proto::Limits;

use super::play::{Event, play};

/// Values of one line, good and bad.
const LINES: [&str; 76] = [
    ",1",
    ",-1",
    ",+1",
    ",1.",
    ",.5",
    ",-.5",
    ",1.5",
    ",-273.15",
    ",0",
    ",00",
    ",1e5",
    ",1E5",
    ",1e+5",
    ",1e-5",
    ",1.5e10",
    ",.5e1",
    ",inf",
    ",-inf",
    ",nan",
    ",-nan",
    ",3.141592653589793",
    ",12345678",
    ",123456789",
    ",1234567.12345678",
    ",12345678.123456789",
    ",1e12345678", // good ones, and now others
    ",",
    ",-",
    ",.",
    ",-.",
    ",e5",
    ",1e",
    ",1e+",
    ",1e5x",
    ",1.5.2",
    ",infx",
    ",.inf",
    ",1inf",
    ",1einf",
    ",Inf",
    ",x",
    ",--1",
    ",1-",
    ", 1",
    ",1 ",
    ",1\n",
    ",1\rx",
    ",inf\rx", //
    "#t",
    "#f",
    "#",
    "#x",
    "#tt",
    "#t\rx",
    "_",
    "_x",
    "_\rx", //
    "$-1",
    "$-2",
    "$-1x",
    "$-",
    "$-1\rx",
    "$--1",
    "*-1", //
    "+OK",
    "+OKAY",
    "+O",
    "+",
    "+OK\rx",
    "-ERR no",
    "-",
    "-\rx", //
    ":1\rx",
    ":",
    ":-",
    "(12345678901234567890",
];

fn played(stream: &[u8], limits: Limits) -> Vec<Event> {
    // The same at every cut: it looks.
    play(stream, limits, |player| player.client.expect(3))
}

#[test]
fn a_line_is_the_same_whole_and_in_parts_wherever_it_stands() {
    for line in LINES {
        for (before, behind) in [("", ""), ("*2\r\n", ":7\r\n"), ("%1\r\n+k\r\n", "")] {
            let stream = format!("{before}{line}\r\n{behind}$5\r\nhello\r\n+OK\r\n");
            let events = played(stream.as_bytes(), Limits::default());
            assert!(!events.is_empty(), "{line}");
        }
    }
}

#[test]
fn the_longest_line_is_the_same_whole_and_in_parts() {
    for line in [",1.234", ",1e10", "+OK", "+OKAY", "-ERRO", "+12345"] {
        for max_line in 1..=line.len() {
            let limits = Limits {
                max_line,
                ..Limits::default()
            };
            played(format!("{line}\r\n:1\r\n").as_bytes(), limits);
            played(format!("*1\r\n{line}\r\n:1\r\n").as_bytes(), limits);
        }
    }
}

#[test]
fn a_push_is_the_same_whole_and_in_parts_wherever_it_stands() {
    for stream in [
        ">2\r\n+a\r\n+b\r\n:1\r\n>1\r\n$-1\r\n:2\r\n:3\r\n",
        ">1\r\n*1\r\n>1\r\n:1\r\n",
        "*1\r\n>1\r\n:1\r\n",
        "|1\r\n+a\r\n:1\r\n>1\r\n:1\r\n:2\r\n",
        ">0\r\n:1\r\n:2\r\n:3\r\n",
        ">?\r\n:1\r\n",
        ">-1\r\n",
    ] {
        played(stream.as_bytes(), Limits::default());
    }
}
