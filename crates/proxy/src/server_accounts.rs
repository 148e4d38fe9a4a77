//! Accounts that pooled listeners read from their servers.
//!
//! Each listener that asks for it has them read by one thread: at the start, at its interval, and behind a wrong password, which may be
//! a new one. What was read stays in force while no server can be reached.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;

use crate::config::{AccountConfig, LogLevel, Secret, StoredHash};
use crate::errand::{Credentials, Errand};
use crate::listener::Listener;
use crate::running::Running;

/// How often the thread looks whether there is something to read. Wrong passwords cause no more questions of a listener than this.
const LOOK: Duration = Duration::from_secs(1);

/// What MySQL says of [`OF_MARIADB`]: it has no such table (`ER_NO_SUCH_TABLE`), and first no such function, which it looks for in the
/// database that is selected (`ER_NO_DB_ERROR`, `ER_SP_DOES_NOT_EXIST`).
const NOT_MARIADB: [u16; 3] = [1146, 1046, 1305];

/// The user, what is stored of its password where only that lets it in, whether it is for clients of the same machine, and whether it is
/// locked.
const OF_MARIADB: &str = "SELECT User, IF(COALESCE(JSON_VALUE(Priv, '$.plugin'), '') IN ('mysql_native_password', '') \
    AND NOT JSON_EXISTS(Priv, '$.auth_or'), JSON_VALUE(Priv, '$.authentication_string'), NULL), \
    Host IN ('localhost', '127.0.0.1', '::1'), COALESCE(JSON_VALUE(Priv, '$.account_locked'), '0') IN ('1', 'true') \
    FROM mysql.global_priv WHERE NOT JSON_EXISTS(Priv, '$.is_role') AND User <> '' ORDER BY User";

/// The same of MySQL, whose roles are locked accounts.
const OF_MYSQL: &str = "SELECT User, IF(plugin IN ('mysql_native_password', 'caching_sha2_password'), authentication_string, NULL), \
    Host IN ('localhost', '127.0.0.1', '::1'), account_locked = 'Y' FROM mysql.user WHERE User <> '' ORDER BY User";

/// So many users that are left out are named in the log.
const NAMED: usize = 5;

/// What is known of one listener's reading.
#[derive(Default)]
struct Reading {
    last: Option<Instant>,
    next: Option<Instant>,
    /// What was said of it last.
    said: String,
}

/// Reads the accounts of all listeners, and has a thread read them again when it is time, for as long as there is a proxy.
pub(crate) fn start(running: &Arc<Running>) -> io::Result<()> {
    let mut readings = HashMap::new();
    read_all(running, &mut readings);
    let running = Arc::downgrade(running);
    // A server may keep it waiting: it is not waited for at the end.
    std::thread::Builder::new()
        .name("accounts".into())
        .spawn(move || read_again(&running, readings))?;
    Ok(())
}

fn read_again(running: &Weak<Running>, mut readings: HashMap<String, Reading>) {
    let mut wait = LOOK;
    loop {
        if let Some(running) = running.upgrade() {
            for listener in &running.in_force().listeners {
                listener.account_reading.read_here();
            }
        }
        // Who has a wrong password wakes it.
        std::thread::park_timeout(wait);
        let Some(running) = running.upgrade() else {
            return;
        };
        if !running.is_draining() {
            wait = read_all(&running, &mut readings);
            continue;
        }
        wait = LOOK;
        // Nothing is read any more, and nobody is to wait for it.
        for listener in &running.in_force().listeners {
            listener.account_reading.begin();
            listener.account_reading.end();
        }
    }
}

/// Reads what is due; gives how long there is nothing more to do.
fn read_all(running: &Running, readings: &mut HashMap<String, Reading>) -> Duration {
    let now = running.in_force();
    let mut wait = LOOK;
    for listener in &now.listeners {
        let Some(interval) = listener.config.server_accounts else {
            continue;
        };
        let name = &listener.config.name;
        let reading = readings.entry(name.clone()).or_default();
        let is_due = reading.next.is_none_or(|next| Instant::now() >= next);
        if !is_due {
            let age = reading.last.map_or(LOOK, |last| last.elapsed());
            match LOOK.saturating_sub(age) {
                _ if !listener.account_reading.is_wanted() => continue,
                Duration::ZERO => {}
                rest => {
                    wait = wait.min(rest);
                    continue;
                }
            }
        }
        reading.last = Some(Instant::now());
        listener.account_reading.begin();
        let said = match read(listener, &running.credentials) {
            Ok((accounts, left_out)) => match running.learn_accounts(name, accounts) {
                Ok(changes) => {
                    for line in changes.lines() {
                        running.tell(LogLevel::Info, line);
                    }
                    left_out
                }
                Err(error) => error.to_string(),
            },
            Err(why) => format!("accounts of listener '{name}' can't be read: {why}"),
        };
        // Once, not every few seconds: the accounts that are known stay.
        if said != reading.said && !said.is_empty() {
            running.tell(LogLevel::Warn, &said);
        }
        (reading.said, reading.next) = (said, Some(Instant::now() + interval));
        listener.account_reading.end();
    }
    wait
}

