//! OK, ERR, EOF, the head of a result, rows, and the packets of an authentication.

use super::super::core::{Observed, Tally};
use super::super::packets::{Start, Stop};
use super::super::password::{self, Verdict};
use super::super::{Event, Outcome, Relay, RelayError, Side};
use super::{Awaited, Ending};
use crate::frame::HEADER_BYTES;
use crate::packet::{EofPacket, ErrPacket, OkPacket, ResultHeader};
use crate::packet::{auth_more_data, eof, err, ok, result_header};
use crate::{Capabilities, StatusFlags};

/// What an event begins with that a replica has to acknowledge: the first byte of all events, and the header of
/// semi-synchronous replication, by its mark and a flag.
pub(in crate::relay) const SYNCED: [u8; 3] = [ok::HEADER, 0xEF, 1];

/// Header, error number, marker and SQLSTATE.
const ERR_BYTES: usize = 9;

/// `ER_LOCK_DEADLOCK`: the server has rolled the whole transaction back, and an ERR packet tells no status.
const DEADLOCK: u16 = 1213;

/// What caching_sha2_password says where the client has nothing to answer.
const FAST_AUTH_SUCCESS: [u8; 2] = [auth_more_data::HEADER, 0x03];

impl Relay {
    pub(super) fn header(&mut self, start: Start<'_>, first: u8) -> Result<(), Stop> {
        match first {
            ok::HEADER => {
                let status = self.ok(start)?;
                self.end_of_result(status);
                Ok(())
            }
            err::HEADER => self.err(start),
            result_header::LOCAL_INFILE => {
                if !self.queue.is_empty() {
                    return Err(RelayError::SentAhead.into());
                }
                self.in_file = true;
                Ok(())
            }
            // COM_SHUTDOWN, COM_DEBUG and COM_SET_OPTION; as the length of a count it would be beyond all limits.
            eof::HEADER if self.ends(start) => {
                let status = self.end_status(start)?;
                self.end_of_result(status);
                Ok(())
            }
            _ => self.column_count(start),
        }
    }

    fn column_count(&mut self, start: Start<'_>) -> Result<(), Stop> {
        // One byte more shows a header that is too long.
        let bytes = start.prefix(result_header::LONGEST_COUNT + 1)?;
        match ResultHeader::decode(bytes, self.capabilities).map_err(RelayError::of_server)? {
            ResultHeader::Columns {
                count,
                metadata_follows,
            } => {
                self.start_result(count, metadata_follows);
                Ok(())
            }
            _ => Err(self.unexpected(start)),
        }
    }

    pub(super) fn row(&mut self, start: Start<'_>, first: u8) -> Result<(), Stop> {
        match first {
            err::HEADER => self.err(start),
            eof::HEADER if self.ends(start) => {
                let mut status = self.end_status(start)?;
                if self.current.has_out_parameters {
                    // MySQL says so only in the EOF packet before the row.
                    status |= StatusFlags::MORE_RESULTS_EXISTS;
                }
                self.end_of_result(status);
                Ok(())
            }
            _ if self.current.is_binlog_dump() => {
                // Whether it is acknowledged, for those behind it.
                start.prefix(SYNCED.len())?;
                Ok(())
            }
            _ => {
                self.tally.rows += 1;
                Ok(())
            }
        }
    }

    /// ERR ends the reply wherever it comes; a progress report ends nothing.
    #[cold]
    pub(super) fn err(&mut self, start: Start<'_>) -> Result<(), Stop> {
        let (code, state) = error_of(start)?;
        let progress = self.capabilities.contains(Capabilities::MARIADB_PROGRESS)
            && self.awaited != Awaited::Authentication;
        if progress && code == err::PROGRESS {
            return Ok(());
        }
        if self.awaited == Awaited::PrepareOk {
            self.statements.forget_last();
        }
        if code == DEADLOCK && self.deadlock_rolls_back() {
            self.status = self.status.difference(StatusFlags::IN_TRANS);
        }
        self.note_error(code, state);
        self.ending = Some(Ending::Done { failed: true });
        Ok(())
    }

