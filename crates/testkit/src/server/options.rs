//! The command lines: one to fill the data folder, one to serve.
//!
//! The data is thrown away, so nothing is written for the sake of a crash: no flushing, no doublewrite buffer. `loose`
//! lets a release that lacks an option start without it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::private::TempFolder;

use super::ServerKind;
use super::find::ServerBinary;

/// Addresses are not looked up.
pub(super) const NO_NAMES: &str = "--skip-name-resolve";

/// Fills the empty data folder from `script`: MariaDB reads it from its standard input, MySQL is told its name.
pub(super) fn filling(binary: &ServerBinary, folder: &TempFolder, script: &Path) -> Vec<OsString> {
    let mut command = common(binary, folder);
    match binary.kind {
        ServerKind::MariaDb => {
            command.extend(["--bootstrap", "--max-allowed-packet=8M"].map(OsString::from));
        }
        ServerKind::MySql => {
            command.push("--initialize-insecure".into());
            command.push(option("--init-file=", script));
            // The keys are made when it serves, and only once.
            command.push("--loose-auto-generate-certs=OFF".into());
            command.push("--loose-caching-sha2-password-auto-generate-rsa-keys=OFF".into());
        }
    }
    command
}

/// Serves from a filled data folder.
pub(super) fn serving(binary: &ServerBinary, folder: &TempFolder, port: u16) -> Vec<OsString> {
    let mut command = common(binary, folder);
    command.extend([
        "--bind-address=127.0.0.1".into(),
        format!("--port={port}").into(),
        option("--socket=", &folder.socket()),
        option("--pid-file=", &folder.path().join("pid")),
    ]);
    command.extend(
        [
            // The largest there is: values of 256 MiB, and statements around them.
            "--max-allowed-packet=1G",
            // The tour's 2,000 clients, and others.
            "--max-connections=2100",
            // MySQL has it off; a client sends a file only where its caller has asked for that.
            "--local-infile=ON",
            // Tests of broken handshakes must not get 127.0.0.1 blocked.
            "--max-connect-errors=4294967295",
            "--loose-innodb-buffer-pool-dump-at-shutdown=OFF",
            "--loose-innodb-buffer-pool-load-at-startup=OFF",
            // Nobody will open this data again. Not for filling: the next start finds a damaged tablespace.
            match binary.kind {
                ServerKind::MariaDb => "--loose-innodb-fast-shutdown=3",
                ServerKind::MySql => "--loose-innodb-fast-shutdown=2",
            },
        ]
        .map(OsString::from),
    );
    command
}

fn common(binary: &ServerBinary, folder: &TempFolder) -> Vec<OsString> {
    let mut command = vec![binary.path.clone().into_os_string(), "--no-defaults".into()];
    if folder.owned_by_root {
        command.push("--user=root".into());
    }
    command.push(option("--datadir=", &data(folder)));
    command.push(option("--tmpdir=", &temporary(folder)));
    command.extend(
        [
            "--skip-log-bin",
            NO_NAMES,
            "--character-set-server=utf8mb4",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=256M",
            "--loose-innodb-flush-method=nosync",
            "--loose-innodb-doublewrite=0",
            "--loose-performance-schema=OFF",
        ]
        .map(OsString::from),
    );
    command.extend(own(binary.kind).iter().map(OsString::from));
    command
}

/// What only one of the two has.
fn own(kind: ServerKind) -> &'static [&'static str] {
    match kind {
        // Allocated on disk at once. MariaDB 10.11 takes BLOBs of any size with it; below 10.5 one had to be smaller
        // than a tenth of it.
        ServerKind::MariaDb => &["--innodb-log-file-size=256M"],
        ServerKind::MySql => &[
            "--loose-innodb-redo-log-capacity=256M",
            // Listens on a port and a socket of its own, the same for every server.
            "--loose-mysqlx=OFF",
            // The one that was compiled in is the distribution's, and is not there.
            "--secure-file-priv=",
        ],
    }
}

/// The data folder.
pub(super) fn data(folder: &TempFolder) -> PathBuf {
    folder.path().join("data")
}

/// The server's own temporary files; elsewhere they would stay when it is killed.
pub(super) fn temporary(folder: &TempFolder) -> PathBuf {
    folder.path().join("tmp")
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}
