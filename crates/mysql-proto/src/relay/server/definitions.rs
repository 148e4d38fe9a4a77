//! Definitions of columns and parameters, which are counted and not read.

use super::super::packets::{Start, Stop};
use super::super::{Event, Relay, RelayError};
use super::{Awaited, Ending};
use crate::packet::{PrepareOk, eof, err, ok, prepare_ok};
use crate::{Capabilities, StatusFlags};

/// The first byte of a definition: the length of its catalog, which is always `def`.
const CATALOG_LENGTH: u8 = 3;

impl Relay {
    pub(super) fn start_result(&mut self, columns: u32, metadata_follows: bool) {
        if metadata_follows {
            self.awaited = Awaited::Definitions { left: columns };
        } else {
            self.definitions_done();
        }
    }

    pub(super) fn definition(
        &mut self,
        start: Start<'_>,
        first: u8,
        left: u32,
    ) -> Result<(), Stop> {
        if !self.is_definition(start, first)? {
            return Ok(());
        }
        match left.saturating_sub(1) {
            0 => self.definitions_done(),
            left => self.awaited = Awaited::Definitions { left },
        }
        Ok(())
    }

    fn definitions_done(&mut self) {
        self.awaited = match self.deprecates_eof() {
            true => Awaited::Rows,
            false => Awaited::DefinitionsEof,
        };
    }

    /// An execution that opens a cursor for the client is over here: its rows are fetched. The flag alone does not say so:
    /// where a procedure or a function has opened a cursor of its own, servers leave it set for what comes behind. Of a
    /// procedure, results have `MORE_RESULTS_EXISTS` too, as its own OK packet is still to come.
    pub(super) fn definitions_eof(&mut self, start: Start<'_>, first: u8) -> Result<(), Stop> {
        let Some(status) = self.eof(start, first)? else {
            return Ok(());
        };
        let opens_cursor = self.current.asks_for_cursor
            && status.contains(StatusFlags::CURSOR_EXISTS)
            && !status.contains(StatusFlags::MORE_RESULTS_EXISTS);
        if opens_cursor {
            self.end_of_result(status);
        } else {
            self.current.has_out_parameters = status.contains(StatusFlags::PS_OUT_PARAMS);
            self.awaited = Awaited::Rows;
        }
        Ok(())
    }

    pub(super) fn prepare_ok(&mut self, start: Start<'_>, first: u8) -> Result<(), Stop> {
        match first {
            err::HEADER => self.err(start),
            ok::HEADER => {
                // One byte more shows a packet that is too long.
                let bytes = start.prefix(prepare_ok::LONGEST + 1)?;
                let ok =
                    PrepareOk::decode(bytes, self.capabilities).map_err(RelayError::of_server)?;
                if let Some(observed) = &mut self.observed
                    && !std::mem::take(&mut observed.is_told)
                {
                    return Err(Stop::Told(Event::Prepared {
                        id: ok.statement_id,
                        parameters: ok.parameters,
                        columns: ok.columns,
                    }));
                }
                self.statements.insert(ok.statement_id)?;
                match ok.metadata_follows {
                    true => self.prepared(ok.parameters, ok.columns),
                    false => self.prepared(0, 0),
                }
                Ok(())
            }
            _ => Err(self.unexpected(start)),
        }
    }

    /// So many definitions of a prepared statement are still to come.
    fn prepared(&mut self, parameters: u16, columns: u16) {
        match (parameters, columns) {
            (0, 0) => self.ending = Some(Ending::Done { failed: false }),
            (0, left) => self.awaited = Awaited::Columns { left },
            (left, columns) => self.awaited = Awaited::Parameters { left, columns },
        }
    }

    pub(super) fn parameter(
        &mut self,
        start: Start<'_>,
        first: u8,
        left: u16,
        columns: u16,
    ) -> Result<(), Stop> {
        if !self.is_definition(start, first)? {
            return Ok(());
        }
        match left.saturating_sub(1) {
            0 if self.deprecates_eof() => self.prepared(0, columns),
            0 => self.awaited = Awaited::ParametersEof { columns },
            left => self.awaited = Awaited::Parameters { left, columns },
        }
        Ok(())
    }

    pub(super) fn parameters_eof(
        &mut self,
        start: Start<'_>,
        first: u8,
        columns: u16,
    ) -> Result<(), Stop> {
        if self.eof(start, first)?.is_some() {
            self.prepared(0, columns);
        }
        Ok(())
    }

    pub(super) fn column(&mut self, start: Start<'_>, first: u8, left: u16) -> Result<(), Stop> {
        if !self.is_definition(start, first)? {
            return Ok(());
        }
        match left.saturating_sub(1) {
            0 if self.deprecates_eof() => self.prepared(0, 0),
            0 => self.awaited = Awaited::ColumnsEof,
            left => self.awaited = Awaited::Columns { left },
        }
        Ok(())
    }

    /// Servers send more than 65,535 definitions where the statement has as many columns. The count has 16 bits and does not
    /// say so; the EOF packet does. With `DEPRECATE_EOF` nothing does, and no client finds the end.
    pub(super) fn columns_eof(&mut self, start: Start<'_>, first: u8) -> Result<(), Stop> {
        match first {
            err::HEADER => self.err(start),
            eof::HEADER => {
                self.eof_status(start)?;
                self.prepared(0, 0);
                Ok(())
            }
            CATALOG_LENGTH => Ok(()),
            _ => Err(self.unexpected(start)),
        }
    }

    /// The status of an EOF packet, which is due; `None` where an ERR packet came instead.
    fn eof(&mut self, start: Start<'_>, first: u8) -> Result<Option<StatusFlags>, Stop> {
        match first {
            err::HEADER => self.err(start).map(|()| None),
            eof::HEADER => self.eof_status(start).map(Some),
            _ => Err(self.unexpected(start)),
        }
    }

    /// A definition starts with the length of a short name. `false` where an ERR packet came instead.
    fn is_definition(&mut self, start: Start<'_>, first: u8) -> Result<bool, Stop> {
        match first {
            err::HEADER => self.err(start).map(|()| false),
            eof::HEADER => Err(self.unexpected(start)),
            _ => Ok(true),
        }
    }

    fn deprecates_eof(&self) -> bool {
        self.capabilities.contains(Capabilities::DEPRECATE_EOF)
    }
}
