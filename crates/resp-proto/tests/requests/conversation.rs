//! A client's and a server's core beside each other, wired together.

use std::io::IoSlice;

use onecopy_resp_proto::{
    Client, Handshake, HandshakeConfig, HandshakeReply, Limits, Message, Protocol, ReplyWriter,
    Request, RequestLimits, RequestWriter, Secret, Server, ServerMessage,
};
use onecopy_wire::{Borrowed, BufferConfig, Buffers, Core, Step};

/// A server with one key, as far as these tests ask it.
struct Played {
    server: Server,
    buffers: Buffers,
    protocol: Protocol,
    value: Vec<u8>,
    requests: u64,
}

impl Played {
    fn new() -> Self {
        Self {
            server: Server::new(RequestLimits::default()),
            buffers: Buffers::new(BufferConfig::default()),
            protocol: Protocol::Resp2,
            value: Vec::new(),
            requests: 0,
        }
    }

    /// Answers all that has arrived.
    fn answer(&mut self) {
        while let Step::Message(ServerMessage::Request(frame)) =
            self.server.advance(&mut self.buffers).unwrap()
        {
            self.requests += 1;
            let request = self.server.request(frame, &self.buffers);
            let is_hello = request.is("hello");
            let reply = answer(request, &mut self.value);
            if is_hello {
                self.protocol = Protocol::Resp3;
            }
            let mut writer = ReplyWriter::new(self.buffers.output(), self.protocol);
            match reply {
                Answer::Ok => writer.simple_string(b"OK"),
                Answer::Value => writer.bulk(&self.value),
                Answer::Hello => {
                    writer.map(2);
                    writer.bulk(b"server");
                    writer.bulk(b"valkey");
                    writer.bulk(b"proto");
                    writer.integer(3);
                }
                Answer::Error => writer.error(b"ERR unknown command"),
            }
            writer.end().unwrap();
        }
    }
}

enum Answer {
    Ok,
    Value,
    Hello,
    Error,
}

fn answer(request: Request<'_>, value: &mut Vec<u8>) -> Answer {
    if request.is("set") {
        *value = request.arguments().nth(2).unwrap().to_vec();
        return Answer::Ok;
    }
    match request.name() {
        b"GET" => Answer::Value,
        b"HELLO" => Answer::Hello,
        b"SELECT" => Answer::Ok,
        _ => Answer::Error,
    }
}

/// Takes what is queued on one side to the other, in pieces of at most `chunk` bytes.
fn carry(
    from: &mut Buffers,
    borrowed: &(impl Borrowed + ?Sized),
    to: &mut Buffers,
    chunk: usize,
) -> bool {
    let mut slices = [IoSlice::new(&[]); 8];
    let count = from.output_slices(borrowed, &mut slices);
    let bytes: Vec<u8> = slices[..count]
        .iter()
        .flat_map(|slice| slice.iter().copied())
        .take(chunk)
        .collect();
    to.prepare().unwrap();
    let n = std::io::Read::read_vectored(&mut bytes.as_slice(), to.targets().as_mut()).unwrap();
    to.commit(n);
    from.commit_output(n);
    n > 0
}

/// Drives a core until it hands something over.
fn drive<C: Core>(
    core: &mut C,
    buffers: &mut Buffers,
    borrowed: &(impl Borrowed + ?Sized),
    played: &mut Played,
    chunk: usize,
) -> C::Message
where
    C::Error: std::fmt::Debug,
{
    loop {
        if let Step::Message(message) = core.advance(buffers).unwrap() {
            return message;
        }
        let asked = buffers.has_output() && carry(buffers, borrowed, &mut played.buffers, chunk);
        played.answer();
        let answered =
            played.buffers.has_output() && carry(&mut played.buffers, &(), buffers, chunk);
        assert!(asked || answered, "both wait");
    }
}

#[test]
fn a_client_and_a_server_understand_each_other_at_any_chunk() {
    let large = vec![b'v'; 100_000];
    for chunk in [1000, 4096, 16 << 10, 100_000, usize::MAX] {
        let mut played = Played::new();
        let mut buffers = Buffers::new(BufferConfig::default());
        let config = HandshakeConfig {
            password: Some(Secret::new("pw")),
            library_name: Some(b"onecopy".to_vec()),
            database: 3,
            ..HandshakeConfig::default()
        };
        let mut handshake = Handshake::new(config, Limits::default());
        let done = drive(&mut handshake, &mut buffers, &(), &mut played, chunk);
        assert_eq!(done, HandshakeReply::Done);
        let (mut client, session) = handshake.into_client();
        assert_eq!(
            (session.protocol, session.server.as_deref()),
            (Protocol::Resp3, Some("valkey"))
        );
        set(&mut client, &mut buffers, &large);
        let Message::Reply(frame) = drive(
            &mut client,
            &mut buffers,
            large.as_slice(),
            &mut played,
            chunk,
        ) else {
            panic!("no reply");
        };
        assert_eq!(client.reply(frame, &buffers).bytes(), b"OK");
        let mut writer = RequestWriter::new(buffers.output());
        writer.encoded(b"*2\r\n$3\r\nGET\r\n");
        writer.bulk(b"k");
        writer.end().unwrap();
        client.expect(1);
        let Message::Reply(frame) = drive(&mut client, &mut buffers, &(), &mut played, chunk)
        else {
            panic!("no reply");
        };
        assert!(client.reply(frame, &buffers).bytes() == large);
        assert_eq!(played.requests, 5);
    }
}

/// SET with a value that is borrowed, once whole and once in two pieces.
fn set(client: &mut Client, buffers: &mut Buffers, value: &[u8]) {
    let mut writer = RequestWriter::new(buffers.output());
    writer.array(3);
    writer.bulk(b"SET");
    writer.bulk(b"k");
    writer.bulk_borrowed(0, value.len());
    writer.end().unwrap();
    client.expect(1);
}

#[test]
fn an_argument_may_be_sent_in_pieces() {
    let mut played = Played::new();
    let mut buffers = Buffers::new(BufferConfig::default());
    let mut client = Client::new(Limits::default());
    let mut writer = RequestWriter::new(buffers.output());
    writer.array(3);
    writer.bulk(b"SET");
    writer.bulk(b"k");
    writer.bulk_header(300_000);
    writer.end().unwrap();
    client.expect(1);
    for piece in [b'a', b'b', b'c'] {
        let bytes = vec![piece; 100_000];
        let mut writer = RequestWriter::go_on(buffers.output());
        writer.piece_borrowed(0, bytes.len());
        writer.end().unwrap();
        while buffers.has_output() {
            carry(
                &mut buffers,
                bytes.as_slice(),
                &mut played.buffers,
                16 << 10,
            );
            played.answer();
        }
    }
    let mut writer = RequestWriter::go_on(buffers.output());
    writer.bulk_end();
    writer.end().unwrap();
    let message = drive(&mut client, &mut buffers, &(), &mut played, 1000);
    assert!(matches!(message, Message::Reply(_)));
    assert_eq!(played.value.len(), 300_000);
    assert_eq!((played.value[0], played.value[299_999]), (b'a', b'c'));
}
