//! From an empty folder to a server that answers.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::private::{
    PATIENCE, POLL, PORT_ATTEMPTS, StartError, TempFolder, Watchdog, check_deadline, free_port,
};

use super::find::ServerBinary;
use super::options::NO_NAMES;
use super::{ServerKind, greeting, options, sql, warm_up};

/// A server that answers.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) port: u16,
    pub(super) socket: PathBuf,
    pub(super) version: String,
    pub(super) watchdog: Watchdog,
}

/// Fills the data folder, starts the server in it and waits until it answers.
pub(super) fn launch(
    binary: &ServerBinary,
    folder: &TempFolder,
    root_password: &str,
    (entry, arguments): (&[OsString], &[String]),
) -> Result<Launched, StartError> {
    let deadline = Instant::now() + PATIENCE;
    fill_data_folder(binary, folder, root_password, deadline)?;
    let socket = folder.socket();
    let mut attempt = 1;
    loop {
        let port = free_port()?;
        let mut command = entry.to_vec();
        command.extend(options::serving(binary, folder, port));
        if arguments.iter().any(|one| one.starts_with(NO_NAMES)) {
            // MySQL goes by the first, even where a later one says otherwise.
            command.retain(|one| one != NO_NAMES);
        }
        command.extend(arguments.iter().map(OsString::from));
        let mut watchdog = Watchdog::start(folder.path(), Path::new("/dev/null"), &command)?;
        match wait_for_greeting(&watchdog, &socket, deadline) {
            Ok(version) => {
                if binary.kind == ServerKind::MySql {
                    warm_up::warm_up(&socket, root_password)?;
                }
                return Ok(Launched {
                    port,
                    socket,
                    version,
                    watchdog,
                });
            }
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

pub(super) fn fill_data_folder(
    binary: &ServerBinary,
    folder: &TempFolder,
    root_password: &str,
    deadline: Instant,
) -> Result<(), StartError> {
    for path in [options::data(folder), options::temporary(folder)] {
        fs::create_dir(&path).map_err(StartError::io("create the folder", &path))?;
    }
    // The folder is ours alone, and the password leaves the disk again below.
    let script = folder.path().join("bootstrap.sql");
    let sql = sql::bootstrap(binary, root_password)?;
    fs::write(&script, sql).map_err(StartError::io("write", &script))?;

    let command = options::filling(binary, folder, &script);
    let mut watchdog = Watchdog::start(folder.path(), &script, &command)?;
    while watchdog.exit_status().is_none() {
        check_deadline(&watchdog, deadline)?;
        thread::sleep(POLL);
    }
    if watchdog.exit_status() != Some(0) {
        return Err(StartError::Prepare {
            log: watchdog.log_tail(),
        });
    }
    watchdog.leave_folder();
    fs::remove_file(&script).map_err(StartError::io("remove", &script))
}

fn port_was_taken(log: &str) -> bool {
    log.contains("Can't start server: Bind on TCP/IP port")
}

/// Waits on the Unix socket: a server that answers on the port could be another that took it before ours. Ours binds
/// its port first and makes its socket only then.
pub(super) fn wait_for_greeting(
    watchdog: &Watchdog,
    socket: &Path,
    deadline: Instant,
) -> Result<String, StartError> {
    loop {
        if let Ok(Some(version)) = greeting_version(socket) {
            return Ok(version);
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

fn greeting_version(socket: &Path) -> io::Result<Option<String>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    Ok(greeting::version(&greeting::read_packet(&mut stream)?))
}

#[cfg(test)]
mod tests;
