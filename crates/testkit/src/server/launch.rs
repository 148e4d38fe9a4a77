//! From an empty folder to a server that answers.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::StartError;
use super::find::ServerBinary;
use super::folder::TempFolder;
use super::sql;
use super::watchdog::Watchdog;

/// A start takes half a second; this is for a machine that is busy with something else.
const PATIENCE: Duration = Duration::from_secs(60);

/// Short beside a start, long beside a look at a file.
const POLL: Duration = Duration::from_millis(5);

/// Between our look for a free port and the server's bind another process may take it.
const PORT_ATTEMPTS: u32 = 5;

/// A greeting is some 100 bytes; more is not one.
const MAX_GREETING: usize = 1 << 10;

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
    arguments: &[String],
) -> Result<Launched, StartError> {
    let deadline = Instant::now() + PATIENCE;
    fill_data_folder(binary, folder, root_password, deadline)?;
    let socket = folder.socket();
    let mut attempt = 1;
    loop {
        let port = free_port()?;
        let mut command = common_command(binary, folder);
        command.extend(serving_options(&socket, port));
        command.extend(arguments.iter().map(OsString::from));
        let watchdog = Watchdog::start(folder.path(), Path::new("/dev/null"), &command)?;
        match wait_for_greeting(&watchdog, &socket, deadline) {
            Ok(version) => {
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
                watchdog.stop_and_keep_folder();
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

fn fill_data_folder(
    binary: &ServerBinary,
    folder: &TempFolder,
    root_password: &str,
    deadline: Instant,
) -> Result<(), StartError> {
    for path in [folder.data(), temporary(folder)] {
        fs::create_dir(&path).map_err(StartError::io("create the folder", &path))?;
    }
    // The folder is ours alone, and the password leaves the disk again below.
    let script = folder.path().join("bootstrap.sql");
    let sql = sql::bootstrap(&binary.share, root_password)?;
    fs::write(&script, sql).map_err(StartError::io("write", &script))?;

    let mut command = common_command(binary, folder);
    command.extend(["--bootstrap", "--max-allowed-packet=8M"].map(OsString::from));
    let watchdog = Watchdog::start(folder.path(), &script, &command)?;
    while watchdog.exit_status().is_none() {
        check_deadline(&watchdog, deadline)?;
        thread::sleep(POLL);
    }
    if watchdog.exit_status() != Some(0) {
        return Err(StartError::Prepare {
            log: watchdog.log_tail(),
        });
    }
    watchdog.stop_and_keep_folder();
    fs::remove_file(&script).map_err(StartError::io("remove", &script))
}

/// Options for filling the data folder and for serving.
///
/// The data is thrown away, so nothing is written for the sake of a crash: no flushing, no doublewrite buffer.
/// `loose` lets a release that lacks an option start without it.
fn common_command(binary: &ServerBinary, folder: &TempFolder) -> Vec<OsString> {
    let mut command = vec![binary.path.clone().into_os_string(), "--no-defaults".into()];
    if folder.owned_by_root {
        command.push("--user=root".into());
    }
    command.push(option("--datadir=", &folder.data()));
    command.push(option("--tmpdir=", &temporary(folder)));
    command.extend(
        [
            "--skip-log-bin",
            "--skip-name-resolve",
            "--character-set-server=utf8mb4",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=256M",
            // Allocated on disk at once. MariaDB 10.11 takes BLOBs of any size with it; below 10.5 one had to be
            // smaller than a tenth of it.
            "--innodb-log-file-size=256M",
            "--loose-innodb-flush-method=nosync",
            "--loose-innodb-doublewrite=0",
            "--loose-performance-schema=OFF",
        ]
        .map(OsString::from),
    );
    command
}

fn serving_options(socket: &Path, port: u16) -> Vec<OsString> {
    vec![
        "--bind-address=127.0.0.1".into(),
        format!("--port={port}").into(),
        option("--socket=", socket),
        // The largest there is: values of 256 MiB, and statements around them.
        "--max-allowed-packet=1G".into(),
        "--max-connections=1000".into(),
        // Tests of broken handshakes must not get 127.0.0.1 blocked.
        "--max-connect-errors=4294967295".into(),
        // Nobody will open this data again. Not for filling: with 2 or 3 the next start finds a damaged tablespace.
        "--loose-innodb-fast-shutdown=3".into(),
        "--loose-innodb-buffer-pool-dump-at-shutdown=OFF".into(),
        "--loose-innodb-buffer-pool-load-at-startup=OFF".into(),
    ]
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// The server's own temporary files; elsewhere they would stay when it is killed.
fn temporary(folder: &TempFolder) -> PathBuf {
    folder.path().join("tmp")
}

fn free_port() -> Result<u16, StartError> {
    let listener = TcpListener::bind(("127.0.0.1", 0))
        .map_err(StartError::io("bind a port on", "127.0.0.1"))?;
    let address = listener
        .local_addr()
        .map_err(StartError::io("ask for the port on", "127.0.0.1"))?;
    Ok(address.port())
}

fn port_was_taken(log: &str) -> bool {
    log.contains("Can't start server: Bind on TCP/IP port")
}

/// Waits on the Unix socket: a server that answers on the port could be another that took it before ours. Ours binds
/// its port first and makes its socket only then.
fn wait_for_greeting(
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

fn check_deadline(watchdog: &Watchdog, deadline: Instant) -> Result<(), StartError> {
    if Instant::now() < deadline {
        return Ok(());
    }
    Err(StartError::Deadline {
        seconds: PATIENCE.as_secs(),
        log: watchdog.log_tail(),
    })
}

/// The version in the first packet: a length of three bytes and a sequence, then 0x0A and the version up to a NUL.
fn greeting_version(socket: &Path) -> io::Result<Option<String>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let length =
        usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
    let mut payload = vec![0; length.min(MAX_GREETING)];
    stream.read_exact(&mut payload)?;
    Ok(version(&payload))
}

fn version(payload: &[u8]) -> Option<String> {
    let [0x0A, rest @ ..] = payload else {
        return None;
    };
    let end = rest.iter().position(|byte| *byte == 0)?;
    let text = String::from_utf8_lossy(&rest[..end]);
    Some(text.strip_prefix("5.5.5-").unwrap_or(&text).to_owned())
}

#[cfg(test)]
mod tests;
