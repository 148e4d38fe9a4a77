//! `onecopy top`: what running proxies do, in the terminal.

mod action;
mod batch;
#[cfg(test)]
mod fixture;
mod grid;
mod keys;
mod latency;
mod live;
mod poller;
mod proxy;
mod screen;
mod state;
mod table;
mod target;
mod terminal;
mod value;
mod view;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use crate::login::MysqlLogin;
use screen::Screen;
use target::Target;

/// Watch running proxies in the terminal
///
/// Shows what listeners, backends, sessions and statements of one or several proxies do, over their admin listeners
/// (admin.listen). Sessions can be killed, backends drained and listeners paused by key. Without a terminal it prints
/// the tables once.
#[derive(Debug, clap::Args)]
#[command(after_help = SHORT_HELP, after_long_help = LONG_HELP)]
pub(crate) struct Args {
    /// Admin listeners: USER@HOST:PORT, or a mysql:// URL; port 6032 and user admin by default
    #[arg(value_name = "PROXY")]
    proxies: Vec<String>,

    /// Time between two refreshes, 0.5 to 600 seconds
    #[arg(short = 'd', long, value_name = "SECONDS", value_parser = seconds, default_value = "1")]
    interval: Duration,

    /// Print the tables as text, once, and exit
    #[arg(short = 'b', long, visible_alias = "batch")]
    once: bool,

    /// With --once: print them so often; 0 for no end
    #[arg(short = 'n', long, value_name = "TIMES", requires = "once")]
    times: Option<u64>,

    /// The screen to start with; with --once, the only ones to print
    #[arg(
        short,
        long = "screen",
        value_name = "NAME",
        value_enum,
        value_delimiter = ','
    )]
    screens: Vec<Screen>,

    /// Show only rows that have all these words
    #[arg(short, long, value_name = "WORDS")]
    filter: Option<String>,

    /// Let no key change anything on a proxy
    #[arg(long)]
    read_only: bool,

    #[command(flatten)]
    login: MysqlLogin,

    /// Snapshots to print; `None` is no end.
    #[arg(skip)]
    count: Option<u64>,
}

const SHORT_HELP: &str = "\
Examples:
  onecopy top admin@127.0.0.1:6032 -p
  onecopy top admin@10.0.0.1 admin@10.0.0.2 --password-file admin.password
  onecopy top admin@127.0.0.1 -p --once --screen sessions

--help says more.";

const LONG_HELP: &str = "\
Examples:
  One proxy, which asks for the password:
    onecopy top admin@127.0.0.1:6032 -p
  Several proxies with one password:
    onecopy top admin@10.0.0.1 admin@10.0.0.2 --password-file admin.password
  A Unix socket:
    onecopy top 'mysql://admin@localhost/?socket=/run/onecopy/admin.sock' -p
  The sessions of a user, as text:
    onecopy top admin@127.0.0.1 -p --once --screen sessions --filter app

Keys:
  ? shows all. 1 to 9 are the screens, / filters, left and right sort by another
  column, Enter shows all values of a row, Space pauses.
  K kills a session, D drains a backend, R resumes a backend or a listener, P
  pauses a listener. Each asks first.

Password:
  The first of: -p, --password-file, the argument (visible to others in the
  process list), the option file, ONECOPY_PASSWORD. With several proxies, -p
  asks for each.

Network:
  The admin listener has no TLS. To a proxy on another host use a tunnel, such
  as ssh -L 6032:127.0.0.1:6032 HOST, or add ?ssl-mode=disabled to the address
  in a network that you trust.

--once:
  Asks twice, with the interval between, so that rates are known. Numbers have
  all digits; the names of columns have their units. A value that is not known
  is -. What goes to a pipe or a file is printed like this too.

Colours:
  None if NO_COLOR is set. They only repeat what words say.

Exit status:
  0    success (also if the reader, such as head, closes the pipe early)
  1    no proxy answered; with --once, at least one did not
  2    wrong arguments
  143  ended by SIGTERM; 128 and the signal's number for other signals";

pub(crate) fn run(mut args: Args) -> ExitCode {
    let targets = match Target::all(&args.proxies, &args.login) {
        Ok(targets) => targets,
        Err(failure) => return failure.report(None),
    };
    args.count = Some(args.times.unwrap_or(1)).filter(|times| *times > 0);
    let ended = match args.once || !io::stdout().is_terminal() {
        true => batch::run(targets, &args),
        false => live::run(targets, &args),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}

/// Reads the interval.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| (keys::SHORTEST..=keys::LONGEST).contains(time))
        .ok_or_else(|| "write seconds from 0.5 to 600".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_seconds_within_limits() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("600"), Ok(Duration::from_secs(600)));
        for text in ["0", "0.4", "601", "-1", "nan", "inf", "x", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
