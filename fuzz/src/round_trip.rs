//! Our client's core and our server's core back to back: what one encodes the other decodes to the same.
//!
//! | bytes | field                                                                  |
//! |-------|------------------------------------------------------------------------|
//! | 1     | capabilities, see [`reply_capabilities`]                               |
//! | 1     | how both streams are cut                                               |
//! | rest  | commands and replies, each a byte of kind and then its fields          |

mod fields;

use onecopy_mysql_proto::client::{Cell, ClientCore, Params, Reply, RowMode, StatementId};
use onecopy_mysql_proto::packet::{
    ColumnDefinition, Command, EofPacket, ErrPacket, OkPacket, SessionTrack,
};
use onecopy_mysql_proto::server::{Field, ServerCore, ServerLimits, ServerMessage, ServerSession};
use onecopy_mysql_proto::{Capabilities, Error, StatusFlags};
use onecopy_wire::{Borrowed, BufferConfig, Buffers};

use self::fields::{change, check_columns, check_params, column, param, text, value};
use crate::delivery::Pieces;
use crate::input::Input;
use crate::pump::{Outcome, Pump, take_output};
use crate::session::{LIMITS, buffers, logged_in, reply_capabilities};

/// Commands of one input at most.
const MOST_COMMANDS: usize = 16;

/// Sends one command after the other, and its reply back.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut wired = Wired::new(&mut input);
    for _ in 0..MOST_COMMANDS {
        if input.is_empty() {
            break;
        }
        wired.command(&mut input);
    }
}

struct Wired {
    client: ClientCore,
    server: ServerCore,
    client_buffers: Buffers,
    server_buffers: Buffers,
    pieces: Pieces,
    statements: Vec<StatementId>,
}

impl Wired {
    fn new(input: &mut Input<'_>) -> Self {
        let capabilities = reply_capabilities(input.byte());
        let mut session = ServerSession::default();
        session.capabilities = capabilities;
        Self {
            client: ClientCore::new(logged_in(capabilities), LIMITS),
            server: ServerCore::new(session, ServerLimits::default()),
            client_buffers: Buffers::new(buffers()),
            server_buffers: Buffers::new(BufferConfig {
                initial_read: 64,
                ..ServerLimits::default().buffer_config()
            }),
            pieces: Pieces::new(input.byte()),
            statements: Vec::new(),
        }
    }

    fn command(&mut self, input: &mut Input<'_>) {
        let kind = input.byte();
        match kind % 9 {
            0 | 1 => self.query(input),
            2 => self.prepare(input),
            3 | 4 => self.execute(input),
            5 => self.long_data(input),
            6 => self.init_db(input),
            7 => self.reset(input),
            _ => self.ping(input),
        }
        assert!(self.client.is_idle());
    }

    fn query(&mut self, input: &mut Input<'_>) {
        let sql = text(input);
        queued(self.client.query(&mut self.client_buffers, &sql));
        self.hear(&sql[..], |command| match command {
            Command::Query(query) => assert_eq!(query.sql, sql),
            other => panic!("{other:?}"),
        });
        self.reply(input, false);
    }

    fn prepare(&mut self, input: &mut Input<'_>) {
        let sql = text(input);
        queued(self.client.prepare(&mut self.client_buffers, &sql));
        self.hear(&sql[..], |command| match command {
            Command::Prepare(prepare) => assert_eq!(prepare.sql, sql),
            other => panic!("{other:?}"),
        });
        let count = u16::from(input.below(8));
        let (server, buffers) = (&mut self.server, &mut self.server_buffers);
        server.prepared(buffers, count, 0, 0);
        for _ in 0..count {
            server.column_definition(buffers, &ColumnDefinition::default());
        }
        if count > 0 {
            server.definitions_end(buffers, &EofPacket::default());
        }
        self.see(RowMode::Borrow, |client, _, reply| match reply {
            Reply::Prepared(id) => assert_eq!(client.parameters(id), Ok(count)),
            other => panic!("{other:?}"),
        })
        .into_iter()
        .for_each(|reply| {
            if let Reply::Prepared(id) = reply {
                self.statements.push(id);
            }
        });
    }

