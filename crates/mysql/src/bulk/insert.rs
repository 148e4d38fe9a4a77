//! The rows of one statement that the server has no command for: in its text, or as parameters of a prepared statement.
//!
//! A prepared INSERT has one number of rows. The first batch is therefore text, and shows how many rows a batch has. The next ones
//! are executions, in binary, of a statement with that many rows:
//!
//! ```text
//!   INSERT INTO t VALUES (1, 'a'),(2, 'b'), ...     the first batch
//!   INSERT INTO t VALUES (?, ?),(?, ?), ...         prepared while that one is sent; full batches are executions of it
//!   INSERT INTO t VALUES (?, ?),(?, ?)              prepared for a batch of another size, as the last one
//! ```
//!
//! Rows with DEFAULT, which no parameter can be, and statements that the server does not prepare are sent as text.

mod statements;

use onecopy_mysql_proto::client::{ClientCore, EncodedParams};
use onecopy_mysql_proto::packet::{Execute, NullBitmap};
use onecopy_wire::Buffers;

use self::statements::Statements;
use super::batch::check;
use super::template::Template;
use super::types::Types;
use crate::format::Dialect;
use crate::literal::{self, Bytes, Problem};
use crate::{Error, Param, Statement};

/// A body of so many bytes fits into one packet, with all that stands before it: 1 MiB under the packet's maximum.
const ONE_PACKET: usize = 15 << 20;

/// How the rows of a batch are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Text,
    Binary,
}

/// The batch that is about to be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending {
    pub(super) rows: u64,
    /// Of the body.
    pub(super) bytes: usize,
    pub(super) is_first: bool,
    /// No more rows fit: it is not sent because the caller asked for it.
    pub(super) is_full: bool,
}

/// Whether a row was encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoded {
    Yes,
    /// It has no form in binary: the batch must be sent first.
    OnlyAsText,
}

/// The statement, and what of its rows is not in the body: of text, nothing.
#[derive(Debug)]
pub(super) struct Insert {
    template: Template,
    dialect: Dialect,
    encoding: Encoding,
    /// The batch, which is text, has a row with DEFAULT.
    has_default: bool,
    /// The bits of all parameters.
    nulls: Vec<u8>,
    types: Types,
    statements: Statements,
    /// Of a batch of literals.
    max_rows: u64,
}

impl Insert {
    /// `max_rows` and `max_bytes` are the limits of a batch.
    ///
    /// # Errors
    /// The session's character set is one that literals can't be written in.
    pub(super) fn new(
        sql: &[u8],
        core: &ClientCore,
        max_rows: u64,
        max_bytes: usize,
    ) -> Result<Self, Error> {
        let dialect = Dialect::of(core);
        check_session(dialect)?;
        let template = Template::new(sql, dialect.mode);
        let max_rows = if template.takes_rows() { max_rows } else { 1 };
        Ok(Self {
            dialect,
            encoding: Encoding::Text,
            has_default: false,
            nulls: Vec::new(),
            types: Types::new(template.parameters()),
            statements: Statements::new(&template, max_rows, max_bytes),
            max_rows,
            template,
        })
    }

    pub(super) fn parameters(&self) -> usize {
        self.template.parameters()
    }

    /// The number of rows that ends a batch.
    pub(super) fn max_rows(&self) -> u64 {
        self.statements.full_rows().unwrap_or(self.max_rows)
    }

