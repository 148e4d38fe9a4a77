//! A TCP port for a server.

use std::net::TcpListener;

use super::{StartError, random_hex};

/// Between our look for a free port and the server's bind another process may take it.
pub(crate) const PORT_ATTEMPTS: u32 = 5;

/// Below the ports that Linux, BSD and macOS give to outgoing connections: while a server is down for a test, none of the
/// clients that try to reach it may be given its port, or connect to itself.
const FIRST: u16 = 20_000;
const COUNT: u32 = 12_000;

/// Tries before the last one, for which the system chooses.
const TRIES: u32 = 64;

/// A port of 127.0.0.1 on which nobody listens now.
pub(crate) fn free_port() -> Result<u16, StartError> {
    for _ in 0..TRIES {
        let port = random_port()?;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    let listener = TcpListener::bind(("127.0.0.1", 0))
        .map_err(StartError::io("bind a port on", "127.0.0.1"))?;
    let address = listener
        .local_addr()
        .map_err(StartError::io("ask for the port on", "127.0.0.1"))?;
    Ok(address.port())
}

fn random_port() -> Result<u16, StartError> {
    let hex = random_hex()?;
    let random = u32::from_str_radix(&hex[..8], 16).unwrap_or_default();
    Ok(FIRST + u16::try_from(random % COUNT).unwrap_or_default())
}
