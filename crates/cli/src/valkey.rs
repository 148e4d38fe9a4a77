//! `onecopy valkey`: commands to a Valkey or Redis, replies to standard output.

mod format;
mod interactive;
mod lines;
mod login;
mod pipe;
mod session;
mod subscribe;
mod transaction;
mod value;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::foreign::RedisOptions;
use crate::meter::MeterFormat;
use format::FormatName;

/// Run commands on Valkey or Redis
///
/// With COMMAND it is run and its reply written: as it is into a pipe or a file, readable on a terminal. Without it commands
/// are read from the terminal, with history, completion and help, or from standard input, one a line. There the first error
/// ends the run.
#[derive(Debug, clap::Args)]
#[command(after_help = SHORT_HELP, after_long_help = LONG_HELP, disable_help_flag = true)]
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

    /// Output format [default: readable on a terminal, otherwise raw]
    #[arg(short, long, value_enum)]
    format: Option<FormatName>,

    /// Read the command's last argument from stdin
    #[arg(short = 'x', long)]
    last_from_stdin: bool,

    /// Send all commands of standard input, lines or RESP, without waiting for each reply; say how many failed
    #[arg(long, conflicts_with_all = ["last_from_stdin", "words", "format"])]
    pipe: bool,

    /// Run the Lua script in FILE; COMMAND is then KEY... , ARG... with a comma between keys and arguments
    #[arg(long, value_name = "FILE", conflicts_with_all = ["last_from_stdin", "pipe"])]
    eval: Option<PathBuf>,

    /// Print copy counters to stderr
    #[arg(long, value_name = "FORMAT", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "table")]
    meter: Option<MeterFormat>,

    /// Ask for the password
    #[arg(short, long)]
    password_prompt: bool,

    /// Take the first line of FILE as the password
    #[arg(long, value_name = "FILE", conflicts_with = "password_prompt")]
    password_file: Option<PathBuf>,

    #[command(flatten)]
    foreign: RedisOptions,
}

const SHORT_HELP: &str = "\
Examples:
  onecopy valkey redis://localhost SET greeting hello
  onecopy valkey redis://localhost GET photo > photo.jpg
  onecopy valkey redis://localhost

--help says more.";

const LONG_HELP: &str = "\
Examples:
  An interactive prompt, with Tab completion and 'help COMMAND':
    onecopy valkey redis://localhost
  A value to a file and back, whatever its size:
    onecopy valkey redis://localhost GET photo > photo.jpg
    onecopy valkey redis://localhost -x SET photo < photo.jpg
  With copy counters:
    onecopy valkey redis://localhost --meter GET photo > photo.jpg
  To another program:
    onecopy valkey redis://localhost -f json HGETALL user:7 | jq .name
  Several commands:
    printf 'INCR a\\nINCR b\\n' | onecopy valkey redis://localhost
  Bulk loading, with an error count:
    onecopy valkey redis://localhost --pipe < commands.txt
  Messages as they come, until Ctrl-C:
    onecopy valkey redis://localhost SUBSCRIBE news
    onecopy valkey redis://localhost -f json PSUBSCRIBE 'room:*' | jq .payload
  A script with its keys and arguments:
    onecopy valkey redis://localhost --eval limit.lua user:7 , 60 100
  The URL from the environment:
    export ONECOPY_VALKEY_URL=redis+unix:///run/valkey/valkey.sock
    onecopy valkey PING

URL:
  redis://, valkey://            TCP, port 6379 where none is given
  rediss://, valkeys://          TLS; the server is verified, ?tls-ca=FILE names
                                 its CA if that is not a system CA
  redis+unix://, valkey+unix://  a Unix socket, redis+unix:///PATH?db=1
  User and password go before the host, redis://user:password@host, a
  password alone behind a colon, redis://:password@host.

Formats:
  raw       The bytes of values. Elements of lists, keys and values of maps too,
            are a line each, null is an empty line. A string that is the whole
            reply of COMMAND is written as it is, without a line feed.
  readable  For people: (integer) 3, numbered lists, strings in quotes with
            escapes that can be typed again.
  json      One line a reply, as RESP3 has it: ?protocol=2 in the url makes no
            difference. Maps are objects, errors inside a reply are
            {\"error\":\"...\"}, strings that are not UTF-8 {\"base64\":\"...\"}.

Subscriptions:
  SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE use a connection of their own. After a
  loss it is made again, and stderr says that messages may be missing.

Values of any size:
  In the format raw a string that is the reply of GET, GETRANGE, HGET, DUMP and
  their like passes through in constant memory, outside of MULTI. With -x a file
  on standard input is sent as it is read; anything else is first read to its
  end, for its length is sent before it.

Lines:
  Words are split at spaces. \"Double quotes\" hold spaces and the escapes \\n \\r
  \\t \\b \\a \\xHH \\\" \\\\, 'single quotes' hold anything but \\'.

--pipe:
  Reads lines and RESP arrays, also mixed. Counts the replies and prints the
  first errors; the exit status is 1 if there was one.

Password:
  The first of: -p, --password-file, the URL (visible to others in the process
  list), ONECOPY_VALKEY_PASSWORD.

History:
  $XDG_STATE_HOME/onecopy/valkey_history, or ~/.local/state/onecopy. Lines that
  hand over a password (AUTH, HELLO ... AUTH, ACL SETUSER, CONFIG SET ...pass)
  and lines that begin with a space are not stored.

Exit status:
  0    success (also if the reader, such as head, closes the pipe early)
  1    an error; the message is on stderr
  2    wrong arguments";

pub(crate) fn run(mut args: Args) -> ExitCode {
    let behind_p = args.url.as_ref().filter(|_| args.password_prompt);
    if let Some(code) = args.foreign.answer(behind_p) {
        return code;
    }
    let ended = match args.pipe {
        true => pipe::run(&mut args),
        false => session::run(&mut args),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}
