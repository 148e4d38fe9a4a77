//! One step of the library, and the work that is done where the state allows it.

use std::io::IoSliceMut;

use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

use super::RECORD;
use super::output::{Output, Refusal};
use super::slices::{keep, scatter};
use crate::tls::TlsError;

/// What encryption adds to a record at the most: header, nonce, padding's end and tag, with room to spare.
pub(super) const RECORD_OVERHEAD: usize = 64;

/// What is to be done in a state that allows it.
pub(super) enum Work<'a, 'b> {
    Handshake,
    /// Fill these; the bytes that are in them.
    Read(&'a mut [IoSliceMut<'b>], &'a mut usize),
    Write(&'a [u8]),
    CloseNotify,
}

/// What a step has led to.
pub(super) enum Event {
    GoOn,
    /// Decrypted bytes came.
    Came,
    /// The work to be written is in the output.
    Written,
    /// More ciphertext is needed.
    Blocked,
    /// The session stands and there is nothing to decrypt.
    Ready,
    Closed,
}

/// Where what a step gives goes.
pub(super) struct Lines<'s> {
    pub(super) output: &'s mut Output,
    pub(super) left: &'s mut Vec<u8>,
    pub(super) copied: &'s mut u64,
}

impl Lines<'_> {
    /// Does the work where the state allows it; gives how many bytes of ciphertext are done with.
    #[inline(always)] // in two places; what is passed is large
    pub(super) fn step<D>(
        self,
        status: UnbufferedStatus<'_, '_, D>,
        work: Work<'_, '_>,
    ) -> (usize, Result<Event, TlsError>) {
        let UnbufferedStatus { discard, state } = status;
        let event = match state {
            Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                let mut none = 0;
                let (targets, n) = match work {
                    Work::Read(targets, n) => (targets, n),
                    _ => (&mut [][..], &mut none),
                };
                let mut came = Ok(Event::Came);
                // No way out of here but the end: what was taken has to be discarded.
                while let (Ok(_), Some(record)) = (&came, traffic.next_record()) {
                    came = record.map_err(TlsError::from).and_then(|record| {
                        let taken = scatter(record.payload, targets, *n);
                        *n += taken;
                        // Into the library's record, and from there to the targets or to what is left.
                        *self.copied += 2 * record.payload.len() as u64;
                        keep(self.left, &record.payload[taken..]).map(|()| Event::Came)
                    });
                }
                came
            }
            Ok(ConnectionState::EncodeTlsData(mut data)) => self
                .output
                .put(0, |out| data.encode(out).map_err(Refusal::from))
                .map(|()| Event::GoOn),
            // What was encoded leaves from the output in order, before anything that is encrypted from now on.
            Ok(ConnectionState::TransmitTlsData(data)) => {
                data.done();
                Ok(Event::GoOn)
            }
            Ok(ConnectionState::WriteTraffic(mut traffic)) => match work {
                Work::Write(part) => self
                    .output
                    .put(encrypted_len(part.len()), |out| {
                        traffic.encrypt(part, out).map_err(Refusal::from)
                    })
                    .map(|()| Event::Written),
                Work::CloseNotify => self
                    .output
                    .put(RECORD_OVERHEAD, |out| {
                        traffic.queue_close_notify(out).map_err(Refusal::from)
                    })
                    .map(|()| Event::Written),
                Work::Handshake | Work::Read(..) => Ok(Event::Ready),
            },
            Ok(ConnectionState::BlockedHandshake) => Ok(Event::Blocked),
            Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => Ok(Event::Closed),
            // Early data, of which neither side is told that it may be sent.
            Ok(_) => Err(rustls::Error::General("a state that is never asked for".into()).into()),
            Err(error) => Err(error.into()),
        };
        (discard, event)
    }
}

/// At most what so many bytes take when they are encrypted.
fn encrypted_len(len: usize) -> usize {
    len + len.div_ceil(RECORD).max(1) * RECORD_OVERHEAD
}
