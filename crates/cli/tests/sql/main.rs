//! `onecopy sql`, the real binary on a private server, or on the one that `ONECOPY_TEST_MYSQL_URL` names.
#![allow(clippy::unwrap_used)] // helpers of tests

mod cancel;
mod dump;
mod errors;
mod formats;
mod large;
mod login;
mod shell;
mod statements;
#[path = "../common/terminal.rs"]
mod terminal;
mod tls;

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

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
        // A given server has what an earlier run left.
        conn.run("DROP TABLE IF EXISTS formats, formats_back, large, said")
            .unwrap();
        conn.run("DROP PROCEDURE IF EXISTS two").unwrap();
        url
    })
}

/// The URL with one more option.
fn url_with(option: &str) -> String {
    let separator = if url().contains('?') { '&' } else { '?' };
    format!("{}{separator}{option}", url())
}

/// `onecopy sql` with nothing of ours in its environment.
fn onecopy() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onecopy"));
    for variable in [
        "ONECOPY_URL",
        "ONECOPY_PASSWORD",
        "NO_COLOR",
        "CLICOLOR_FORCE",
    ] {
        command.env_remove(variable);
    }
    command
        .arg("sql")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn sql(arguments: &[&str]) -> Output {
    onecopy().arg(url()).args(arguments).output().unwrap()
}

/// With `text` on standard input.
fn sql_input(arguments: &[&str], text: &[u8]) -> Output {
    let mut child = onecopy()
        .arg(url())
        .args(arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // Closed at once where the first statement fails.
    let _ = child.stdin.take().unwrap().write_all(text);
    child.wait_with_output().unwrap()
}

/// Standard output of a run that went well and said nothing.
fn stdout(arguments: &[&str]) -> String {
    let output = sql(arguments);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

fn interrupt(child: &Child) {
    let status = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

fn is_soak() -> bool {
    std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1")
}
