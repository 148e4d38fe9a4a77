//! `onecopy bench parse`, the real binary: what it says it parsed is compared with the stream that it writes itself.
#![allow(clippy::unwrap_used)] // the helpers are part of the tests

use std::process::{Command, Output};

use onecopy_resp_proto::{Client, Limits, Message};
use onecopy_wire::{BufferConfig, Buffers, Core, Step};
use serde_json::Value;

/// A stream, the units of a turn and its messages.
const STREAMS: [(&str, u64, u64); 9] = [
    ("status", 1, 1),
    ("bulks", 1, 1),
    ("arrays", 100, 1),
    ("large", 1, 1),
    ("mixed", 1, 10),
    ("varied", 4, 4),
    ("integers", 8, 8),
    ("doubles", 8, 8),
    ("pushes", 4, 4),
];

fn parse(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onecopy"));
    command.args(["bench", "parse"]).args(arguments);
    command.output().unwrap()
}

fn succeeds(arguments: &[&str]) -> Vec<u8> {
    let output = parse(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*errors), (Some(0), ""));
    output.stdout
}

fn json(arguments: &[&str]) -> Value {
    let arguments = [&["--json"], arguments].concat();
    serde_json::from_slice(&succeeds(&arguments)).unwrap()
}

/// How many replies lie in these bytes, all of which are taken.
fn replies(bytes: &[u8]) -> u64 {
    let mut client = Client::new(Limits::default());
    let mut buffers = Buffers::new(BufferConfig::default());
    client.expect(u64::from(u32::MAX));
    let (mut left, mut replies) = (bytes, 0);
    loop {
        match client.advance(&mut buffers).unwrap() {
            Step::Message(Message::Reply(_) | Message::Push(_)) => replies += 1,
            Step::NeedInput(_) if left.is_empty() => break,
            Step::NeedInput(_) => {
                buffers.prepare().unwrap();
                let mut targets = buffers.targets();
                let mut n = 0;
                for target in targets.as_mut() {
                    let len = left.len().min(target.len());
                    target[..len].copy_from_slice(&left[..len]);
                    left = &left[len..];
                    n += len;
                }
                buffers.commit(n);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(buffers.pending().is_empty() && !client.is_idle());
    replies
}

#[test]
fn what_it_parsed_is_what_the_stream_has() {
    for (stream, units, whole) in STREAMS {
        let turn = succeeds(&[stream, "--turn"]);
        // Of a large bulk it is the header alone.
        let bytes = if stream == "large" {
            assert_eq!(turn, b"$67108864\r\n");
            turn.len() + (64 << 20) + 2
        } else {
            assert_eq!(replies(&turn), whole, "{stream}");
            turn.len()
        };
        let said = json(&[stream, "--iterations", "3"]);
        assert_eq!(said["stream"], stream);
        assert_eq!(said["units"], 3 * units, "{stream}");
        assert_eq!(said["bytes"], 3 * bytes, "{stream}");
        assert!(said["cpu_ns"].as_u64().unwrap() > 0);
        assert_eq!(said["meter"]["growths"], 0, "{stream}");
        // The same bytes again, and more of them.
        let again = json(&[stream, "--iterations", "3"]);
        assert_eq!(said["checksum"], again["checksum"], "{stream}");
        let more = json(&[stream, "--iterations", "4"]);
        assert_ne!(said["checksum"], more["checksum"], "{stream}");
    }
}

#[test]
fn looking_at_every_element_sees_more() {
    for stream in ["arrays", "mixed", "pushes"] {
        let own = json(&[stream, "--iterations", "5"]);
        let all = json(&[stream, "--iterations", "5", "--elements"]);
        assert_eq!(own["units"], all["units"]);
        assert_ne!(own["checksum"], all["checksum"], "{stream}");
    }
}

#[test]
fn owned_replies_are_the_same() {
    for (stream, ..) in STREAMS {
        if stream == "large" {
            let output = parse(&[stream, "--owned"]);
            assert_eq!(output.status.code(), Some(1));
            continue;
        }
        let borrowed = json(&[stream, "--iterations", "5"]);
        let owned = json(&[stream, "--iterations", "5", "--owned"]);
        assert_eq!(borrowed["checksum"], owned["checksum"], "{stream}");
    }
}

#[test]
fn the_table_says_the_same_and_a_wrong_stream_is_told_of() {
    let table = String::from_utf8(succeeds(&["arrays", "--iterations", "3"])).unwrap();
    for part in [
        "stream arrays:",
        "chunks of 16 KiB",
        "300",
        "MB a second of CPU",
    ] {
        assert!(table.contains(part), "{part} is not in {table}");
    }
    let wrong = parse(&["a"]);
    let errors = String::from_utf8(wrong.stderr).unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        errors.contains(
            "[possible values: status, bulks, arrays, large, mixed, varied, integers, doubles, pushes]"
        ),
        "{errors}"
    );
}
