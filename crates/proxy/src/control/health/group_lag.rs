//! How far a member of a MySQL group is behind the others, by its own account.

use std::time::Duration;

use onecopy_mysql::Error;
use onecopy_mysql::blocking::Connection;

use super::lag::{self, Replicating};
use crate::backend::{Lag, ServerId, Source};

/// Whether it applies what it has received, how many milliseconds ago the oldest transaction that it applies now was committed on another
/// member, and how many it has received and not applied. In the hour that repeats when clocks are set back, the time zone of the
/// server can make the second one an hour longer.
const QUESTION: &str = "SELECT \
    (SELECT SERVICE_STATE FROM performance_schema.replication_applier_status WHERE CHANNEL_NAME = 'group_replication_applier'), \
    (SELECT CAST(GREATEST(0, 1000 * MAX(UNIX_TIMESTAMP(NOW(6)) - UNIX_TIMESTAMP(APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP))) AS UNSIGNED) \
        FROM performance_schema.replication_applier_status_by_worker \
        WHERE CHANNEL_NAME = 'group_replication_applier' AND APPLYING_TRANSACTION <> ''), \
    (SELECT COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE FROM performance_schema.replication_group_member_stats \
        WHERE MEMBER_ID = @@global.server_uuid)";

/// What it says of its group, and of servers outside that it replicates from in addition.
///
/// # Errors
/// As the server's, as where the login must not ask.
pub(super) fn ask(connection: &mut Connection, group: &str) -> Result<Replicating, Error> {
    let (state, millis, transactions) =
        connection.query_one::<(Option<String>, Option<u64>, Option<u64>)>(QUESTION)?;
    let own = Source {
        id: ServerId {
            number: 0,
            uuid: group.into(),
        },
        address: format!("the group {group}").into(),
    };
    let lag = match state.as_deref() {
        Some("ON") => Ok(Lag {
            time: Duration::from_millis(millis.unwrap_or_default()),
            transactions,
        }),
        state => Err(format!(
            "its applier of the group is {}",
            state.unwrap_or("not known")
        )),
    };
    let of_group = Replicating {
        lag,
        sources: vec![own],
    };
    lag::ask_beside(connection, of_group)
}
