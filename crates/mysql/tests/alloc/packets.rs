//! Packets of the scripts: a login without a password, results, and a ping behind each conversation.

use onecopy_mysql::{Config, SslMode, StatusFlags};
use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::packet::{ConnectAttributes, Greeting, HandshakeResponse};
use onecopy_testkit::script::{Script, lenenc, packets};

pub(crate) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// An OK packet in the place of an EOF.
pub(crate) const ROWS_END: &[u8] = &[0xFE, 0, 0, 2, 0, 0, 0];

/// The same, and a further result follows.
pub(crate) const ROWS_END_MORE: &[u8] = &[0xFE, 0, 0, 10, 0, 0, 0];

const NATIVE: &[u8] = b"mysql_native_password";

pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.user = "ada".into();
    config.ssl_mode = Some(SslMode::Disabled);
    config
}

/// What the servers of these scripts can do, attributes and a default database apart.
const OFFERED: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.0
        | Capabilities::LONG_FLAG.0
        | Capabilities::PROTOCOL_41.0
        | Capabilities::TRANSACTIONS.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::MULTI_RESULTS.0
        | Capabilities::PS_MULTI_RESULTS.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA.0
        | Capabilities::SESSION_TRACK.0
        | Capabilities::DEPRECATE_EOF.0,
);

/// A greeting with these texts.
pub(crate) fn greeting(capabilities: Capabilities, version: &[u8], plugin: &[u8]) -> Script {
    let mut greeting = Vec::new();
    Greeting {
        server_version: version,
        connection_id: 7,
        nonce_head: *b"12345678",
        nonce_tail: b"abcdefghijkl",
        capabilities: OFFERED | capabilities,
        collation: 45,
        status_flags: StatusFlags::AUTOCOMMIT,
        auth_plugin: Some(plugin),
    }
    .encode(&mut greeting)
    .unwrap();
    Script::new().server_packets(0, &[&greeting])
}

/// What the client must answer: its user, database and attributes, and no password.
pub(crate) fn response(config: &Config, capabilities: Capabilities, plugin: &[u8]) -> Vec<u8> {
    let mut attributes = Vec::new();
    let pid = std::process::id().to_string();
    let own = [
        ("_client_name", "onecopy"),
        ("_client_version", env!("CARGO_PKG_VERSION")),
        ("_os", std::env::consts::OS),
        ("_platform", std::env::consts::ARCH),
        ("_pid", &pid),
    ];
    let others = config.attributes.iter();
    for (name, value) in own
        .into_iter()
        .chain(others.map(|(name, value)| (name.as_str(), value.as_str())))
    {
        ConnectAttributes::push(&mut attributes, name.as_bytes(), value.as_bytes());
    }
    let mut response = Vec::new();
    HandshakeResponse {
        capabilities: OFFERED | capabilities,
        max_packet_bytes: 1 << 30,
        collation: 45,
        user: config.user.as_bytes(),
        // A lone NUL is caching_sha2_password's word for no password.
        auth_response: if plugin == NATIVE { b"" } else { b"\0" },
        database: config.database.as_deref().map(str::as_bytes),
        auth_plugin: Some(plugin),
        attributes: ConnectAttributes::from_encoded(&attributes),
        zstd_level: None,
    }
    .encode(&mut response)
    .unwrap();
    packets(&mut 1, &response)
}

/// The login that the conversations begin with.
pub(crate) fn login() -> Script {
    let none = Capabilities::empty();
    greeting(none, b"8.4.3", NATIVE)
        .client(&response(&config(), none, NATIVE))
        .server_packets(2, &[OK])
}

/// A command, its reply, and a ping behind it.
pub(crate) fn exchange(command: &[u8], reply: &[&[u8]]) -> Script {
    answered(login().command(command).server_packets(1, reply))
}

/// A ping behind what was said so far.
pub(crate) fn answered(script: Script) -> Script {
    script.command(b"\x0e").server_packets(1, &[OK])
}

pub(crate) fn command(byte: u8, text: &[u8]) -> Vec<u8> {
    [&[byte], text].concat()
}

/// A BLOB of this name.
pub(crate) fn column(name: &str) -> Vec<u8> {
    let mut column = b"\x03def\0\0\0".to_vec();
    column.extend(lenenc(name.len()));
    column.extend_from_slice(name.as_bytes());
    column.extend_from_slice(b"\0\x0C\x3F\0\xFF\xFF\xFF\xFF\xFC\x90\0\0\0\0");
    column
}

/// A result of the text protocol, its end included.
pub(crate) fn result(columns: &[Vec<u8>], rows: &[Vec<u8>], end: &[u8]) -> Vec<Vec<u8>> {
    let mut result = vec![lenenc(columns.len())];
    result.extend_from_slice(columns);
    result.extend_from_slice(rows);
    result.push(end.to_vec());
    result
}

pub(crate) fn borrowed(payloads: &[Vec<u8>]) -> Vec<&[u8]> {
    payloads.iter().map(Vec::as_slice).collect()
}
