//! `onecopy sql`: statements to a server, rows to standard output.

mod cancel;
mod login;
mod printer;
mod session;
mod shell;
mod source;
mod splitter;
mod summary;
mod value_file;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::foreign::MysqlOptions;
use crate::login::MysqlLogin;
use crate::meter::MeterFormat;
use crate::output::FormatName;

/// Run SQL and show its rows as they stream in
///
/// Results of any size pass through in constant memory. Each STATEMENT is sent as it is, byte for byte; without one,
/// statements come from standard input, where ';' ends each. The first error ends the run.
///
/// On a terminal, without STATEMENT, it is a shell with history, completion, a pager and commands.
#[derive(Debug, clap::Args)]
#[command(after_help = SHORT_HELP, after_long_help = LONG_HELP, disable_help_flag = true)]
pub(crate) struct Args {
    /// mysql://user@host:port/database?option=value; may be left out where ONECOPY_URL is set
    url: Option<OsString>,

    /// SQL; each argument is one statement
    #[arg(value_name = "STATEMENT")]
    statements: Vec<OsString>,

    /// Output format [default: table on a terminal, otherwise tsv]
    #[arg(short, long, value_enum)]
    format: Option<FormatName>,

    /// Omit column names in table, csv and tsv
    #[arg(short = 'N', long)]
    no_header: bool,

    /// Print copy counters to stderr
    #[arg(long, value_name = "FORMAT", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "table")]
    meter: Option<MeterFormat>,

    /// Write one value of one row to FILE as it arrives, in constant memory
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// The column for --out; needed where there are several
    #[arg(long, value_name = "NAME", requires = "out")]
    column: Option<String>,

    /// Cancel a statement that takes longer, its rows included; 0 for no limit
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,

    #[command(flatten)]
    login: MysqlLogin,

    /// Print only rows and errors
    #[arg(short, long)]
    quiet: bool,

    /// Colours of tables, and of messages
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    color: Color,