    /// Adds a row to those that the body has.
    pub(super) fn encode(
        &mut self,
        body: &mut Vec<u8>,
        row: &[Param<'_>],
        rows: u64,
        core: &ClientCore,
    ) -> Result<Encoded, Error> {
        let mut needs_text = false;
        for (index, param) in row.iter().enumerate() {
            match *param {
                Param::Default | Param::Ignore => needs_text = true,
                // In neither encoding: which one a row has must not matter.
                Param::Double(number) if !number.is_finite() => {
                    return Err(Problem::NotFinite.of(index));
                }
                Param::Float(number) if !number.is_finite() => {
                    return Err(Problem::NotFinite.of(index));
                }
                _ => {}
            }
        }
        if needs_text && self.encoding == Encoding::Binary {
            if rows > 0 {
                return Ok(Encoded::OnlyAsText);
            }
            self.encoding = Encoding::Text;
        }
        self.has_default |= needs_text;
        match self.encoding {
            Encoding::Text => self.encode_text(body, row, core)?,
            Encoding::Binary => self.encode_binary(body, row, rows, core)?,
        }
        Ok(Encoded::Yes)
    }

    fn encode_text(
        &self,
        body: &mut Vec<u8>,
        row: &[Param<'_>],
        core: &ClientCore,
    ) -> Result<(), Error> {
        if body.is_empty() {
            body.extend_from_slice(self.template.head());
        } else {
            body.push(b',');
        }
        for (index, param) in row.iter().enumerate() {
            body.extend_from_slice(self.template.before(index));
            check(index, param, core)?;
            literal::put(body, param, self.dialect, Bytes::Quoted)
                .map_err(|problem| problem.of(index))?;
        }
        body.extend_from_slice(self.template.before(row.len()));
        Ok(())
    }

    fn encode_binary(
        &mut self,
        body: &mut Vec<u8>,
        row: &[Param<'_>],
        rows: u64,
        core: &ClientCore,
    ) -> Result<(), Error> {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let first = rows.saturating_mul(row.len());
        self.nulls
            .resize(NullBitmap::bytes_for(first + row.len()), 0);
        for (index, param) in row.iter().enumerate() {
            check(index, param, core)?;
            if param.is_null() {
                let bit = first + index;
                if let Some(byte) = self.nulls.get_mut(bit / 8) {
                    *byte |= 1 << (bit % 8);
                }
            }
            Execute::encode_value(param, body);
        }
        self.types.add(row, rows);
        Ok(())
    }

    /// Forgets what was encoded of a row behind these.
    pub(super) fn truncate(&mut self, rows: u64) {
        let count = usize::try_from(rows)
            .unwrap_or(usize::MAX)
            .saturating_mul(self.parameters());
        self.nulls.truncate(NullBitmap::bytes_for(count));
        if !count.is_multiple_of(8)
            && let Some(last) = self.nulls.last_mut()
        {
            *last &= (1 << (count % 8)) - 1;
        }
        self.types.truncate(count);
    }

    /// The bytes that a row takes at most.
    pub(super) fn max_row_bytes(&self, row: &[Param<'_>]) -> usize {
        /// A length, or a number, date or time; a decimal or a UUID that the parameter holds.
        const BINARY: usize = 48;
        let template = &self.template;
        match self.encoding {
            Encoding::Binary => row
                .iter()
                .map(|param| param.as_bytes().map_or(BINARY, |bytes| 9 + bytes.len()))
                .sum(),
            Encoding::Text => {
                let around =
                    template.head().len() + template.row_bytes() + template.tail().len() + 1;
                around + row.iter().map(literal::max_bytes).sum::<usize>()
            }
        }
    }

    /// The payload of the command with this body.
    pub(super) fn command_bytes(&self, body: &[u8]) -> usize {
        /// The header, a count of parameters and whether types follow.
        const HEADER: usize = 10 + 9 + 1;
        /// A type, and an empty name.
        const TYPE: usize = 3;
        match self.encoding {
            Encoding::Binary => HEADER + self.nulls.len() * (1 + 8 * TYPE) + body.len(),
            Encoding::Text => 1 + body.len() + self.template.tail().len(),
        }
    }

    /// The text of the statement that has to be prepared before the batch is sent.
    pub(super) fn unprepared(&mut self, batch: Sending) -> Option<Vec<u8>> {
        let rows = match self.encoding {
            Encoding::Binary => self.statements.missing(batch.rows),
            // A single batch that is not full is all there is, more often than not.
            Encoding::Text if self.has_default || (batch.is_first && !batch.is_full) => None,
            Encoding::Text => self.statements.first(batch.rows, batch.bytes),
        };
        rows.map(|rows| self.template.repeat(rows))
    }

    /// What became of it.
    ///
    /// # Errors
    /// It could not be prepared, and the rows wait in binary; or the connection failed.
    pub(super) fn prepared(&mut self, prepared: Result<Statement, Error>) -> Result<(), Error> {
        let is_text = self.encoding == Encoding::Text;
        let added = prepared
            .and_then(|statement| self.statements.add(statement, self.template.parameters()));
        match added {
            // The rows can be sent without it, and so can those that follow.
            Err(error) if is_text && !error.is_closed() && !error.is_timeout() => {
                self.statements = Statements::default();
                Ok(())
            }
            added => added,
        }
    }

    /// Queues the command; the body is borrowed if it is large.
    pub(super) fn queue(
        &mut self,
        body: &mut Vec<u8>,
        rows: u64,
        core: &mut ClientCore,
        buffers: &mut Buffers,
    ) -> Result<(), Error> {
        match self.encoding {
            Encoding::Text => {
                body.extend_from_slice(self.template.tail());
                core.query(buffers, body)?;
            }
            Encoding::Binary => {
                let prepared = self.statements.of(rows)?;
                let (types, types_hold) = self.types.for_execution(&mut prepared.sent_types);
                // Proxies that share connections put the types in, but not into payloads of several packets.
                let types_hold = types_hold && body.len() < ONE_PACKET;
                let params = EncodedParams {
                    nulls: &self.nulls,
                    types,
                    types_hold,
                    values: body,
                };
                core.execute_encoded(buffers, prepared.statement.id, params)?;
            }
        }
        Ok(())
    }

    /// The batch has left.
    pub(super) fn sent(&mut self, rows: u64, bytes: usize) {
        if self.encoding == Encoding::Binary {
            self.statements.sent(rows, bytes);
        }
        self.nulls.clear();
        self.types.clear();
        // Where one row had DEFAULT, others will.
        let had_default = std::mem::take(&mut self.has_default);
        self.encoding = if self.statements.are_prepared() && !had_default {
            Encoding::Binary
        } else {
            Encoding::Text
        };
    }
}

/// Character sets in which every text has a literal, and an execution reads the same text.
///
/// # Errors
/// The session has another one.
fn check_session(dialect: Dialect) -> Result<(), Error> {
    match dialect.character_set {
        "utf8mb4" | "utf8mb3" => Ok(()),
        other => {
            let other = if other.is_empty() { "unknown" } else { other };
            Err(Error::config(format!(
                "rows are sent as text, and the session's character set is {other}: run SET NAMES utf8mb4 first"
            )))
        }
    }
}

#[cfg(test)]
mod tests;
