//! Replies: each is queued as a whole, with the sequence ids that belong to the current command.
//!
//! Values of 16 KiB and more may stay with the caller: to send the queue, pass them as [`Borrowed`](onecopy_wire::Borrowed), so
//! that a proxy forwards them without a copy.

use onecopy_wire::Buffers;

use super::ServerCore;
use crate::Capabilities;
use crate::codec::Put;
use crate::frame::PayloadWriter;
use crate::packet::ok::OkHeader;
use crate::packet::{ColumnDefinition, EofPacket, ErrPacket, OkPacket, PrepareOk, ResultHeader};

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// NULL.
    Null,
    /// A value after its length: every value of a text row; texts, bytes, dates and times of a binary one.
    Bytes(&'a [u8]),
    /// The same by reference: `len` bytes that the caller passes to the I/O driver under `index`.
    Borrowed {
        /// The number under which the caller has it; unique until the queue has been sent.
        index: u32,
        /// The length of the value in bytes.
        len: usize,
    },
    /// A value without a length: a number of a binary row.
    Fixed(&'a [u8]),
}

impl ServerCore {
    /// Queues OK: the command or result is done and has no rows.
    pub fn ok(&mut self, buffers: &mut Buffers, ok: &OkPacket<'_>) {
        let capabilities = self.capabilities();
        self.send(buffers, |out| ok.encode(OkHeader::Ok, capabilities, out));
    }

    /// Queues ERR: the command failed.
    pub fn err(&mut self, buffers: &mut Buffers, err: &ErrPacket<'_>) {
        self.send(buffers, |out| err.encode(out));
    }

    /// Begins a result with rows. `metadata_follows` may be `false` if `MARIADB_CACHE_METADATA` was agreed on and the statement's
    /// last definitions are still valid.
    pub fn column_count(&mut self, buffers: &mut Buffers, count: u32, metadata_follows: bool) {
        let capabilities = self.capabilities();
        self.send(buffers, |out| {
            ResultHeader::encode_columns(count, metadata_follows, capabilities, out);
        });
    }

    /// Queues the definition of a column or of a parameter.
    pub fn column_definition(&mut self, buffers: &mut Buffers, column: &ColumnDefinition<'_>) {
        let capabilities = self.capabilities();
        self.send(buffers, |out| column.encode(capabilities, out));
    }

    /// Ends the column definitions: queues an EOF packet, or nothing with `DEPRECATE_EOF`.
    pub fn definitions_end(&mut self, buffers: &mut Buffers, eof: &EofPacket) {
        if !self.capabilities().contains(Capabilities::DEPRECATE_EOF) {
            self.send(buffers, |out| eof.encode(out));
        }
    }

    /// Ends the rows: queues an OK packet with header 0xFE with `DEPRECATE_EOF`, else an EOF packet with its status and warnings.
    pub fn rows_end(&mut self, buffers: &mut Buffers, ok: &OkPacket<'_>) {
        let capabilities = self.capabilities();
        self.send(buffers, |out| {
            if capabilities.contains(Capabilities::DEPRECATE_EOF) {
                ok.encode(OkHeader::Eof, capabilities, out);
            } else {
                let (warnings, status_flags) = (ok.warnings, ok.status_flags);
                EofPacket {
                    warnings,
                    status_flags,
                }
                .encode(out);
            }
        });
    }

    /// Queues a row of the text protocol.
    pub fn text_row<'a>(
        &mut self,
        buffers: &mut Buffers,
        fields: impl IntoIterator<Item = Field<'a>>,
    ) {
        const NULL: u8 = 0xFB;
        self.send(buffers, |out| {
            for field in fields {
                match field {
                    Field::Null => out.put_u8(NULL),
                    field => put_field(out, field),
                }
            }
        });
    }

    /// Queues a row of the binary protocol.
    pub fn binary_row(&mut self, buffers: &mut Buffers, fields: &[Field<'_>]) {
        self.send(buffers, |out| {
            out.put_u8(0x00);
            // The first two bits stand for nothing.
            let mut byte = 0_u8;
            let mut bit = 2;
            for field in fields {
                byte |= u8::from(*field == Field::Null) << bit;
                bit += 1;
                if bit == 8 {
                    out.put_u8(byte);
                    (byte, bit) = (0, 0);
                }
            }
            if bit > 0 {
                out.put_u8(byte);
            }
            for field in fields {
                put_field(out, *field);
            }
        });
    }

    /// Queues the reply to a prepare. Returns the statement id that the client gets. Definitions of parameters and columns
    /// follow, each list with its [end](Self::definitions_end).
    pub fn prepared(
        &mut self,
        buffers: &mut Buffers,
        parameters: u16,
        columns: u16,
        warnings: u16,
    ) -> u32 {
        let statement_id = self.statements.next_id();
        self.statements.insert(statement_id, parameters, columns);
        let capabilities = self.capabilities();
        let ok = PrepareOk {
            statement_id,
            columns,
            parameters,
            warnings,
            metadata_follows: true,
        };
        self.send(buffers, |out| ok.encode(capabilities, out));
        statement_id
    }

    /// Requests a file. Its bytes arrive as [packets](Self::expect_packet), the last of them empty; the first is already
    /// expected.
    pub fn local_infile(&mut self, buffers: &mut Buffers, file_name: &[u8]) {
        self.send(buffers, |out| {
            ResultHeader::encode_local_infile(file_name, out);
        });
        self.expect_packet();
    }

    /// Queues any payload, with the next sequence id.
    pub fn payload(&mut self, buffers: &mut Buffers, payload: &[u8]) {
        self.send(buffers, |out| out.put(payload));
    }

    /// Queues any payload in parts, copied or borrowed, with the next sequence ids. If memory for it cannot be allocated, it is
    /// left out, and the next `advance` fails with `Wire`: the connection is dead. The same applies to every reply.
    pub fn send(&mut self, buffers: &mut Buffers, write: impl FnOnce(&mut PayloadWriter<'_>)) {
        let mut sequence = self.frames.sequence();
        let mut writer = PayloadWriter::new(buffers.output(), &mut sequence);
        write(&mut writer);
        match writer.finish() {
            Ok(()) => self.frames.restart(sequence),
            Err(error) => self.die(error.into()),
        }
    }

    /// Queues bytes unchanged, including headers, for what no honest server sends. Sequence ids are not advanced.
    pub fn raw(&mut self, buffers: &mut Buffers, bytes: &[u8]) {
        let Some((first, rest)) = bytes.split_first() else {
            return;
        };
        let output = buffers.output();
        output.begin([*first]);
        output.push(rest);
        if let Err(error) = output.end() {
            self.die(error.into());
        }
    }

    /// Sets the sequence id of the next packet, out of order, for what no honest server does.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.frames.restart(sequence);
    }
}

fn put_field(out: &mut PayloadWriter<'_>, field: Field<'_>) {
    match field {
        Field::Null => {}
        Field::Bytes(bytes) => out.put_lenenc_bytes(bytes),
        Field::Fixed(bytes) => out.put(bytes),
        Field::Borrowed { index, len } => {
            out.put_lenenc(u64::try_from(len).unwrap_or(u64::MAX));
            out.put_borrowed(index, len);
        }
    }
}
