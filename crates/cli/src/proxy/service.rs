//! What the service manager is told, by the protocol of systemd's `sd_notify`: a datagram of lines to the socket in `NOTIFY_SOCKET`.
//!
//! | line | when |
//! |------|------|
//! | `READY=1` | the proxy serves, or has read its configuration again |
//! | `RELOADING=1`, `MONOTONIC_USEC=` | it reads its configuration again |
//! | `STOPPING=1` | it drains |
//! | `STATUS=` | in words |
//! | `MAINPID=` | another process has taken over, and is the service |
//! | `WATCHDOG=1` | its workers answer, twice in the time that `WATCHDOG_USEC` says |
//!
//! <https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html>

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// How often the status is renewed, also without a watchdog.
const STATUS_INTERVAL: Duration = Duration::from_secs(10);

/// The service manager, if there is one.
#[derive(Debug)]
pub(super) struct Service {
    manager: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
}

impl Service {
    /// By the variables of the environment.
    ///
    /// # Errors
    /// The manager's socket is nowhere to be had.
    pub(super) fn from_environment() -> Result<Self, String> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let Some(socket) = variable("NOTIFY_SOCKET") else {
            return Ok(Self {
                manager: None,
                watchdog: None,
            });
        };
        let failed = |error| format!("NOTIFY_SOCKET={}: {error}", socket.display());
        let address = address(&socket).map_err(failed)?;
        let sender = UnixDatagram::unbound().map_err(failed)?;
        // A manager that does not read must not hold up the proxy.
        sender.set_nonblocking(true).map_err(failed)?;
        let pid = std::process::id().to_string();
        let is_ours = variable("WATCHDOG_PID").is_none_or(|watched| watched == pid.as_str());
        let micros = variable("WATCHDOG_USEC").filter(|_| is_ours);
        let micros = micros.and_then(|text| text.to_str()?.parse().ok());
        Ok(Self {
            manager: Some((sender, address)),
            watchdog: micros
                .map(Duration::from_micros)
                .filter(|time| !time.is_zero()),
        })
    }

    /// How often something is to be told; `None`: nobody listens.
    pub(super) fn interval(&self) -> Option<Duration> {
        self.manager.as_ref()?;
        let half = self.watchdog.map(|watchdog| watchdog / 2);
        Some(half.map_or(STATUS_INTERVAL, |half| half.min(STATUS_INTERVAL)))
    }

    /// Whether the manager ends a service that does not say that it is alive.
    pub(super) fn is_watched(&self) -> bool {
        self.watchdog.is_some()
    }

    /// It serves, in these words.
    pub(super) fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={status}"));
    }

    /// It reads its configuration again; it is [ready](Self::ready) when that is done.
    pub(super) fn reloading(&self) {
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
        let micros = now.unwrap_or_default().as_micros();
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
    }

    pub(super) fn stopping(&self, status: &str) {
        self.tell(&format!("STOPPING=1\nSTATUS={status}"));
    }

    pub(super) fn status(&self, status: &str) {
        self.tell(&format!("STATUS={status}"));
    }

    /// Another process is the service from now on; nobody listens to this one any more.
    pub(super) fn is_now(&self, process: u32) {
        self.tell(&format!("MAINPID={process}"));
    }

    pub(super) fn alive(&self) {
        self.tell("WATCHDOG=1");
    }

    fn tell(&self, lines: &str) {
        if let Some((sender, manager)) = &self.manager {
            // There is nothing that could be done without a manager.
            let _ = sender.send_to_addr(lines.as_bytes(), manager);
        }
    }
}

/// A path, or behind `@` a name of Linux's abstract ones.
fn address(socket: &OsString) -> io::Result<SocketAddr> {
    match socket.as_bytes() {
        [b'/', ..] => SocketAddr::from_pathname(socket),
        #[cfg(target_os = "linux")]
        [b'@', name @ ..] => {
            <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name)
        }
        _ => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "only a path, or a name behind @, can be notified",
        )),
    }
}
