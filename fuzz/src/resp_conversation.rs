//! Any calls of the client's core over a server that is honest: each reply has its request's number in it.
//!
//! | bytes | field                                                          |
//! |-------|----------------------------------------------------------------|
//! | 1     | bulks of at least so many bytes get homes                      |
//! | rest  | calls, two bytes each: which one, and a number for it          |
//!
//! Held: every reply belongs to its request, in order, none is lost and none comes twice, whatever was abandoned, streamed,
//! detached or left half way; a streamed string is whole or the beginning of it; all are answered in the end, and memory
//! and moved bytes stay within their bounds.

use std::collections::VecDeque;

use onecopy_resp_proto::{Client, Limits, Message, Reply};
use onecopy_wire::{Buffers, Core, Step};

use crate::input::Input;
use crate::resp::{CONFIG, check_buffers, read};

/// Calls of one input at most.
const MOST_CALLS: usize = 400;

/// Runs one input.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut talk = Talk::new(usize::from(input.byte()) + 1);
    for _ in 0..MOST_CALLS {
        if input.is_empty() {
            break;
        }
        let (call, number) = (input.below(9), input.byte());
        talk.call(call, number);
    }
    talk.finish();
}

/// A request without a reply.
#[derive(Debug, Clone, Copy)]
struct Asked {
    number: u64,
    is_abandoned: bool,
}

struct Talk {
    client: Client,
    buffers: Buffers,
    /// What the server has sent and the client has not read, from `read` on.
    sent: Vec<u8>,
    read: usize,
    asked: VecDeque<Asked>,
    next: u64,
    detaches: bool,
    /// The string that is being streamed: its request's number, and what came of it.
    streamed: Option<(u64, Vec<u8>)>,
}

impl Talk {
    fn new(large: usize) -> Self {
        Self {
            client: Client::new(Limits {
                large,
                ..Limits::default()
            }),
            buffers: Buffers::new(CONFIG),
            sent: Vec::new(),
            read: 0,
            asked: VecDeque::new(),
            next: 1,
            detaches: false,
            streamed: None,
        }
    }

    fn call(&mut self, call: u8, number: u8) {
        match call {
            0 | 1 => self.ask(number),
            2 => {
                self.client.abandon();
                self.streamed = None;
                self.asked
                    .iter_mut()
                    .for_each(|asked| asked.is_abandoned = true);
            }
            3 => self.client.stream_next(),
            4 => {
                self.client.skip_bulk();
                self.streamed = None;
            }
            5 => {
                self.client.release();
                self.buffers.release();
            }
            6 => self.read_direct(usize::from(number) + 1),
            7 => self.detaches = number & 1 == 1,
            _ => {
                self.receive(usize::from(number) + 1);
            }
        }
        assert!(self.client.awaited() <= self.client.in_flight());
        let awaited = self
            .asked
            .iter()
            .filter(|asked| !asked.is_abandoned)
            .count();
        assert_eq!(self.client.awaited(), awaited as u64);
    }

    /// A request, and its reply in some shape.
    fn ask(&mut self, shape: u8) {
        let number = self.next;
        self.next += 1;
        self.client.expect(1);
        self.asked.push_back(Asked {
            number,
            is_abandoned: false,
        });
        self.sent.extend_from_slice(&reply(number, shape));
    }

    /// Takes what there is, then reads at most `most` bytes, and takes what there is. Whether anything was read.
    fn receive(&mut self, most: usize) -> bool {
        self.take();
        let mut stream = &self.sent[self.read..];
        let n = read(&mut self.buffers, &mut stream, most).expect("within the limits");
        self.read += n;
        self.take();
        n > 0
    }

    fn take(&mut self) {
        loop {
            match self
                .client
                .advance(&mut self.buffers)
                .expect("an honest server")
            {
                Step::Message(message) => self.took(message),
                _ => return,
            }
        }
    }

