//! What servers send in streams and to subscribers, to our client.
//!
//! | bytes | field                                                                                          |
//! |-------|------------------------------------------------------------------------------------------------|
//! | 1     | the reader, by its position in the list below, modulo their number                              |
//! | rest  | a server's stream of replies and pushes; for announcements and IDs the text itself              |
//!
//! Readers: XREADGROUP of new entries, XREADGROUP of a consumer's own, XAUTOCLAIM, messages and confirmations of subscriptions, the
//! announcement of a new primary by a sentinel, the ID of an entry.
//!
//! Held: what is read twice is the same; an entry has an ID and fields; no text of a message is invented: each is in the stream; an
//! address of an announcement has a host and a port; an ID that was read is written back and read as the same; an error's text is short.

use std::str::FromStr;

use onecopy_resp_proto::{Client, Limits, Message, OwnedReply};
use onecopy_valkey::fuzz;
use onecopy_valkey::streams::EntryId;

use crate::delivery::Pieces;
use crate::input::Input;
use crate::resp::feed;

/// Bytes of an error's text.
const LONGEST_ERROR: usize = 1 << 10;

/// Replies that are waited for: more than an input holds.
const EXPECTED: u64 = 1 << 20;

/// Runs one input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let reader = input.byte() % 6;
    let rest = input.rest();
    match reader {
        4 => switch(rest),
        5 => id(rest),
        _ => replies(rest, reader),
    }
}

fn replies(stream: &[u8], reader: u8) {
    let mut client = Client::new(Limits::default());
    client.expect(EXPECTED);
    feed(
        &mut client,
        stream,
        Pieces::WHOLE,
        |client, message, buffers| {
            let (Message::Reply(frame) | Message::Push(frame)) = message else {
                return None;
            };
            let reply = client.reply(frame, buffers);
            if reader == 3 {
                let texts = fuzz::notice(reply);
                assert_eq!(texts, fuzz::notice(reply));
                for text in texts {
                    let is_part = |text: &[u8]| stream.windows(text.len()).any(|part| part == text);
                    assert!(text.is_empty() || is_part(&text), "it was never sent");
                }
                return None;
            }
            if let Ok(owned) = reply.detach() {
                entries(&owned, reader);
            }
            None
        },
    );
}

fn entries(reply: &OwnedReply, reader: u8) {
    let first = fuzz::entries(reply.clone(), reader);
    assert_eq!(first, fuzz::entries(reply.clone(), reader));
    match first {
        Ok((entries, deleted)) => {
            let ids = entries.iter().map(|(id, _)| id).chain(&deleted);
            ids.for_each(|id| written_back(*id));
        }
        Err(problem) => assert!(problem.len() <= LONGEST_ERROR, "{problem}"),
    }
}

fn switch(payload: &[u8]) {
    let announced = fuzz::switch(payload);
    assert_eq!(announced, fuzz::switch(payload));
    for address in announced.into_iter().flatten() {
        assert!((1..=255).contains(&address.host().len()) && address.port() > 0);
    }
}

fn id(text: &[u8]) {
    if let Ok(text) = std::str::from_utf8(text)
        && let Ok(id) = EntryId::from_str(text)
    {
        written_back(id);
    }
}

fn written_back(id: EntryId) {
    assert_eq!(EntryId::from_str(&id.to_string()).ok(), Some(id));
}
