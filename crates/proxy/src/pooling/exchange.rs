//! Commands of the proxy's own on a pooled connection: what is sent, and what comes back.

use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::CommandByte;
use onecopy_mysql_proto::relay::{Event, Relay, RelayError};
use onecopy_mysql_proto::{Capabilities, StatusFlags};

/// Of each reply so many bytes are kept: an error, a statement's id, or one value.
const KEPT: usize = 1 << 10;

/// Commands under way whose replies nobody else sees.
#[derive(Debug)]
pub(crate) struct Exchange {
    relay: Relay,
    /// What came of the reply under way.
    kept: Vec<u8>,
    /// The payload of the first ERR packet.
    error: Option<Vec<u8>>,
    /// That of a statement that could not be prepared.
    unprepared: Option<Vec<u8>>,
    /// The id of the last statement that was prepared.
    pub(crate) prepared: Option<u32>,
    /// The first column of the last row; empty for NULL.
    pub(crate) value: Option<Vec<u8>>,
    /// OK packets that tell of changes.
    changes: Vec<u8>,
    /// The last command leaves no warnings.
    pub(crate) clears: bool,
}

impl Exchange {
    /// Begins with whole packets, which are about to be sent. In a box: a client that does nothing has none, and no room for one.
    pub(crate) fn new(capabilities: Capabilities, packets: &[u8]) -> Result<Box<Self>, RelayError> {
        let mut relay = Relay::new(capabilities);
        relay.tell_state();
        let mut this = Box::new(Self {
            relay,
            kept: Vec::new(),
            error: None,
            unprepared: None,
            prepared: None,
            value: None,
            changes: Vec::new(),
            clears: false,
        });
        this.begin(packets)?;
        Ok(this)
    }

    /// Begins as [`new`](Self::new) on the same connection, in the memory of one that [can be used again](Self::is_reusable).
    pub(crate) fn again(mut self: Box<Self>, packets: &[u8]) -> Result<Box<Self>, RelayError> {
        // Of the one before.
        let _ = self.relay.take_warned();
        self.changes.clear();
        self.value = None;
        self.clears = false;
        self.begin(packets)?;
        Ok(self)
    }

    fn begin(&mut self, packets: &[u8]) -> Result<(), RelayError> {
        let mut left = packets;
        while !left.is_empty() {
            let passage = self.relay.client(left)?;
            if passage.pass == 0 {
                break;
            }
            left = left.get(passage.pass..).unwrap_or_default();
        }
        Ok(())
    }

    /// Whether the next one on its connection may have its memory: nothing failed, it follows no statement, and takes little.
    pub(crate) fn is_reusable(&self) -> bool {
        let has_prepared = self.prepared.is_some() || self.unprepared.is_some();
        let is_small = self.changes.capacity() <= KEPT;
        self.is_over() && self.error.is_none() && !has_prepared && is_small
    }