    fn took(&mut self, message: Message) {
        match message {
            Message::Push(frame) => {
                let reply = self.client.reply(frame, &self.buffers);
                assert_eq!(
                    reply.children().next().map(|name| name.bytes()),
                    Some(b"pushed".as_slice())
                );
            }
            Message::Reply(frame) => {
                let number = if self.detaches {
                    let owned = self.client.detach(frame, &mut self.buffers);
                    number_of(owned.expect("little memory").reply())
                } else {
                    number_of(self.client.reply(frame, &self.buffers))
                };
                assert_eq!(number, self.answered());
            }
            Message::Bulk(len) => {
                let number = self.answered();
                assert_eq!(len, body(number).len() as u64);
                self.streamed = Some((number, Vec::new()));
            }
            Message::Piece(piece) => {
                let (_, bytes) = self.streamed.as_mut().expect("a string is streamed");
                bytes.extend_from_slice(self.buffers.bytes(piece));
            }
            Message::BulkEnd => {
                let (number, bytes) = self.streamed.take().expect("a string is streamed");
                assert_eq!(bytes, body(number));
            }
            other => panic!("{other:?}"),
        }
    }

    /// The number of the first request that somebody waits for.
    fn answered(&mut self) -> u64 {
        loop {
            let asked = self.asked.pop_front().expect("something was asked");
            if !asked.is_abandoned {
                return asked.number;
            }
        }
    }

    fn read_direct(&mut self, len: usize) {
        self.take();
        if !self.client.can_read_direct(&mut self.buffers) {
            return;
        }
        let left = usize::try_from(self.client.bulk_left()).expect("short strings");
        let mut into = vec![0; len.min(left)];
        let planned = self.buffers.prepare_into(into.len(), left - into.len());
        planned.expect("within the limits");
        let mut stream = &self.sent[self.read..];
        let n = std::io::Read::read_vectored(
            &mut stream,
            self.buffers.targets_into(&mut into).as_mut(),
        );
        let n = n.expect("a slice can be read");
        let came = self.buffers.commit(n);
        self.client.direct_read(came);
        self.read += n;
        let (_, bytes) = self.streamed.as_mut().expect("a string is streamed");
        bytes.extend_from_slice(&into[..came]);
    }

    /// Everything comes, and everything was answered.
    fn finish(&mut self) {
        while self.receive(1000) {}
        assert!(
            self.asked.iter().all(|asked| asked.is_abandoned),
            "{:?}",
            self.asked
        );
        assert_eq!((self.client.in_flight(), self.read), (0, self.sent.len()));
        assert!(self.client.is_idle() && self.streamed.is_none());
        let longest = 2 * body(self.next).len();
        check_buffers(&self.buffers, self.sent.len() as u64, 64 * longest);
    }
}

/// The text of a request's reply: its number and more, up to some hundred bytes.
fn body(number: u64) -> Vec<u8> {
    let more = usize::try_from(number * 37 % 600).expect("small");
    [number.to_string().as_bytes(), b" ", &vec![b'x'; more]].concat()
}

fn reply(number: u64, shape: u8) -> Vec<u8> {
    let body = body(number);
    let bulk = [format!("${}\r\n", body.len()).as_bytes(), &body, b"\r\n"].concat();
    match shape % 10 {
        0 => format!(":{number}\r\n").into_bytes(),
        1 => format!("+{number}\r\n").into_bytes(),
        2 => bulk,
        3 => [b"*2\r\n".as_slice(), &bulk, &bulk].concat(),
        4 => [b">2\r\n+pushed\r\n".as_slice(), &bulk, &bulk].concat(),
        5 => [b"|1\r\n+about\r\n:1\r\n*1\r\n".as_slice(), &bulk].concat(),
        6 => [
            b"$?\r\n;3\r\n".as_slice(),
            format!("{number:03}").as_bytes(),
            b"\r\n;1\r\n \r\n;0\r\n",
        ]
        .concat(),
        7 => [b"%?\r\n".as_slice(), &bulk, b"*0\r\n.\r\n"].concat(),
        8 => [
            format!("={}\r\ntxt:", body.len() + 4).as_bytes(),
            &body,
            b"\r\n",
        ]
        .concat(),
        _ => [b"*1\r\n*2\r\n".as_slice(), &bulk, &bulk].concat(),
    }
}

/// The number in a reply: the digits that its first leaf begins with.
fn number_of(mut reply: Reply<'_>) -> u64 {
    while let Some(child) = reply.children().next() {
        reply = child;
    }
    let digits: Vec<u8> = reply
        .bytes()
        .iter()
        .copied()
        .take_while(u8::is_ascii_digit)
        .collect();
    let text = String::from_utf8(digits).expect("digits");
    text.parse().expect("a number")
}
