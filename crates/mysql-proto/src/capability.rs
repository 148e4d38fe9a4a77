//! Capabilities of clients and servers, exchanged in the handshake.
//!
//! The names are the specification's without `CLIENT_`, see
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__capabilities__flags.html> and, for MariaDB's,
//! <https://mariadb.com/kb/en/connection/#capabilities>.

use crate::flag_set::flag_set;

flag_set! {
    /// Capability flags: MySQL's in the lower 32 bits, MariaDB's extended ones in the upper 32.
    ///
    /// MariaDB sends its own flags in bytes that MySQL leaves unused, and only if [`LONG_PASSWORD`](Self::LONG_PASSWORD) is not
    /// set. A connection uses the intersection of the flags that both sides sent.
    pub struct Capabilities(u64);

    /// MySQL: always set. MariaDB calls it `CLIENT_MYSQL` and leaves it out, which tells the two apart.
    const LONG_PASSWORD = 1;
    /// Affected rows are the rows found, not the rows changed.
    const FOUND_ROWS = 1 << 1;
    /// Column flags take two bytes.
    const LONG_FLAG = 1 << 2;
    /// The handshake response names a database.
    const CONNECT_WITH_DB = 1 << 3;
    /// `database.table.column` is not allowed.
    const NO_SCHEMA = 1 << 4;
    /// zlib compression.
    const COMPRESS = 1 << 5;
    /// An ODBC client; without effect since MySQL 3.22.
    const ODBC = 1 << 6;
    /// `LOAD DATA LOCAL` is possible.
    const LOCAL_FILES = 1 << 7;
    /// Spaces before `(` are ignored.
    const IGNORE_SPACE = 1 << 8;
    /// The protocol of MySQL 4.1 and later, the only one supported here.
    const PROTOCOL_41 = 1 << 9;
    /// `interactive_timeout` applies, not `wait_timeout`.
    const INTERACTIVE = 1 << 10;
    /// The connection switches to TLS after an `SSLRequest`.
    const SSL = 1 << 11;
    /// A broken pipe raises no signal; relevant only to the C client.
    const IGNORE_SIGPIPE = 1 << 12;
    /// OK and EOF packets contain status flags.
    const TRANSACTIONS = 1 << 13;
    /// Set by old clients, without meaning.
    const RESERVED = 1 << 14;
    /// The authentication of MySQL 4.1: a nonce of 20 bytes, and a response with its own length.
    const SECURE_CONNECTION = 1 << 15;
    /// Several statements in one `COM_QUERY`.
    const MULTI_STATEMENTS = 1 << 16;
    /// Several results to one `COM_QUERY`.
    const MULTI_RESULTS = 1 << 17;
    /// Several results to one `COM_STMT_EXECUTE`.
    const PS_MULTI_RESULTS = 1 << 18;
    /// Authentication plugins are named.
    const PLUGIN_AUTH = 1 << 19;
    /// Connection attributes.
    const CONNECT_ATTRS = 1 << 20;
    /// The authentication response has a length-encoded length, so it may be longer than 255 bytes.
    const PLUGIN_AUTH_LENENC_CLIENT_DATA = 1 << 21;
    /// The client can handle an expired password.
    const CAN_HANDLE_EXPIRED_PASSWORDS = 1 << 22;
    /// OK packets may contain session state changes.
    const SESSION_TRACK = 1 << 23;
    /// An OK packet with header 0xFE ends rows, and no EOF packet is sent between columns and rows.
    const DEPRECATE_EOF = 1 << 24;
    /// MySQL: column definitions may be omitted, controlled by `resultset_metadata`.
    const OPTIONAL_RESULTSET_METADATA = 1 << 25;
    /// zstd compression.
    const ZSTD_COMPRESSION_ALGORITHM = 1 << 26;
    /// MySQL: `COM_QUERY` and `COM_STMT_EXECUTE` may contain query attributes.
    const QUERY_ATTRIBUTES = 1 << 27;
    /// MySQL: authentication may have more than one factor.
    const MULTI_FACTOR_AUTHENTICATION = 1 << 28;
    /// Reserved for an extension of these flags.
    const CAPABILITY_EXTENSION = 1 << 29;
    /// The server's certificate was verified; relevant only to the C client.
    const SSL_VERIFY_SERVER_CERT = 1 << 30;
    /// Options are kept after a failed connect; relevant only to the C client.
    const REMEMBER_OPTIONS = 1 << 31;

    /// MariaDB: progress reports are sent as ERR packets with code 0xFFFF.
    const MARIADB_PROGRESS = 1 << 32;
    /// MariaDB 10.2 to 10.4: several commands in one packet.
    const MARIADB_COM_MULTI = 1 << 33;
    /// MariaDB 10.2: `COM_STMT_BULK_EXECUTE`.
    const MARIADB_STMT_BULK_OPERATIONS = 1 << 34;
    /// MariaDB 10.5.2: column definitions contain a type name or a format.
    const MARIADB_EXTENDED_METADATA = 1 << 35;
    /// MariaDB 10.6: a result may omit column definitions that the client already has.
    const MARIADB_CACHE_METADATA = 1 << 36;
    /// MariaDB 11.5.1: one result for each row of a bulk execute.
    const MARIADB_BULK_UNIT_RESULTS = 1 << 37;
}

impl Capabilities {
    /// Creates them from MySQL's 32 bits and MariaDB's 32 extended ones, as in the handshake.
    pub const fn from_wire(mysql: u32, mariadb_extended: u32) -> Self {
        let [a, b, c, d] = mysql.to_le_bytes();
        let [e, f, g, h] = mariadb_extended.to_le_bytes();
        Self(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
    }

    /// Returns MySQL's 32 bits.
    pub const fn mysql(self) -> u32 {
        let [a, b, c, d, ..] = self.0.to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    /// Returns MariaDB's 32 extended bits.
    pub const fn mariadb_extended(self) -> u32 {
        let [_, _, _, _, e, f, g, h] = self.0.to_le_bytes();
        u32::from_le_bytes([e, f, g, h])
    }

    /// What goes into the extended field of a handshake packet: nothing beside `LONG_PASSWORD`, with which the other
    /// side takes these bytes for filler.
    pub(crate) const fn extended_to_send(self) -> u32 {
        if self.contains(Self::LONG_PASSWORD) {
            0
        } else {
            self.mariadb_extended()
        }
    }

    /// The capabilities of a handshake packet: the extended field counts only without `LONG_PASSWORD`.
    pub(crate) const fn from_handshake(mysql: u32, extended: u32) -> Self {
        let capabilities = Self::from_wire(mysql, 0);
        if capabilities.contains(Self::LONG_PASSWORD) {
            capabilities
        } else {
            Self::from_wire(mysql, extended)
        }
    }
}

#[cfg(test)]
mod tests;
