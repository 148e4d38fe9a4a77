//! `onecopy valkey`, the real binary on a private server, or on the one that `ONECOPY_TEST_VALKEY_URL` names. Tests share its
//! keys: each has names of its own.
#![allow(clippy::unwrap_used)] // helpers of tests

mod cluster;
mod commands;
mod errors;
mod formats;
mod interactive;
mod keys;
mod large;
mod lines;
mod login;
mod monitor;
mod pipe;
mod repeat;
mod sentinel;
mod subscribe;
#[path = "../common/terminal.rs"]
mod terminal;
mod watch;

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use onecopy_testkit::valkey::test_server;

/// The server's URL, over its Unix socket where one is known.
fn url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| {
        let server = test_server();
        server.socket_url().unwrap_or_else(|| server.url())
    })
}

/// `onecopy valkey` with nothing of ours in its environment.
fn onecopy() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onecopy"));
    for variable in [
        "ONECOPY_VALKEY_URL",
        "ONECOPY_VALKEY_PASSWORD",
        "NO_COLOR",
        "CLICOLOR_FORCE",
    ] {
        command.env_remove(variable);
    }
    command
        .arg("valkey")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn valkey(arguments: &[&str]) -> Output {
    onecopy().arg(url()).args(arguments).output().unwrap()
}

/// With `text` on standard input, through a pipe.
fn valkey_input(arguments: &[&str], text: &[u8]) -> Output {
    let mut child = onecopy()
        .arg(url())
        .args(arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = text.to_vec();
    // Beside the output, which nobody reads before; closed at once where a command fails.
    let writer = std::thread::spawn(move || drop(input.write_all(&text)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// Standard output of a run that went well and said nothing.
fn stdout(arguments: &[&str]) -> String {
    let output = valkey(arguments);
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(0), ""),
        "{arguments:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

fn is_soak() -> bool {
    std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1")
}