    #[command(flatten)]
    foreign: MysqlOptions,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Color {
    /// On a terminal unless NO_COLOR is set; tables of arguments and of pipes have none
    Auto,
    Always,
    Never,
}

const SHORT_HELP: &str = "\
Examples:
  onecopy sql mysql://user@localhost/shop -p
  onecopy sql mysql://user@localhost/shop -p 'SELECT * FROM product'
  onecopy sql mysql://user@localhost/shop -p < schema.sql

--help says more.";

const LONG_HELP: &str = "\
Examples:
  A shell:
    onecopy sql mysql://user@localhost/shop -p
  A table, with copy counters:
    onecopy sql mysql://user@localhost/shop -p 'SELECT * FROM product' --meter
  To a file as tsv, for LOAD DATA:
    onecopy sql mysql://user@localhost/shop -p 'SELECT * FROM product' > p.tsv
  To another program:
    onecopy sql mysql://user@localhost/shop -p 'SELECT * FROM product' -f json |
      jq '.[].name'
  Several statements:
    onecopy sql mysql://user@localhost/shop -p 'USE test' 'SHOW TABLES'
    onecopy sql mysql://user@localhost/shop -p < schema.sql
  Load a dump of mariadb-dump or mysqldump without triggers and procedures:
    onecopy sql mysql://user@localhost/shop --password-file=FILE -q < dump.sql
  One large value to a file:
    onecopy sql mysql://user@localhost/shop -p --out photo.jpg \\
      'SELECT photo FROM product WHERE id = 7'
  The URL from the environment:
    export ONECOPY_URL='mysql://user@localhost/shop?socket=/run/mysqld.sock'
    onecopy sql 'SELECT VERSION()'

Shell:
  A statement ends with ; or \\G, and may have any number of lines. Tab
  completes keywords, databases, tables, columns and functions. Output that is
  longer than the screen goes to $PAGER, or to less. Ctrl-C cancels the
  statement on the server, and Ctrl-D exits. \\? lists the commands and
  keys.
    \\d  \\dt  \\l     tables and views, tables with sizes, databases
    \\d product      columns and indexes of a table
    SELECT ...\\G    one line for each column; \\x auto: if rows are too wide
    \\watch 2        the last statement, every 2 seconds
    \\. FILE         the statements of a file
    \\pager off      no pager
  History: $XDG_STATE_HOME/onecopy/sql_history, or ~/.local/state/onecopy.
  Statements with a password (IDENTIFIED BY, SET PASSWORD and others) and
  lines that begin with a space are not stored.

Formats:
  table     For people. Long values are cut with …, a line feed is \\n, binary
            values are 0x... Widths are computed from the first 1,000 rows,
            256 KiB or second.
  vertical  For people. One line for each column, with whole values.
  json      An array of objects, one row per line; several results are several
            arrays. Numbers have every digit that the server sent, dates are
            strings. Values of binary columns, and texts up to 64 KiB that are
            not UTF-8, are {\"base64\":\"...\"}; a longer text that is not UTF-8 is
            an error. Columns of one name are a, a_2, a_3.
  csv       RFC 4180. NULL is an empty field, an empty text is \"\".
  tsv       \\t \\n \\r \\0 \\\\ in values, \\N for NULL: LOAD DATA ... IGNORE 1 LINES
            reads it back.
  csv and tsv begin with a header line; an empty line separates two results.
  A BIT is a number in every format.

Password:
  The first of: -p, --password-file, the URL (visible to others in the process
  list), the option file, ONECOPY_PASSWORD.

--defaults-file:
  Reads user, password, host, port, socket, database and the options of TLS from
  the groups [client] and [onecopy] of a file that mysql and mariadb read too.
  Whatever is in the URL overrides it; a URL with a user does not use the file's
  password.
    onecopy sql --defaults-file ~/.my.cnf
    onecopy sql --defaults-file ~/.my.cnf mysql:///shop 'SHOW TABLES'
  The file must not be writable by other users. ?defaults-file= in the URL is
  the same, for all commands.

TLS:
  The default is ssl-mode=verify-full: the server's certificate and host name
  are verified. Over a Unix socket and to localhost TLS is off (disabled).
  ?ssl-ca=FILE verifies against this CA instead of the system's, and turns TLS
  on.
    mysql://user@db.example.com/shop?ssl-ca=ca.pem
    mysql://user@db.example.com/shop?ssl-mode=verify-ca&ssl-ca=ca.pem
  verify-ca does not check the host name: MySQL's self-generated certificates
  have none. The modes required and preferred encrypt without verifying the
  server.

--out:
  Writes the value of the only row of the only result. FILE stays unchanged if
  there is no row, the value is NULL, or --column is required but missing. A
  second row is an error; FILE then has the first row's value.

Ctrl-C:
  Cancels the query on the server, with KILL QUERY over a second connection.
  Press it again to exit at once; the shell stays, and Ctrl-\\ ends it.

Timeouts:
  --timeout SECONDS, or ?statement-timeout=SECONDS in the URL, limits each
  statement, from sending it to its last row. ?call-timeout=SECONDS limits each
  wait for the first reply or the next row, so a result whose rows keep coming
  goes on. A statement over either limit is cancelled on the server, and is an
  error. ?connect-timeout=SECONDS limits connecting and logging in, 10 by
  default.

Exit status:
  0    success (also if the reader, such as head, closes the pipe early)
  1    an error; the message is on stderr
  2    wrong arguments
  130  ended by Ctrl-C; 128 and the signal's number for other signals";

impl Color {
    /// For what goes to standard error.
    fn apply(self) {
        match self {
            Self::Auto => {}
            Self::Always => anstream::ColorChoice::Always.write_global(),
            Self::Never => anstream::ColorChoice::Never.write_global(),
        }
    }
}

/// `--meter json` as `--meter=json`: its format may be left out, so that clap would take the word for a statement. None is
/// spelled like that.
pub(crate) fn with_meter_format(
    arguments: impl Iterator<Item = OsString>,
) -> impl Iterator<Item = OsString> {
    let mut arguments = arguments.peekable();
    let mut options_ended = false;
    std::iter::from_fn(move || {
        let mut argument = arguments.next()?;
        options_ended |= argument == "--";
        if argument == "--meter"
            && !options_ended
            && let Some(format) = arguments.next_if(|next| next == "json" || next == "table")
        {
            argument.push("=");
            argument.push(format);
        }
        Some(argument)
    })
}

pub(crate) fn run(mut args: Args) -> ExitCode {
    if let Some(code) = args.foreign.answer(args.url.as_ref()) {
        return code;
    }
    let config = match login::config(&mut args) {
        Ok(config) => config,
        Err(failure) => return failure.report(None),
    };
    args.color.apply();
    let ended = match shell::is_wanted(&args) {
        true => shell::run(config, &args),
        false => session::run(&config, args),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}
