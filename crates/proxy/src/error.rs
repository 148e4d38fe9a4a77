//! Why a proxy could not be started or reloaded.

use std::path::PathBuf;
use std::{fmt, io};

use onecopy_net::Endpoint;
use onecopy_net::evented::Address;
use rustix::io::Errno;

use crate::config::ConfigError;

/// Why a proxy could not be started or reloaded.
#[derive(Debug)]
pub enum Error {
    /// An address cannot be listened on.
    Listen(Endpoint, io::Error),
    /// A socket that was passed to this process cannot be used. Contains its name.
    PassedSocket(String, io::Error),
    /// A socket that was passed to this process, with this name and address, fits no `listen` of the configuration.
    ForeignSocket(String, Address),
    /// The host name of a backend has no address.
    Resolve(String, io::Error),
    /// A thread and its event loop could not be started. Contains its name and the system's error.
    Start(String, io::Error),
    /// The keys of logins could not be generated: an RSA key, or random bytes.
    Key,
    /// A setting that cannot be changed while the proxy runs was changed.
    Restart(&'static str),
    /// A change was requested while the proxy is draining.
    Draining,
    /// A change was requested while another process is taking over.
    Upgrading,
    /// Another process could not be taken over from, or did not take over. Contains the reason.
    Takeover(String),
    /// The file of a log of statements cannot be opened. Contains the log's table in the configuration, the file's path, and the system's
    /// error.
    StatementLog(&'static str, PathBuf, io::Error),
    /// The configuration cannot be served.
    Config(ConfigError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(endpoint, error) => write!(f, "can't listen on {endpoint}: {error}"),
            Self::PassedSocket(name, error) => {
                write!(f, "the passed socket '{name}' can't be used: {error}")
            }
            Self::ForeignSocket(name, address) => write!(
                f,
                "the passed socket '{name}' listens on {address}, which is no `listen` of the configuration; add it there, or do not pass the socket"
            ),
            Self::Resolve(name, error) => write!(f, "backend '{name}' has no address: {error}"),
            Self::Start(thread, error) => {
                write!(f, "can't start the thread '{thread}': {error}")?;
                match Errno::from_io_error(error) {
                    Some(Errno::AGAIN) => f.write_str(
                        "; raise the limit of processes and threads (ulimit -u, TasksMax=)",
                    ),
                    Some(Errno::MFILE) => {
                        f.write_str("; raise the limit of open files (ulimit -n, LimitNOFILE=)")
                    }
                    _ => Ok(()),
                }
            }
            Self::Key => f.write_str("can't make keys for logins: no random bytes or no rsa"),
            Self::Restart(what) => write!(f, "a change of `{what}` needs a restart"),
            Self::Draining => f.write_str("nothing can be changed while the proxy is draining"),
            Self::Upgrading => f.write_str("nothing can be changed during an upgrade; try again"),
            Self::Takeover(why) => f.write_str(why),
            Self::StatementLog(table, path, error) => {
                write!(
                    f,
                    "can't open `file` of [{table}], {}: {error}",
                    path.display()
                )?;
                match error.kind() {
                    io::ErrorKind::NotFound => f.write_str("; create its folder"),
                    io::ErrorKind::PermissionDenied => {
                        f.write_str("; let the proxy's user write to the file and its folder")
                    }
                    _ => Ok(()),
                }
            }
            Self::Config(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// The thread with this name can't be had.
    pub(crate) fn start(thread: &str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Start(thread.to_owned(), error)
    }
}
