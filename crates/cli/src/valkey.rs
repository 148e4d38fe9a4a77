//! `onecopy valkey`: commands to a Valkey or Redis, replies to standard output.

mod format;
mod interactive;
mod interrupt;
mod keys;
mod latency;
mod lines;
mod login;
mod monitor;
mod peer;
mod pipe;
mod repeat;
mod rows;
mod session;
mod stat;
mod subscribe;
pub(crate) mod target;
mod transaction;
mod typed;
mod usage;
mod value;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::foreign::RedisOptions;
use crate::meter::MeterFormat;
use format::FormatName;
use keys::KeyArgs;

/// Run commands on Valkey or Redis
///
/// With COMMAND it is run and its reply written: as it is into a pipe or a file, readable on a terminal. Without it commands
/// are read from the terminal, with history, completion and help, or from standard input, one a line. There the first error
/// ends the run.
#[derive(Debug, clap::Args)]
#[command(after_help = usage::SHORT_HELP, after_long_help = usage::LONG_HELP, disable_help_flag = true)]
pub(crate) struct Args {
    /// redis://user@host:port/db?option=value; may be left out where ONECOPY_VALKEY_URL is set
    url: Option<OsString>,

    /// The command and its arguments; onecopy's options go before it
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,

    /// The URL names a node of a cluster: send each command to the node of its keys
    #[arg(short, long)]
    cluster: bool,

    /// Output format [default: readable on a terminal, otherwise raw]
    #[arg(short, long, value_enum)]
    format: Option<FormatName>,

    /// Same as -f json
    #[arg(long, conflicts_with_all = ["format", "csv", "raw"])]
    json: bool,

    /// Same as -f csv
    #[arg(long, conflicts_with_all = ["format", "raw"])]
    csv: bool,

    /// Same as -f raw
    #[arg(long, conflicts_with = "format")]
    raw: bool,

    /// Read the command's last argument from stdin
    #[arg(short = 'x', long, group = "mode")]
    last_from_stdin: bool,

    /// Send all commands of standard input, lines or RESP, without waiting for each reply; say how many failed
    #[arg(long, group = "mode", conflicts_with_all = ["words", "format", "json", "csv", "raw", "repeat", "interval"])]
    pipe: bool,

    /// Run the Lua script in FILE; COMMAND is then KEY... , ARG... with a comma between keys and arguments
    #[arg(long, value_name = "FILE", group = "mode")]
    eval: Option<PathBuf>,

    /// Run COMMAND N times; -1: until Ctrl-C. For --latency and --stat: N lines
    #[arg(short, long, value_name = "N", value_parser = repeat::times, allow_negative_numbers = true, conflicts_with = "keys")]
    repeat: Option<i64>,

    /// Wait between two runs of COMMAND, two lines of --latency and --stat, or two SCANs; 0.1 is accepted. COMMAND is repeated
    /// until Ctrl-C where -r does not say how often
    #[arg(short, long, value_name = "SECONDS", value_parser = repeat::seconds)]
    interval: Option<Duration>,

    /// Measure the round trip of PING, every 10 ms, until Ctrl-C or -r: a line each second or -i
    #[arg(long, group = "mode", help_heading = "Watch a server")]
    latency: bool,

    /// Show keys, memory, clients and requests, until Ctrl-C or -r: a line each second or -i
    #[arg(long, group = "mode", help_heading = "Watch a server")]
    stat: bool,

    #[command(flatten)]
    keys: KeyArgs,

    /// Print copy counters to stderr
    #[arg(long, value_name = "FORMAT", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "table", conflicts_with_all = ["keys", "latency", "stat"])]
    meter: Option<MeterFormat>,

    /// Ask for the password, without showing it
    #[arg(short, long, visible_alias = "askpass")]
    password_prompt: bool,

    /// Take the first line of FILE as the password
    #[arg(long, value_name = "FILE", conflicts_with = "password_prompt")]
    password_file: Option<PathBuf>,

    #[command(flatten)]
    foreign: RedisOptions,
}

impl Args {
    fn format(&self, is_terminal: bool) -> FormatName {
        match (self.format, self.json, self.csv, self.raw) {
            (Some(format), ..) => format,
            (None, true, ..) => FormatName::Json,
            (None, _, true, _) => FormatName::Csv,
            (None, _, _, true) => FormatName::Raw,
            _ if is_terminal => FormatName::Readable,
            _ => FormatName::Raw,
        }
    }

    /// How often, where -r says so; `None` for no end.
    fn times(&self) -> Option<u64> {
        self.repeat.and_then(|times| u64::try_from(times).ok())
    }
}

pub(crate) fn run(mut args: Args) -> ExitCode {
    let behind_p = args.url.as_ref().filter(|_| args.password_prompt);
    if let Some(code) = args.foreign.answer(behind_p) {
        return code;
    }
    let ended = match &args {
        Args { pipe: true, .. } => pipe::run(&mut args),
        Args { latency: true, .. } => latency::run(&mut args),
        Args { stat: true, .. } => stat::run(&mut args),
        Args { keys, .. } if keys.is_any() => keys::run(&mut args),
        _ => session::run(&mut args),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}
