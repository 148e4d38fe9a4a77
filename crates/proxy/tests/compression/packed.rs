//! A client that compresses, frame by frame. Of the ids of frames it is as strict as libmysqlclient and go-sql-driver are, of the
//! ids of packets as Rust's `mysql_common` is.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::compression::{
    Algorithm, Decoder, Encoder, FrameEvent, Inflaters, Method,
};
use onecopy_mysql_proto::packet::{Greeting, HandshakeResponse};

/// No answer takes as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// What it asks for, beside compression.
const USUAL: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::LOCAL_FILES)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS);

pub(crate) fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b, c, ..] = payload.len().to_le_bytes();
    [&[a, b, c, sequence], payload].concat()
}

/// A frame that is not compressed.
pub(crate) fn stored(sequence: u8, content: &[u8]) -> Vec<u8> {
    let [a, b, c, ..] = content.len().to_le_bytes();
    [&[a, b, c, sequence, 0, 0, 0], content].concat()
}

pub(crate) struct Packed {
    pub(crate) stream: TcpStream,
    algorithm: Algorithm,
    decoder: Decoder,
    inflaters: Inflaters,
    encoder: Encoder,
    raw: Vec<u8>,
    content: Vec<u8>,
    /// The id of the next frame, from either side.
    pub(crate) next: u8,
    /// The next packet's.
    next_packet: u8,
    /// Frames and packets may have any ids.
    pub(crate) takes_any_id: bool,
    /// Frames that came.
    pub(crate) frames: usize,
    /// Of each packet that came, the id of the frame that it ends in and its own.
    pub(crate) ids: Vec<(u8, u8)>,
}

