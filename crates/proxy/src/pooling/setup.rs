//! What the proxy asks of each connection that it pools: to be told what changes in the session.

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::packet::CommandByte;

use super::exchange::put_packet;
use crate::backend::Part;

/// All that a server can report.
const TRACKERS: &[u8] = b"SET session_track_system_variables = '*', session_track_schema = ON, \
    session_track_state_change = ON, session_track_transaction_info = 'CHARACTERISTICS'";

/// On MySQL, the ids of the session's own transactions. On MariaDB a variable has them, `last_gtid`.
const GTIDS: &[u8] = b"SET session_track_gtids = OWN_GTID";

/// Appends the commands that turn the trackers on. Ids of transactions are of use where reads go elsewhere.
pub(crate) fn put_trackers(out: &mut Vec<u8>, capabilities: Capabilities, part: Part) {
    put_packet(out, CommandByte::QUERY, TRACKERS);
    if part == Part::Writes && is_mysql(capabilities) {
        put_packet(out, CommandByte::QUERY, GTIDS);
    }
}

/// Whether a server is no MariaDB, which does not have this capability.
pub(crate) fn is_mysql(capabilities: Capabilities) -> bool {
    capabilities.contains(Capabilities::LONG_PASSWORD)
}