    /// Payloads of OK packets that tell of changes.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.changes[..];
        std::iter::from_fn(move || {
            let (payload, behind) = next_payload(rest)?;
            rest = behind;
            Some(payload)
        })
    }

    /// Whether all replies have arrived.
    pub(crate) fn is_over(&self) -> bool {
        self.relay.outstanding() == 0
    }

    /// What the backend's last reply said of the session.
    pub(crate) fn status(&self) -> StatusFlags {
        self.relay.status()
    }

    /// Whether warnings are left of it, as of a deprecated variable that was set or read.
    pub(crate) fn leaves_warnings(&mut self) -> bool {
        self.relay.take_warned() && !self.clears
    }

    /// The payload of the first error of another command.
    pub(crate) fn error(&self) -> Option<&[u8]> {
        self.error.as_deref()
    }

    /// The payload of the error of a statement that could not be prepared.
    pub(crate) fn unprepared(&self) -> Option<&[u8]> {
        self.unprepared.as_deref()
    }

    /// Looks at what the backend has sent; gives how many bytes of it belong here, and how many more are needed to tell.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(usize, usize), RelayError> {
        let mut at = 0;
        while !self.is_over() {
            let rest = bytes.get(at..).unwrap_or_default();
            let passage = self.relay.server(rest)?;
            let passed = rest.get(..passage.pass).unwrap_or_default();
            let room = KEPT.saturating_sub(self.kept.len());
            self.kept
                .extend_from_slice(passed.get(..room.min(passed.len())).unwrap_or_default());
            at += passage.pass;
            match passage.event {
                Some(Event::Done {
                    command, failed, ..
                }) => self.done(command, failed),
                Some(Event::StateChanged { len }) => {
                    let packet = bytes.get(at..at + len).unwrap_or_default();
                    self.changes.extend_from_slice(packet);
                }
                Some(_) => {}
                None if passage.need > 0 => return Ok((at, passage.need)),
                None => {}
            }
        }
        Ok((at, 0))
    }

    fn done(&mut self, command: CommandByte, failed: bool) {
        let mut kept = std::mem::take(&mut self.kept);
        let payload = kept.get(HEADER_BYTES..).unwrap_or_default();
        match (failed, payload) {
            (true, _) if command == CommandByte::STMT_PREPARE => {
                self.unprepared = Some(payload.to_vec());
            }
            (true, _) => {
                // It may follow definitions, but the proxy asks for nothing that has long ones.
                self.error.get_or_insert_with(|| payload.to_vec());
            }
            (false, [_, a, b, c, d, ..]) if command == CommandByte::STMT_PREPARE => {
                self.prepared = Some(u32::from_le_bytes([*a, *b, *c, *d]));
            }
            // A result of one column.
            (false, [1, ..]) => self.value = last_value(&kept),
            _ => {}
        }
        kept.clear();
        self.kept = kept;
    }
}

/// The text of the last row of a result with one column: the last packet but the one that ends the rows.
fn last_value(reply: &[u8]) -> Option<Vec<u8>> {
    let mut packets = Vec::new();
    let mut rest = reply;
    while let Some((payload, behind)) = next_payload(rest) {
        packets.push(payload);
        rest = behind;
    }
    // A part of a packet is none.
    if rest.len() >= HEADER_BYTES {
        return None;
    }
    let row = packets.iter().rev().nth(1)?;
    match row.split_first() {
        Some((0xFB, [])) => Some(Vec::new()),
        Some((0xFC, [low, high, text @ ..]))
            if usize::from(u16::from_le_bytes([*low, *high])) == text.len() =>
        {
            Some(text.to_vec())
        }
        Some((&len, text)) if usize::from(len) == text.len() => Some(text.to_vec()),
        _ => None,
    }
}

/// The payload of the first packet, and what is behind it; `None` where it is not whole.
fn next_payload(packets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[a, b, c, _], behind) = packets.split_first_chunk::<HEADER_BYTES>()?;
    behind.split_at_checked(u32::from_le_bytes([a, b, c, 0]) as usize)
}

/// Appends a packet.
pub(crate) fn put_packet(out: &mut Vec<u8>, command: CommandByte, text: &[u8]) {
    let [a, b, c, ..] = (1 + text.len()).to_le_bytes();
    out.extend_from_slice(&[a, b, c, 0, command.0]);
    out.extend_from_slice(text);
}

/// Begins a command whose text is appended next, and that [`end_packet`] ends.
pub(crate) fn begin_packet(out: &mut Vec<u8>, command: CommandByte) -> usize {
    let begin = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, command.0]);
    begin
}