    fn execute(&mut self, input: &mut Input<'_>) {
        let Some(&id) = self.statements.last() else {
            return self.ping(input);
        };
        let count = self.client.parameters(id).expect("an open statement");
        let texts: Vec<_> = (0..count).map(|_| text(input)).collect();
        let params: Vec<_> = texts.iter().map(|text| param(input, text)).collect();
        let borrowed = Params(&params);
        queued(self.client.execute(&mut self.client_buffers, id, borrowed));
        let capabilities = self.server.capabilities();
        self.hear(&borrowed, |command| match command {
            Command::Execute(execute) => check_params(&execute, count, capabilities, &params),
            other => panic!("{other:?}"),
        });
        self.reply(input, true);
    }

    fn long_data(&mut self, input: &mut Input<'_>) {
        let Some(&id) = self.statements.last() else {
            return self.ping(input);
        };
        let (parameter, piece) = (input.u16(), text(input));
        let buffers = &mut self.client_buffers;
        queued(self.client.send_long_data(buffers, id, parameter, &piece));
        self.hear(&piece[..], |command| match command {
            Command::SendLongData(sent) => {
                assert_eq!((sent.parameter, sent.data), (parameter, &piece[..]));
            }
            other => panic!("{other:?}"),
        });
        if input.flag() {
            queued(self.client.close_statement(&mut self.client_buffers, id));
            self.hear(&(), |command| assert!(matches!(command, Command::Close(_))));
            self.statements.pop();
        }
    }

    fn init_db(&mut self, input: &mut Input<'_>) {
        let database = input.short();
        queued(self.client.init_db(&mut self.client_buffers, database));
        self.hear(&(), |command| match command {
            Command::InitDb(init_db) => assert_eq!(init_db.database, database),
            other => panic!("{other:?}"),
        });
        self.ok(input);
    }

    fn reset(&mut self, input: &mut Input<'_>) {
        queued(self.client.reset_connection(&mut self.client_buffers));
        self.hear(&(), |command| {
            assert!(matches!(command, Command::ResetConnection(_)));
        });
        self.ok(input);
        for id in self.statements.drain(..) {
            assert!(self.client.parameters(id).is_err(), "it is forgotten");
        }
    }

    fn ping(&mut self, input: &mut Input<'_>) {
        queued(self.client.ping(&mut self.client_buffers));
        self.hear(&(), |command| assert!(matches!(command, Command::Ping(_))));
        self.ok(input);
    }

