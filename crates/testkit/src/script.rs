//! A conversation written down: what the server sends and what the client must send, to the byte.
//!
//! ```text
//!   # COM_PING
//!   C 01 00 00 00 0e
//!   S 07 00 00 01                 | the header; a bar or two spaces end the bytes of a line
//!     00 00 00 02 00 00 00        | OK
//! ```
//!
//! [`Trial`] plays a script in every way that a network can deliver it, and with every fault, over both drivers; then in
//! fewer ways over TLS, see [`Script::over_tls`].

mod delivery;
mod noise;
mod packet;
mod player;
mod tls;
mod trial;

pub use delivery::{Delivery, Fault, FaultKind, Place};
pub use noise::noise;
pub use packet::{lenenc, packets, text_row};
pub use player::{Player, WireMarks};
pub use tls::{TlsVersion, hostile_tls_server, tls_authority, tls_server};
pub use trial::{Later, Talk, Trial};

/// Bytes of a packet's header.
const HEADER: usize = 4;

/// Both sides' bytes of one conversation.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// All that the server sends.
    pub(crate) server: Vec<u8>,
    /// All that the client must send.
    pub(crate) client: Vec<u8>,
    /// From this offset in `server` on, nothing is sent before the client has sent so many bytes; ascending.
    pub(crate) gates: Vec<(usize, usize)>,
    /// Where steps and packets begin and end, on each side.
    pub(crate) server_marks: Vec<usize>,
    pub(crate) client_marks: Vec<usize>,
    /// What comes before this offset in `server` is played in other scripts too: the login.
    pub(crate) preamble: usize,
    /// The server closes at the end.
    pub(crate) closes: bool,
    pub(crate) is_unix: bool,
    /// From these offsets in `server` and `client` on, all goes over TLS.
    pub(crate) tls_from: Option<(usize, usize)>,
    /// Behind its bytes the client may send any others, but not these.
    pub(crate) anything_but: Option<Vec<Vec<u8>>>,
    /// It has no meaning over TLS, or another one.
    pub(crate) is_clear_text: bool,
}

impl Script {
    /// An empty conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// A conversation from its text: `S` or `C` begins a step, hex bytes follow, separated by one space; a bar or two
    /// spaces begin a comment, as does `#` in front of a line.
    ///
    /// # Panics
    /// What is no byte.
    pub fn parse(text: &str) -> Self {
        let mut script = Self::new();
        let mut step: Option<(char, Vec<u8>)> = None;
        for line in text.lines() {
            let line = line.trim();
            let (kind, rest) = match line.split_at_checked(2) {
                _ if line.is_empty() || line.starts_with('#') => continue,
                Some(("S ", rest)) => (Some('S'), rest),
                Some(("C ", rest)) => (Some('C'), rest),
                _ => (None, line),
            };
            if let Some(kind) = kind {
                script = script.step(step.take());
                step = Some((kind, Vec::new()));
            }
            let (_, bytes) = step.as_mut().expect("a script begins with S or C");
            bytes.extend(hex(rest));
        }
        script.step(step)
    }

    fn step(self, step: Option<(char, Vec<u8>)>) -> Self {
        match step {
            None => self,
            Some(('S', bytes)) => self.server(&bytes),
            Some((_, bytes)) => self.client(&bytes),
        }
    }

    /// The server sends these bytes: one step.
    #[must_use]
    pub fn server(mut self, bytes: &[u8]) -> Self {
        self.gates.push((self.server.len(), self.client.len()));
        mark_packets(&mut self.server_marks, self.server.len(), bytes);
        self.server.extend_from_slice(bytes);
        self
    }

    /// The client must send these bytes: one step.
    #[must_use]
    pub fn client(mut self, bytes: &[u8]) -> Self {
        mark_packets(&mut self.client_marks, self.client.len(), bytes);
        self.client.extend_from_slice(bytes);
        self
    }

    /// The server sends payloads, counted on from `sequence`.
    #[must_use]
    pub fn server_packets(self, sequence: u8, payloads: &[&[u8]]) -> Self {
        let mut sequence = sequence;
        let mut bytes = Vec::new();
        for payload in payloads {
            bytes.extend(packets(&mut sequence, payload));
        }
        self.server(&bytes)
    }

    /// The client must send one payload as a command.
    #[must_use]
    pub fn command(self, payload: &[u8]) -> Self {
        self.client(&packets(&mut 0, payload))
    }

