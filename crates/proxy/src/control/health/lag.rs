//! How far a server is behind its primary, by its own account.

use std::time::Duration;

use onecopy_mysql::Error;
use onecopy_mysql::blocking::Connection;

/// Of MySQL as of 8.0.22, and of MariaDB with all of its connections.
const QUESTIONS: [(&str, &str); 2] = [
    ("SHOW REPLICA STATUS", "Seconds_Behind_Source"),
    ("SHOW ALL SLAVES STATUS", "Seconds_Behind_Master"),
];

/// The largest lag of its sources, or why it is not known.
///
/// # Errors
/// As the server's, as where the login must not ask.
pub(super) fn ask(connection: &mut Connection) -> Result<Result<Duration, String>, Error> {
    let is_mariadb = connection.server_version().contains("MariaDB");
    let (sql, column) = QUESTIONS[usize::from(is_mariadb)];
    let mut rows = connection.query(sql)?;
    let mut lag = None;
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
        lag = lag.max(Some(seconds));
    }
    rows.finish()?;
    let lag = lag.map(Duration::from_secs);
    Ok(lag.ok_or_else(|| "it replicates from no server".to_owned()))
}
