//! A server that keeps its word: each row of an answer carries the token of the command that asked for it.

use std::collections::BTreeMap;

use onecopy_mysql_proto::packet::{
    ColumnDefinition, CommandByte, EofPacket, ErrPacket, Greeting, OkHeader, OkPacket, PrepareOk,
    ResultHeader,
};
use onecopy_mysql_proto::{Capabilities, ColumnType, StatusFlags, codec::Put};

use crate::peer::Answer;
use crate::stream::push_packet;

/// What a query asks for. Its text is the SQL: the server has nothing else to go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Comes back in every value.
    pub token: u64,
    /// Results one behind the other, at least one.
    pub results: u8,
    /// Rows of each.
    pub rows: u8,
    /// Columns, at least one.
    pub columns: u8,
    /// Bytes that each value is filled up with.
    pub filler: u16,
    /// An error ends the last result.
    pub fails: bool,
}

impl Shape {
    /// As SQL, with blanks behind it up to `len` bytes.
    pub fn sql(&self, len: usize) -> String {
        let Self {
            token,
            results,
            rows,
            columns,
            filler,
            fails,
        } = self;
        let fails = u8::from(*fails);
        let text = format!("{token} {results} {rows} {columns} {filler} {fails}");
        format!("{text:len$}")
    }

    fn parse(sql: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(sql).ok()?;
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok();
        Some(Self {
            token: next()?,
            results: u8::try_from(next()?).ok()?,
            rows: u8::try_from(next()?).ok()?,
            columns: u8::try_from(next()?).ok()?,
            filler: u16::try_from(next()?).ok()?,
            fails: next()? != 0,
        })
    }

    /// The value of a row's column, the rows being counted on through all results.
    pub fn value(&self, row: u64, column: u8) -> Vec<u8> {
        let mut value = format!("{} {row} {column} ", self.token).into_bytes();
        value.resize(value.len() + usize::from(self.filler), b'.');
        value
    }
}

/// The token and the row of a value, as [`Shape::value`] wrote it.
pub fn read_value(value: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(value).ok()?;
    let mut words = text.split(' ');
    let token = words.next()?.parse().ok()?;
    Some((token, words.next()?.parse().ok()?))
}

/// Its state.
#[derive(Debug)]
pub struct Honest {
    capabilities: Capabilities,
    heard: Vec<u8>,
    is_in: bool,
    statements: BTreeMap<u32, (Shape, u16)>,
    prepared: u32,
}

impl Honest {
    /// A server whose results end in this style.
    pub fn new(deprecate_eof: bool) -> Self {
        let mut capabilities = Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::TRANSACTIONS
            | Capabilities::MULTI_RESULTS;
        if deprecate_eof {
            capabilities |= Capabilities::DEPRECATE_EOF;
        }
        Self {
            capabilities,
            heard: Vec::new(),
            is_in: false,
            statements: BTreeMap::new(),
            prepared: 0,
        }
    }

    /// What it says first.
    pub fn greeting(&self) -> Vec<u8> {
        greeting(self.capabilities)
    }

    fn command(&mut self, payload: &[u8]) -> Vec<u8> {
        let (Some(&byte), body) = (payload.first(), payload.get(1..).unwrap_or_default()) else {
            panic!("an empty command");
        };
        let mut reply = Reply::new(self.capabilities);
        match CommandByte(byte) {
            CommandByte::QUERY => {
                let shape = Shape::parse(body).expect("the harness's own sql");
                reply.results(&shape, false);
            }
            CommandByte::STMT_PREPARE => {
                let shape = Shape::parse(body).expect("the harness's own sql");
                self.prepared += 1;
                let parameters = 1 + u16::from(shape.columns & 1);
                self.statements.insert(self.prepared, (shape, parameters));
                reply.prepared(self.prepared, parameters);
            }
            CommandByte::STMT_EXECUTE => self.execute(body, &mut reply),
            CommandByte::STMT_CLOSE => {
                let known = self.statements.remove(&id_of(body));
                assert!(known.is_some(), "a statement was closed twice");
            }
            CommandByte::STMT_SEND_LONG_DATA => {
                assert!(self.statements.contains_key(&id_of(body)));
            }
            CommandByte::RESET_CONNECTION => {
                self.statements.clear();
                reply.ok(StatusFlags::AUTOCOMMIT);
            }
            CommandByte::STMT_RESET | CommandByte::PING | CommandByte::INIT_DB => {
                reply.ok(StatusFlags::AUTOCOMMIT);
            }
            CommandByte::QUIT => {}
            other => panic!("nobody asked for {other:?}"),
        }
        reply.bytes
    }

    /// The first parameter is a token, sent as eight bytes behind the types.
    fn execute(&mut self, body: &[u8], reply: &mut Reply) {
        let known = self.statements.get(&id_of(body));
        let &(shape, parameters) = known.expect("a statement that is open");
        let first_value = 4 + 1 + 4 + 1 + 1 + 2 * usize::from(parameters);
        let token = body.get(first_value..).and_then(<[u8]>::first_chunk);
        let token = u64::from_le_bytes(*token.expect("a token"));
        reply.results(&Shape { token, ..shape }, true);
    }
}