    /// Another conversation continues where this one ends.
    #[must_use]
    pub fn then(mut self, next: &Self) -> Self {
        let (server, client) = (self.server.len(), self.client.len());
        self.gates
            .extend(next.gates.iter().map(|(s, c)| (s + server, c + client)));
        self.server_marks
            .extend(next.server_marks.iter().map(|mark| mark + server));
        self.client_marks
            .extend(next.client_marks.iter().map(|mark| mark + client));
        self.server.extend_from_slice(&next.server);
        self.client.extend_from_slice(&next.client);
        self.closes |= next.closes;
        self.is_clear_text |= next.is_clear_text;
        self
    }

    /// Replaces the first of these bytes of the server by others of the same length.
    ///
    /// # Panics
    /// The server does not send them.
    pub fn replace_in_server(&mut self, bytes: &[u8], others: &[u8]) {
        let mut windows = self.server.windows(bytes.len());
        let at = windows.position(|window| window == bytes);
        let at = at.expect("the server sends the bytes");
        self.server[at..at + bytes.len()].copy_from_slice(others);
    }

    /// All that the client must send.
    pub fn client_bytes(&self) -> &[u8] {
        &self.client
    }

    /// All that the server sends.
    pub fn server_bytes(&self) -> &[u8] {
        &self.server
    }

    /// The conversation turn by turn: what the client sends, and what the server says to that; one of the two may be empty,
    /// as the client's part of a greeting.
    pub fn steps(&self) -> Vec<(&[u8], &[u8])> {
        let mut steps = Vec::new();
        let (mut server_at, mut client_at) = (0, 0);
        let mut gates = self.gates.iter().peekable();
        while let Some(&(_, client_to)) = gates.next() {
            // What the client says nothing between belongs together.
            while gates.next_if(|gate| gate.1 == client_to).is_some() {}
            let server_to = gates.peek().map_or(self.server.len(), |gate| gate.0);
            let client = &self.client[client_at..client_to];
            steps.push((client, &self.server[server_at..server_to]));
            (server_at, client_at) = (server_to, client_to);
        }
        if client_at < self.client.len() {
            steps.push((&self.client[client_at..], &[]));
        }
        steps
    }

    /// The same without what the server sends behind the client's last byte.
    #[must_use]
    pub fn without_last_answer(mut self) -> Self {
        let is_answer = |gate: &&(usize, usize)| gate.1 == self.client.len();
        if let Some(&(end, _)) = self.gates.iter().find(is_answer) {
            self.server.truncate(end);
            self.gates.retain(|gate| gate.0 < end);
            self.server_marks.retain(|mark| *mark <= end);
        }
        self
    }

    /// What was said so far is a preamble, which is not cut at every byte.
    #[must_use]
    pub fn preamble(mut self) -> Self {
        self.preamble = self.server.len();
        self
    }

    /// The server closes at the end.
    #[must_use]
    pub fn closes(mut self) -> Self {
        self.closes = true;
        self
    }

    /// Behind its bytes the client may send any others, a ClientHello for example, none of which has one of these words.
    /// What the server says is in clear text.
    #[must_use]
    pub fn then_anything_but(mut self, words: &[&str]) -> Self {
        self.anything_but = Some(words.iter().map(|word| word.as_bytes().to_vec()).collect());
        self.in_clear_text()
    }

    /// It is about clear text: it has another meaning over TLS.
    #[must_use]
    pub fn in_clear_text(mut self) -> Self {
        self.is_clear_text = true;
        self
    }

    /// The stream is as good as a Unix socket.
    #[must_use]
    pub fn over_unix_socket(mut self) -> Self {
        self.is_unix = true;
        self
    }
}

/// Hex bytes separated by one space, up to a comment.
///
/// # Panics
/// What is no byte.
pub fn hex(text: &str) -> Vec<u8> {
    let bytes = text.split('|').next().unwrap_or_default();
    let bytes = bytes.trim_start().split("  ").next().unwrap_or_default();
    let byte = |word| u8::from_str_radix(word, 16).unwrap_or_else(|_| panic!("no byte: {word}"));
    bytes
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(byte)
        .collect()
}

/// Notes where packets of `bytes` begin, where their bodies begin, and where the step ends.
fn mark_packets(marks: &mut Vec<usize>, base: usize, bytes: &[u8]) {
    let mut at = 0;
    while let Some([a, b, c, _]) = bytes.get(at..).and_then(<[u8]>::first_chunk::<HEADER>) {
        marks.push(base + at);
        marks.push(base + at + HEADER);
        at += HEADER + (usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16);
    }
    marks.push(base + bytes.len());
}

#[cfg(test)]
mod tests;
