//! A client's and a server's core with the relay between them: it finds the same commands, ends and states.

use onecopy_wire::Buffers;
use proptest::prelude::*;

use super::*;
use crate::client::{ClientCore, Limits, Params, Reply, RowMode, Session, StatementId};
use crate::packet::{ColumnDefinition, EofPacket, ErrPacket, OkPacket};
use crate::server::testing::{Link, pump};
use crate::server::{Field, ServerCore, ServerLimits, ServerMessage, ServerSession};

/// One command, and what the server says to it.
#[derive(Debug, Clone)]
enum Turn {
    Ping(Answer),
    Query(Vec<Answer>),
    Prepare { parameters: u16, columns: u16 },
    PrepareFails,
    Execute(Answer),
    Close,
    Reset,
}

#[derive(Debug, Clone)]
enum Answer {
    Ok(StatusFlags),
    Err,
    Rows {
        columns: u16,
        /// The length of each row's first value.
        rows: Vec<usize>,
        status: StatusFlags,
    },
}

fn status() -> impl Strategy<Value = StatusFlags> {
    any::<bool>().prop_map(|open| match open {
        true => StatusFlags::IN_TRANS,
        false => StatusFlags::AUTOCOMMIT,
    })
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        status().prop_map(Answer::Ok),
        Just(Answer::Err),
        (
            1..4_u16,
            proptest::collection::vec(prop_oneof![0..9_usize, 250..300_usize], 0..9),
            status()
        )
            .prop_map(|(columns, rows, status)| Answer::Rows {
                columns,
                rows,
                status
            }),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let simple = prop_oneof![status().prop_map(Answer::Ok), Just(Answer::Err)];
    prop_oneof![
        1 => simple.prop_map(Turn::Ping),
        3 => proptest::collection::vec(answer(), 1..4).prop_map(Turn::Query),
        2 => (0..3_u16, 0..3_u16)
            .prop_map(|(parameters, columns)| Turn::Prepare { parameters, columns }),
        1 => Just(Turn::PrepareFails),
        2 => answer().prop_map(Turn::Execute),
        1 => Just(Turn::Close),
        1 => Just(Turn::Reset),
    ]
}

struct Between {
    client: ClientCore,
    server: ServerCore,
    client_buffers: Buffers,
    server_buffers: Buffers,
    followed: Followed,
    /// Pieces of the relay's reads.
    most: usize,
    statements: Vec<StatementId>,
    commands: u64,
}

impl Between {
    fn new(capabilities: Capabilities, most: usize) -> Self {
        let limits = Limits::default();
        let session = Session::with(capabilities);
        let mut server_session = ServerSession::default();
        server_session.capabilities = capabilities;
        Self {
            client: ClientCore::new(session, limits),
            server: ServerCore::new(server_session, ServerLimits::default()),
            client_buffers: Buffers::new(limits.buffer_config()),
            server_buffers: Buffers::new(ServerLimits::default().buffer_config()),
            followed: Followed::new(capabilities),
            most,
            statements: Vec::new(),
            commands: 0,
        }
    }

    fn turn(&mut self, turn: &Turn) {
        let buffers = &mut self.client_buffers;
        match turn {
            Turn::Ping(answer) => {
                self.client.ping(buffers).expect("idle");
                self.hear();
                self.say(answer, false, false);
            }
            Turn::Query(answers) => {
                self.client
                    .query(buffers, b"select 1; select 2")
                    .expect("idle");
                self.hear();
                let failed = answers
                    .iter()
                    .position(|answer| matches!(answer, Answer::Err));
                let last = failed.unwrap_or(answers.len() - 1);
                for (index, answer) in answers.iter().take(last + 1).enumerate() {
                    self.say(answer, index < last, false);
                }
            }
            Turn::Prepare {
                parameters,
                columns,
            } => {
                self.client.prepare(buffers, b"select ?").expect("idle");
                self.hear();
                self.prepared(*parameters, *columns);
            }
            Turn::PrepareFails => {
                self.client.prepare(buffers, b"select ?").expect("idle");
                self.hear();
                self.say(&Answer::Err, false, false);
            }
            Turn::Execute(answer) => {
                let without = |id: &StatementId| self.client.parameters(*id) == Ok(0);
                let Some(id) = self.statements.iter().copied().find(without) else {
                    return;
                };
                self.client.execute(buffers, id, Params(&[])).expect("idle");
                self.hear();
                self.say(answer, false, true);
            }
            Turn::Close => {
                if let Some(id) = self.statements.pop() {
                    self.client.close_statement(buffers, id).expect("idle");
                    self.hear();
                }
                return self.check_state();
            }
            Turn::Reset => {
                self.client.reset_connection(buffers).expect("idle");
                self.hear();
                self.say(&Answer::Ok(StatusFlags::AUTOCOMMIT), false, false);
                self.statements.clear();
            }
        }
        self.see();
    }

