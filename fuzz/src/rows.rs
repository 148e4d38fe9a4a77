//! Results with rows: definitions, text rows and binary rows, in every reading mode of the core.
//!
//! | bytes | field                                                |
//! |-------|------------------------------------------------------|
//! | 1     | capabilities, see [`reply_capabilities`]             |
//! | 1     | bit 0: the bytes are taken as they are, not as chunks |
//! | 1     | how the stream is cut, see [`Pieces`]                |
//! | rest  | what the server sends, see [`packets`]               |
//!
//! Held, beside what [`Pump`] holds: rows borrowed from a stream that came whole and from one that came in any pieces are the
//! same; rows that were borrowed are streamed with the same values, and skipped with the same end; every value converts or
//! says why not.

use onecopy_mysql_proto::Error;
use onecopy_mysql_proto::client::{Cell, ClientCore, Limits, Params, Reply, RowMode};
use onecopy_mysql_proto::packet::PrepareOk;
use onecopy_wire::{Buffers, Span, WireError};

use crate::delivery::Pieces;
use crate::input::Input;
use crate::packets::check_line;
use crate::pump::{Outcome, Pump};
use crate::session::{LIMITS, MOST_IN_HOMES, buffers, logged_in, reply_capabilities};
use crate::stream::{packets, push_packet};
use crate::values;

/// Replies of one input at most; what follows is another input's.
const MOST_REPLIES: usize = 12;

/// What the client saw.
#[derive(Debug, Clone, PartialEq)]
enum Event {
    Columns(usize),
    Row(Vec<Option<Vec<u8>>>),
    RowsEnd,
    Ok(u64, u64),
    Err(Vec<u8>),
    Failed(Error),
}

/// Which protocol's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// COM_QUERY.
    Text,
    /// COM_STMT_EXECUTE.
    Binary,
}

/// The client's part in one way of reading.
struct Reading {
    protocol: Protocol,
    capabilities: u8,
    pieces: Pieces,
    mode: RowMode,
}

/// Reads one input in every way.
pub fn run(protocol: Protocol, data: &[u8]) {
    let mut input = Input::new(data);
    let capabilities = input.byte();
    let is_raw = input.flag();
    let pieces = Pieces::new(input.byte());
    let replies = if is_raw {
        input.rest().to_vec()
    } else {
        packets(&mut input, 1)
    };
    let read = |mode, pieces| {
        let reading = Reading {
            protocol,
            capabilities,
            pieces,
            mode,
        };
        reading.events(&replies)
    };
    let whole = read(RowMode::Borrow, Pieces::WHOLE);
    let borrowed = read(RowMode::Borrow, pieces);
    compare(&whole, &borrowed);
    let streamed = read(RowMode::Stream, pieces);
    match failure(&whole) {
        None => assert_eq!(streamed, whole, "streamed"),
        // Up to the row that failed; a limit of borrowed rows is none of streamed ones.
        Some(error) => {
            let before = &whole[..whole.len() - 1];
            assert!(streamed.starts_with(before), "{streamed:?} {before:?}");
            assert!(failure(&streamed).is_some() || is_limit(error), "{error:?}");
        }
    }
    if failure(&whole).is_none() {
        let is_row = |event: &Event| matches!(event, Event::Row(_));
        let others: Vec<_> = whole.into_iter().filter(|event| !is_row(event)).collect();
        assert_eq!(read(RowMode::Skip, pieces), others, "skipped");
    }
}

/// Two runs saw the same. Where they failed it was at the same place; which of two mistakes in one row is found first
/// depends on how it came.
fn compare(whole: &[Event], pieces: &[Event]) {
    assert_eq!(whole.len(), pieces.len(), "{whole:?}\n{pieces:?}");
    for (one, other) in whole.iter().zip(pieces) {
        match (one, other) {
            (Event::Failed(_), Event::Failed(_)) => {}
            _ => assert_eq!(one, other),
        }
    }
}

fn failure(events: &[Event]) -> Option<&Error> {
    match events.last() {
        Some(Event::Failed(error)) => Some(error),
        _ => None,
    }
}

fn is_limit(error: &Error) -> bool {
    matches!(error, Error::Wire(WireError::LimitExceeded { .. }))
}

