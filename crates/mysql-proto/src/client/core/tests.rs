//! A client's and a server's core wired back to back.

use proptest::prelude::*;

use super::*;
use crate::auth::Plugin;
use crate::client::Params;
use crate::packet::{
    ColumnDefinition, EofPacket, ErrPacket, OkPacket as ServerOk, SessionChange, SessionTrack,
};
use crate::server::testing::{Link, PASSWORD, Pair, account, pump};
use crate::server::{Field, ServerCore, ServerLimits, ServerMessage};
use crate::value::Param;

/// Both ends behind the login.
struct Wired {
    client: ClientCore,
    server: ServerCore,
    client_buffers: Buffers,
    server_buffers: Buffers,
    up: Link,
    down: Link,
}

/// Limits under which a row of some hundred bytes is large.
const SMALL: Limits = Limits {
    contiguous_row_bytes: 64,
    large_value_bytes: 24,
    max_row_bytes: 1 << 20,
    max_message_bytes: 0xFF_FFFE,
    max_metadata_bytes: 1 << 20,
};

fn wired(capabilities: Capabilities, delivery: (usize, u64)) -> Wired {
    let server_limits = ServerLimits::default();
    let plugin = Plugin::NativePassword;
    let mut pair = Pair::new(capabilities, plugin, SMALL, server_limits, delivery);
    pair.login(&account(plugin, PASSWORD));
    Wired {
        client: pair.client.into_core(),
        server: pair.server.into_core(),
        client_buffers: pair.client_buffers,
        server_buffers: pair.server_buffers,
        up: pair.up,
        down: pair.down,
    }
}

impl Wired {
    /// What the server has once the client's command is there.
    fn command(&mut self) -> Vec<u8> {
        self.up.take(&mut self.client_buffers, &());
        let message = pump(&mut self.server, &mut self.server_buffers, &mut self.up);
        match message.expect("an honest client") {
            Some(ServerMessage::Command(span)) => self.server_buffers.bytes(span).to_vec(),
            other => panic!("no command: {other:?}"),
        }
    }

    fn reply(&mut self) -> Reply {
        self.down.take(&mut self.server_buffers, &());
        let reply = pump(&mut self.client, &mut self.client_buffers, &mut self.down);
        reply.expect("an honest server").expect("it has all come")
    }

    /// The values of a borrowed row.
    fn borrowed(&self, row: Span) -> Vec<Option<Vec<u8>>> {
        let value = |cell: &Cell| {
            let bytes = || self.client_buffers.bytes(cell.span(row)).to_vec();
            (!cell.is_null()).then(bytes)
        };
        self.client.cells().iter().map(value).collect()
    }

    /// The values of a streamed row that has begun. Those of up to 4 KiB come in one piece.
    fn streamed(&mut self) -> Vec<Option<Vec<u8>>> {
        let mut values: Vec<Option<Vec<u8>>> = Vec::new();
        let mut announced = None;
        loop {
            match self.reply() {
                Reply::Value(len) => {
                    announced = len;
                    values.push(len.map(|_| Vec::new()));
                }
                Reply::Piece(piece) => {
                    let value = values.last_mut().and_then(Option::as_mut);
                    let bytes = self.client_buffers.bytes(piece);
                    value.expect("a value began").extend_from_slice(bytes);
                    let len = announced.expect("a value began");
                    assert!(len > 4 << 10 || bytes.len() as u64 == len, "{len}");
                }
                Reply::RowEnd => return values,
                other => panic!("no value: {other:?}"),
            }
        }
    }

    /// Queues one result.
    fn send_result(
        &mut self,
        rows: &[Vec<Option<Vec<u8>>>],
        columns: u16,
        binary: bool,
        more: bool,
    ) {
        let Self {
            server,
            server_buffers: buffers,
            ..
        } = self;
        server.column_count(buffers, columns.into(), true);
        for _ in 0..columns {
            server.column_definition(buffers, &COLUMN);
        }
        server.definitions_end(buffers, &EofPacket::default());
        for row in rows {
            let fields: Vec<_> = row.iter().map(|value| field(value.as_deref())).collect();
            if binary {
                server.binary_row(buffers, &fields);
            } else {
                server.text_row(buffers, fields.iter().copied());
            }
        }
        let status_flags = if more {
            StatusFlags::MORE_RESULTS_EXISTS
        } else {
            StatusFlags::AUTOCOMMIT
        };
        let ok = ServerOk {
            warnings: 3,
            status_flags,
            ..ServerOk::default()
        };
        server.rows_end(buffers, &ok);
    }
}

