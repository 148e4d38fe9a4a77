//! The SQL that fills a new data folder.
//!
//! We feed MariaDB's own scripts to `mariadbd --bootstrap` and leave `mariadb-install-db` alone: that needs
//! `my_print_defaults` from the client package, and as root it changes the owner of files outside the data folder.
//! MySQL has its scripts inside: `mysqld --initialize-insecure` needs the accounts alone.

use std::fs;
use std::path::Path;

use super::ServerKind;
use super::find::ServerBinary;
use crate::private::StartError;

/// System tables, then their first rows. The names changed with MariaDB 11.
const SCRIPTS: [[&str; 2]; 2] = [
    ["mariadb_system_tables.sql", "mysql_system_tables.sql"],
    [
        "mariadb_system_tables_data.sql",
        "mysql_system_tables_data.sql",
    ],
];

/// Everything from an empty folder to `root` with its password and an empty database `test`.
pub(super) fn bootstrap(binary: &ServerBinary, root_password: &str) -> Result<Vec<u8>, StartError> {
    match binary.kind {
        ServerKind::MariaDb => mariadb(&binary.share, root_password),
        ServerKind::MySql => Ok(mysql(root_password).into_bytes()),
    }
}

fn mariadb(share: &Path, root_password: &str) -> Result<Vec<u8>, StartError> {
    let mut sql = b"CREATE DATABASE mysql;\nUSE mysql;\n".to_vec();
    for names in SCRIPTS {
        let script = names
            .iter()
            .map(|name| share.join(name))
            .find(|path| path.is_file());
        let script = script.unwrap_or_else(|| share.join(names[0]));
        sql.extend(fs::read(&script).map_err(StartError::io("read", &script))?);
        sql.push(b'\n');
    }
    sql.extend(mariadb_accounts(root_password).into_bytes());
    Ok(sql)
}

/// One statement a line: an older `--bootstrap` reads line by line.
fn mariadb_accounts(root_password: &str) -> String {
    let password = quoted(root_password);
    let mut sql = String::from("DELETE FROM mysql.global_priv WHERE User IN ('', 'root');\n");
    sql.push_str("DELETE FROM mysql.proxies_priv;\n");
    sql.push_str("FLUSH PRIVILEGES;\n");
    for host in ["localhost", "127.0.0.1"] {
        sql.push_str(&format!(
            "CREATE USER root@'{host}' IDENTIFIED BY {password};\n"
        ));
        sql.push_str(&format!(
            "GRANT ALL PRIVILEGES ON *.* TO root@'{host}' WITH GRANT OPTION;\n"
        ));
    }
    sql.push_str("CREATE DATABASE test;\n");
    sql
}

/// One account for the socket and for TCP: the cache of `caching_sha2_password` is by account, and a login over the socket
/// warms it for both.
fn mysql(root_password: &str) -> String {
    format!(
        "DROP USER root@localhost;\n\
         CREATE USER root@'%' IDENTIFIED WITH caching_sha2_password BY {};\n\
         GRANT ALL PRIVILEGES ON *.* TO root@'%' WITH GRANT OPTION;\n\
         CREATE DATABASE test;\n",
        quoted(root_password)
    )
}

/// A string literal for the default `sql_mode`, on one line.
fn quoted(text: &str) -> String {
    let mut literal = String::from("'");
    for character in text.chars() {
        match character {
            '\'' => literal.push_str("''"),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\0' => literal.push_str("\\0"),
            other => literal.push(other),
        }
    }
    literal.push('\'');
    literal
}

#[cfg(test)]
mod tests;
