//! Runs a command beside a private server.
#![forbid(unsafe_code)]

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;

use onecopy_testkit::certificate::Authority;
use onecopy_testkit::server::Server;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

const HELP: &str = "\
Runs a command beside a private MariaDB or MySQL, and stops the server afterwards.

Usage: with-server -- COMMAND [ARGUMENT...]

{URL} in an argument becomes the server's URL over its Unix socket. COMMAND also finds it in the environment:
  ONECOPY_URL      mysql://root:PASSWORD@localhost/test?socket=PATH
  ONECOPY_TCP_URL  mysql://root:PASSWORD@127.0.0.1:PORT/test
  ONECOPY_TLS_URL  the same over TLS, ?ssl-mode=verify-full&ssl-ca=PATH

The server has an empty database, test. It lives in a temporary folder that is removed with it, also when with-server
is killed. The exit status is COMMAND's; 128 and the signal's number where a signal ended it; 127 where COMMAND does
not run; 1 where no server can be had.

Read from the environment:
  ONECOPY_TEST_SERVER  the mariadbd or mysqld to use
  ONECOPY_NO_INSTALL   1: never install one from the distribution's packages

Example: with-server -- onecopy sql {URL} 'SELECT version()'
";

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == "--" => {}
        Some(first) if first == "--help" || first == "-h" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => return usage_error(),
    }
    let Some(program) = arguments.next() else {
        return usage_error();
    };

    let authority = Authority::new("with-server");
    let certificate = authority.server(&["127.0.0.1", "localhost"]);
    let server = match Server::builder().tls(&authority, certificate).start() {
        Ok(server) => server,
        Err(error) => {
            eprintln!("with-server: {error}");
            return ExitCode::FAILURE;
        }
    };
    let url = server.socket_url();
    eprintln!(
        "with-server: {} {} on 127.0.0.1:{}",
        server.kind(),
        server.version(),
        server.port()
    );
    let mut command = Command::new(program);
    command
        .args(arguments.map(|argument| with_url(&argument, &url)))
        .env("ONECOPY_URL", &url)
        .env("ONECOPY_TCP_URL", server.url())
        .env("ONECOPY_TLS_URL", server.tls_url().unwrap_or_default());
    run(&mut command)
}

fn usage_error() -> ExitCode {
    eprintln!("with-server: usage: with-server -- COMMAND [ARGUMENT...] (--help says more)");
    ExitCode::from(2)
}

/// Replaces each `{URL}`; arguments need not be UTF-8.
fn with_url(argument: &OsString, url: &str) -> OsString {
    const PLACE: &[u8] = b"{URL}";
    let mut rest = argument.as_bytes();
    let mut result = Vec::with_capacity(rest.len() + url.len());
    while let Some(at) = rest.windows(PLACE.len()).position(|window| window == PLACE) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(url.as_bytes());
        rest = &rest[at + PLACE.len()..];
    }
    result.extend_from_slice(rest);
    OsString::from_vec(result)
}

/// Runs the command to its end. The terminal sends Ctrl-C to the command as well, which decides what it means; other
/// requests to end are passed on. Until here, and whenever we die, the server's watchdog stops it.
fn run(command: &mut Command) -> ExitCode {
    let signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP]);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!(
                "with-server: cannot run {}: {error}",
                command.get_program().display()
            );
            return ExitCode::from(127);
        }
    };
    if let Ok(mut signals) = signals {
        let child = child.id();
        thread::spawn(move || {
            for signal in signals
                .forever()
                .filter(|signal| [SIGTERM, SIGHUP].contains(signal))
            {
                pass_on(signal, child);
            }
        });
    }
    match child.wait() {
        Ok(status) => exit_code(status),
        Err(error) => {
            eprintln!("with-server: cannot wait for the command: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Sends a signal without `unsafe`: the shell has `kill` built in.
fn pass_on(signal: i32, process: u32) {
    let _ = Command::new("/bin/sh")
        .args([
            "-c",
            "kill -\"$1\" \"$2\"",
            "kill",
            &signal.to_string(),
            &process.to_string(),
        ])
        .status();
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let number = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    number
        .and_then(|number| u8::try_from(number).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from)
}
