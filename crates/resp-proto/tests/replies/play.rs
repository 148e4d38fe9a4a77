//! Plays a server's stream to a client's core, cut as the test says.

use std::io::Read;

use onecopy_resp_proto::{Client, ErrorKind, Limits, Message};
use onecopy_wire::{BufferConfig, Buffers, Core, Meter, Step};

/// What the client made of a part of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Reply(String),
    Push(String),
    Bulk(u64),
    /// Bytes of the streamed string, however many pieces they came in.
    Bytes(Vec<u8>),
    BulkEnd,
    /// What was wrong, and where in the stream.
    Error(ErrorKind, u64),
}

pub(crate) fn reply(text: &str) -> Event {
    Event::Reply(text.to_owned())
}

/// A client and its buffers.
pub(crate) struct Player {
    pub(crate) client: Client,
    pub(crate) buffers: Buffers,
    events: Vec<Event>,
}

impl Player {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            client: Client::new(limits),
            buffers: Buffers::new(BufferConfig::default()),
            events: Vec::new(),
        }
    }

    /// Takes all that can be had, then reads as long as there is something.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while self.turn() && !bytes.is_empty() {
            self.buffers.prepare().unwrap();
            let n = bytes.read_vectored(self.buffers.targets().as_mut());
            self.buffers.commit(n.unwrap());
        }
    }

    /// The peer closes.
    pub(crate) fn end(&mut self) {
        if self.turn() {
            let error = self.client.handle_eof(&mut self.buffers);
            self.events.push(Event::Error(error.kind(), error.offset()));
        }
    }

    /// Continues until input is missing; whether it may come.
    fn turn(&mut self) -> bool {
        loop {
            let event = match self.client.advance(&mut self.buffers) {
                Ok(Step::NeedInput(_)) => return true,
                Ok(Step::StartTls) => unreachable!("nobody asks for it"),
                Ok(Step::Message(message)) => self.shown(message),
                Err(error) => {
                    let again = self.client.advance(&mut self.buffers);
                    assert_eq!(again, Err(error), "it stays dead");
                    let event = Event::Error(error.kind(), error.offset());
                    if self.events.last() != Some(&event) {
                        self.events.push(event);
                    }
                    return false;
                }
            };
            match (self.events.last_mut(), event) {
                (Some(Event::Bytes(bytes)), Event::Bytes(more)) => bytes.extend(more),
                (_, event) => self.events.push(event),
            }
        }
    }

    fn shown(&self, message: Message) -> Event {
        match message {
            Message::Reply(frame) => {
                Event::Reply(format!("{:?}", self.client.reply(frame, &self.buffers)))
            }
            Message::Push(frame) => {
                Event::Push(format!("{:?}", self.client.reply(frame, &self.buffers)))
            }
            Message::Bulk(len) => Event::Bulk(len),
            Message::Piece(piece) => Event::Bytes(self.buffers.bytes(piece).to_vec()),
            Message::BulkEnd => Event::BulkEnd,
            other => unreachable!("{other:?}"),
        }
    }

    pub(crate) fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    pub(crate) fn meter(&self) -> Meter {
        self.buffers.meter()
    }
}

/// All ways to cut a stream: whole, byte by byte, in two at every byte.
pub(crate) fn cuts(stream: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut cuts: Vec<Vec<&[u8]>> = vec![vec![stream], stream.chunks(1).collect()];
    cuts.extend((1..stream.len()).map(|at| vec![&stream[..at], &stream[at..]]));
    cuts
}

/// What comes of a stream, the same however it is cut; `begin` says what the client expects.
pub(crate) fn play(stream: &[u8], limits: Limits, begin: impl Fn(&mut Player)) -> Vec<Event> {
    let mut first: Option<Vec<Event>> = None;
    for parts in cuts(stream) {
        let mut player = Player::new(limits);
        begin(&mut player);
        for part in &parts {
            player.feed(part);
        }
        player.end();
        let events = player.events();
        let first = first.get_or_insert_with(|| events.clone());
        assert_eq!(
            &events,
            first,
            "{} parts, {} bytes first",
            parts.len(),
            parts[0].len()
        );
    }
    first.unwrap_or_default()
}

/// The same with homes for whatever has more than four bytes.
pub(crate) fn play_anyhow(
    stream: &[u8],
    limits: Limits,
    begin: impl Fn(&mut Player),
) -> Vec<Event> {
    let whole = play(stream, limits, &begin);
    let with_homes = play(stream, Limits { large: 5, ..limits }, &begin);
    assert_eq!(whole, with_homes, "with homes");
    whole
}

/// A stream that answers many requests.
pub(crate) fn replies(stream: &[u8]) -> Vec<Event> {
    play_anyhow(stream, Limits::default(), |player| {
        player.client.expect(1000)
    })
}
