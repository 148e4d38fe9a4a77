//! URLs of a private server.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `mysql://root:PASSWORD@127.0.0.1:PORT/test`
pub(super) fn tcp(password: &str, port: u16) -> String {
    format!(
        "mysql://root:{}@127.0.0.1:{port}/test",
        encoded(password.as_bytes())
    )
}

/// `mysql://root:PASSWORD@localhost/test?socket=PATH`
pub(super) fn socket(password: &str, path: &Path) -> String {
    let path = encoded(path.as_os_str().as_bytes());
    format!(
        "mysql://root:{}@localhost/test?socket={path}",
        encoded(password.as_bytes())
    )
}

/// `mysql://root:PASSWORD@127.0.0.1:PORT/test?ssl-mode=verify-full&ssl-ca=PATH`
pub(super) fn tls(password: &str, port: u16, authority: &Path) -> String {
    let authority = encoded(authority.as_os_str().as_bytes());
    format!(
        "{}?ssl-mode=verify-full&ssl-ca={authority}",
        tcp(password, port)
    )
}

/// Percent-encodes all but RFC 3986's unreserved characters, so the result fits in any part of a URL.
fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(*byte))
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests;