/// Ends the command that was begun there.
pub(crate) fn end_packet(out: &mut [u8], begin: usize) {
    let Some(packet) = out.get_mut(begin..) else {
        return;
    };
    let [a, b, c, ..] = packet.len().saturating_sub(HEADER_BYTES).to_le_bytes();
    if let Some(len) = packet.first_chunk_mut() {
        *len = [a, b, c];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPABILITIES: Capabilities = Capabilities::PROTOCOL_41.union(Capabilities::DEPRECATE_EOF);

    fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
        let len = u8::try_from(payload.len()).unwrap();
        [&[len, 0, 0, sequence][..], payload].concat()
    }

    #[test]
    fn replies_end_after_as_many_as_were_sent_and_give_what_was_asked_for() {
        let mut out = Vec::new();
        put_packet(&mut out, CommandByte::QUERY, b"SET autocommit=0");
        put_packet(&mut out, CommandByte::QUERY, b"SELECT LAST_INSERT_ID()");
        put_packet(&mut out, CommandByte::STMT_PREPARE, b"SELECT 1");
        let mut exchange = Exchange::new(CAPABILITIES, &out).unwrap();
        let definition = [&[3][..], b"def", &[0; 20]].concat();
        let replies = [
            packet(1, &[0, 0, 0, 0, 0, 0, 0]),
            packet(1, &[1]),
            packet(2, &definition),
            packet(3, &[2, b'4', b'2']),
            packet(4, &[0xFE, 0, 0, 2, 0, 0, 0]),
            packet(1, &[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            packet(1, b"\x00the client's"),
        ]
        .concat();
        let whole = replies.len() - b"\x00the client's".len() - HEADER_BYTES;
        let mut fed = Vec::new();
        for byte in &replies[..whole] {
            assert!(!exchange.is_over());
            fed.push(*byte);
            let (n, _) = exchange.feed(&fed).unwrap();
            fed.drain(..n);
        }
        assert!(exchange.is_over() && exchange.error().is_none());
        assert_eq!(exchange.value.as_deref(), Some(&b"42"[..]));
        assert_eq!(exchange.prepared, Some(9));
        assert_eq!(exchange.feed(&replies[whole..]).unwrap(), (0, 0));
    }

    #[test]
    fn an_error_is_kept() {
        let mut out = Vec::new();
        put_packet(&mut out, CommandByte::INIT_DB, b"gone");
        let mut exchange = Exchange::new(CAPABILITIES, &out).unwrap();
        let err = packet(1, b"\xFF\x19\x04#42000Unknown database");
        assert_eq!(exchange.feed(&err).unwrap(), (err.len(), 0));
        assert_eq!(exchange.error(), Some(&err[HEADER_BYTES..]));
    }

    #[test]
    fn an_exchange_that_is_over_leaves_nothing_to_the_next_one() {
        let mut out = Vec::new();
        put_packet(&mut out, CommandByte::QUERY, b"SELECT 42");
        let mut exchange = Exchange::new(CAPABILITIES, &out).unwrap();
        assert!(!exchange.is_reusable());
        let definition = [&[3][..], b"def", &[0; 20]].concat();
        // Two warnings.
        let reply = [
            packet(1, &[1]),
            packet(2, &definition),
            packet(3, &[2, b'4', b'2']),
            packet(4, &[0xFE, 0, 0, 2, 0, 2, 0]),
        ]
        .concat();
        assert_eq!(exchange.feed(&reply).unwrap(), (reply.len(), 0));
        assert_eq!(exchange.value.as_deref(), Some(&b"42"[..]));
        assert!(exchange.is_reusable());
        let mut out = Vec::new();
        put_packet(&mut out, CommandByte::QUERY, b"SET a = 1");
        let mut exchange = exchange.again(&out).unwrap();
        assert!(!exchange.is_over() && exchange.value.is_none());
        let ok = packet(1, &[0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(exchange.feed(&ok).unwrap(), (ok.len(), 0));
        assert!(exchange.is_over() && !exchange.leaves_warnings());
        // What fails is not used again, nor what has prepared something.
        let mut exchange = exchange.again(&out).unwrap();
        let err = packet(1, b"\xFF\x19\x04#42000no such variable");
        exchange.feed(&err).unwrap();
        assert!(exchange.is_over() && !exchange.is_reusable());
        let mut out = Vec::new();
        put_packet(&mut out, CommandByte::STMT_PREPARE, b"SELECT 1");
        let mut exchange = Exchange::new(CAPABILITIES, &out).unwrap();
        let prepared = packet(1, &[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        exchange.feed(&prepared).unwrap();
        assert!(exchange.is_over() && !exchange.is_reusable());
    }
}