/// A greeting with these capabilities.
pub fn greeting(capabilities: Capabilities) -> Vec<u8> {
    let mut payload = Vec::new();
    let encoded = Greeting {
        server_version: b"11.8.0-onecopy",
        connection_id: 7,
        nonce_head: *b"01234567",
        nonce_tail: b"89abcdefghij",
        capabilities,
        collation: 45,
        status_flags: StatusFlags::AUTOCOMMIT,
        auth_plugin: Some(b"mysql_native_password"),
    }
    .encode(&mut payload);
    encoded.expect("a good greeting");
    let mut bytes = Vec::new();
    push_packet(&mut bytes, &mut 0, &payload);
    bytes
}

fn id_of(body: &[u8]) -> u32 {
    let id = body.first_chunk().expect("a statement's number");
    u32::from_le_bytes(*id)
}

impl Answer for Honest {
    fn hear(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.heard.extend_from_slice(bytes);
        let mut answer = Vec::new();
        while let Some((sequence, payload)) = take_packet(&mut self.heard) {
            // A command's is the first of its sequence.
            assert_eq!(sequence, u8::from(!self.is_in), "the client's sequence");
            if self.is_in {
                answer.extend(self.command(&payload));
            } else {
                self.is_in = true;
                let mut reply = Reply::new(self.capabilities);
                reply.sequence = 2;
                reply.ok(StatusFlags::AUTOCOMMIT);
                answer.extend(reply.bytes);
            }
        }
        answer
    }
}

/// The next whole packet that was heard, off its front: its sequence id and its payload.
pub fn take_packet(heard: &mut Vec<u8>) -> Option<(u8, Vec<u8>)> {
    let &[low, middle, high, sequence] = heard.first_chunk()?;
    let end = 4 + usize::try_from(u32::from_le_bytes([low, middle, high, 0])).ok()?;
    let payload = heard.get(4..end)?.to_vec();
    heard.drain(..end);
    Some((sequence, payload))
}

struct Reply {
    capabilities: Capabilities,
    sequence: u8,
    bytes: Vec<u8>,
}

impl Reply {
    fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            sequence: 1,
            bytes: Vec::new(),
        }
    }

    fn push(&mut self, write: impl FnOnce(&mut Vec<u8>, Capabilities)) {
        let mut payload = Vec::new();
        write(&mut payload, self.capabilities);
        push_packet(&mut self.bytes, &mut self.sequence, &payload);
    }

    fn ok(&mut self, status_flags: StatusFlags) {
        let ok = OkPacket {
            status_flags,
            ..OkPacket::default()
        };
        self.push(|out, capabilities| ok.encode(OkHeader::Ok, capabilities, out));
    }

    fn has_eof(&self) -> bool {
        !self.capabilities.contains(Capabilities::DEPRECATE_EOF)
    }

    fn end(&mut self, status_flags: StatusFlags) {
        let ok = OkPacket {
            status_flags,
            ..OkPacket::default()
        };
        if self.has_eof() {
            let warnings = 0;
            let eof = EofPacket {
                warnings,
                status_flags,
            };
            self.push(|out, _| eof.encode(out));
        } else {
            self.push(|out, capabilities| ok.encode(OkHeader::Eof, capabilities, out));
        }
    }

    fn prepared(&mut self, statement_id: u32, parameters: u16) {
        let ok = PrepareOk {
            statement_id,
            columns: 0,
            parameters,
            warnings: 0,
            metadata_follows: true,
        };
        self.push(|out, capabilities| ok.encode(capabilities, out));
        for _ in 0..parameters {
            self.definition(0);
        }
        if self.has_eof() {
            self.end(StatusFlags::AUTOCOMMIT);
        }
    }

    fn definition(&mut self, column: u8) {
        let name = [b'a' + column % 26];
        let definition = ColumnDefinition {
            name: &name,
            collation: 63,
            column_length: 1 << 16,
            column_type: ColumnType::LONG_BLOB.0,
            ..ColumnDefinition::default()
        };
        self.push(|out, capabilities| definition.encode(capabilities, out));
    }

    fn results(&mut self, shape: &Shape, is_binary: bool) {
        let mut row = 0;
        for result in 1..=shape.results {
            let columns = u32::from(shape.columns);
            self.push(|out, capabilities| {
                ResultHeader::encode_columns(columns, true, capabilities, out);
            });
            for column in 0..shape.columns {
                self.definition(column);
            }
            if self.has_eof() {
                self.end(StatusFlags::AUTOCOMMIT);
            }
            for _ in 0..shape.rows {
                self.row(shape, row, is_binary);
                row += 1;
            }
            if result < shape.results {
                self.end(StatusFlags::MORE_RESULTS_EXISTS);
            } else if shape.fails {
                self.err();
            } else {
                self.end(StatusFlags::AUTOCOMMIT);
            }
        }
    }

    fn row(&mut self, shape: &Shape, row: u64, is_binary: bool) {
        self.push(|out, _| {
            if is_binary {
                let bitmap = (usize::from(shape.columns) + 9) / 8;
                out.put_zeros(1 + bitmap);
            }
            for column in 0..shape.columns {
                out.put_lenenc_bytes(&shape.value(row, column));
            }
        });
    }

    fn err(&mut self) {
        let err = ErrPacket {
            code: 1317,
            sql_state: Some(*b"70100"),
            message: b"interrupted",
        };
        self.push(|out, _| err.encode(out));
    }
}
