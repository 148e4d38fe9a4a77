//! A TCP port for a server.

use std::collections::HashSet;
use std::net::TcpListener;
use std::sync::{Mutex, PoisonError};

use super::{StartError, random_hex};

/// Between our look for a free port and the server's bind another process may take it.
pub(crate) const PORT_ATTEMPTS: u32 = 5;

/// Below the ports that Linux, BSD and macOS give to outgoing connections: while a server is down for a test, none of the
/// clients that try to reach it may be given its port, or connect to itself.
const FIRST: u16 = 20_000;
const COUNT: u32 = 12_000;

/// Tries before the last one, for which the system chooses; it may choose one that was given before.
const TRIES: u32 = 1_000;

/// Ports that this process was given before. Servers that a test has killed are looked for at theirs still: another test's server there
/// would answer in their place.
static GIVEN: Mutex<Option<HashSet<u16>>> = Mutex::new(None);

/// A port of 127.0.0.1 on which nobody listens now, and which was not given before.
pub(crate) fn free_port() -> Result<u16, StartError> {
    for _ in 0..TRIES {
        let port = random_port()?;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() && is_new(port) {
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

fn is_new(port: u16) -> bool {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    given.get_or_insert_default().insert(port)
}

fn random_port() -> Result<u16, StartError> {
    let hex = random_hex()?;
    let random = u32::from_str_radix(&hex[..8], 16).unwrap_or_default();
    Ok(FIRST + u16::try_from(random % COUNT).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice() {
        let ports: Vec<u16> = (0..500).map(|_| free_port().unwrap()).collect();
        let different: HashSet<&u16> = ports.iter().collect();
        assert_eq!(different.len(), ports.len());
    }
}
