//! What the proxy asks of each connection that it pools: to be told what changes in the session.

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::packet::CommandByte;

use super::exchange::put_packet;

/// All that a server can report.
const TRACKERS: &[u8] = b"SET session_track_system_variables = '*', session_track_schema = ON, \
    session_track_state_change = ON, session_track_transaction_info = 'CHARACTERISTICS'";

/// Appends the command that turns the trackers on, where the server has them.
pub(crate) fn put_trackers(out: &mut Vec<u8>, capabilities: Capabilities) {
    if capabilities.contains(Capabilities::SESSION_TRACK) {
        put_packet(out, CommandByte::QUERY, TRACKERS);
    }
}
