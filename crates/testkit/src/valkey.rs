//! Real Valkey and Redis servers, started privately and always stopped.
//!
//! As those of [`server`](crate::server): each in a temporary folder of its own, with random ports on 127.0.0.1 and a Unix
//! socket, stopped when its [`Server`] is dropped and also when this process ends in any other way. A start takes some
//! 20 ms.
//!
//! Which server: the machine's own, or the one that `ONECOPY_TEST_VALKEY_SERVER` names.

mod cluster;
mod configuration;
mod find;
mod launch;
mod sentinels;
mod shared;
mod talk;
mod url;

pub use cluster::Cluster;
pub use sentinels::{Sentinels, SentinelsBuilder};
pub use shared::{TestServer, shared, test_server};

pub use crate::private::StartError;

use std::fs;
use std::path::{Path, PathBuf};

use crate::certificate::{Authority, Certificate};
use crate::private::{TempFolder, Watchdog, random_hex};

use configuration::{Configuration, Tls};
use find::ServerBinary;
use launch::Address;

/// The user that every server has beside `default`, with a password and all rights.
const USER: &str = "onecopy";

/// A private Valkey or Redis, stopped and its folder removed on drop.
///
/// The user `default` needs no password, unless [`Builder::password`] sets one; `onecopy` has one, see
/// [`Server::user_url`]. Nothing is stored on disk, values may be of any size, and `DEBUG` is allowed where the server lets
/// it be (Redis 7 and all of Valkey).
///
/// ```no_run
/// use onecopy_testkit::valkey::Server;
///
/// let server = Server::start()?;
/// println!("{} answers on {}", server.version(), server.url());
/// # Ok::<(), onecopy_testkit::valkey::StartError>(())
/// ```
#[derive(Debug)]
pub struct Server {
    binary: ServerBinary,
    configuration: Configuration,
    address: Address,
    password: Option<String>,
    user_password: String,
    authority: Option<PathBuf>,
    // Dropped in this order: the server first, then whatever is left of its folder.
    watchdog: Watchdog,
    folder: TempFolder,
}

impl Server {
    /// Starts a server; returns when it answers.
    ///
    /// Where none is found one is installed from the distribution's packages, Valkey where it has it and Redis otherwise,
    /// which is announced on standard error first. `ONECOPY_TEST_VALKEY_SERVER` names the binary to use;
    /// `ONECOPY_NO_INSTALL=1` forbids installing.
    ///
    /// # Errors
    /// Says what to type or shows the end of the server's log. Nothing is left running or on disk.
    pub fn start() -> Result<Self, StartError> {
        Self::builder().start()
    }

    /// A server with a password, TLS, or a configuration of its own.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Whether it is Valkey; Redis otherwise.
    pub fn is_valkey(&self) -> bool {
        self.binary.is_valkey
    }

    /// The version as the server gives it: `7.0.15`, `8.1.1`.
    pub fn version(&self) -> &str {
        &self.binary.version
    }

