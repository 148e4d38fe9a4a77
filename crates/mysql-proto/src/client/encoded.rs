//! Executions whose parameters the caller has encoded: those of many rows, each encoded when it came.

use onecopy_wire::Buffers;

use super::StatementId;
use super::command::put_or_lend;
use super::core::{ClientCore, Source, State};
use crate::Error;
use crate::codec::Put;
use crate::frame::PayloadWriter;
use crate::packet::{CursorType, Execute, NullBitmap, ParameterType};

/// The parameters of an execution in their encoded form.
#[derive(Debug, Clone, Copy)]
pub struct EncodedParams<'p> {
    /// A bit for each parameter, set where it is NULL; see [`NullBitmap`].
    pub nulls: &'p [u8],
    /// The types of the parameters, repeated until each has one.
    pub types: &'p [ParameterType],
    /// Whether they are those of the statement's last execution. They are then sent only beside query attributes, which have types of
    /// their own.
    pub types_hold: bool,
    /// The values that are not NULL, one after the other, each by [`Execute::encode_value`].
    pub values: &'p [u8],
}

impl ClientCore {
    /// Queues COM_STMT_EXECUTE. The values are borrowed if they are large: pass them as [`Borrowed`](onecopy_wire::Borrowed). The reply is
    /// one result or several.
    ///
    /// That the values match the types is up to the caller: a server misreads others, or refuses them.
    ///
    /// # Errors
    /// Fails with `Busy`, `StatementClosed`, `CursorOnly`, and with `ParameterCount` if bits or types are not those of all parameters.
    pub fn execute_encoded(
        &mut self,
        buffers: &mut Buffers,
        statement: StatementId,
        params: EncodedParams<'_>,
    ) -> Result<(), Error> {
        let found = self.statements.find(statement)?;
        let (id, count) = (found.id, usize::from(found.parameters));
        let given = match params.types.len() {
            _ if params.nulls.len() != NullBitmap::bytes_for(count) => params.nulls.len() * 8,
            types if types > 0 && count.is_multiple_of(types) => count,
            types => types,
        };
        if given != found.plain_parameters {
            return Err(found.refusal(given));
        }
        self.begin(State::Header, Some(Source::Statement(statement)))?;
        let attributes = self.attributes.as_deref();
        let more = attributes.map_or(0, |attributes| attributes.count());
        let mut flags = CursorType::empty();
        if more > 0 {
            flags |= CursorType::PARAMETER_COUNT_AVAILABLE;
        }
        let mut sequence = 0;
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        Execute::encode_header(id, flags, &mut writer);
        if attributes.is_some() {
            writer.put_lenenc((count + more) as u64);
        }
        writer.put(params.nulls);
        // No attribute is NULL.
        writer.put_zeros(NullBitmap::bytes_for(count + more) - params.nulls.len());
        let types_follow = !params.types_hold || more > 0;
        writer.put_u8(u8::from(types_follow));
        if types_follow {
            put_types(&mut writer, params.types, count, attributes.is_some());
        }
        if let Some(attributes) = attributes {
            writer.put(&attributes.types); // none if there are none
        }
        put_or_lend(&mut writer, 0, params.values);
        if let Some(attributes) = attributes {
            writer.put(&attributes.values);
        }
        let queued = writer.finish();
        self.queued(queued, sequence)
    }
}

fn put_types(writer: &mut PayloadWriter<'_>, types: &[ParameterType], count: usize, named: bool) {
    let mut once = Vec::with_capacity(3 * types.len());
    for ty in types {
        once.put_u16(ty.0);
        if named {
            once.put_lenenc_bytes(b"");
        }
    }
    for _ in 0..count / types.len() {
        writer.put(&once);
    }
}

#[cfg(test)]
mod tests;