impl Reading {
    fn events(&self, replies: &[u8]) -> Vec<Event> {
        let limits: Limits = LIMITS;
        let capabilities = reply_capabilities(self.capabilities);
        let mut core = ClientCore::new(logged_in(capabilities), limits);
        let mut buffers = Buffers::new(buffers());
        let mut events = Vec::new();
        let statement = (self.protocol == Protocol::Binary).then(|| {
            let prepared = prepare(&mut core, &mut buffers);
            prepared.expect("a prepare that says nothing")
        });
        let mut pump = Pump::new(replies, self.pieces);
        for _ in 0..MOST_REPLIES {
            let queued = match statement {
                Some(id) => core.execute(&mut buffers, id, Params(&[])),
                None => core.query(&mut buffers, b"q"),
            };
            queued.expect("an idle core takes a command");
            core.set_row_mode(self.mode);
            if !self.reply(&mut pump, &mut core, &mut buffers, &mut events) {
                break;
            }
            if pump.is_over() && buffers.pending().is_empty() {
                break;
            }
        }
        crate::pump::check_meter(&buffers.meter(), buffers.config(), MOST_IN_HOMES);
        events
    }

    /// One command's results. Whether the core can continue.
    fn reply(
        &self,
        pump: &mut Pump<'_>,
        core: &mut ClientCore,
        buffers: &mut Buffers,
        events: &mut Vec<Event>,
    ) -> bool {
        let mut row = Vec::new();
        loop {
            let message = match pump.step(core, buffers, &()) {
                Outcome::Message(message) => message,
                Outcome::StartTls => panic!("there is no tls behind the login"),
                Outcome::Failed(error) => {
                    check_failure(&error);
                    events.push(Event::Failed(error));
                    return false;
                }
            };
            match message {
                Reply::Columns => events.push(Event::Columns(core.definitions().len())),
                Reply::Row(span) => events.push(Event::Row(borrowed_row(core, buffers, span))),
                Reply::RowStart => row.clear(),
                Reply::Value(len) => row.push(len.map(|_| Vec::new())),
                Reply::Piece(span) => {
                    let value = row.last_mut().and_then(Option::as_mut);
                    let value = value.expect("a piece of a value");
                    value.extend_from_slice(buffers.bytes(span));
                }
                Reply::RowEnd => {
                    let columns = core.definitions().len();
                    assert_eq!(row.len(), columns);
                    events.push(Event::Row(std::mem::take(&mut row)));
                }
                Reply::RowsEnd => events.push(Event::RowsEnd),
                Reply::Ok => {
                    let ok = core.ok();
                    events.push(Event::Ok(ok.affected_rows, ok.last_insert_id));
                }
                Reply::Err(span) => events.push(Event::Err(buffers.bytes(span).to_vec())),
                Reply::Prepared(_) => panic!("nothing is prepared here"),
                Reply::LocalInfile(_) => panic!("no file is allowed here"),
            }
            if core.is_idle() {
                return true;
            }
        }
    }
}

/// A statement without parameters whose reply to the prepare announces no columns, as MariaDB's of `RETURNING` does.
fn prepare(
    core: &mut ClientCore,
    buffers: &mut Buffers,
) -> Option<onecopy_mysql_proto::client::StatementId> {
    let mut payload = Vec::new();
    PrepareOk {
        statement_id: 1,
        columns: 0,
        parameters: 0,
        warnings: 0,
        metadata_follows: true,
    }
    .encode(core.session().capabilities, &mut payload);
    let mut bytes = Vec::new();
    push_packet(&mut bytes, &mut 1, &payload);
    core.prepare(buffers, b"p").ok()?;
    match Pump::new(&bytes, Pieces::WHOLE).step(core, buffers, &()) {
        Outcome::Message(Reply::Prepared(id)) => Some(id),
        _ => None,
    }
}

/// The row's values; each of them is converted to everything.
fn borrowed_row(core: &ClientCore, buffers: &Buffers, span: Span) -> Vec<Option<Vec<u8>>> {
    let columns = core.definitions().columns();
    assert_eq!(core.cells().len(), columns.len());
    let bytes = |cell: &Cell| (!cell.is_null()).then(|| buffers.bytes(cell.span(span)));
    for (cell, column) in core.cells().iter().zip(columns) {
        let Some(bytes) = bytes(cell) else { continue };
        assert_eq!(bytes.len(), cell.len());
        match column.decode(core.is_binary(), bytes) {
            Ok(value) => values::check(value),
            Err(error) => check_line(&error),
        }
    }
    let owned = |cell: &Cell| bytes(cell).map(<[u8]>::to_vec);
    core.cells().iter().map(owned).collect()
}

fn check_failure(error: &Error) {
    check_line(error);
    assert!(!error.is_misuse(), "{error:?}");
    if let Error::Decode(error) = error {
        // A streamed row has no limit, but no packet of these targets is longer than this.
        assert!(error.offset <= 1 << 16, "{error:?}");
    }
}
