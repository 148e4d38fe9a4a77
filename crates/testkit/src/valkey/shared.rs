//! One server for all tests of a process.

use std::env;
use std::sync::OnceLock;

use super::Server;
use crate::certificate::Authority;

/// The private server of this process, with TLS, started at first use and stopped when the process ends.
///
/// # Panics
/// Where no server can be had, with the reason: a test that needs a server fails loudly.
pub fn shared() -> &'static Server {
    // The failure is kept as well: a hundred tests must not each wait for a deadline.
    static SERVER: OnceLock<Result<Server, String>> = OnceLock::new();
    let start = || {
        let authority = Authority::new("onecopy's tests");
        let certificate = authority.server(&["127.0.0.1", "localhost"]);
        let server = Server::builder().tls(&authority, certificate).start();
        server.map_err(|error| error.to_string())
    };
    match SERVER.get_or_init(start) {
        Ok(server) => server,
        Err(why) => panic!("this test needs a server: {why}"),
    }
}

/// The server that tests run against.
#[derive(Debug, Clone)]
pub enum TestServer {
    /// The private one, see [`shared`].
    Private(&'static Server),
    /// The one that `ONECOPY_TEST_VALKEY_URL` names; tests may write any key of its database.
    Given(String),
}

/// The server that `ONECOPY_TEST_VALKEY_URL` names, otherwise [`shared`].
///
/// All tests share its keys: a test's names are its own, and none empties the database.
///
/// # Panics
/// As [`shared`].
pub fn test_server() -> TestServer {
    match env::var("ONECOPY_TEST_VALKEY_URL") {
        Ok(url) if !url.is_empty() => TestServer::Given(url),
        _ => TestServer::Private(shared()),
    }
}

impl TestServer {
    /// The URL to connect to: TCP for the private server.
    pub fn url(&self) -> String {
        match self {
            Self::Private(server) => server.url(),
            Self::Given(url) => url.clone(),
        }
    }

    /// The URL over TCP and TLS that verifies the server; `None` for a given server, whose own URL says how it is to be
    /// reached.
    pub fn tls_url(&self) -> Option<String> {
        match self {
            Self::Private(server) => server.tls_url(),
            Self::Given(_) => None,
        }
    }

    /// The URL over the Unix socket, which a given server may not have.
    pub fn socket_url(&self) -> Option<String> {
        match self {
            Self::Private(server) => Some(server.socket_url()),
            Self::Given(_) => None,
        }
    }

    /// The URL of a user with a password; `None` for a given server.
    pub fn user_url(&self) -> Option<String> {
        match self {
            Self::Private(server) => Some(server.user_url()),
            Self::Given(_) => None,
        }
    }
}