    /// The server reads what the client has queued.
    fn hear<L: Borrowed + ?Sized>(&mut self, borrowed: &L, check: impl FnOnce(Command<'_>)) {
        let mut bytes = Vec::new();
        take_output(&mut self.client_buffers, &By(borrowed), &mut bytes);
        let mut pump = Pump::new(&bytes, self.pieces);
        let heard = pump.step(&mut self.server, &mut self.server_buffers, &());
        let Outcome::Message(ServerMessage::Command(span)) = heard else {
            panic!("no command: {heard:?}");
        };
        assert!(pump.is_over(), "bytes behind a command");
        let command = self.server.command(&self.server_buffers, span);
        check(command.expect("our own client's command"));
    }

    /// The client reads what the server has queued, to the end of the command.
    fn see(
        &mut self,
        mode: RowMode,
        mut check: impl FnMut(&mut ClientCore, &Buffers, Reply),
    ) -> Vec<Reply> {
        let mut bytes = Vec::new();
        take_output(&mut self.server_buffers, &(), &mut bytes);
        let mut pump = Pump::new(&bytes, self.pieces);
        let mut replies = Vec::new();
        self.client.set_row_mode(mode);
        while !self.client.is_idle() {
            match pump.step(&mut self.client, &mut self.client_buffers, &()) {
                Outcome::Message(reply) => {
                    check(&mut self.client, &self.client_buffers, reply);
                    replies.push(reply);
                }
                other => panic!("our own server's reply: {other:?}"),
            }
        }
        assert!(pump.is_over(), "bytes behind a reply");
        replies
    }

    fn reply(&mut self, input: &mut Input<'_>, is_binary: bool) {
        match input.byte() % 4 {
            0 => self.ok(input),
            1 => self.err(input),
            _ => self.rows(input, is_binary),
        }
    }

    fn ok(&mut self, input: &mut Input<'_>) {
        let mut changes = Vec::new();
        for _ in 0..input.below(4) {
            change(input).encode(&mut changes);
        }
        let tracks = Capabilities::SESSION_TRACK;
        if !self.client.session().capabilities.contains(tracks) {
            changes.clear();
        }
        let mut ok = OkPacket {
            affected_rows: input.u64(),
            last_insert_id: input.u64(),
            status_flags: StatusFlags(input.u16())
                .difference(StatusFlags::MORE_RESULTS_EXISTS)
                .difference(StatusFlags::SESSION_STATE_CHANGED),
            warnings: input.u16(),
            info: input.short(),
            session_track: SessionTrack::from_encoded(&changes),
        };
        self.server.ok(&mut self.server_buffers, &ok);
        if !changes.is_empty() {
            ok.status_flags |= StatusFlags::SESSION_STATE_CHANGED;
        }
        self.see(RowMode::Borrow, |client, _, reply| {
            assert_eq!(reply, Reply::Ok);
            assert_eq!(client.ok().affected_rows, ok.affected_rows);
            assert_eq!(client.ok().last_insert_id, ok.last_insert_id);
            assert_eq!(client.ok().status_flags, ok.status_flags);
            assert_eq!(client.ok().warnings, ok.warnings);
            assert_eq!(client.info(), String::from_utf8_lossy(ok.info));
            assert_eq!(client.session_changes().as_encoded(), changes);
        });
    }

    fn err(&mut self, input: &mut Input<'_>) {
        let mut err = ErrPacket {
            code: input.u16(),
            sql_state: input.flag().then_some(*b"42S02"),
            message: input.short(),
        };
        // Without a state, a message that starts as one would be taken for it.
        if err.message.first() == Some(&b'#') {
            err.message = b"";
        }
        // Without a state, this number would be a progress report.
        if err.sql_state.is_none() {
            err.code = err.code.min(u16::MAX - 1);
        }
        self.server.err(&mut self.server_buffers, &err);
        self.see(RowMode::Borrow, |_, buffers, reply| match reply {
            Reply::Err(span) => assert_eq!(ErrPacket::decode(buffers.bytes(span)), Ok(err)),
            other => panic!("{other:?}"),
        });
    }

    /// A result, read in one of the modes.
    fn rows(&mut self, input: &mut Input<'_>, is_binary: bool) {
        let columns: Vec<_> = (0..1 + input.below(4)).map(|_| column(input)).collect();
        let rows: Vec<Vec<_>> = (0..input.below(6))
            .map(|_| columns.iter().map(|_| value(input)).collect())
            .collect();
        let (server, buffers) = (&mut self.server, &mut self.server_buffers);
        let count = u16::try_from(columns.len()).expect("a few");
        server.column_count(buffers, count.into(), true);
        for column in &columns {
            server.column_definition(buffers, column);
        }
        server.definitions_end(buffers, &EofPacket::default());
        for row in &rows {
            let field = |value: &Option<Vec<u8>>| value.clone();
            let own: Vec<_> = row.iter().map(field).collect();
            let fields: Vec<_> = own
                .iter()
                .map(|value| value.as_deref().map_or(Field::Null, Field::Bytes))
                .collect();
            if is_binary {
                server.binary_row(buffers, &fields);
            } else {
                server.text_row(buffers, fields);
            }
        }
        server.rows_end(buffers, &OkPacket::default());
        let mode = if input.flag() {
            RowMode::Stream
        } else {
            RowMode::Borrow
        };
        let mut seen: Vec<Vec<Option<Vec<u8>>>> = Vec::new();
        self.see(mode, |client, buffers, reply| match reply {
            Reply::Columns => check_columns(client, &columns),
            Reply::Row(span) => {
                let bytes = |cell: &Cell| {
                    (!cell.is_null()).then(|| buffers.bytes(cell.span(span)).to_vec())
                };
                seen.push(client.cells().iter().map(bytes).collect());
            }
            Reply::RowStart => seen.push(Vec::new()),
            Reply::Value(len) => {
                let row = seen.last_mut().expect("a row that has begun");
                row.push(len.map(|_| Vec::new()));
            }
            Reply::Piece(span) => {
                let value = seen.last_mut().and_then(|row| row.last_mut());
                let value = value.and_then(Option::as_mut).expect("a value");
                value.extend_from_slice(buffers.bytes(span));
            }
            Reply::RowEnd | Reply::RowsEnd => {}
            other => panic!("{other:?}"),
        });
        assert_eq!(seen, rows);
    }
}

/// A value by reference whose size is not known.
struct By<'l, L: ?Sized>(&'l L);

impl<L: Borrowed + ?Sized> Borrowed for By<'_, L> {
    fn part(&self, index: u32) -> &[u8] {
        self.0.part(index)
    }
}

fn queued(queued: Result<(), Error>) {
    queued.expect("an idle core takes a command");
}
