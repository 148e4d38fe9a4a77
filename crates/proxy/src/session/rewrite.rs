//! The capability bits of a login's packets, in place: all else stays byte for byte as it came.

use onecopy_mysql_proto::Capabilities;

/// Bytes behind the server's version and in front of its lower capabilities: id, first part of the nonce, filler.
const BEFORE_LOWER: usize = 4 + 8 + 1;

/// Where the extended capabilities begin in a client's response, behind capabilities, packet size, collation and filler.
const RESPONSE_EXTENDED: usize = 4 + 4 + 1 + 19;

/// Has a greeting, which was decoded before, offer `capabilities`.
pub(super) fn greeting(payload: &mut [u8], capabilities: Capabilities) {
    let version = payload
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or_default();
    let lower = version + 1 + BEFORE_LOWER;
    let [c0, c1, c2, c3] = capabilities.mysql().to_le_bytes();
    put(payload, lower, &[c0, c1]);
    // Collation and status are between the two.
    put(payload, lower + 5, &[c2, c3]);
    if !capabilities.contains(Capabilities::LONG_PASSWORD) {
        put(
            payload,
            lower + 14,
            &capabilities.mariadb_extended().to_le_bytes(),
        );
    }
}

/// Has a client's response, which was decoded before, ask for `capabilities`.
pub(super) fn response(payload: &mut [u8], capabilities: Capabilities) {
    put(payload, 0, &capabilities.mysql().to_le_bytes());
    if !capabilities.contains(Capabilities::LONG_PASSWORD) {
        put(
            payload,
            RESPONSE_EXTENDED,
            &capabilities.mariadb_extended().to_le_bytes(),
        );
    }
}

fn put(payload: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = payload.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use onecopy_mysql_proto::StatusFlags;
    use onecopy_mysql_proto::packet::{Greeting, HandshakeResponse};

    use super::*;

    const OFFERED: Capabilities = Capabilities::PROTOCOL_41
        .union(Capabilities::SECURE_CONNECTION)
        .union(Capabilities::PLUGIN_AUTH);

    #[test]
    fn only_the_capabilities_of_a_greeting_change() {
        for extended in [
            Capabilities::LONG_PASSWORD,
            Capabilities::MARIADB_CACHE_METADATA,
        ] {
            let greeting = Greeting {
                server_version: b"11.8.6-MariaDB",
                connection_id: 0x0102_0304,
                nonce_head: *b"12345678",
                nonce_tail: b"abcdefghijkl",
                capabilities: OFFERED | Capabilities::SSL | extended,
                collation: 45,
                status_flags: StatusFlags(2),
                auth_plugin: Some(b"mysql_native_password"),
            };
            let mut payload = Vec::new();
            greeting.encode(&mut payload).unwrap();
            super::greeting(&mut payload, OFFERED | extended);
            let expected = Greeting {
                capabilities: OFFERED | extended,
                ..greeting
            };
            assert_eq!(Greeting::decode(&payload).unwrap(), expected);
        }
    }

    #[test]
    fn only_the_capabilities_of_a_response_change() {
        for extended in [
            Capabilities::LONG_PASSWORD,
            Capabilities::MARIADB_CACHE_METADATA,
        ] {
            let response = HandshakeResponse {
                capabilities: OFFERED | extended,
                max_packet_bytes: 1 << 24,
                collation: 45,
                user: b"app",
                auth_response: &[7; 20],
                database: None,
                auth_plugin: Some(b"mysql_native_password"),
                attributes: Default::default(),
                zstd_level: None,
            };
            let mut payload = Vec::new();
            response.encode(&mut payload).unwrap();
            super::response(&mut payload, OFFERED | Capabilities::SSL | extended);
            let expected = HandshakeResponse {
                capabilities: OFFERED | Capabilities::SSL | extended,
                ..response
            };
            assert_eq!(HandshakeResponse::decode(&payload).unwrap(), expected);
        }
    }
}