    /// The client's command passes to the server.
    fn hear(&mut self) {
        let mut up = Link::new(0, 1);
        up.take(&mut self.client_buffers, &b"select 1; select 2"[..]);
        let at = self.followed.passed[0];
        let bytes = up.waiting().to_vec();
        let told = self.followed.feed(Side::Client, &bytes, self.most);
        told.expect("an honest client");
        let heard = pump(&mut self.server, &mut self.server_buffers, &mut up);
        let Ok(Some(ServerMessage::Command(span))) = heard else {
            panic!("no command: {heard:?}");
        };
        let byte = self.server_buffers.bytes(span)[0];
        self.commands += 1;
        assert_eq!(self.followed.seen.pop(), Some((at, command(byte))));
        assert!(self.followed.all_passed());
    }

    fn say(&mut self, answer: &Answer, more: bool, binary: bool) {
        let Self {
            server,
            server_buffers: buffers,
            ..
        } = self;
        let flags = |status: StatusFlags| match more {
            true => status | StatusFlags::MORE_RESULTS_EXISTS,
            false => status,
        };
        match answer {
            Answer::Ok(status) => server.ok(
                buffers,
                &OkPacket {
                    affected_rows: 1000,
                    status_flags: flags(*status),
                    info: b"info",
                    ..OkPacket::default()
                },
            ),
            Answer::Err => server.err(
                buffers,
                &ErrPacket {
                    code: 1064,
                    sql_state: None,
                    message: b"no",
                },
            ),
            Answer::Rows {
                columns,
                rows,
                status,
            } => {
                server.column_count(buffers, (*columns).into(), true);
                for _ in 0..*columns {
                    server.column_definition(buffers, &TEXT);
                }
                server.definitions_end(buffers, &EofPacket::default());
                for length in rows {
                    let value = vec![b'v'; *length];
                    let mut fields = vec![Field::Null; usize::from(*columns)];
                    fields[0] = Field::Bytes(&value);
                    match binary {
                        true => server.binary_row(buffers, &fields),
                        false => server.text_row(buffers, fields),
                    }
                }
                let ok = OkPacket {
                    status_flags: flags(*status),
                    ..OkPacket::default()
                };
                server.rows_end(buffers, &ok);
            }
        }
    }

    fn prepared(&mut self, parameters: u16, columns: u16) {
        let (server, buffers) = (&mut self.server, &mut self.server_buffers);
        server.prepared(buffers, parameters, columns, 0);
        for count in [parameters, columns] {
            for _ in 0..count {
                server.column_definition(buffers, &TEXT);
            }
            if count > 0 {
                server.definitions_end(buffers, &EofPacket::default());
            }
        }
    }

    /// The reply passes to the client, which finds its end where the relay does.
    fn see(&mut self) {
        let mut down = Link::new(0, 1);
        down.take(&mut self.server_buffers, &());
        let bytes = down.waiting().to_vec();
        let told = self.followed.feed(Side::Server, &bytes, self.most);
        told.expect("an honest server");
        assert!(self.followed.all_passed());

        self.client.set_row_mode(RowMode::Borrow);
        let mut last = None;
        while !self.client.is_idle() {
            let reply = pump(&mut self.client, &mut self.client_buffers, &mut down);
            last = reply.expect("an honest server");
            if let Some(Reply::Prepared(id)) = last {
                self.statements.push(id);
            }
        }
        assert!(self.client_buffers.pending().is_empty(), "the reply's end");
        let client_failed = matches!(last, Some(Reply::Err(_)));
        let status = self.client.ok().status_flags;
        let [
            (
                at,
                Event::Done {
                    failed,
                    status: told,
                    ..
                },
            ),
        ] = self.followed.seen[..]
        else {
            panic!("not one reply: {:?}", self.followed.seen);
        };
        assert_eq!((at, failed), (self.followed.passed[1], client_failed));
        assert_eq!(told, status);
        self.followed.seen.clear();
        self.check_state();
    }

    fn check_state(&self) {
        let relay = &self.followed.relay;
        assert!(relay.is_idle());
        assert_eq!(relay.commands(), self.commands);
        assert_eq!(relay.outstanding(), 0);
        assert_eq!(relay.statements(), self.statements.len());
        let status = self.client.ok().status_flags;
        assert_eq!(
            relay.in_transaction(),
            status.contains(StatusFlags::IN_TRANS)
        );
    }
}

/// A column of text.
const TEXT: ColumnDefinition<'_> = ColumnDefinition {
    catalog: b"def",
    schema: b"shop",
    table: b"t",
    org_table: b"t",
    name: b"v",
    org_name: b"v",
    extended: crate::packet::ExtendedMetadata::from_encoded(b""),
    collation: 45,
    column_length: 1000,
    column_type: 0xFD,
    flags: 0,
    decimals: 0,
};

proptest! {
    #[test]
    fn the_relay_finds_what_client_and_server_mean(
        style in 0..4_u8,
        turns in proptest::collection::vec(turn(), 1..12),
        most in prop_oneof![Just(usize::MAX), 1..40_usize],
    ) {
        let mut capabilities = PLAIN | Capabilities::TRANSACTIONS;
        if style & 1 != 0 {
            capabilities |= Capabilities::DEPRECATE_EOF;
        }
        if style & 2 != 0 {
            capabilities |= Capabilities::SESSION_TRACK;
        }
        let mut between = Between::new(capabilities, most);
        for turn in &turns {
            between.turn(turn);
        }
    }
}
