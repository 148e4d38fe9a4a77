//! What the user can do about an error of MySQL or MariaDB, or of a connection to one.

use std::error::Error as _;
use std::io;

use onecopy_mysql::{AuthError, Error, ProtocolError};

/// A line that says what to do, where one is likely to help.
pub(crate) fn find(error: &Error) -> Option<&'static str> {
    if let Some(error) = error.server() {
        return server(error.code, &error.message);
    }
    if error.is_timeout() {
        return Some(
            "--timeout and, in the url, ?connect-timeout=, ?call-timeout= and ?statement-timeout= set the limits in seconds; \
             0 is none",
        );
    }
    if let Some(ProtocolError::Auth(AuthError::InsecureChannel { .. })) = error.protocol() {
        return Some(PASSWORD_ITSELF);
    }
    let source = error.source()?.downcast_ref::<io::Error>()?;
    match source.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Some(
            "mysql://user@HOST:PORT/ goes over TCP, mysql://user@localhost/?socket=PATH over a Unix socket",
        ),
        io::ErrorKind::PermissionDenied => Some("your OS user may not open this socket"),
        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => Some(
            "the server's log may say why; a packet over max_allowed_packet is a frequent reason",
        ),
        _ if error.to_string().contains("look up") => Some("check the host's name in the url"),
        _ => None,
    }
}

/// A password that is not the one in the server's cache is asked for as if it had none.
const PASSWORD_ITSELF: &str = "a wrong password ends like this too; to send it safely add ?ssl-mode=verify-ca&ssl-ca=FILE \
     (ca.pem of mysql's data directory), ?socket=PATH or ?server-public-key=FILE (public_key.pem there) to the url";

/// How the names of the benchmarks' tables begin.
const BENCH_TABLES: &str = "onecopy_bench_";

/// Hints by the server's error number. The numbers are the same in MySQL and MariaDB up to 1,900.
fn server(code: u16, message: &str) -> Option<&'static str> {
    Some(match code {
        1040 | 1203 | 1226 => {
            "the server has as many connections as it allows; try again, or raise max_connections"
        }
        1044 => "name a database in the url that this user may use; SHOW GRANTS lists what it may",
        1045 if message.contains("user ''") => "the url names no user: mysql://USER@host/database",
        1045 if message.contains("password: NO") => {
            "no password was given: -p asks for one, --password-file reads one, ONECOPY_PASSWORD holds one"
        }
        1045 => {
            "check user and password; a reserved character of the password is percent-encoded in a url, -p asks for it"
        }
        1046 => "name the database in the url, mysql://user@host/DATABASE, or as DATABASE.TABLE",
        1049 => {
            "SHOW DATABASES lists those that there are; the url's path names the one to start with"
        }
        1050 => "CREATE TABLE IF NOT EXISTS leaves a table that is there as it is",
        1054 => "SHOW COLUMNS FROM the table lists its columns; a text stands in single quotes",
        1062 => {
            "INSERT IGNORE passes over rows that are there; ON DUPLICATE KEY UPDATE changes them"
        }
        1064 if message.contains("near 'DELIMITER") || message.contains("near 'delimiter") => {
            "DELIMITER is a command of the mariadb client, not SQL; pass a statement that contains ';' as an argument, which is sent whole"
        }
        1064 => {
            "the server stopped reading at the text behind 'near'; each STATEMENT argument is sent as one, those on \
             standard input are split at ';'"
        }
        1130 => "the server lets no user in from this host; CREATE USER 'name'@'host' allows one",
        1142 | 1143 | 1227 | 1370 => "this user lacks the privilege; SHOW GRANTS lists what it has",
        1146 if message.contains(BENCH_TABLES) => {
            "onecopy bench setup --url URL makes the tables of the benchmarks"
        }
        1146 => "SHOW TABLES lists those that there are; names may differ in upper and lower case",
        1153 => {
            "the statement is longer than the server's max_allowed_packet; raise it there, or send less at once"
        }
        1205 | 1213 => "another transaction holds the lock; try again",
        1231 | 1193 => "SHOW VARIABLES lists the server's variables and their values",
        1290 | 1792 | 1836 => {
            "the server or the transaction is read only, or was started without that feature"
        }
        1317 => "the query was cancelled, by KILL QUERY or by a timeout",
        1698 => {
            "this user logs in as the machine's user of that name: sudo -u NAME, and ?socket=PATH in the url"
        }
        1969 | 3024 => {
            "the query was over the server's time limit: max_statement_time or max_execution_time"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use onecopy_mysql::blocking::Connection;

    use super::*;

    #[test]
    fn errors_of_servers_have_the_hint_for_their_number() {
        for (code, message, said) in [
            (1040, "", "max_connections"),
            (1044, "", "SHOW GRANTS"),
            (1045, "for user ''@'h'", "the url names no user"),
            (1045, "(using password: NO)", "-p asks for one"),
            (1045, "(using password: YES)", "percent-encoded"),
            (1046, "", "/DATABASE"),
            (1049, "", "SHOW DATABASES"),
            (1050, "", "IF NOT EXISTS"),
            (1054, "", "SHOW COLUMNS"),
            (1062, "", "INSERT IGNORE"),
            (1064, "near 'DELIMITER", "DELIMITER is a command"),
            (1064, "near 'SELEC", "behind 'near'"),
            (1130, "", "CREATE USER"),
            (1142, "", "lacks the privilege"),
            (1146, "'onecopy_bench_rows'", "onecopy bench setup"),
            (1146, "'shop.t'", "SHOW TABLES"),
            (1153, "", "max_allowed_packet"),
            (1213, "", "try again"),
            (1193, "", "SHOW VARIABLES"),
            (1290, "", "read only"),
            (1317, "", "cancelled"),
            (1698, "", "sudo -u"),
            (3024, "", "max_execution_time"),
        ] {
            let hint = server(code, message).unwrap_or_default();
            assert!(hint.contains(said), "{code} {message}: {hint}");
        }
        assert_eq!(server(1, ""), None);
    }

    #[test]
    fn a_host_that_has_no_address_is_to_be_checked() {
        // No name, so that nobody is asked for it.
        let error = Connection::connect("mysql://u@no..host/?ssl-mode=disabled").unwrap_err();
        assert_eq!(
            find(&error),
            Some("check the host's name in the url"),
            "{error}"
        );
    }
}
