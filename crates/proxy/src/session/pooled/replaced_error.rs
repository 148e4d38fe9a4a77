//! Replaces a server's error before it is forwarded.

use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::err::HEADER as ERR;

use crate::session::farewell::packet;
use crate::session::{Phase, Session};

/// No error of a server's is longer, with its header: 512 characters of up to 4 bytes.
const LONGEST_ERR: usize = 4 << 10;

impl Session {
    /// Replaces the error of this code, with which the reply that is about to be forwarded ends, by a packet with this payload. If part of
    /// the error was already sent, the rest is forwarded unchanged.
    pub(super) fn replace_error(&mut self, code: u16, payload: &[u8]) {
        let (Phase::Pooled(pooled), Some(loan)) = (&mut self.phase, &mut self.down.loan) else {
            return;
        };
        let cleared = self.down.cleared;
        let bytes = loan.buffers.pending_mut();
        let Some(passed) = bytes.get_mut(..cleared) else {
            return;
        };
        let Some((at, sequence)) = last_error(passed, code) else {
            return;
        };
        // Rows before it stay: they go to where it ends, and what is in front of them is passed over.
        let len = cleared - at;
        passed.copy_within(..at, len);
        let _ = loan.buffers.consume(len);
        self.down.cleared = at;
        pooled.words.extend_from_slice(&packet(sequence, payload));
    }
}

/// Where the ERR packet of this code begins that the bytes end with, and its sequence id.
fn last_error(bytes: &[u8], code: u16) -> Option<(usize, u8)> {
    let first = bytes.len().saturating_sub(LONGEST_ERR);
    let last = bytes.len().checked_sub(HEADER_BYTES + 3)?;
    let [a, b] = code.to_le_bytes();
    (first..=last).rev().find_map(|at| match bytes.get(at..)? {
        [x, y, z, sequence, head, c, d, ..]
            if (*head, *c, *d) == (ERR, a, b)
                && u32::from_le_bytes([*x, *y, *z, 0]) as usize
                    == bytes.len() - at - HEADER_BYTES =>
        {
            Some((at, *sequence))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_packet_is_found_behind_rows_and_alone() {
        let find = |bytes: &[u8]| last_error(bytes, 1317);
        let err = b"\x21\x00\x00\x07\xFF\x25\x05#70100Query execution was inter";
        let mut err = err.to_vec();
        let len = u8::try_from(err.len() - HEADER_BYTES).unwrap();
        err[0] = len;
        assert_eq!(find(&err), Some((0, 7)));
        let rows = b"\x02\x00\x00\x05\x01a\x02\x00\x00\x06\x01b";
        let whole = [&rows[..], &err].concat();
        assert_eq!(find(&whole), Some((rows.len(), 7)));
        for cut in 1..=err.len() {
            assert_eq!(find(&err[cut..]), None, "{cut}");
            assert_eq!(find(&whole[..whole.len() - cut]), None, "{cut}");
        }
        assert_eq!(find(b""), None);
        assert_eq!(last_error(&err, 1094), None);
    }
}
