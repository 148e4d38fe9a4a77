//! URLs of a private server.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::private::percent_encoded;

/// `USER:PASSWORD@`, the user empty for `default`.
pub(super) fn login(user: &str, password: &str) -> String {
    format!(
        "{}:{}@",
        percent_encoded(user.as_bytes()),
        percent_encoded(password.as_bytes())
    )
}

/// `redis://LOGIN127.0.0.1:PORT`
pub(super) fn tcp(login: &str, port: u16) -> String {
    format!("redis://{login}127.0.0.1:{port}")
}

/// `rediss://LOGIN127.0.0.1:PORT?tls-ca=PATH`
pub(super) fn tls(login: &str, port: u16, authority: &Path) -> String {
    let authority = percent_encoded(authority.as_os_str().as_bytes());
    format!("rediss://{login}127.0.0.1:{port}?tls-ca={authority}")
}

/// `SCHEME://HOST:PORT,HOST:PORT,...PATH?tls-ca=PATH`
pub(super) fn tls_of_all(
    scheme: &str,
    host: &str,
    ports: &[u16],
    path: &str,
    authority: &Path,
) -> String {
    let hosts: Vec<String> = ports.iter().map(|port| format!("{host}:{port}")).collect();
    let authority = percent_encoded(authority.as_os_str().as_bytes());
    format!("{scheme}://{}{path}?tls-ca={authority}", hosts.join(","))
}

/// `redis+unix://LOGIN/PATH`
pub(super) fn socket(login: &str, path: &Path) -> String {
    let parts = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
    let parts: Vec<String> = parts.map(percent_encoded).collect();
    format!("redis+unix://{login}{}", parts.join("/"))
}

#[cfg(test)]
mod tests;
