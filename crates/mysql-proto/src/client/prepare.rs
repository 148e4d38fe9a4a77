//! The reply to a prepare: the statement's number, then its parameters and columns.
#![deny(clippy::indexing_slicing)]

use onecopy_wire::{Buffers, Span};

use super::Reply;
use super::core::{ClientCore, Source, State, unexpected};
use super::statement::Preparing;
use crate::Error;
use crate::packet::{PrepareOk, eof, err};

impl ClientCore {
    #[inline(never)]
    pub(super) fn preparing(
        &mut self,
        preparing: Preparing,
        buffers: &Buffers,
        payload: Span,
    ) -> Result<Option<Reply>, Error> {
        let bytes = buffers.bytes(payload);
        let next = match preparing {
            Preparing::Header => match bytes.first() {
                Some(&err::HEADER) if self.take_progress(buffers, payload)? => return Ok(None),
                Some(&err::HEADER) => {
                    self.ahead.prepared(None);
                    self.end_command();
                    return Ok(Some(Reply::Err(payload)));
                }
                Some(0x00) => {
                    let ok = PrepareOk::decode(bytes, self.session.capabilities)?;
                    let id = self.statements.insert(&ok)?;
                    self.source = Source::Statement(id);
                    Preparing::Parameters {
                        id,
                        left: ok.parameters,
                        columns: ok.columns,
                    }
                }
                _ => return Err(unexpected("the reply to prepare", bytes)),
            },
            Preparing::Parameters { id, left, columns } => {
                // A parameter's definition tells nothing that execute needs; servers fill it with placeholders.
                if matches!(bytes, [err::HEADER, ..]) || is_eof(bytes) {
                    return Err(unexpected("the reply to prepare", bytes));
                }
                Preparing::Parameters {
                    id,
                    left: left - 1,
                    columns,
                }
            }
            Preparing::ParametersEof { id, columns } => {
                expect_eof(bytes)?;
                Preparing::Columns { id, left: columns }
            }
            Preparing::Columns { id, left } => {
                self.accept(buffers, payload)?;
                if left == 1 {
                    self.definitions_mut().finish();
                }
                Preparing::Columns { id, left: left - 1 }
            }
            Preparing::ColumnsEof { id } => {
                expect_eof(bytes)?;
                Preparing::Done { id }
            }
            Preparing::Done { id } => Preparing::Done { id },
        };
        match next.settle(preparing, self.deprecates_eof()) {
            Preparing::Done { id } => {
                self.ahead.prepared(Some(id));
                self.end_command();
                Ok(Some(Reply::Prepared(id)))
            }
            next => {
                self.state = State::Prepare(next);
                Ok(None)
            }
        }
    }
}

fn expect_eof(bytes: &[u8]) -> Result<(), Error> {
    if is_eof(bytes) {
        Ok(())
    } else {
        Err(unexpected("the reply to prepare", bytes))
    }
}

fn is_eof(bytes: &[u8]) -> bool {
    matches!(bytes, [eof::HEADER, rest @ ..] if rest.len() < 8)
}
