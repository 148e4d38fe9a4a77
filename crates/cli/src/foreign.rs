//! Options of `mysql` and `redis-cli` that name the server, where `onecopy` takes a URL.
//!
//! They are declared so that `-h HOST` is not answered with the help, and hidden from it.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgAction, CommandFactory};

use crate::failure::say;
use crate::output::text::{Lines, push_visible};

/// Of `mysql` and `mariadb`.
#[derive(Debug, clap::Args)]
pub(crate) struct MysqlOptions {
    #[arg(short = 'h', long, hide = true, num_args = 0..=1)]
    host: Option<Option<OsString>>,
    #[arg(short = 'u', long, hide = true)]
    user: Option<OsString>,
    #[arg(short = 'P', long, hide = true)]
    port: Option<OsString>,
    #[arg(short = 'D', long, hide = true)]
    database: Option<OsString>,
    #[arg(short = 'S', long, hide = true)]
    socket: Option<OsString>,
    #[command(flatten)]
    help: Help,
}

/// Of `redis-cli` and `valkey-cli`, whose `-p` is ours for the password.
#[derive(Debug, clap::Args)]
pub(crate) struct RedisOptions {
    #[arg(short = 'h', long, hide = true, num_args = 0..=1)]
    host: Option<Option<OsString>>,
    /// A URL there.
    #[arg(short = 'u', hide = true)]
    uri: Option<OsString>,
    #[arg(long, hide = true)]
    user: Option<OsString>,
    #[arg(short = 'n', hide = true)]
    database: Option<OsString>,
    #[arg(short = 'a', long, hide = true)]
    pass: Option<OsString>,
    #[arg(short = 's', hide = true)]
    socket: Option<OsString>,
    #[command(flatten)]
    help: Help,
}

#[derive(Debug, clap::Args)]
struct Help {
    /// Print help (-h prints a summary)
    #[arg(long, action = ArgAction::HelpLong)]
    help: Option<bool>,
}

impl MysqlOptions {
    /// The summary for `-h` alone, and an error for the rest. `first`: the argument that would be the URL, a database there.
    pub(crate) fn answer(&self, first: Option<&OsString>) -> Option<ExitCode> {
        if let (Some(None), None, None) = (&self.host, &self.user, &self.port) {
            return Some(summary("sql"));
        }
        let host = self.host.as_ref().and_then(Option::as_ref);
        let option = [
            ("-h", host),
            ("-u", self.user.as_ref()),
            ("-P", self.port.as_ref()),
            ("-D", self.database.as_ref()),
            ("-S", self.socket.as_ref()),
        ];
        let (option, _) = option.into_iter().find(|(_, value)| value.is_some())?;
        let user = plain(self.user.as_ref(), "USER");
        let database = plain(self.database.as_ref().or(first), "DATABASE");
        let place = match (&self.socket, host) {
            (Some(socket), _) => format!(
                "localhost/{database}?socket={}",
                plain(Some(socket), "PATH")
            ),
            (None, host) => {
                let port = plain(self.port.as_ref(), "PORT");
                format!("{}:{port}/{database}", plain(host, "HOST"))
            }
        };
        Some(refuse(
            option,
            &format!("onecopy sql 'mysql://{user}@{place}' -p"),
        ))
    }
}

impl RedisOptions {
    /// The summary for `-h` alone, and an error for the rest. `behind_p`: what follows `-p`, a port there.
    pub(crate) fn answer(&self, behind_p: Option<&OsString>) -> Option<ExitCode> {
        if let (Some(None), None, None) = (&self.host, &self.pass, &self.database) {
            return Some(summary("valkey"));
        }
        let host = self.host.as_ref().and_then(Option::as_ref);
        let is_port = |text: &OsString| {
            text.to_str()
                .is_some_and(|text| text.parse::<u16>().is_ok())
        };
        let port = behind_p.filter(|text| is_port(text));
        let option = [
            ("-h", host),
            ("-u", self.uri.as_ref()),
            ("--user", self.user.as_ref()),
            ("-n", self.database.as_ref()),
            ("-a", self.pass.as_ref()),
            ("-s", self.socket.as_ref()),
            ("-p PORT", port),
        ];
        let (option, _) = option.into_iter().find(|(_, value)| value.is_some())?;
        let user = match &self.user {
            Some(user) => plain(Some(user), "USER") + "@",
            None => String::new(),
        };
        let database = plain(self.database.as_ref(), "0");
        let url = match &self.socket {
            Some(socket) => format!(
                "redis+unix://{user}{}?db={database}",
                plain(Some(socket), "/PATH")
            ),
            None => {
                let (host, port) = (plain(host, "HOST"), plain(port, "PORT"));
                format!("redis://{user}{host}:{port}/{database}")
            }
        };
        let password = if self.pass.is_some() { " -p" } else { "" };
        Some(refuse(option, &format!("onecopy valkey '{url}'{password}")))
    }
}

/// What was given, where it can stand in a URL and in a shell's quotes as it is.
fn plain(given: Option<&OsString>, placeholder: &str) -> String {
    let is_plain = |text: &&str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
        !text.is_empty() && text.bytes().all(is_plain)
    };
    let text = given.and_then(|given| given.to_str());
    text.filter(is_plain).unwrap_or(placeholder).to_owned()
}

fn refuse(option: &str, command: &str) -> ExitCode {
    let mut line = String::new();
    push_visible(command, Lines::Escaped, &mut line);
    say(&format!(
        "error: {option} is an option of other clients; onecopy takes a url in its place: {line}"
    ));
    ExitCode::from(WRONG_ARGUMENTS)
}

/// The status of a command with wrong arguments, as clap has it.
const WRONG_ARGUMENTS: u8 = 2;

fn summary(command: &str) -> ExitCode {
    let mut cli = crate::Cli::command();
    cli.build();
    let printed = cli
        .find_subcommand_mut(command)
        .map(|found| found.print_help());
    match printed {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
