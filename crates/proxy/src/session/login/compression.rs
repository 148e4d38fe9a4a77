//! What each side has agreed on to compress by, and its beginning.

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::compression::{Algorithm, Method};
use onecopy_mysql_proto::relay::Side;
use onecopy_wire::Buffers;

use crate::session::Session;
use crate::session::compressed::Compressed;

/// The highest level that a client may ask for with zstd, which is its server's level too: beyond it a frame takes the loop
/// that all sessions share for milliseconds.
const MAX_CLIENT_LEVEL: u8 = 9;

/// How bytes are compressed on each side.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Methods {
    pub(super) client: Option<Method>,
    pub(super) server: Option<Method>,
}

impl Methods {
    /// What is said to the server.
    pub(super) fn to_server(self) -> Capabilities {
        let method = self.server;
        method.map_or(Capabilities::default(), |method| {
            method.algorithm().capability()
        })
    }

    /// With zstd the level is the response's last byte, and the server's level too.
    pub(super) fn put_level(self, response: &mut [u8]) {
        if let (Some(method), Some(level)) = (self.server, response.last_mut())
            && method.algorithm() == Algorithm::Zstd
        {
            *level = method.level();
        }
    }
}

/// What a client compresses by that has agreed on `capabilities`.
pub(super) fn of_client(capabilities: Capabilities, zstd_level: Option<u8>) -> Option<Method> {
    let algorithm = Algorithm::agreed(capabilities)?;
    let default = Method::default_level(algorithm);
    let level = match algorithm {
        Algorithm::Zlib => default,
        Algorithm::Zstd => zstd_level.unwrap_or(default).min(MAX_CLIENT_LEVEL),
    };
    Some(Method::new(algorithm, level))
}

/// Why a backend does not do that is told to compress.
pub(super) fn not_offered(method: Option<Method>, backend: Capabilities) -> Option<String> {
    let algorithm = method?.algorithm();
    if backend.contains(algorithm.capability()) {
        return None;
    }
    Some(format!(
        "it does not offer compression by {algorithm}, which is asked for: see its setting \
         protocol_compression_algorithms, or set `compression` otherwise"
    ))
}

impl Session {
    /// From here on each side is compressed that has agreed on it. `client` and `server` are what the login has read; gives back
    /// what is not compressed.
    pub(super) fn compress(
        &mut self,
        methods: Methods,
        client: Buffers,
        server: Buffers,
    ) -> [Option<Buffers>; 2] {
        let mut rest = [Some(client), Some(server)];
        let [of_client, of_server] = &mut rest;
        let sides = [
            (
                Some(&mut self.client),
                methods.client,
                Side::Client,
                of_client,
            ),
            (
                self.server.as_mut(),
                methods.server,
                Side::Server,
                of_server,
            ),
        ];
        for (peer, method, side, buffers) in sides {
            let (Some(peer), Some(method)) = (peer, method) else {
                continue;
            };
            let Some(read_ahead) = buffers.take() else {
                continue;
            };
            let compressed = Compressed::new(side, method, read_ahead);
            // No event reports the bytes that have arrived already.
            peer.is_readable |= compressed.has_read_ahead();
            peer.compressed = Some(Box::new(compressed));
            self.is_compressed = true;
            if side == Side::Client {
                self.relay.tell_results();
            }
        }
        rest
    }
}
