//! `onecopy upgrade`: another process takes over from a running proxy.

use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use clap::error::ErrorKind;
use onecopy_proxy::config::Config;
use onecopy_proxy::request_upgrade;

use crate::failure::say;

/// Replace a running proxy by the binary that is installed now, without a lost connection
///
/// The running proxy starts its own program again, with its own arguments. The new process takes over the listening sockets; sessions
/// that are open stay with the old one until they end. If the new process fails, the old one goes on. It needs `upgrade.socket` in the
/// configuration.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The configuration file of the running proxy; it is validated first
    #[arg(long, value_name = "FILE", conflicts_with = "socket")]
    config: Option<PathBuf>,
    /// The running proxy's `upgrade.socket`
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Seconds until the new process has to have taken over
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    timeout: u64,
    /// For the proxy itself: start a process, and leave it alone at the end of standard input
    #[arg(last = true, hide = true, value_name = "PROGRAM", conflicts_with_all = ["config", "socket"])]
    start: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  onecopy upgrade --config /etc/onecopy/proxy.toml
  onecopy upgrade --socket /run/onecopy/upgrade.sock";

/// How often it is looked whether the started process has ended.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) fn run(args: Args) -> ExitCode {
    if !args.start.is_empty() {
        return start(&args.start);
    }
    match upgrade(args) {
        Ok(line) => {
            say(&line);
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&format!("onecopy: not upgraded: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn upgrade(args: Args) -> Result<String, String> {
    let socket = match (args.config, args.socket) {
        (_, Some(socket)) => socket,
        (Some(path), None) => {
            let config = Config::from_file(&path).map_err(|error| error.to_string())?;
            let checked = config.check();
            checked.map_err(|error| format!("{}: {error}", path.display()))?;
            let none = || {
                format!(
                    "{}: no `socket` in [upgrade]; add it, and restart the proxy once",
                    path.display()
                )
            };
            config.upgrade.socket.ok_or_else(none)?
        }
        (None, None) => {
            let what =
                "--config FILE (the running proxy's configuration) or --socket PATH is required\n";
            clap::Error::raw(ErrorKind::MissingRequiredArgument, what).exit()
        }
    };
    let timeout = Duration::from_secs(args.timeout);
    let upgraded = request_upgrade(&socket, timeout).map_err(|error| error.to_string())?;
    Ok(format!(
        "process {} has taken over; {} sessions stay with the one before until they end",
        upgraded.process, upgraded.sessions
    ))
}

/// Starts a process and waits for its end, or for that of standard input. It is this process's child until then, so that the proxy that
/// has asked for it sees how it ends; afterwards it is the service manager's.
fn start(words: &[OsString]) -> ExitCode {
    let Some((program, arguments)) = words.split_first() else {
        return ExitCode::FAILURE;
    };
    let mut command = Command::new(program);
    match command.args(arguments).stdin(Stdio::null()).spawn() {
        Ok(child) => wait(child, &input()),
        Err(error) => {
            say(&format!(
                "onecopy: can't start {}: {error}",
                program.display()
            ));
            ExitCode::FAILURE
        }
    }
}

fn wait(mut child: Child, input: &Receiver<()>) -> ExitCode {
    loop {
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => {
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                return code.map_or(ExitCode::FAILURE, ExitCode::from);
            }
            Err(_) => return ExitCode::FAILURE,
        }
        match input.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return ExitCode::SUCCESS,
            Ok(()) => {
                let _ = child.kill();
                let _ = child.wait();
                return ExitCode::FAILURE;
            }
        }
    }
}

/// Each byte of standard input, until its end.
fn input() -> Receiver<()> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = std::io::stdin().lock().bytes();
        while let Some(Ok(_)) = bytes.next() {
            if sender.send(()).is_err() {
                return;
            }
        }
    });
    receiver
}
