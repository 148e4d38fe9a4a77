//! How far a server is behind its primary, by its own account, and which servers it replicates from.

use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Error, Row};

use super::behind::{by_domain, by_source};
use crate::backend::{Lag, ServerId, Source};

/// Of MySQL as of 8.0.22, and of MariaDB with all of its connections.
const QUESTIONS: [(&str, &str); 2] = [
    ("SHOW REPLICA STATUS", "Seconds_Behind_Source"),
    ("SHOW ALL SLAVES STATUS", "Seconds_Behind_Master"),
];

/// What a MySQL calls those between the members of its group.
const CHANNELS_OF_GROUP: &str = "group_replication_";

/// What a server says of its replication.
#[derive(Debug)]
pub(super) struct Replicating {
    /// The largest lag of its sources, or why it is not known.
    pub(super) lag: Result<Lag, String>,
    pub(super) sources: Vec<Source>,
}

/// # Errors
/// As the server's, as where the login must not ask.
pub(super) fn ask(connection: &mut Connection) -> Result<Replicating, Error> {
    let nothing = Replicating {
        lag: Err("it replicates from no server".to_owned()),
        sources: Vec::new(),
    };
    ask_beside(connection, nothing)
}

/// The same of a member of a group: what it replicates from other servers counts in addition to what it has of its group.
///
/// # Errors
/// As of [`ask`].
pub(super) fn ask_beside(
    connection: &mut Connection,
    mut replicating: Replicating,
) -> Result<Replicating, Error> {
    let is_mariadb = connection.server_version().contains("MariaDB");
    let (sql, _) = QUESTIONS[usize::from(is_mariadb)];
    let mut rows = connection.query(sql)?;
    while let Some(row) = rows.next()? {
        if !is_mariadb
            && row
                .get::<&str>("Channel_Name")?
                .starts_with(CHANNELS_OF_GROUP)
        {
            continue;
        }
        let is_first = replicating.sources.is_empty();
        replicating.lag = match (replicating.lag, lag(&row, is_mariadb)?) {
            (_, first) if is_first => first,
            (Err(why), _) | (_, Err(why)) => Err(why),
            (Ok(one), Ok(other)) => Ok(Lag {
                time: one.time.max(other.time),
                transactions: one.transactions.max(other.transactions),
            }),
        };
        replicating.sources.push(source(&row, is_mariadb)?);
    }
    rows.finish()?;
    Ok(replicating)
}

/// How far it is behind one source.
fn lag(row: &Row<'_>, is_mariadb: bool) -> Result<Result<Lag, String>, Error> {
    let threads = match is_mariadb {
        true => ["Slave_IO_Running", "Slave_SQL_Running"],
        false => ["Replica_IO_Running", "Replica_SQL_Running"],
    };
    for thread in threads {
        // One that does not receive anything knows nothing of its lag, whatever it says.
        let state = row.get::<&str>(thread)?;
        if state != "Yes" {
            return Ok(Err(format!("{thread} is {state}")));
        }
    }
    let (_, column) = QUESTIONS[usize::from(is_mariadb)];
    let seconds = row.get::<Option<u64>>(column)?;
    Ok(match seconds {
        Some(seconds) => Ok(Lag {
            time: Duration::from_secs(seconds),
            transactions: transactions(row, is_mariadb),
        }),
        None => Err(format!("{column} is NULL")),
    })
}

/// Which server this one is.
fn source(row: &Row<'_>, is_mariadb: bool) -> Result<Source, Error> {
    let [host, port, number] = match is_mariadb {
        true => ["Master_Host", "Master_Port", "Master_Server_Id"],
        false => ["Source_Host", "Source_Port", "Source_Server_Id"],
    };
    let uuid = match is_mariadb {
        true => "",
        false => row.get::<Option<&str>>("Source_UUID")?.unwrap_or_default(),
    };
    Ok(Source {
        id: ServerId {
            number: row.get(number)?,
            uuid: uuid.into(),
        },
        address: format!("{}:{}", row.get::<&str>(host)?, row.get::<u16>(port)?).into(),
    })
}

/// By what others know this server; the default where it does not say.
///
/// # Errors
/// As of the connection.
pub(super) fn own_id(connection: &mut Connection) -> Result<ServerId, Error> {
    let is_mariadb = connection.server_version().contains("MariaDB");
    let sql = match is_mariadb {
        true => "SELECT @@global.server_id, ''",
        false => "SELECT @@global.server_id, @@global.server_uuid",
    };
    match connection.query_one::<(u32, String)>(sql) {
        Ok((number, uuid)) => Ok(ServerId {
            number,
            uuid: uuid.into(),
        }),
        Err(error) if error.server().is_some() && !error.is_closed() => Ok(ServerId::default()),
        Err(error) => Err(error),
    }
}

/// How many it has received from a source and not applied; `None` where it does not replicate by global ids.
fn transactions(row: &Row<'_>, is_mariadb: bool) -> Option<u64> {
    let column = |name: &str| row.get::<&str>(name).ok();
    match is_mariadb {
        true => by_domain(column("Gtid_IO_Pos")?, column("Gtid_Slave_Pos")?),
        false => by_source(column("Retrieved_Gtid_Set")?, column("Executed_Gtid_Set")?),
    }
}
