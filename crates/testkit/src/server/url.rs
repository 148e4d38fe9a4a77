//! URLs of a private server.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::private::percent_encoded;

/// `mysql://root:PASSWORD@127.0.0.1:PORT/test`
pub(super) fn tcp(password: &str, port: u16) -> String {
    format!(
        "mysql://root:{}@127.0.0.1:{port}/test",
        percent_encoded(password.as_bytes())
    )
}

/// `mysql://root:PASSWORD@localhost/test?socket=PATH`
pub(super) fn socket(password: &str, path: &Path) -> String {
    let path = percent_encoded(path.as_os_str().as_bytes());
    format!(
        "mysql://root:{}@localhost/test?socket={path}",
        percent_encoded(password.as_bytes())
    )
}

/// `mysql://root:PASSWORD@127.0.0.1:PORT/test?ssl-mode=verify-full&ssl-ca=PATH`
pub(super) fn tls(password: &str, port: u16, authority: &Path) -> String {
    let authority = percent_encoded(authority.as_os_str().as_bytes());
    format!(
        "{}?ssl-mode=verify-full&ssl-ca={authority}",
        tcp(password, port)
    )
}

#[cfg(test)]
mod tests;
