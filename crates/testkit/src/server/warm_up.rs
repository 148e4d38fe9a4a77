//! One login as `root` over the Unix socket, after which MySQL knows the password's hash.
//!
//! `caching_sha2_password` checks a hash against its cache, and the cache is empty when the server starts. Until one
//! login has sent the password itself, which only TLS, a Unix socket or a key from the server make safe, no login over
//! plain TCP succeeds. Tests of other things want to log in over plain TCP from the start.
//!
//! This is no client: it sends a hash that fits no password, is asked for the password, and sends it.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::greeting::read_packet;
use crate::private::StartError;

/// PROTOCOL_41, SECURE_CONNECTION (a hash behind its length), PLUGIN_AUTH.
const CAPABILITIES: u32 = 0x0000_0200 | 0x0000_8000 | 0x0008_0000;

const COM_QUIT: &[u8] = &[1];

/// Far above what a login takes, below a start's own patience.
const PATIENCE: Duration = Duration::from_secs(30);

/// Logs in once.
pub(super) fn warm_up(socket: &Path, root_password: &str) -> Result<(), StartError> {
    log_in(socket, root_password).map_err(StartError::io("log in as root over", socket))
}

fn log_in(socket: &Path, root_password: &str) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    read_packet(&mut stream)?;
    stream.write_all(&packet(1, &response(root_password)))?;
    let mut sequence = 3;
    loop {
        match *read_packet(&mut stream)?.as_slice() {
            // OK. What were left open here the server would count as an aborted connection, somewhat later.
            [0x00, ..] => {
                stream.write_all(&packet(0, COM_QUIT))?;
                return stream.read_to_end(&mut Vec::new()).map(drop);
            }
            // AuthMoreData: the hash was found in the cache after all; an OK follows.
            [0x01, 0x03] => {}
            // AuthMoreData: the password itself is wanted.
            [0x01, 0x04] => {
                let password = [root_password.as_bytes(), b"\0"].concat();
                stream.write_all(&packet(sequence, &password))?;
                sequence = sequence.wrapping_add(2);
            }
            // AuthSwitchRequest: the server's default is another plugin than root's.
            [0xFE, ..] => {
                stream.write_all(&packet(sequence, hash(root_password)))?;
                sequence = sequence.wrapping_add(2);
            }
            ref other => {
                let text = String::from_utf8_lossy(other).into_owned();
                return Err(io::Error::other(text));
            }
        }
    }
}

/// A HandshakeResponse41.
fn response(root_password: &str) -> Vec<u8> {
    let mut payload = Vec::new();
    payload.extend(CAPABILITIES.to_le_bytes());
    payload.extend((1_u32 << 24).to_le_bytes());
    // utf8mb4_general_ci, then 23 bytes of filler.
    payload.push(45);
    payload.extend([0; 23]);
    payload.extend(b"root\0");
    let hash = hash(root_password);
    payload.extend(u8::try_from(hash.len()));
    payload.extend(hash);
    payload.extend(b"caching_sha2_password\0");
    payload
}

/// Of the right length and nothing else: 32 bytes, none for an empty password.
fn hash(root_password: &str) -> &'static [u8] {
    if root_password.is_empty() {
        &[]
    } else {
        &[b'x'; 32]
    }
}

/// A payload shorter than 64 KiB behind its header.
fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [low, high, ..] = payload.len().to_le_bytes();
    let mut packet = vec![low, high, 0, sequence];
    packet.extend(payload);
    packet
}