const COLUMN: ColumnDefinition<'_> = ColumnDefinition {
    catalog: b"def",
    schema: b"shop",
    table: b"t",
    org_table: b"t",
    name: b"v",
    org_name: b"v",
    extended: crate::packet::ExtendedMetadata::from_encoded(b""),
    collation: 63,
    column_length: 1000,
    column_type: 0xFC,
    flags: 0,
    decimals: 0,
};

fn field(value: Option<&[u8]>) -> Field<'_> {
    value.map_or(Field::Null, Field::Bytes)
}

/// MySQL's capabilities without TLS, with or without EOF packets.
fn capabilities(deprecate_eof: bool) -> Capabilities {
    let all = Capabilities::from_wire(u32::MAX, 0).difference(Capabilities::SSL);
    if deprecate_eof {
        all
    } else {
        all.difference(Capabilities::DEPRECATE_EOF)
    }
}

fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop_oneof![
        1 => Just(None),
        4 => prop::collection::vec(any::<u8>(), 0..12).prop_map(Some),
        3 => prop::collection::vec(any::<u8>(), 20..30).prop_map(Some),
        2 => prop::collection::vec(any::<u8>(), 200..400).prop_map(Some),
        1 => prop::collection::vec(any::<u8>(), 4000..9000).prop_map(Some),
    ]
}

