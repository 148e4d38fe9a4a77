//! The server's payloads: what each is, and which one ends a reply.

use super::core::{Relay, missing, next_packet};
use super::packets::{Start, Stop};
use super::{Event, Passage, RelayError};
use crate::frame::{HEADER_BYTES, MAX_BODY};
use crate::packet::{CommandByte, eof};

mod definitions;
mod left_out;
mod reply;

pub(super) use reply::SYNCED;

/// The bits of a header, read as a number, that are its length.
const LENGTH_BITS: u32 = 0xFF_FFFF;

/// What a header of the same length has more, read as a number, than the one before it.
const ONE_PACKET: u32 = 1 << 24;

/// After so many rows a look whether the last two had the same length: few enough for a read of 16 KiB, and where lengths
/// are at random the look that was for nothing is shared by many.
const STRETCH: usize = 16;

/// What the server's next payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    /// No reply is outstanding.
    Nothing,
    /// OK or ERR, or the first packet of a result.
    Header,
    /// The same, or the text that comes in its place where the result was left out.
    HeaderOrRest,
    Definitions {
        left: u32,
    },
    DefinitionsEof,
    /// Or what ends them.
    Rows,
    PrepareOk,
    /// A prepared statement's, of its parameters and then of its columns.
    Parameters {
        left: u16,
        columns: u16,
    },
    ParametersEof {
        columns: u16,
    },
    Columns {
        left: u16,
    },
    ColumnsEof,
    /// Of a change of user, up to OK or ERR.
    Authentication,
    /// One packet of any kind.
    Anything,
}

impl Awaited {
    /// For people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Header | Self::HeaderOrRest => "a reply",
            Self::Definitions { .. } => "column definitions",
            Self::DefinitionsEof => "the end of column definitions",
            Self::Rows => "rows",
            Self::PrepareOk => "the reply to prepare",
            Self::Parameters { .. } | Self::Columns { .. } => "a prepared statement's definitions",
            Self::ParametersEof { .. } | Self::ColumnsEof => {
                "the end of a prepared statement's definitions"
            }
            Self::Authentication => "an authentication",
            Self::Anything => "a packet of any kind",
        }
    }
}

/// What happens at the end of a payload.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ending {
    /// Another result follows.
    Result,
    Done {
        failed: bool,
    },
    Farewell {
        code: u16,
    },
}

/// Passes whole rows as long as each has the length of the last one and the next sequence id. Where the next header is, is
/// known here before the one before it was read, so that the reads need not wait for each other: in the other loop each row
/// costs the time of a load and three steps at the least.
#[inline(never)] // or the other loop runs out of registers
fn pass_alike(rows: &[u8], mut last: u32) -> (&[u8], u32, usize) {
    let size = HEADER_BYTES + (last & LENGTH_BITS) as usize;
    let mut passed = 0;
    for row in rows.chunks_exact(size) {
        let next = last.wrapping_add(ONE_PACKET);
        let Some(&[a, b, c, sequence, first]) = row.first_chunk() else {
            break;
        };
        if u32::from_le_bytes([a, b, c, sequence]) != next || first >= eof::HEADER {
            break;
        }
        last = next;
        passed += size;
    }
    let rest = rows.get(passed..).unwrap_or_default();
    (rest, last, passed / size)
}

impl Relay {
    #[inline]
    pub(super) fn look_at_server(&mut self, bytes: &[u8]) -> Result<Passage, RelayError> {
        let mut at = self.server.take(bytes.len());
        loop {
            if self.server.left() > 0 {
                return Ok(self.server_passage(at, 1, None));
            }
            if self.server.is_between_payloads() {
                if let Some(ending) = self.ending.take() {
                    let event = self.end(ending);
                    return Ok(self.server_passage(at, 0, Some(event)));
                }
                if self.awaited == Awaited::Rows {
                    at = self.pass_rows(bytes, at);
                }
            }
            let Some((start, sequence)) = next_packet(bytes, at) else {
                return Ok(missing(bytes, at, HEADER_BYTES));
            };
            if !self.server.continues()
                && let Err(stop) = self.server_payload(start)
            {
                return self.stopped(bytes, at, stop);
            }
            self.sequence = sequence.wrapping_add(1);
            self.begun = true;
            self.server.begin(start.length());
            at += HEADER_BYTES;
            at += self.server.take(bytes.len() - at);
        }
    }

