//! `onecopy load`: rows of a file, or of standard input, into a table.

mod convert;
mod csv_records;
mod infile;
mod ndjson;
mod records;
mod resume;
mod session;
mod source;
mod tsv;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::failure::Failure;
use crate::login::MysqlLogin;

/// Load rows from a file into a table, fast and in constant memory
///
/// Rows are committed in batches of 10,000. An error rolls its batch back and names the line and its values; the batches
/// before stay. FILE is - for standard input.
#[derive(Debug, clap::Args)]
#[command(after_help = SHORT_HELP, after_long_help = LONG_HELP, disable_help_flag = true)]
pub(crate) struct Args {
    /// URL (or ONECOPY_URL), table or database.table, file or -
    #[arg(value_names = ["URL", "TABLE", "FILE"], num_args = 2..=3, required = true)]
    arguments: Vec<String>,

    /// Format of FILE [default: by its name's end; tsv for -]
    #[arg(short, long, value_enum)]
    format: Option<FormatName>,

    /// FILE has no line of column names: csv and tsv
    #[arg(short = 'N', long)]
    no_header: bool,

    /// Columns of the fields, in order; - skips a field [default: the first line's names]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,

    /// The field that is NULL, in csv and tsv
    #[arg(long, value_name = "TEXT", default_value = r"\N")]
    null: String,

    /// What separates the fields of csv
    #[arg(long, value_name = "CHARACTER", default_value = ",")]
    delimiter: char,

    /// How rows are sent
    #[arg(long, value_enum, default_value = "auto")]
    method: Method,

    /// Rows in a batch, which is a transaction
    #[arg(long, value_name = "ROWS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,

    /// Leave out rows that the server refuses: INSERT IGNORE
    #[arg(long, conflicts_with = "replace")]
    ignore: bool,

    /// Replace rows with the same key: REPLACE
    #[arg(long)]
    replace: bool,

    /// Go on where an earlier run with --resume stopped
    #[arg(long)]
    resume: bool,

    /// Where --resume keeps its place [default: FILE.onecopy-load]
    #[arg(long, value_name = "STATE")]
    state: Option<PathBuf>,

    /// The time zone of TIMESTAMP values in FILE; SYSTEM is the server's
    #[arg(long, value_name = "ZONE", default_value = "+00:00")]
    time_zone: String,

    #[command(flatten)]
    login: MysqlLogin,

    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

/// What a file contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormatName {
    /// Comma-separated, RFC 4180
    Csv,
    /// Tab-separated with \t \n \r \0 \\, as `LOAD DATA` reads it
    Tsv,
    /// A JSON object a line; a key that is missing gets the default
    Ndjson,
}

/// How rows get to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Method {
    /// bulk on MariaDB, insert on MySQL
    Auto,
    /// LOAD DATA LOCAL INFILE; tsv only, and the server must allow it
    Infile,
    /// MariaDB's COM_STMT_BULK_EXECUTE
    Bulk,
    /// INSERT ... VALUES (...), (...)
    Insert,
}

const SHORT_HELP: &str = "\
Examples:
  onecopy load mysql://user@localhost/shop -p product p.csv
  zcat p.jsonl.gz | onecopy load mysql://user@localhost/shop product - -f ndjson

--help says more.";

const LONG_HELP: &str = "\
Examples:
  The first line names the columns:
    onecopy load mysql://user@localhost/shop -p product p.csv
  No names in the file; the second field is not wanted:
    onecopy load mysql://user@localhost/shop -p product p.csv -N \\
      --columns id,-,price
  A spreadsheet's csv: semicolons, and an empty field is NULL:
    onecopy load mysql://user@localhost/shop -p product p.csv \\
      --delimiter ';' --null ''
  From a pipe:
    zcat p.tsv.gz | onecopy load mysql://user@localhost/shop -p product -
  From one server to another:
    onecopy dump mysql://user@old/shop product |
      onecopy load mysql://user@new/shop product -
  The user and the password of an option file:
    onecopy load --defaults-file ~/.my.cnf mysql:///shop product p.csv
  Hours of work that may be interrupted: run it again until it ends well.
    onecopy load mysql://user@localhost/shop -p product p.csv --resume

Values:
  Numbers, dates and texts are given as they stand in the file, which is UTF-8
  but for binary columns. BIT is a number. In tsv, \\t \\n \\r \\0 and \\\\ are
  unescaped. In ndjson, {\"base64\":\"...\"} is bytes, true and false are 1 and 0,
  other objects and arrays are JSON text.
  The session is strict: a value that does not fit is an error. 0 in an
  AUTO_INCREMENT column is stored as 0. TIMESTAMP is read in UTC, as onecopy
  dump writes it, unless --time-zone says otherwise.
  What onecopy dump writes as csv, tsv or ndjson is loaded without a loss.

NULL:
  A csv or tsv field that is \\N, or --null TEXT. In csv one more backslash
  before \\N makes it the text. A column that is not named gets its default.

Methods:
  bulk is the fastest on MariaDB; insert works everywhere. infile sends the
  file to LOAD DATA LOCAL as it is: it costs this side hardly anything, but
  needs local_infile=ON on the server, and tsv. Its warnings are errors here.

--resume:
  The place behind the last batch that was committed is kept in
  FILE.onecopy-load, which is removed at the end. Give --resume from the first
  run on. A batch whose commit was not confirmed when the program died is loaded
  again: with a primary key that is an error and not a second copy; --ignore
  passes over it. With - for FILE, give --state too, and the same input again.

Errors:
  A batch that fails is rolled back (but not in tables without transactions, as
  MyISAM and Aria), and run once more row by row to find the line, if FILE is a
  file.

Login:
  As for onecopy sql: its --help tells of passwords, TLS and --defaults-file.

Exit status:
  0    all rows are loaded
  1    an error; the message is on stderr
  2    wrong arguments";

pub(crate) fn run(args: Args) -> ExitCode {
    match session::run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err((failure, place)) => {
            failure.report(place.as_ref().map(|place| place as &dyn std::fmt::Display))
        }
    }
}

impl Args {
    /// Table and file, behind the URL.
    fn table_and_file(arguments: &[String]) -> Result<(&str, &Path), Failure> {
        match arguments {
            [table, file] => Ok((table, Path::new(file))),
            _ => Err(Failure::other(
                "give a table and a file: onecopy load URL TABLE FILE",
            )),
        }
    }

    fn format_of(&self, file: &Path) -> Result<FormatName, Failure> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        match file.extension().and_then(|end| end.to_str()) {
            Some("csv") => Ok(FormatName::Csv),
            Some("tsv" | "txt") => Ok(FormatName::Tsv),
            Some("ndjson" | "jsonl") => Ok(FormatName::Ndjson),
            None if file == Path::new("-") => Ok(FormatName::Tsv),
            _ => Err(Failure::other(format!(
                "{}: the name tells no format; give --format csv, tsv or ndjson",
                file.display()
            ))),
        }
    }
}
