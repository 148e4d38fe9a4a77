//! GTIDs: the names of transactions, which each of the servers has in a form and with functions of its own.

use std::time::Duration;

use onecopy_mysql_proto::client::Session;

use crate::Error;

/// What makes the server report them.
pub(crate) fn track(session: &Session) -> &'static str {
    if session.version.is_mariadb {
        "SET SESSION session_track_system_variables = \
         CONCAT_WS(',', NULLIF(@@SESSION.session_track_system_variables, ''), 'last_gtid')"
    } else {
        "SET SESSION session_track_gtids = OWN_GTID"
    }
}

/// What waits for them.
pub(crate) fn wait(session: &Session, gtids: &str, timeout: Duration) -> Result<String, Error> {
    // So that no literal depends on the session: both forms consist of these.
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-:,_ \n".contains(&byte);
    if gtids.is_empty() || !gtids.bytes().all(is_known) {
        return Err(Error::config(
            "these are no GTIDs: give what last_gtids returned on the primary".to_owned(),
        ));
    }
    // 0 is without end for the one, and no wait at all for the other.
    let seconds = timeout.max(Duration::from_millis(1)).as_secs_f64();
    let function = if session.version.is_mariadb {
        "MASTER_GTID_WAIT"
    } else {
        "WAIT_FOR_EXECUTED_GTID_SET"
    };
    Ok(format!("SELECT {function}('{gtids}', {seconds:.3})"))
}

/// What the functions return: 0, and 1 or -1 if the time was over.
pub(crate) fn has_executed(waited: Option<i64>) -> Result<bool, Error> {
    match waited {
        Some(0) => Ok(true),
        Some(_) => Ok(false),
        None => Err(Error::config(
            "the server does not replicate, so that it can't wait for GTIDs".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use onecopy_mysql_proto::{Capabilities, ServerVersion};

    use super::*;

    fn session(version: &str) -> Session {
        Session {
            capabilities: Capabilities::empty(),
            connection_id: 1,
            server_version: version.into(),
            version: ServerVersion::parse(version.as_bytes()),
        }
    }

    #[test]
    fn each_server_waits_in_its_own_words_and_for_gtids_only() {
        let (mariadb, mysql) = (session("11.8.9-MariaDB"), session("9.7.4"));
        let two = Duration::from_millis(2500);
        assert_eq!(
            wait(&mariadb, "0-1-7,1-1-3", two).unwrap(),
            "SELECT MASTER_GTID_WAIT('0-1-7,1-1-3', 2.500)"
        );
        let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7,\n4e11fa47-71ca-11e1-9e33-c80aa9429562:tag_1:3";
        assert_eq!(
            wait(&mysql, uuid, Duration::ZERO).unwrap(),
            format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{uuid}', 0.001)")
        );
        for other in ["", "0-1-7'", "\\", "0-1-7); DROP", "é"] {
            assert!(wait(&mysql, other, two).is_err(), "{other}");
        }
    }
}
