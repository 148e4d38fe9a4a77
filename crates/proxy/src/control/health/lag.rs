//! How far a server is behind its primary, by its own account.

use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Error, Row};

use super::behind::{by_domain, by_source};
use crate::backend::Lag;

/// Of MySQL as of 8.0.22, and of MariaDB with all of its connections.
const QUESTIONS: [(&str, &str); 2] = [
    ("SHOW REPLICA STATUS", "Seconds_Behind_Source"),
    ("SHOW ALL SLAVES STATUS", "Seconds_Behind_Master"),
];

/// The largest lag of its sources, or why it is not known.
///
/// # Errors
/// As the server's, as where the login must not ask.
pub(super) fn ask(connection: &mut Connection) -> Result<Result<Lag, String>, Error> {
    let is_mariadb = connection.server_version().contains("MariaDB");
    let (sql, column) = QUESTIONS[usize::from(is_mariadb)];
    let mut rows = connection.query(sql)?;
    let mut lag: Option<Lag> = None;
    while let Some(row) = rows.next()? {
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
        let Some(seconds) = row.get::<Option<u64>>(column)? else {
            return Ok(Err(format!("{column} is NULL")));
        };
        let before = lag.unwrap_or_default();
        lag = Some(Lag {
            time: before.time.max(Duration::from_secs(seconds)),
            transactions: before.transactions.max(transactions(&row, is_mariadb)),
        });
    }
    rows.finish()?;
    Ok(lag.ok_or_else(|| "it replicates from no server".to_owned()))
}

/// How many it has received from a source and not applied; `None` where it does not replicate by global ids.
fn transactions(row: &Row<'_>, is_mariadb: bool) -> Option<u64> {
    let column = |name: &str| row.get::<&str>(name).ok();
    match is_mariadb {
        true => by_domain(column("Gtid_IO_Pos")?, column("Gtid_Slave_Pos")?),
        false => by_source(column("Retrieved_Gtid_Set")?, column("Executed_Gtid_Set")?),
    }
}
