//! How a server stands in its cluster, by its own account.

use onecopy_mysql::Error;
use onecopy_mysql::blocking::Connection;

use crate::backend::{Membership, Standing};

/// `ER_UNKNOWN_SYSTEM_VARIABLE`: a MariaDB that was built without Galera.
const UNKNOWN_VARIABLE: u16 = 1193;

const GALERA: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN \
    ('wsrep_ready', 'wsrep_cluster_status', 'wsrep_local_state', 'wsrep_local_state_comment', 'wsrep_cluster_state_uuid')";

/// `Synced`, as a number.
const SYNCED: &str = "4";
/// `Donor/Desynced` and `Joined`: it has all of the data, and does not keep up, or not yet.
const BEHIND: [&str; 2] = ["2", "3"];

const GROUP: &str = "SELECT MEMBER_ID = @@global.server_uuid, MEMBER_STATE, \
    (SELECT VARIABLE_VALUE FROM performance_schema.global_variables WHERE VARIABLE_NAME = 'group_replication_group_name') \
    FROM performance_schema.replication_group_members";

/// What a server says of its cluster, and what is wrong there.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) membership: Membership,
    pub(super) warning: Option<String>,
}

impl Answer {
    fn of(cluster: &str, standing: Standing, warning: Option<String>) -> Self {
        Self {
            membership: Membership {
                standing,
                cluster: cluster.into(),
                reports_lag: false,
            },
            warning,
        }
    }
}

/// Asks whether it is in a cluster, and how it stands there. A login that must not ask learns of none.
pub(super) fn ask(connection: &mut Connection) -> Result<Answer, Error> {
    let answer = match connection.server_version().contains("MariaDB") {
        true => ask_galera(connection),
        false => ask_group(connection),
    };
    match answer {
        Err(error) if error.server().is_some() && !error.is_closed() => Ok(Answer::default()),
        answer => answer,
    }
}

fn ask_galera(connection: &mut Connection) -> Result<Answer, Error> {
    let is_on = match connection.query_one::<(Option<u8>,)>("SELECT @@global.wsrep_on") {
        Ok((is_on,)) => is_on == Some(1),
        Err(error)
            if error
                .server()
                .is_some_and(|server| server.code == UNKNOWN_VARIABLE) =>
        {
            false
        }
        Err(error) => return Err(error),
    };
    if !is_on {
        return Ok(Answer::default());
    }
    let mut says = Galera::default();
    let mut rows = connection.query(GALERA)?;
    while let Some(row) = rows.next()? {
        let value = row.get::<&str>(1)?;
        let place = match row.get::<&str>(0)? {
            "wsrep_ready" => &mut says.ready,
            "wsrep_cluster_status" => &mut says.cluster_status,
            "wsrep_local_state" => &mut says.state,
            "wsrep_local_state_comment" => &mut says.comment,
            "wsrep_cluster_state_uuid" => &mut says.cluster,
            _ => continue,
        };
        value.clone_into(place);
    }
    rows.finish()?;
    Ok(says.answer())
}

#[derive(Debug, Default)]
struct Galera {
    ready: String,
    cluster_status: String,
    state: String,
    comment: String,
    cluster: String,
}

impl Galera {
    fn answer(&self) -> Answer {
        let is = |name, value: &str| {
            Some(format!(
                "it is not a synced member of its cluster: {name} is {value}"
            ))
        };
        let (standing, warning) = if self.cluster_status != "Primary" {
            let status = is("wsrep_cluster_status", &self.cluster_status);
            (Standing::Out, status)
        } else if self.ready != "ON" {
            (Standing::Out, is("wsrep_ready", &self.ready))
        } else if self.state == SYNCED {
            (Standing::Full, None)
        } else {
            let standing = match BEHIND.contains(&self.state.as_str()) {
                true => Standing::Behind,
                false => Standing::Out,
            };
            (standing, is("wsrep_local_state_comment", &self.comment))
        };
        Answer::of(&self.cluster, standing, warning)
    }
}

fn ask_group(connection: &mut Connection) -> Result<Answer, Error> {
    let (mut own, mut group) = (String::new(), String::new());
    let (mut members, mut lost) = (0_usize, 0);
    let mut rows = connection.query(GROUP)?;
    while let Some(row) = rows.next()? {
        let state = row.get::<&str>(1)?;
        members += 1;
        lost += usize::from(state == "UNREACHABLE");
        if row.get::<Option<u8>>(0)? == Some(1) {
            state.clone_into(&mut own);
            row.get::<Option<&str>>(2)?
                .unwrap_or_default()
                .clone_into(&mut group);
        }
    }
    rows.finish()?;
    Ok(answer_of_group(&own, &group, members, lost))
}

/// `own` is empty where group replication does not run.
fn answer_of_group(own: &str, group: &str, members: usize, lost: usize) -> Answer {
    let mut answer = match own {
        "" | "OFFLINE" => return Answer::default(),
        "ONLINE" if lost * 2 >= members => {
            let why = format!("{lost} of the {members} members of its group are unreachable");
            Answer::of(group, Standing::Out, Some(why))
        }
        "ONLINE" => Answer::of(group, Standing::Full, None),
        state => {
            let why = format!("it is not an online member of its group: MEMBER_STATE is {state}");
            Answer::of(group, Standing::Out, Some(why))
        }
    };
    answer.membership.reports_lag = true;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn galera(ready: &str, cluster_status: &str, state: &str) -> (Standing, bool) {
        let answer = Galera {
            ready: ready.into(),
            cluster_status: cluster_status.into(),
            state: state.into(),
            comment: "as it says".into(),
            cluster: "a".into(),
        }
        .answer();
        (answer.membership.standing, answer.warning.is_some())
    }

    #[test]
    fn a_member_is_whole_only_if_it_is_synced() {
        assert_eq!(galera("ON", "Primary", "4"), (Standing::Full, false));
        assert_eq!(galera("ON", "Primary", "2"), (Standing::Behind, true));
        assert_eq!(galera("ON", "Primary", "3"), (Standing::Behind, true));
        assert_eq!(galera("ON", "Primary", "1"), (Standing::Out, true));
        assert_eq!(galera("OFF", "Primary", "4"), (Standing::Out, true));
        assert_eq!(galera("ON", "non-Primary", "4"), (Standing::Out, true));
        assert_eq!(galera("", "", ""), (Standing::Out, true));
    }

    #[test]
    fn a_member_without_a_majority_is_out() {
        let group =
            |own, members, lost| answer_of_group(own, "a", members, lost).membership.standing;
        assert_eq!(group("", 0, 0), Standing::Alone);
        assert_eq!(group("OFFLINE", 1, 0), Standing::Alone);
        assert_eq!(group("ONLINE", 1, 0), Standing::Full);
        assert_eq!(group("ONLINE", 3, 1), Standing::Full);
        assert_eq!(group("ONLINE", 3, 2), Standing::Out);
        assert_eq!(group("ONLINE", 4, 2), Standing::Out);
        assert_eq!(group("RECOVERING", 3, 0), Standing::Out);
        assert_eq!(group("ERROR", 3, 0), Standing::Out);
    }
}
