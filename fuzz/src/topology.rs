//! What servers say of a cluster, of a primary and of what they execute, to our client.
//!
//! | bytes | field                                                                                       |
//! |-------|---------------------------------------------------------------------------------------------|
//! | 1     | the reader, by its position in the list below, modulo their number                           |
//! | rest  | a server's stream of replies; for redirections, views and lines of MONITOR the text itself   |
//!
//! Readers: CLUSTER SHARDS, the same with TLS, CLUSTER SLOTS, the address of a primary, a list of servers, a redirection, CLUSTER
//! NODES and INFO (a NUL between them), a line of MONITOR.
//!
//! Held: every address has a port and a host of at most 255 printable characters without those that mean something in a URL; there
//! are no more addresses than the limits, and no slot beyond the last; what is read twice is the same; an error's text is short; the
//! parts of a line of MONITOR are parts of it.

use onecopy_resp_proto::{Client, Limits, Message};
use onecopy_valkey::Monitored;
use onecopy_valkey::cluster::NodeAddress;
use onecopy_valkey::fuzz::{self, Read};

use crate::delivery::Pieces;
use crate::input::Input;
use crate::resp::feed;

/// Nodes of the largest cluster, and servers of a list.
const MOST_NODES: usize = 2_000;

/// Slots of a cluster.
const SLOTS: u16 = 16_384;

/// Bytes of an error's text.
const LONGEST_ERROR: usize = 1 << 10;

/// Replies that are waited for: more than an input holds.
const EXPECTED: u64 = 1 << 20;

/// Runs one input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let reader = input.byte() % 8;
    let rest = input.rest();
    let asked = fuzz::node("10.0.0.1", 7000);
    match reader {
        5 => check(|| fuzz::rejection(rest, &asked)),
        6 => {
            let end = rest.iter().position(|&byte| byte == 0);
            let (nodes, info) = rest.split_at(end.unwrap_or(rest.len()));
            check(|| fuzz::view(nodes, info));
        }
        7 => monitored(rest),
        _ => replies(rest, reader, &asked),
    }
}

fn replies(stream: &[u8], reader: u8, asked: &NodeAddress) {
    let mut client = Client::new(Limits::default());
    client.expect(EXPECTED);
    feed(
        &mut client,
        stream,
        Pieces::WHOLE,
        |client, message, buffers| {
            if let Message::Reply(frame) = message {
                let reply = client.reply(frame, buffers);
                check(|| match reader {
                    0 => fuzz::shards(reply, asked, false),
                    1 => fuzz::shards(reply, asked, true),
                    2 => fuzz::slots(reply, asked),
                    3 => fuzz::sentinel(reply, false),
                    _ => fuzz::sentinel(reply, true),
                });
            }
            None
        },
    );
}

fn check(read: impl Fn() -> Result<Read, String>) {
    let first = read();
    assert_eq!(first, read());
    let found = match first {
        Ok(found) => found,
        Err(problem) => return assert!(problem.len() <= LONGEST_ERROR, "{problem}"),
    };
    assert!(found.addresses.len() <= MOST_NODES);
    for address in &found.addresses {
        let host = address.host().as_bytes();
        assert!((1..=255).contains(&host.len()), "{address}");
        let is_sane = |byte: &u8| byte.is_ascii_graphic() && !b"/@?#,\"'".contains(byte);
        assert!(host.iter().all(is_sane) && address.port() > 0, "{address}");
    }
    assert!(found.slots.iter().all(|&slot| slot < SLOTS));
}

fn monitored(line: &[u8]) {
    let monitored = Monitored::of_line(line);
    assert_eq!(monitored.line(), line);
    assert!(line.ends_with(monitored.command()));
    let (time, client) = (monitored.time(), monitored.client());
    assert!(time.is_none_or(|time| time.subsec_nanos().is_multiple_of(1_000)));
    if let Some(client) = client {
        let client = client.as_bytes();
        assert!(client.is_empty() || line.windows(client.len()).any(|part| part == client));
    }
    let _ = (monitored.database(), format!("{monitored:?}"));
}
