//! Real servers, started privately and always stopped.
//!
//! A server lives in a temporary folder of its own with a random port on 127.0.0.1 and a Unix socket, so any number of
//! them run side by side and none touches a server of the machine. It is stopped when its [`Server`] is dropped, and
//! also when this process ends in any other way: see `private/watchdog.sh`.
//!
//! Nothing is kept from one run to the next: filling the data folder takes about 0.4 s (MariaDB 10.11, two cores),
//! less than a cache with its locks would be worth. MySQL 9.7 takes 2.2 s for it.
//!
//! Which server: the machine's own, or the one that `ONECOPY_TEST_SERVER` names.

mod capability;
mod client;
mod find;
mod galera;
mod greeting;
mod kind;
mod launch;
mod options;
mod shared;
mod sql;
mod url;
mod warm_up;

pub use capability::{lacks, sequences};
pub use client::mariadb_client;
pub use galera::start_galera;
pub use kind::ServerKind;
pub use shared::{TestServer, shared, test_server};

pub use crate::private::StartError;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::certificate::{Authority, Certificate};
use crate::private::{TempFolder, Watchdog, random_hex};

/// A statement that runs for hours if nobody stops it, and whose end every server reports as an error.
pub const ENDLESS: &str = "SELECT COUNT(*) FROM information_schema.COLUMNS a, information_schema.COLUMNS b, \
    information_schema.COLUMNS c, information_schema.COLUMNS d WHERE a.COLUMN_NAME <> CONCAT(b.COLUMN_NAME, c.COLUMN_NAME)";

/// A private MariaDB, stopped and its folder removed on drop.
///
/// `root` may log in over the socket and over TCP from 127.0.0.1; the database `test` exists and is empty.
///
/// ```no_run
/// use onecopy_testkit::server::Server;
///
/// let server = Server::start()?;
/// println!("{} answers on {}", server.version(), server.url());
/// # Ok::<(), onecopy_testkit::server::StartError>(())
/// ```
#[derive(Debug)]
pub struct Server {
    kind: ServerKind,
    port: u16,
    socket: PathBuf,
    root_password: String,
    version: String,
    authority: Option<PathBuf>,
    // Dropped in this order: the server first, then whatever is left of its folder.
    watchdog: Watchdog,
    _folder: TempFolder,
}

impl Server {
    /// Starts a server with a random root password; returns when it answers.
    ///
    /// Where no `mariadbd` or `mysqld` is found MariaDB is installed from the distribution's packages, which is announced
    /// on standard error first. `ONECOPY_TEST_SERVER` names the binary to use; `ONECOPY_NO_INSTALL=1` forbids installing.
    ///
    /// # Errors
    /// Says what to type or shows the end of the server's log. Nothing is left running or on disk.
    pub fn start() -> Result<Self, StartError> {
        Self::builder().start()
    }

    /// A server with a given password or more options.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// MariaDB or MySQL.
    pub fn kind(&self) -> ServerKind {
        self.kind
    }

    /// The TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The Unix socket; its path is shorter than 100 bytes.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The password of `root`, not encoded.
    pub fn root_password(&self) -> &str {
        &self.root_password
    }

    /// `mysql://root:PASSWORD@127.0.0.1:PORT/test`
    pub fn url(&self) -> String {
        url::tcp(&self.root_password, self.port)
    }

    /// `mysql://root:PASSWORD@localhost/test?socket=PATH`, the path percent-encoded.
    pub fn socket_url(&self) -> String {
        url::socket(&self.root_password, &self.socket)
    }

    /// `mysql://root:PASSWORD@127.0.0.1:PORT/test?ssl-mode=verify-full&ssl-ca=PATH`; `None` where it was started without a
    /// certificate.
    pub fn tls_url(&self) -> Option<String> {
        let authority = self.authority.as_ref()?;
        Some(url::tls(&self.root_password, self.port, authority))
    }

    /// The certificate of the CA that signed the server's, in PEM.
    pub fn authority(&self) -> Option<&Path> {
        self.authority.as_deref()
    }

    /// Ends the server as a crash would: nobody is told, and nothing is finished.
    pub fn kill(&mut self) {
        self.watchdog.kill();
    }

    /// Stops the server where it is, as SIGSTOP does: connections stay open and are even accepted, and nothing is answered.
    pub fn pause(&mut self) {
        self.watchdog.pause();
    }

    /// Lets a paused server continue.
    pub fn resume(&mut self) {
        self.watchdog.resume();
    }

    /// The version as the server's greeting gives it, without the `5.5.5-` that old replicas need: `10.11.6-MariaDB`, `9.7.4-2`.
    pub fn version(&self) -> &str {
        &self.version
    }
}

/// What a [`Server`] is started with.
#[derive(Debug, Default)]
pub struct Builder {
    root_password: Option<String>,
    tls: Option<(String, Certificate)>,
    arguments: Vec<String>,
    entry: Vec<OsString>,
}

impl Builder {
    /// The password of `root`, any text; random if not given.
    #[must_use]
    pub fn root_password(mut self, password: impl Into<String>) -> Self {
        self.root_password = Some(password.into());
        self
    }

    /// One more argument for the server, after ours, so that it wins: `--wait-timeout=1`.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Runs on another host, and listens there and nowhere else: [`Server::url`] is of no use then, and [`Server::socket_url`] is.
    #[must_use]
    pub fn on_host(mut self, host: &crate::own_network::OtherHost) -> Self {
        self.entry.extend(host.entry());
        let address = format!("--bind-address={}", crate::own_network::OTHER_ADDRESS);
        self.argument(address)
    }

    /// Has a time of day of its own.
    #[must_use]
    pub fn with_clock(mut self, clock: &crate::OtherClock) -> Self {
        self.entry.extend(clock.entry());
        self
    }

    /// Speaks TLS with this certificate, and takes clients' certificates of the same CA.
    #[must_use]
    pub fn tls(mut self, authority: &Authority, certificate: Certificate) -> Self {
        self.tls = Some((authority.certificate(), certificate));
        self
    }

    /// Starts the server; returns when it answers.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start(mut self) -> Result<Server, StartError> {
        let binary = find::found_or_installed()?;
        let folder = TempFolder::new()?;
        let root_password = match self.root_password {
            Some(password) => password,
            None => random_hex()?,
        };
        let authority = match self.tls.take() {
            None => None,
            Some((authority, certificate)) => {
                let path = folder.path().join("authority.pem");
                fs::write(&path, authority).map_err(StartError::io("write", &path))?;
                let files = certificate
                    .write(folder.path(), "server")
                    .map_err(StartError::io("write certificates into", folder.path()))?;
                self.arguments.splice(
                    0..0,
                    [
                        format!("--ssl-ca={}", path.display()),
                        format!("--ssl-cert={}", files.certificate.display()),
                        format!("--ssl-key={}", files.key.display()),
                    ],
                );
                Some(path)
            }
        };
        let launched = launch::launch(
            &binary,
            &folder,
            &root_password,
            (&self.entry, &self.arguments),
        )?;
        Ok(Server {
            kind: binary.kind,
            port: launched.port,
            socket: launched.socket,
            root_password,
            version: launched.version,
            authority,
            watchdog: launched.watchdog,
            _folder: folder,
        })
    }
}