impl Packed {
    /// Logged in as a user without a password, in database `test`.
    pub(crate) fn log_in(port: u16, user: &str, algorithm: Algorithm) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut client = Self {
            stream,
            algorithm,
            decoder: Decoder::new(algorithm),
            inflaters: Inflaters::new(),
            encoder: Encoder::new(),
            raw: Vec::new(),
            content: Vec::new(),
            next: 0,
            next_packet: 0,
            takes_any_id: false,
            frames: 0,
            ids: Vec::new(),
        };
        let (_, greeting) = client.clear();
        let offered = Greeting::decode(&greeting).unwrap().capabilities;
        assert!(offered.contains(algorithm.capability()), "it is offered");
        let mut response = Vec::new();
        HandshakeResponse {
            capabilities: USUAL | algorithm.capability(),
            max_packet_bytes: 1 << 30,
            collation: 45,
            user: user.as_bytes(),
            auth_response: b"",
            database: Some(b"test"),
            auth_plugin: Some(b"mysql_native_password"),
            attributes: Default::default(),
            zstd_level: (algorithm == Algorithm::Zstd).then_some(5),
        }
        .encode(&mut response)
        .unwrap();
        client.stream.write_all(&packet(1, &response)).unwrap();
        let (mut id, mut answer) = client.clear();
        if answer[0] == 0xFE {
            let is_sha2 = answer[1..].starts_with(b"caching_sha2_password");
            let empty: &[u8] = if is_sha2 { b"\0" } else { b"" };
            client.stream.write_all(&packet(id + 1, empty)).unwrap();
            (id, answer) = client.clear();
        }
        assert_eq!(answer[0], 0, "{id}: {}", answer.escape_ascii());
        client
    }

    /// A packet of the login.
    fn clear(&mut self) -> (u8, Vec<u8>) {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).unwrap();
        let [a, b, c, id] = header;
        let mut payload = vec![0; u32::from_le_bytes([a, b, c, 0]) as usize];
        self.stream.read_exact(&mut payload).unwrap();
        (id, payload)
    }

    /// Sends these bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends bytes in as many frames as it takes, with the next ids.
    pub(crate) fn say(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let method = Method::new(self.algorithm, 5);
            let (frame, taken) = self.encoder.frame(method, self.next, bytes).unwrap();
            self.stream.write_all(frame).unwrap();
            self.next = self.next.wrapping_add(1);
            bytes = &bytes[taken..];
        }
        self.next_packet = self.next;
    }

    /// The answer to frames that were sent by hand has this id.
    pub(crate) fn expect(&mut self, next: u8) {
        (self.next, self.next_packet) = (next, next);
    }

    /// A command of one packet.
    pub(crate) fn command(&mut self, payload: &[u8]) {
        self.next = 0;
        self.say(&packet(0, payload));
    }

    /// The next payload, of any number of packets; the frames that it comes in have the ids that are next.
    pub(crate) fn hear(&mut self) -> io::Result<Vec<u8>> {
        let mut payload = Vec::new();
        loop {
            let piece = self.hear_packet()?;
            payload.extend_from_slice(&piece);
            if piece.len() < 0xFF_FFFF {
                return Ok(payload);
            }
        }
    }

    /// The next packet's payload.
    pub(crate) fn hear_packet(&mut self) -> io::Result<Vec<u8>> {
        self.fill(4)?;
        let [a, b, c, id] = *self.content.first_chunk().unwrap();
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        self.fill(4 + length)?;
        // As `mysql_common` 0.37 has it: the next one, or the last frame's.
        let frame = self.next.wrapping_sub(1);
        assert!(
            [self.next_packet, frame].contains(&id) || self.takes_any_id,
            "the packet's id is {id} and not {}, in frame {frame}",
            self.next_packet
        );
        self.next_packet = id.wrapping_add(1);
        self.ids.push((frame, id));
        Ok(self.content.drain(..4 + length).skip(4).collect())
    }

    /// One result of a reply whose rows end by EOF packets; whether another follows. `mysql_common` counts packets from the
    /// next frame on then, unless some of this one are left.
    pub(crate) fn result(&mut self) -> bool {
        const MORE: u8 = 0x08;
        let head = self.hear().unwrap();
        let has_more = match head[0] {
            0 => head[3] & MORE != 0,
            0xFF => false,
            columns => {
                (0..=columns).for_each(|_| drop(self.hear().unwrap()));
                loop {
                    match self.hear().unwrap()[..] {
                        [0xFE, _, _, status, _] => break status & MORE != 0,
                        [0xFF, ..] => break false,
                        _ => {}
                    }
                }
            }
        };
        if self.content.is_empty() {
            self.next_packet = self.next;
        }
        has_more
    }

    fn fill(&mut self, bytes: usize) -> io::Result<()> {
        while self.content.len() < bytes {
            if !self.unpack() {
                let mut room = [0; 16 << 10];
                match self.stream.read(&mut room)? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    n => self.raw.extend_from_slice(&room[..n]),
                }
            }
        }
        Ok(())
    }

    /// Continues with what has arrived; whether there was anything of it.
    fn unpack(&mut self) -> bool {
        let mut room = [0; 16 << 10];
        let decoded = self
            .decoder
            .decode(&self.raw, &mut room, &mut self.inflaters);
        let decoded = decoded.unwrap();
        self.raw.drain(..decoded.taken);
        self.content.extend_from_slice(&room[..decoded.put]);
        if let Some(FrameEvent::Began { sequence, .. }) = decoded.event {
            assert!(
                sequence == self.next || self.takes_any_id,
                "the frame's id is {sequence} and not {}",
                self.next
            );
            self.next = sequence.wrapping_add(1);
            self.frames += 1;
        }
        decoded.event.is_some() || decoded.put + decoded.taken > 0
    }

    /// The first column of the only row of a query, or its error.
    pub(crate) fn ask(&mut self, sql: &str) -> Result<Vec<u8>, u16> {
        self.command(&[b"\x03", sql.as_bytes()].concat());
        self.answer()
    }

    pub(crate) fn answer(&mut self) -> Result<Vec<u8>, u16> {
        let head = self.hear().unwrap();
        match head[0] {
            0 => return Ok(Vec::new()),
            0xFF => return Err(u16::from_le_bytes([head[1], head[2]])),
            1 => {}
            other => panic!("{other} columns"),
        }
        let [_definition, eof, row, end] = [(); 4].map(|()| self.hear().unwrap());
        assert_eq!((eof[0], end[0]), (0xFE, 0xFE));
        // The length in front of it.
        let skip = match row[0] {
            0xFC => 3,
            0xFD => 4,
            0xFE => 9,
            _ => 1,
        };
        Ok(row[skip..].to_vec())
    }

    /// The code of the error that is next, behind which the connection ends.
    pub(crate) fn last_error(&mut self) -> u16 {
        let payload = self.hear().unwrap();
        assert_eq!(payload[0], 0xFF, "{}", payload.escape_ascii());
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"");
        u16::from_le_bytes([payload[1], payload[2]])
    }
}