    /// The TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.address.port
    }

    /// The port that speaks TLS; `None` where the server was started without a certificate.
    pub fn tls_port(&self) -> Option<u16> {
        self.address.tls_port
    }

    /// The Unix socket; its path is shorter than 100 bytes.
    pub fn socket(&self) -> &Path {
        &self.address.socket
    }

    /// The certificate of the CA that signed the server's, in PEM.
    pub fn authority(&self) -> Option<&Path> {
        self.authority.as_deref()
    }

    /// The user with a password: `onecopy`.
    pub fn user(&self) -> &str {
        USER
    }

    /// The password of [`user`](Self::user), not encoded.
    pub fn user_password(&self) -> &str {
        &self.user_password
    }

    /// `redis://127.0.0.1:PORT`, with `:PASSWORD@` where `default` has one.
    pub fn url(&self) -> String {
        url::tcp(&self.default_login(), self.address.port)
    }

    /// `redis://onecopy:PASSWORD@127.0.0.1:PORT`
    pub fn user_url(&self) -> String {
        url::tcp(&url::login(USER, &self.user_password), self.address.port)
    }

    /// `redis+unix:///PATH`, with `:PASSWORD@` where `default` has one; the path's parts percent-encoded.
    pub fn socket_url(&self) -> String {
        url::socket(&self.default_login(), &self.address.socket)
    }

    /// `rediss://127.0.0.1:PORT?tls-ca=PATH`, as [`url`](Self::url) otherwise; `None` where the server was started without
    /// a certificate.
    pub fn tls_url(&self) -> Option<String> {
        let authority = self.authority.as_ref()?;
        let port = self.address.tls_port?;
        Some(url::tls(&self.default_login(), port, authority))
    }

    /// The port that the nodes of a cluster, and sentinels, know it by: that of TLS where there is one.
    fn announced_port(&self) -> u16 {
        self.address.tls_port.unwrap_or(self.address.port)
    }

    /// Kills the server as a crash would; returns when it is gone. Its clients' connections end, and new ones are refused.
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

    /// Starts the server again, empty, on the same ports and socket; kills it before where it runs.
    ///
    /// # Errors
    /// As [`Server::start`]; also where another program took one of its ports meanwhile.
    pub fn restart(&mut self) -> Result<(), StartError> {
        self.kill();
        // The old watchdog goes first: it would take the new server's end for its own.
        self.watchdog.leave_folder();
        self.watchdog = launch::launch_at(
            &self.binary,
            &self.folder,
            &self.configuration,
            &self.address,
        )?;
        Ok(())
    }

    /// The last lines of its log.
    pub(crate) fn log_tail(&self) -> String {
        self.watchdog.log_tail()
    }

    /// Sends a command on a connection of its own, its words separated by single spaces; returns the reply as text, of an array its
    /// elements line by line.
    ///
    /// # Errors
    /// If the server can't be reached, or answers with an error, which is the text.
    pub fn ask(&self, command: &str) -> Result<String, StartError> {
        talk::Talk::to(&self.address.socket)
            .and_then(|mut talk| {
                if let Some(password) = &self.password {
                    talk.ask(&format!("AUTH {password}"))?;
                }
                talk.ask(command)
            })
            .map_err(StartError::io("ask a server for", command))
    }

    fn default_login(&self) -> String {
        self.password
            .as_ref()
            .map(|password| url::login("", password))
            .unwrap_or_default()
    }
}

/// What a [`Server`] is started with.
#[derive(Debug, Default)]
pub struct Builder {
    password: Option<String>,
    tls: Option<(String, Certificate)>,
    is_sentinel: bool,
    directives: Vec<String>,
}

impl Builder {
    /// The password of the user `default`, any text; none if not given.
    #[must_use]
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// One more line of configuration, after ours, so that it wins: `maxclients 5`.
    #[must_use]
    pub fn directive(mut self, line: impl Into<String>) -> Self {
        self.directives.push(line.into());
        self
    }

    /// Speaks TLS with this certificate on a port of its own, and takes clients' certificates of the same CA
    /// without asking for one; the line `tls-auth-clients yes` asks.
    #[must_use]
    pub fn tls(mut self, authority: &Authority, certificate: Certificate) -> Self {
        self.tls = Some((authority.certificate(), certificate));
        self
    }

    /// Starts a sentinel instead: it watches the servers that the directives `sentinel monitor` name.
    #[must_use]
    pub fn sentinel(mut self) -> Self {
        self.is_sentinel = true;
        self
    }

    /// Starts the server; returns when it answers.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start(self) -> Result<Server, StartError> {
        let binary = find::found_or_installed()?;
        let folder = TempFolder::new()?;
        let user_password = random_hex()?;
        let tls = match &self.tls {
            None => None,
            Some((authority, certificate)) => Some(tls_files(&folder, authority, certificate)?),
        };
        let authority = tls.as_ref().map(|tls| tls.authority.clone());
        let configuration = Configuration {
            password: self.password.clone(),
            user: (USER.to_owned(), user_password.clone()),
            tls,
            is_sentinel: self.is_sentinel,
            directives: self.directives,
        };
        let (watchdog, address) = launch::launch(&binary, &folder, &configuration)?;
        Ok(Server {
            binary,
            configuration,
            address,
            password: self.password,
            user_password,
            authority,
            watchdog,
            folder,
        })
    }
}

fn tls_files(
    folder: &TempFolder,
    authority: &str,
    certificate: &Certificate,
) -> Result<Tls, StartError> {
    let path = folder.path().join("authority.pem");
    fs::write(&path, authority).map_err(StartError::io("write", &path))?;
    let files = certificate
        .write(folder.path(), "server")
        .map_err(StartError::io("write certificates into", folder.path()))?;
    Ok(Tls {
        authority: path,
        files,
    })
}