fn rows() -> impl Strategy<Value = (u16, Vec<Vec<Option<Vec<u8>>>>)> {
    (1..12_u16).prop_flat_map(|columns| {
        let row = prop::collection::vec(value(), usize::from(columns));
        (Just(columns), prop::collection::vec(row, 0..6))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Each row in a mode of its own: borrowed, streamed, streamed and dropped in its first value, skipped.
    #[test]
    fn rows_are_the_servers_in_every_mode_and_delivery(
        (columns, rows) in rows(),
        modes in prop::collection::vec(0..4_u8, 6),
        binary: bool,
        deprecate_eof: bool,
        more: bool,
        most in prop_oneof![Just(0_usize), 1..9_usize, 100..5000_usize],
        seed: u64,
    ) {
        let mut wired = wired(capabilities(deprecate_eof), (most, seed));
        if binary {
            wired.client.prepare(&mut wired.client_buffers, b"SELECT").unwrap();
            prop_assert_eq!(wired.command(), b"\x16SELECT");
            wired.server.prepared(&mut wired.server_buffers, 0, 0, 0);
            let Reply::Prepared(id) = wired.reply() else {
                return Err(TestCaseError::fail("not prepared"));
            };
            wired.client.execute(&mut wired.client_buffers, id, Params(&[])).unwrap();
        } else {
            wired.client.query(&mut wired.client_buffers, b"SELECT").unwrap();
        }
        wired.command();
        wired.send_result(&rows, columns, binary, more);
        if more {
            wired.send_result(&rows, columns, binary, false);
        }

        for result in 0..=usize::from(more) {
            prop_assert_eq!(wired.reply(), Reply::Columns);
            prop_assert_eq!(wired.client.definitions().len(), usize::from(columns));
            let definitions = wired.client.definitions();
            prop_assert_eq!(definitions.name(0), Some(&b"v"[..]));
            prop_assert_eq!(definitions.schema(0), Some(&b"shop"[..]));
            prop_assert_eq!(definitions.table(0), Some(&b"t"[..]));
            let mut rows = rows.iter().zip(&modes);
            while let Some((row, mode)) = rows.next() {
                match mode {
                    0 => {
                        wired.client.set_row_mode(RowMode::Borrow);
                        let Reply::Row(span) = wired.reply() else {
                            return Err(TestCaseError::fail("no row"));
                        };
                        prop_assert_eq!(&wired.borrowed(span), row);
                    }
                    1 => {
                        wired.client.set_row_mode(RowMode::Stream);
                        prop_assert_eq!(wired.reply(), Reply::RowStart);
                        prop_assert_eq!(&wired.streamed(), row);
                    }
                    2 => {
                        wired.client.set_row_mode(RowMode::Stream);
                        prop_assert_eq!(wired.reply(), Reply::RowStart);
                        let len = row[0].as_ref().map(|value| value.len() as u64);
                        prop_assert_eq!(wired.reply(), Reply::Value(len));
                        // What is left of it goes with the next row, which is skipped or borrowed.
                        wired.client.set_row_mode(RowMode::Skip);
                        if rows.len() > 0 {
                            let mode = RowMode::Borrow;
                            wired.client.set_row_mode(mode);
                            let (row, _) = rows.next().expect("one more");
                            let Reply::Row(span) = wired.reply() else {
                                return Err(TestCaseError::fail("no row"));
                            };
                            prop_assert_eq!(&wired.borrowed(span), row);
                        }
                    }
                    _ => {
                        wired.client.set_row_mode(RowMode::Skip);
                        break;
                    }
                }
            }
            prop_assert_eq!(wired.reply(), Reply::RowsEnd);
            prop_assert_eq!(wired.client.ok().warnings, 3);
            prop_assert_eq!(wired.client.is_idle(), result == usize::from(more));
        }

        wired.client.ping(&mut wired.client_buffers).unwrap();
        prop_assert_eq!(wired.command(), b"\x0e");
        let ok = ServerOk { affected_rows: 7, info: b"well", ..ServerOk::default() };
        wired.server.ok(&mut wired.server_buffers, &ok);
        prop_assert_eq!(wired.reply(), Reply::Ok);
        prop_assert_eq!(wired.client.info(), "well");
        let moved = wired.client_buffers.meter().bytes_moved;
        let meter = wired.client_buffers.meter();
        prop_assert!(moved <= meter.bytes_read / 4 + 1024 * meter.reads);
    }
}

#[test]
fn a_command_is_refused_while_a_reply_is_outstanding() {
    let mut wired = wired(capabilities(true), (0, 1));
    wired.client.ping(&mut wired.client_buffers).unwrap();
    assert_eq!(
        wired.client.ping(&mut wired.client_buffers),
        Err(Error::Busy)
    );
    wired.command();
    wired
        .server
        .ok(&mut wired.server_buffers, &ServerOk::default());
    assert_eq!(wired.reply(), Reply::Ok);
    assert_eq!(wired.client.ping(&mut wired.client_buffers), Ok(()));
}

#[test]
fn an_err_is_a_value_and_the_next_command_goes() {
    let mut wired = wired(capabilities(true), (1, 1));
    wired
        .client
        .query(&mut wired.client_buffers, b"SELEC")
        .unwrap();
    wired.command();
    let err = ErrPacket {
        code: 1064,
        sql_state: Some(*b"42000"),
        message: b"syntax",
    };
    wired.server.err(&mut wired.server_buffers, &err);
    let Reply::Err(span) = wired.reply() else {
        panic!("no error");
    };
    assert_eq!(ErrPacket::decode(wired.client_buffers.bytes(span)), Ok(err));
    assert_eq!(wired.client.ping(&mut wired.client_buffers), Ok(()));
}

#[test]
fn a_dead_core_gives_the_same_error_again() {
    let mut wired = wired(capabilities(true), (0, 1));
    wired.client.ping(&mut wired.client_buffers).unwrap();
    wired.command();
    wired.server.set_sequence(9);
    wired
        .server
        .ok(&mut wired.server_buffers, &ServerOk::default());
    wired.down.take(&mut wired.server_buffers, &());
    let wrong = Error::Frame(crate::frame::FrameError::Sequence {
        expected: 1,
        found: 9,
    });
    let first = pump(
        &mut wired.client,
        &mut wired.client_buffers,
        &mut wired.down,
    );
    assert_eq!(first, Err(wrong.clone()));
    let again = wired.client.advance(&mut wired.client_buffers);
    assert_eq!(again, Err(wrong.clone()));
    assert_eq!(
        wired.client.ping(&mut wired.client_buffers),
        Err(wrong.clone())
    );
    let eof = wired.client.handle_eof(&mut wired.client_buffers);
    assert_eq!(eof, wrong);
}

#[test]
fn the_end_of_the_stream_says_what_it_cut() {
    let during = |prepare: fn(&mut Wired)| {
        let mut wired = wired(capabilities(true), (0, 1));
        prepare(&mut wired);
        wired.client.handle_eof(&mut wired.client_buffers)
    };
    let closed = |during| Error::Closed { during };
    assert_eq!(during(|_| ()), closed("idleness"));
    let asked = |wired: &mut Wired| {
        let (client, buffers) = (&mut wired.client, &mut wired.client_buffers);
        client.query(buffers, b"SELECT").unwrap();
    };
    assert_eq!(during(asked), closed("the wait for a reply"));
    let in_rows = |wired: &mut Wired| {
        let (client, buffers) = (&mut wired.client, &mut wired.client_buffers);
        client.query(buffers, b"SELECT").unwrap();
        wired.command();
        wired.send_result(&[], 1, false, false);
        assert_eq!(wired.reply(), Reply::Columns);
    };
    assert_eq!(during(in_rows), closed("rows"));
}

/// Under a limit of messages that is smaller than that of rows.
#[test]
fn an_err_in_a_rows_place_is_under_the_limit_of_messages_in_every_mode() {
    for mode in [RowMode::Borrow, RowMode::Stream, RowMode::Skip] {
        let mut wired = wired(capabilities(true), (0, 1));
        wired.client.limits.max_message_bytes = 100;
        let (client, buffers) = (&mut wired.client, &mut wired.client_buffers);
        client.query(buffers, b"SELECT").unwrap();
        wired.command();
        let (server, buffers) = (&mut wired.server, &mut wired.server_buffers);
        server.column_count(buffers, 1, true);
        server.column_definition(buffers, &COLUMN);
        assert_eq!(wired.reply(), Reply::Columns);
        wired.client.set_row_mode(mode);
        let message = &[b'x'; 200];
        let err = ErrPacket {
            code: 1,
            sql_state: None,
            message,
        };
        wired.server.err(&mut wired.server_buffers, &err);
        wired.down.take(&mut wired.server_buffers, &());
        let seen = pump(
            &mut wired.client,
            &mut wired.client_buffers,
            &mut wired.down,
        );
        let (needed, max) = (203, 100);
        let limit = WireError::LimitExceeded { needed, max };
        assert_eq!(seen, Err(Error::Wire(limit)), "{mode:?}");
    }
}

#[test]
fn a_claim_of_columns_costs_nothing_before_their_definitions_come() {
    let mut wired = wired(capabilities(true), (0, 1));
    wired.client.query(&mut wired.client_buffers, b"q").unwrap();
    wired.command();
    let buffers = &mut wired.server_buffers;
    // 1 MiB holds 10,922 definitions of no bytes, and fewer of these.
    wired.server.column_count(buffers, 10_922, true);
    wired.down.take(buffers, &());
    let client_buffers = &mut wired.client_buffers;
    let none = pump(&mut wired.client, client_buffers, &mut wired.down);
    assert!(none.expect("an allowed claim").is_none());
    assert_eq!(wired.client.cells.capacity(), 0);
    for sent in 1..=10_922 {
        wired.server.column_definition(buffers, &COLUMN);
        wired.down.take(buffers, &());
        match pump(&mut wired.client, client_buffers, &mut wired.down) {
            Ok(none) => assert!(none.is_none()),
            Err(error) => {
                let max = 1 << 20;
                assert!(
                    matches!(error, Error::Wire(WireError::LimitExceeded { needed, max: found })
                        if needed > max && found == max),
                    "{error:?}"
                );
                assert!(sent > 5000, "{sent}");
                assert_eq!(wired.client.cells.capacity(), 0);
                return;
            }
        }
    }
    panic!("all of them were accepted");
}

#[test]
fn more_columns_than_the_limit_of_definitions_can_hold_are_refused_at_once() {
    for (count, is_refused) in [(10_922, false), (10_923, true), (u32::MAX, true)] {
        let mut wired = wired(capabilities(true), (0, 1));
        wired.client.query(&mut wired.client_buffers, b"q").unwrap();
        wired.command();
        wired
            .server
            .column_count(&mut wired.server_buffers, count, true);
        wired.down.take(&mut wired.server_buffers, &());
        let seen = pump(
            &mut wired.client,
            &mut wired.client_buffers,
            &mut wired.down,
        );
        let columns = u64::from(count);
        let error = Error::TooManyColumns {
            columns,
            max: 10_922,
        };
        assert_eq!(seen.err(), is_refused.then_some(error));
    }
}

#[test]
fn text_that_the_server_would_misread_is_refused_and_nothing_is_queued() {
    let mut wired = wired(capabilities(true), (0, 1));
    let (client, buffers) = (&mut wired.client, &mut wired.client_buffers);
    client.prepare(buffers, b"SELECT ?, ?").unwrap();
    wired.command();
    let (server, buffers) = (&mut wired.server, &mut wired.server_buffers);
    server.prepared(buffers, 2, 0, 0);
    server.column_definition(buffers, &COLUMN);
    server.column_definition(buffers, &COLUMN);
    let Reply::Prepared(statement) = wired.reply() else {
        panic!("no statement");
    };
    let texts = [Param::Int(7), Param::Text("é".as_bytes())];
    let execute = |wired: &mut Wired| {
        let (client, buffers) = (&mut wired.client, &mut wired.client_buffers);
        client.execute(buffers, statement, Params(&texts))
    };
    for (character_set, expected) in [
        (&b"latin1"[..], "latin1"),
        (b"unheard of", ""),
        (b"utf8mb4", "utf8mb4"),
    ] {
        let mut changes = Vec::new();
        for (name, value) in [
            (&b"autocommit"[..], &b"ON"[..]),
            (b"character_set_client", character_set),
        ] {
            SessionChange::SystemVariable { name, value }.encode(&mut changes);
        }
        wired.client.ping(&mut wired.client_buffers).unwrap();
        wired.command();
        let ok = ServerOk {
            session_track: SessionTrack::from_encoded(&changes),
            ..ServerOk::default()
        };
        wired.server.ok(&mut wired.server_buffers, &ok);
        assert_eq!(wired.reply(), Reply::Ok);
        if expected == "utf8mb4" {
            continue;
        }
        let refused = Error::CharacterSet {
            parameter: 1,
            collation: crate::CollationId::UTF8MB4_GENERAL_CI,
            session: expected,
        };
        assert_eq!(execute(&mut wired), Err(refused));
        assert!(!wired.client_buffers.has_output());
        assert!(wired.client.is_idle());
    }
    assert_eq!(execute(&mut wired), Ok(()));
    assert!(wired.command().ends_with("\x02é".as_bytes()));
}

#[test]
fn a_piece_of_a_parameter_names_its_statement_and_parameter() {
    let mut wired = wired(capabilities(true), (0, 1));
    let (client, buffers) = (&mut wired.client, &mut wired.client_buffers);
    client.prepare(buffers, b"INSERT ?").unwrap();
    wired.command();
    let (server, buffers) = (&mut wired.server, &mut wired.server_buffers);
    server.prepared(buffers, 1, 0, 0);
    server.column_definition(buffers, &COLUMN);
    let Reply::Prepared(statement) = wired.reply() else {
        panic!("no statement");
    };
    let (client, buffers) = (&mut wired.client, &mut wired.client_buffers);
    client
        .send_long_data(buffers, statement, 0x0102, b"piece")
        .unwrap();
    let sent = wired.command();
    assert_eq!((sent[0], &sent[5..]), (0x18, &b"\x02\x01piece"[..]));
    assert!(wired.client.is_idle());
}
