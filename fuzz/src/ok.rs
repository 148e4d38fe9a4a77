//! OK packets and session tracking: what the client's core reports for an OK is what the packet's decoder reads.
//!
//! | bytes | field                                    |
//! |-------|------------------------------------------|
//! | 1     | capabilities, see [`reply_capabilities`] |
//! | 1     | how the stream is cut                    |
//! | rest  | OK packets, each behind a length of 2 bytes |

use onecopy_mysql_proto::client::{ClientCore, Reply};
use onecopy_mysql_proto::packet::{OkPacket, SessionTrack, ok};
use onecopy_mysql_proto::{Capabilities, StatusFlags};
use onecopy_wire::Buffers;

use crate::delivery::Pieces;
use crate::input::Input;
use crate::packets::check_error;
use crate::pump::{Outcome, Pump};
use crate::session::{LIMITS, buffers, logged_in, reply_capabilities};
use crate::stream::push_packet;

/// Answers one ping after the other.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let capabilities = reply_capabilities(input.byte());
    let mut pieces = input.byte();
    let mut core = ClientCore::new(logged_in(capabilities), LIMITS);
    let mut buffers = Buffers::new(buffers());
    let mut sequence = 1;
    while !input.is_empty() {
        if core.is_idle() {
            let queued = core.ping(&mut buffers);
            queued.expect("an idle core takes a command");
            sequence = 1;
        }
        let payload = input.long();
        let mut bytes = Vec::new();
        push_packet(&mut bytes, &mut sequence, payload);
        let mut pump = Pump::new(&bytes, Pieces::new(pieces));
        let outcome = pump.step(&mut core, &mut buffers, &());
        if !check(&core, capabilities, payload, &outcome) {
            return;
        }
        pieces = pieces.wrapping_add(1);
    }
    core.release();
    buffers.release_to(0);
    assert_eq!(buffers.meter().capacity_now, 0);
}

/// Whether the core continues.
fn check(
    core: &ClientCore,
    capabilities: Capabilities,
    payload: &[u8],
    outcome: &Outcome<Reply, onecopy_mysql_proto::Error>,
) -> bool {
    if payload.first() != Some(&ok::HEADER) {
        return matches!(outcome, Outcome::Message(Reply::Err(_)));
    }
    if payload.len() > LIMITS.max_message_bytes {
        assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
        return false;
    }
    match OkPacket::decode(payload, capabilities) {
        Ok(packet) => {
            assert_eq!(*outcome, Outcome::Message(Reply::Ok));
            assert_eq!(core.ok().affected_rows, packet.affected_rows);
            assert_eq!(core.ok().last_insert_id, packet.last_insert_id);
            assert_eq!(core.ok().status_flags, packet.status_flags);
            assert_eq!(core.ok().warnings, packet.warnings);
            assert_eq!(core.info(), String::from_utf8_lossy(packet.info));
            let changes = core.session_changes();
            assert_eq!(changes.as_encoded(), packet.session_track.as_encoded());
            check_changes(changes);
            let more = packet
                .status_flags
                .contains(StatusFlags::MORE_RESULTS_EXISTS);
            assert_eq!(core.is_idle(), !more);
            true
        }
        Err(error) => {
            check_error(&error, payload);
            assert_eq!(*outcome, Outcome::Failed(error.into()));
            false
        }
    }
}

/// The changes end, and there is nothing behind the first malformed one.
fn check_changes(track: SessionTrack<'_>) {
    let mut changes = track.iter();
    let mut count = 0;
    while let Some(change) = changes.next() {
        count += 1;
        if let Err(error) = change {
            check_error(&error, track.as_encoded());
            assert!(changes.next().is_none());
        }
    }
    // A change has two bytes at least.
    assert!(count <= track.as_encoded().len());
}