    /// Whether a deadlock has ended the transaction. MariaDB has the same number for named locks, which end none: these are
    /// asked for in the rows of a result most of the time.
    fn deadlock_rolls_back(&self) -> bool {
        let is_mysql = self.capabilities.contains(Capabilities::LONG_PASSWORD);
        is_mysql || self.awaited == Awaited::Header
    }

    #[cold]
    pub(super) fn unsolicited(&mut self, start: Start<'_>, first: u8) -> Result<(), Stop> {
        if first != err::HEADER {
            return Err(RelayError::Unsolicited { byte: first }.into());
        }
        let (code, state) = error_of(start)?;
        self.note_error(code, state);
        self.ending = Some(Ending::Farewell { code });
        Ok(())
    }

    /// Only raw data of a plugin, and the text of COM_STATISTICS, may have no bytes.
    #[cold]
    pub(super) fn empty(&mut self) -> Result<(), RelayError> {
        match self.awaited {
            Awaited::Authentication if !self.queue.is_empty() => return Err(RelayError::SentAhead),
            Awaited::Authentication => self.in_authentication = true,
            Awaited::Anything => self.ending = Some(Ending::Done { failed: false }),
            awaited => {
                return Err(RelayError::Empty {
                    side: Side::Server,
                    expected: awaited.name(),
                });
            }
        }
        Ok(())
    }

    /// A change of user. MariaDB's plugins send data with any first byte.
    #[cold]
    pub(super) fn authentication(&mut self, start: Start<'_>, first: u8) -> Result<(), Stop> {
        if let Some(guard) = &mut self.guard {
            let has_factors = self
                .capabilities
                .contains(Capabilities::MULTI_FACTOR_AUTHENTICATION);
            let verdict = guard.server(start.prefix(password::DECIDING_BYTES)?, has_factors);
            if verdict != Verdict::Pass {
                return Err(RelayError::PasswordExposed.into());
            }
        }
        match first {
            ok::HEADER => {
                self.status = self.ok(start)?;
                self.ending = Some(Ending::Done { failed: false });
            }
            err::HEADER => return self.err(start),
            _ => {
                let says_all_is_well = start.length() == FAST_AUTH_SUCCESS.len()
                    && start.prefix(FAST_AUTH_SUCCESS.len())? == FAST_AUTH_SUCCESS;
                if !says_all_is_well && !self.queue.is_empty() {
                    return Err(RelayError::SentAhead.into());
                }
                self.in_authentication = !says_all_is_well;
            }
        }
        Ok(())
    }

    /// The result's last packet told `status`.
    pub(super) fn end_of_result(&mut self, status: StatusFlags) {
        self.status = status;
        if status.contains(StatusFlags::MORE_RESULTS_EXISTS) && self.current.may_have_more_results()
        {
            self.awaited = self.next_header();
            if self.tells_results {
                self.ending = Some(Ending::Result);
            }
        } else {
            self.ending = Some(Ending::Done { failed: false });
        }
    }

    /// Whether a payload with the first byte 0xFE ends rows, and is no row of 16 MiB.
    fn ends(&self, start: Start<'_>) -> bool {
        // A length of 24 bits.
        eof::ends_rows(eof::HEADER, start.length() as u64, self.capabilities)
    }

    /// What ends rows. MySQL ends a binary log by an EOF packet also with `DEPRECATE_EOF`.
    fn end_status(&mut self, start: Start<'_>) -> Result<StatusFlags, Stop> {
        if self.capabilities.contains(Capabilities::DEPRECATE_EOF) && start.length() >= ok::SHORTEST
        {
            return self.ok(start);
        }
        self.eof_status(start)
    }

