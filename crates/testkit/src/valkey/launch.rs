//! From a configuration to a server that answers.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::private::{
    PATIENCE, POLL, PORT_ATTEMPTS, StartError, TempFolder, Watchdog, check_deadline, free_port,
};

use super::configuration::Configuration;
use super::find::ServerBinary;

/// Where a server listens.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) port: u16,
    pub(super) tls_port: Option<u16>,
    pub(super) socket: PathBuf,
}

/// Starts a server on free ports and waits until it answers.
pub(super) fn launch(
    binary: &ServerBinary,
    folder: &TempFolder,
    configuration: &Configuration,
) -> Result<(Watchdog, Address), StartError> {
    let deadline = Instant::now() + PATIENCE;
    let mut attempt = 1;
    loop {
        let address = Address {
            port: free_port()?,
            tls_port: configuration.tls.is_some().then(free_port).transpose()?,
            socket: folder.socket(),
        };
        let mut watchdog = start(binary, folder, configuration, &address)?;
        match wait_for_answer(&watchdog, &address.socket, deadline) {
            Ok(()) => return Ok((watchdog, address)),
            Err(StartError::Exited { log, .. })
                if port_was_taken(&log) && attempt < PORT_ATTEMPTS =>
            {
                watchdog.leave_folder();
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Starts a server at an address, where none is running.
pub(super) fn launch_at(
    binary: &ServerBinary,
    folder: &TempFolder,
    configuration: &Configuration,
    address: &Address,
) -> Result<Watchdog, StartError> {
    let watchdog = start(binary, folder, configuration, address)?;
    wait_for_answer(&watchdog, &address.socket, Instant::now() + PATIENCE)?;
    Ok(watchdog)
}

fn start(
    binary: &ServerBinary,
    folder: &TempFolder,
    configuration: &Configuration,
    address: &Address,
) -> Result<Watchdog, StartError> {
    let file = folder.path().join("server.conf");
    // The folder is ours alone, the passwords in it are for tests.
    let text = configuration.text(binary.release, address, folder.path());
    fs::write(&file, text).map_err(StartError::io("write", &file))?;
    let mut command = vec![program(binary, folder)?.into_os_string(), file.into()];
    if configuration.is_sentinel {
        command.push("--sentinel".into());
    }
    Watchdog::start(folder.path(), Path::new("/dev/null"), &command)
}

/// The binary, or a link to it by the name that it must be called by.
fn program(binary: &ServerBinary, folder: &TempFolder) -> Result<PathBuf, StartError> {
    let Some(name) = binary.other_name() else {
        return Ok(binary.path.clone());
    };
    let link = folder.path().join(name);
    match symlink(&binary.path, &link) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(StartError::io("make the link", &link)(error))
        }
        _ => Ok(link),
    }
}

fn port_was_taken(log: &str) -> bool {
    log.contains("Address already in use")
}

/// Waits on the Unix socket: a server that answers on the port could be another that took it before ours. Ours binds its
/// ports first and makes its socket only then.
fn wait_for_answer(
    watchdog: &Watchdog,
    socket: &Path,
    deadline: Instant,
) -> Result<(), StartError> {
    loop {
        if answers(socket).is_ok() {
            return Ok(());
        }
        if let Some(status) = watchdog.exit_status() {
            return Err(StartError::Exited {
                status,
                log: watchdog.log_tail(),
            });
        }
        check_deadline(watchdog, deadline)?;
        thread::sleep(POLL);
    }
}

/// Any reply will do: without a password it is an error.
fn answers(socket: &Path) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"PING\r\n")?;
    stream.read_exact(&mut [0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_told_from_other_ends() {
        assert!(port_was_taken(
            "# Warning: Could not create server TCP listening socket 127.0.0.1:20001: bind: Address already in use\n\
             # Failed listening on port 20001 (tcp), aborting."
        ));
        assert!(!port_was_taken(
            "# Failed opening Unix socket: bind: Permission denied"
        ));
    }
}
