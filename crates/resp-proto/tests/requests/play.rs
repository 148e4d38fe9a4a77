//! Plays a client's stream to a server's core, cut as the test says.

use std::io::Read;

use onecopy_resp_proto::{ErrorKind, RequestLimits, Server, ServerMessage};
use onecopy_wire::{BufferConfig, Buffers, Core, Step};

/// What the server made of a part of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Request(Vec<Vec<u8>>),
    /// What was wrong, and where in the stream.
    Error(ErrorKind, u64),
}

pub(crate) fn request(arguments: &[&[u8]]) -> Event {
    Event::Request(arguments.iter().map(|argument| argument.to_vec()).collect())
}

fn feed(parts: &[&[u8]], limits: RequestLimits) -> Vec<Event> {
    let mut server = Server::new(limits);
    let mut buffers = Buffers::new(BufferConfig::default());
    let mut events = Vec::new();
    let mut parts = parts.iter();
    let mut rest: &[u8] = &[];
    loop {
        match server.advance(&mut buffers) {
            Ok(Step::Message(ServerMessage::Request(frame))) => {
                let request = server.request(frame, &buffers);
                assert_eq!(request.arguments().count(), request.len());
                assert_eq!(request.arguments().next(), Some(request.name()));
                events.push(Event::Request(
                    request.arguments().map(<[u8]>::to_vec).collect(),
                ));
            }
            Ok(Step::NeedInput(_)) => {
                if rest.is_empty() {
                    match parts.next() {
                        Some(part) => rest = part,
                        None => {
                            let error = server.handle_eof(&mut buffers);
                            events.push(Event::Error(error.kind(), error.offset()));
                            return events;
                        }
                    }
                }
                buffers.prepare().unwrap();
                let n = rest.read_vectored(buffers.targets().as_mut()).unwrap();
                buffers.commit(n);
            }
            Err(error) => {
                assert_eq!(server.advance(&mut buffers), Err(error), "it stays dead");
                events.push(Event::Error(error.kind(), error.offset()));
                return events;
            }
            other => unreachable!("{other:?}"),
        }
    }
}

/// What comes of a stream, the same however it is cut, with and without homes.
pub(crate) fn play(stream: &[u8], limits: RequestLimits) -> Vec<Event> {
    let whole = feed(&[stream], limits);
    let with_homes = RequestLimits { large: 3, ..limits };
    for limits in [limits, with_homes] {
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(feed(&bytes, limits), whole, "byte by byte");
        for at in 1..stream.len() {
            let (first, then) = stream.split_at(at);
            assert_eq!(feed(&[first, then], limits), whole, "cut at {at}");
        }
    }
    whole
}