    /// The status of an OK packet.
    fn ok(&mut self, start: Start<'_>) -> Result<StatusFlags, Stop> {
        if self.observed.is_some() {
            return self.observed_ok(start);
        }
        let ok = ok_numbers(start)?;
        self.tally.note_ok(&ok);
        Ok(ok.status_flags)
    }

    /// The same where it is observed. Apart: others do not pay for it.
    #[cold]
    #[inline(never)]
    fn observed_ok(&mut self, start: Start<'_>) -> Result<StatusFlags, Stop> {
        let ok = ok_numbers(start)?;
        if let Some(observed) = &mut self.observed {
            observed.note_ok(start, &ok)?;
        }
        self.tally.note_ok(&ok);
        Ok(ok.status_flags)
    }

    pub(super) fn eof_status(&mut self, start: Start<'_>) -> Result<StatusFlags, Stop> {
        if self.observed.is_some() {
            return self.observed_eof(start);
        }
        let eof = eof_packet(start)?;
        self.tally.warnings += u64::from(eof.warnings);
        Ok(eof.status_flags)
    }

    #[cold]
    #[inline(never)]
    fn observed_eof(&mut self, start: Start<'_>) -> Result<StatusFlags, Stop> {
        let eof = eof_packet(start)?;
        if let Some(observed) = &mut self.observed {
            observed.outcome = Outcome {
                warnings: eof.warnings,
                ..Outcome::default()
            };
            observed.has_warned |= eof.warnings > 0;
        }
        self.tally.warnings += u64::from(eof.warnings);
        Ok(eof.status_flags)
    }

    #[cold]
    pub(super) fn unexpected(&self, start: Start<'_>) -> Stop {
        let side = Side::Server;
        let expected = self.awaited.name();
        match start.first() {
            Ok(Some(byte)) => RelayError::Unexpected {
                side,
                expected,
                byte,
            }
            .into(),
            Ok(None) => RelayError::Empty { side, expected }.into(),
            Err(stop) => stop,
        }
    }
}

#[inline(always)]
fn ok_numbers(start: Start<'_>) -> Result<OkPacket<'_>, Stop> {
    let bytes = start.prefix(ok::NUMBERS_BYTES)?;
    Ok(OkPacket::decode_numbers(bytes).map_err(RelayError::of_server)?)
}

#[inline(always)]
fn eof_packet(start: Start<'_>) -> Result<EofPacket, Stop> {
    // One byte more shows a packet that is too long.
    let bytes = start.prefix(eof::LENGTH + 1)?;
    Ok(EofPacket::decode(bytes).map_err(RelayError::of_server)?)
}

impl Tally {
    #[inline]
    fn note_ok(&mut self, ok: &OkPacket<'_>) {
        self.affected_rows = self.affected_rows.wrapping_add(ok.affected_rows);
        self.warnings += u64::from(ok.warnings);
    }
}

impl Observed {
    fn note_ok(&mut self, start: Start<'_>, ok: &OkPacket<'_>) -> Result<(), Stop> {
        let was_told = std::mem::take(&mut self.is_told);
        if !was_told && ok.status_flags.contains(StatusFlags::SESSION_STATE_CHANGED) {
            // All of it must be there.
            start.prefix(start.length())?;
            let len = HEADER_BYTES + start.length();
            return Err(Stop::Told(Event::StateChanged { len }));
        }
        self.outcome = Outcome {
            affected_rows: ok.affected_rows,
            last_insert_id: ok.last_insert_id,
            warnings: ok.warnings,
        };
        self.has_warned |= ok.warnings > 0;
        Ok(())
    }
}

fn error_of(start: Start<'_>) -> Result<(u16, Option<[u8; 5]>), Stop> {
    let bytes = start.prefix(ERR_BYTES)?;
    let error = ErrPacket::decode(bytes).map_err(RelayError::of_server)?;
    Ok((error.code, error.sql_state))
}