    fn server_passage(&self, pass: usize, need: usize, event: Option<Event>) -> Passage {
        Passage {
            pass,
            need,
            until_end: self.server.left(),
            event,
        }
    }

    /// The one path that is walked for every row: whole rows that are not empty, are not continued, and do not begin as
    /// what ends them may. All others go the way of all packets.
    #[inline]
    fn pass_rows(&mut self, bytes: &[u8], at: usize) -> usize {
        let all = bytes.get(at..).unwrap_or_default();
        // A row that is continued does not fit, so that none has to be looked for.
        let window = all.get(..MAX_BODY).unwrap_or(all);
        let mut rest = window;
        let (mut last, mut previous) = (0_u32, 0);
        // Rows before the stretch under way, and those in it: a count of its own would cost each row an instruction.
        let (mut count, mut row) = (0, 0);
        'rows: loop {
            while row < STRETCH {
                let Some(&[a, b, c, sequence, first]) = rest.first_chunk() else {
                    break 'rows;
                };
                // One load; the length alone would be put together from three bytes.
                let header = u32::from_le_bytes([a, b, c, sequence]);
                let length = (header & LENGTH_BITS) as usize;
                if first >= eof::HEADER || length == 0 {
                    break 'rows;
                }
                let Some(behind) = rest.get(HEADER_BYTES + length..) else {
                    break 'rows;
                };
                rest = behind;
                (previous, last) = (last, header);
                row += 1;
            }
            (count, row) = (count + STRETCH, 0);
            if last == previous.wrapping_add(ONE_PACKET) {
                let alike;
                (rest, last, alike) = pass_alike(rest, last);
                count += alike;
            }
        }
        self.tally.rows += (count + row) as u64;
        let passed = window.len() - rest.len();
        if passed > 0 {
            let [.., sequence] = last.to_le_bytes();
            self.sequence = sequence.wrapping_add(1);
            self.begun = true;
        }
        at + passed
    }

    fn end(&mut self, ending: Ending) -> Event {
        let command = self.current.command;
        match ending {
            Ending::Result => Event::Result,
            Ending::Farewell { code } => {
                self.begun = false;
                self.sequence = 0;
                Event::Farewell { code }
            }
            Ending::Done { failed } => {
                let status = self.status;
                if !failed
                    && matches!(
                        command,
                        CommandByte::RESET_CONNECTION | CommandByte::CHANGE_USER
                    )
                {
                    self.statements.forget_all();
                }
                self.start_next();
                Event::Done {
                    command,
                    failed,
                    status,
                }
            }
        }
    }

    /// A payload's first packet, before it passes. Nothing is changed where more of it must be there.
    fn server_payload(&mut self, start: Start<'_>) -> Result<(), Stop> {
        let Some(first) = start.first()? else {
            return Ok(self.empty()?);
        };
        match self.awaited {
            Awaited::Nothing => self.unsolicited(start, first),
            Awaited::Header => self.header(start, first),
            Awaited::HeaderOrRest => self.header_or_rest(start),
            Awaited::Definitions { left } => self.definition(start, first, left),
            Awaited::DefinitionsEof => self.definitions_eof(start, first),
            Awaited::Rows => self.row(start, first),
            Awaited::PrepareOk => self.prepare_ok(start, first),
            Awaited::Parameters { left, columns } => self.parameter(start, first, left, columns),
            Awaited::ParametersEof { columns } => self.parameters_eof(start, first, columns),
            Awaited::Columns { left } => self.column(start, first, left),
            Awaited::ColumnsEof => self.columns_eof(start, first),
            Awaited::Authentication => self.authentication(start, first),
            Awaited::Anything => {
                let failed = first == crate::packet::err::HEADER;
                self.ending = Some(Ending::Done { failed });
                Ok(())
            }
        }
    }
}
