//! What clients of a pooled listener are told of the server before they have one.

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::auth::Plugin;

use crate::packed::{Packer, Unpacker};

/// From the greeting of the backend that was connected to last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) version: Vec<u8>,
    pub(crate) capabilities: Capabilities,
    pub(crate) collation: u8,
    /// The plugin that logins begin with.
    pub(crate) plugin: Plugin,
}

/// What belongs to a login and a stream, and is agreed on with each side by itself.
const LOGIN: Capabilities = Capabilities::SSL
    .union(Capabilities::COMPRESS)
    .union(Capabilities::ZSTD_COMPRESSION_ALGORITHM)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::SSL_VERIFY_SERVER_CERT)
    .union(Capabilities::REMEMBER_OPTIONS)
    .union(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS);

/// What can't be shared: a server that leaves out definitions which *this* client has, attributes of statements, several
/// factors, and rows in bulk.
const UNSHARED: Capabilities = Capabilities::MARIADB_CACHE_METADATA
    .union(Capabilities::OPTIONAL_RESULTSET_METADATA)
    .union(Capabilities::QUERY_ATTRIBUTES)
    .union(Capabilities::MULTI_FACTOR_AUTHENTICATION)
    .union(Capabilities::MARIADB_COM_MULTI)
    .union(Capabilities::MARIADB_STMT_BULK_OPERATIONS)
    .union(Capabilities::MARIADB_BULK_UNIT_RESULTS);

impl Facts {
    /// For another process of the proxy.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut to = Packer::default();
        to.bytes(&self.version);
        to.u64(self.capabilities.bits());
        to.byte(self.collation);
        to.bytes(self.plugin.name().as_bytes());
        to.finish()
    }

    /// `None` where the bytes are none.
    pub(crate) fn unpack(bytes: &[u8]) -> Option<Self> {
        let mut from = Unpacker::new(bytes);
        let facts = Self {
            version: from.bytes()?.to_vec(),
            capabilities: Capabilities(from.u64()?),
            collation: from.byte()?,
            plugin: Plugin::from_name(from.bytes()?)?,
        };
        from.end()?;
        Some(facts)
    }

    /// What clients are offered.
    pub(crate) fn offered(&self, has_tls: bool) -> Capabilities {
        let ours = Capabilities::PLUGIN_AUTH
            | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA
            | Capabilities::CONNECT_ATTRS
            | Capabilities::CONNECT_WITH_DB;
        let stream =
            Capabilities::SSL | Capabilities::COMPRESS | Capabilities::ZSTD_COMPRESSION_ALGORITHM;
        let offered = (self.capabilities | ours)
            .difference(UNSHARED)
            .difference(stream);
        match has_tls {
            true => offered | Capabilities::SSL,
            false => offered,
        }
    }

    /// With which capabilities the proxy logs in for a client: whoever has the same can use the same connections.
    pub(crate) fn shared(&self, agreed: Capabilities) -> Capabilities {
        let shared = agreed.difference(LOGIN).difference(UNSHARED);
        // A server without it is refused.
        shared | Capabilities::SESSION_TRACK
    }
}
