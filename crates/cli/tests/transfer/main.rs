//! `onecopy load` and `onecopy dump`, the real binary on a private server, or on the one that `ONECOPY_TEST_MYSQL_URL` names.
#![allow(clippy::unwrap_used)] // helpers of tests

mod dump_resume;
mod errors;
mod input;
mod progress;
mod resume;
mod round_trip;
#[path = "../common/terminal.rs"]
mod terminal;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::{sequences, test_server};

/// The server's URL, over its Unix socket where one is known. `SELECT seq FROM seq_1_to_100` gives rows on it.
fn url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| {
        let server = test_server();
        let url = server.socket_url().unwrap_or_else(|| server.url());
        let mut conn = Connection::connect(&url).unwrap();
        if conn.run("SELECT seq FROM seq_1_to_2").is_err() {
            for statement in sequences() {
                conn.run(&statement).unwrap();
            }
        }
        url
    })
}

fn connect() -> Connection {
    Connection::connect(url()).unwrap()
}

/// A name of its own for a table of this test; the table is made with these columns.
fn create(conn: &mut Connection, columns: &str) -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let table = format!("transfer_{number}");
    conn.run(format!("DROP TABLE IF EXISTS {table}")).unwrap();
    conn.run(format!("CREATE TABLE {table} {columns}")).unwrap();
    table
}

/// A folder of this test's own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("onecopy-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn has(&self, name: &str) -> bool {
        Path::new(&self.path(name)).exists()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn onecopy(command: &str, arguments: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_onecopy"));
    for variable in [
        "ONECOPY_URL",
        "ONECOPY_PASSWORD",
        "NO_COLOR",
        "CLICOLOR_FORCE",
    ] {
        program.env_remove(variable);
    }
    program.arg(command).arg(url()).args(arguments);
    program
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    program
}

/// A run that goes well; its standard output.
fn run(command: &str, arguments: &[&str]) -> Vec<u8> {
    let output = onecopy(command, arguments).arg("-q").output().unwrap();
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(0), ""),
        "{command} {arguments:?}"
    );
    output.stdout
}

/// A run that fails; its standard error.
fn fails(command: &str, arguments: &[&str]) -> String {
    let output = onecopy(command, arguments).output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(1),
        "{command} {arguments:?}: {}",
        stderr(&output)
    );
    stderr(&output).to_owned()
}

/// With `text` on standard input.
fn run_input(command: &str, arguments: &[&str], text: &[u8]) -> Output {
    let mut child = onecopy(command, arguments)
        .arg("-q")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // Closed early where it fails.
    let _ = child.stdin.take().unwrap().write_all(text);
    child.wait_with_output().unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// The rows of a query, as `onecopy sql` shows them: values between spaces.
fn rows(conn: &mut Connection, sql: &str) -> Vec<String> {
    let mut rows = conn.query(sql).unwrap();
    let mut all = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let value = |index| match row.bytes(index).unwrap() {
            None => "NULL".to_owned(),
            Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        };
        all.push((0..row.len()).map(value).collect::<Vec<_>>().join(" "));
    }
    all
}

/// What tells whether two tables have the same rows.
fn checksum(conn: &mut Connection, table: &str) -> String {
    rows(conn, &format!("CHECKSUM TABLE {table}"))
        .remove(0)
        .split(' ')
        .next_back()
        .unwrap()
        .to_owned()
}
