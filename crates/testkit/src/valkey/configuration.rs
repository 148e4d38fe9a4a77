//! The server's configuration file.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::certificate::CertificateFiles;

use super::launch::Address;

/// What does not change from one start to the next.
#[derive(Debug)]
pub(super) struct Configuration {
    /// Of the user `default`.
    pub(super) password: Option<String>,
    /// A name and its password.
    pub(super) user: (String, String),
    pub(super) tls: Option<Tls>,
    /// Whether it watches other servers and stores nothing.
    pub(super) is_sentinel: bool,
    pub(super) directives: Vec<String>,
}

/// The files of a server that speaks TLS.
#[derive(Debug)]
pub(super) struct Tls {
    pub(super) authority: PathBuf,
    pub(super) files: CertificateFiles,
}

/// Ours, whatever the server. Nothing is stored, and no limit stands in the way of a test.
const DIRECTIVES: [&str; 10] = [
    "bind 127.0.0.1",
    "unixsocketperm 700",
    "save \"\"",
    "appendonly no",
    "timeout 0",
    // As far as the limit for open files allows, to which the server brings it down.
    "maxclients 20000",
    "tcp-backlog 4096",
    // Values of more than the usual 512 MiB, and the commands around them.
    "proto-max-bulk-len 8589934592",
    "client-query-buffer-limit 9663676416",
    // Its standard output, which is the log.
    "logfile \"\"",
];

/// From here on `DEBUG` is forbidden unless allowed, and the directive exists.
const DEBUG_IS_ALLOWED: (u32, u32) = (7, 0);

/// From here on a user's rights to channels are given apart.
const CHANNELS_ARE_GIVEN: (u32, u32) = (6, 2);

impl Configuration {
    /// The file's text, for a server of this release.
    pub(super) fn text(&self, release: (u32, u32), address: &Address, folder: &Path) -> Vec<u8> {
        let mut text = Vec::new();
        let mut line = |words: &[&[u8]]| {
            text.extend(words.join(&b' '));
            text.push(b'\n');
        };
        for directive in DIRECTIVES {
            line(&[directive.as_bytes()]);
        }
        line(&[b"port", address.port.to_string().as_bytes()]);
        line(&[b"unixsocket", &quoted_path(&address.socket)]);
        line(&[b"dir", &quoted_path(folder)]);
        if release >= DEBUG_IS_ALLOWED {
            line(&[b"enable-debug-command local"]);
        }
        if let Some(password) = &self.password {
            line(&[b"requirepass", &quoted(password.as_bytes())]);
        }
        let (name, password) = &self.user;
        let password = quoted(format!(">{password}").as_bytes());
        line(&[
            b"user",
            name.as_bytes(),
            b"on",
            &password,
            b"~* +@all",
            channels(release),
        ]);
        if let (Some(tls), Some(port)) = (&self.tls, address.tls_port) {
            line(&[b"tls-port", port.to_string().as_bytes()]);
            line(&[b"tls-cert-file", &quoted_path(&tls.files.certificate)]);
            line(&[b"tls-key-file", &quoted_path(&tls.files.key)]);
            line(&[b"tls-ca-cert-file", &quoted_path(&tls.authority)]);
            line(&[b"tls-auth-clients optional"]);
        }
        for directive in &self.directives {
            line(&[directive.as_bytes()]);
        }
        text
    }
}

fn channels(release: (u32, u32)) -> &'static [u8] {
    if release >= CHANNELS_ARE_GIVEN {
        b"&*"
    } else {
        b""
    }
}

fn quoted_path(path: &Path) -> Vec<u8> {
    quoted(path.as_os_str().as_bytes())
}

/// In quotes, with an escape for each byte that could mean something.
fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut text = vec![b'"'];
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'/' | b'>' => {
                text.push(*byte)
            }
            other => text.extend(format!("\\x{other:02x}").bytes()),
        }
    }
    text.push(b'"');
    text
}

#[cfg(test)]
mod tests;