/// The accounts, from the first server that answers, and who was left out in words.
fn read(
    listener: &Listener,
    credentials: &Credentials,
) -> Result<(Vec<AccountConfig>, String), String> {
    let mut why = "it has no backend".to_owned();
    let mut backends: Vec<_> = listener.backends.all().iter().collect();
    backends.sort_by_key(|backend| !backend.is_up());
    for backend in backends {
        let Some(errand) = Errand::new(backend, credentials) else {
            return Err("[health] has no `user`".to_owned());
        };
        match errand.connect(None).and_then(|mut conn| users(&mut conn)) {
            Ok(users) => return Ok(accounts(users, &listener.config.name)),
            Err(error) => why = format!("backend '{}': {error}", backend.name()),
        }
    }
    Err(why)
}

/// The accounts of a user, one for each of its hosts.
type Users = BTreeMap<String, Vec<Stored>>;

/// What a server stores of one.
#[derive(Debug, Clone)]
struct Stored {
    /// `None` where the proxy can't check a password by it.
    password: Option<String>,
    is_local: bool,
    is_locked: bool,
}

fn users(conn: &mut Connection) -> Result<Users, onecopy_mysql::Error> {
    match users_by(conn, OF_MARIADB) {
        Err(error)
            if error
                .server()
                .is_some_and(|error| NOT_MARIADB.contains(&error.code)) =>
        {
            users_by(conn, OF_MYSQL)
        }
        users => users,
    }
}

fn users_by(conn: &mut Connection, sql: &str) -> Result<Users, onecopy_mysql::Error> {
    let mut users = Users::new();
    let mut rows = conn.query(sql)?;
    while let Some(row) = rows.next()? {
        let stored = Stored {
            password: row.get(1)?,
            is_local: row.get(2)?,
            is_locked: row.get(3)?,
        };
        users.entry(row.get(0)?).or_default().push(stored);
    }
    rows.finish()?;
    Ok(users)
}

/// The users with one password at all hosts: a server decides by the host of the proxy which of several it is, and the proxy does not
/// know how. Those that are for clients of the server's machine only are not for a proxy's clients, who come from anywhere.
fn accounts(users: Users, listener: &str) -> (Vec<AccountConfig>, String) {
    let mut left_out = Vec::new();
    let mut accounts = Vec::new();
    for (user, stored) in users {
        if stored.iter().all(|one| one.is_locked) {
            continue;
        }
        let mut passwords: Vec<_> = stored
            .iter()
            .map(|one| one.password.as_deref().filter(|_| !one.is_locked))
            .collect();
        passwords.dedup();
        let hash = match passwords[..] {
            [Some(password)] if !stored.iter().all(|one| one.is_local) => {
                StoredHash::from_text(password)
            }
            _ => None,
        };
        match hash {
            None => left_out.push(user),
            hash => accounts.push(AccountConfig {
                hash,
                is_of_server: true,
                ..AccountConfig::new(user, Secret::default())
            }),
        }
    }
    if left_out.is_empty() {
        return (accounts, String::new());
    }
    let named = left_out.iter().take(NAMED).map(|user| format!("'{user}'"));
    let named = named.collect::<Vec<_>>().join(", ");
    let more = left_out.len().saturating_sub(NAMED);
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let said = format!(
        "listener '{listener}' does not let in {named}{more} by the server's accounts: they have no password of mysql_native_password or \
         caching_sha2_password, several passwords, or are for localhost only; give them in `account` if they are to log in"
    );
    (accounts, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host, and what is stored there.
    type Account<'a> = (&'a str, Option<&'a str>);

    fn read(users: &[(&str, &[Account<'_>])]) -> (Vec<String>, String) {
        let stored = |&(host, password): &Account<'_>| Stored {
            password: password.map(str::to_owned),
            is_local: host == "local",
            is_locked: host == "locked",
        };
        let users = users.iter().map(|(user, accounts)| {
            let accounts = accounts.iter().map(stored);
            ((*user).to_owned(), accounts.collect())
        });
        let (accounts, left_out) = accounts(users.collect(), "front");
        (
            accounts.into_iter().map(|account| account.user).collect(),
            left_out,
        )
    }

    #[test]
    fn users_with_one_hash_are_taken_and_others_are_named() {
        let one = Some("*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
        let other = Some("*6BB4837EB74329105EE4568DDA7DC67ED2CA2AD9");
        let (taken, left_out) = read(&[
            ("one", &[("far", one)]),
            ("everywhere", &[("far", one), ("local", one)]),
            ("different", &[("far", one), ("far", other)]),
            ("partly", &[("far", one), ("far", None)]),
            ("partly locked", &[("far", one), ("locked", one)]),
            ("plugin", &[("far", None)]),
            ("without", &[("far", Some(""))]),
            ("invalid", &[("far", Some("invalid"))]),
            ("local", &[("local", one)]),
            ("locked", &[("locked", one)]),
        ]);
        assert_eq!(taken, ["everywhere", "one"]);
        let named = "'different', 'invalid', 'local', 'partly', 'partly locked' and 2 more";
        assert!(left_out.contains(named), "{left_out}");
        let (taken, left_out) = read(&[("one", &[("far", one)]), ("locked", &[("locked", one)])]);
        assert_eq!((taken.len(), left_out.as_str()), (1, ""));
    }
}
