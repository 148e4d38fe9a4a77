//! `onecopy dump`: a table, or the rows of a query, to a file or standard output.

mod batches;
mod key;
mod session;
mod target;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::login::MysqlLogin;

/// Dump a table or a query's rows to a file, in constant memory
///
/// Every value is written without loss, and onecopy load reads the file back. Rows are streamed.
#[derive(Debug, clap::Args)]
#[command(after_help = SHORT_HELP, after_long_help = LONG_HELP)]
pub(crate) struct Args {
    /// URL (or ONECOPY_URL), and a table, database.table or query
    #[arg(value_names = ["URL", "TABLE|QUERY"], num_args = 1..=2, required = true)]
    arguments: Vec<String>,

    /// Format [default: by the extension of -o; otherwise tsv]
    #[arg(short, long, value_enum)]
    format: Option<FormatName>,

    /// Write to FILE, which appears when it is complete [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Omit the line of column names in csv and tsv
    #[arg(short = 'N', long)]
    no_header: bool,

    /// Only rows for which this condition holds
    #[arg(long, value_name = "CONDITION")]
    r#where: Option<String>,

    /// sql: the table that the statements insert into [default: TABLE]
    #[arg(long, value_name = "NAME")]
    into: Option<String>,

    /// sql: begin with CREATE TABLE
    #[arg(long)]
    create: bool,

    /// Dump in batches by the primary key, and continue where an earlier run with --resume stopped
    #[arg(long)]
    resume: bool,

    /// Rows of a batch of --resume
    #[arg(long, value_name = "ROWS", default_value_t = 100_000, requires = "resume", value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,

    /// The time zone of TIMESTAMP values; SYSTEM is the server's
    #[arg(long, value_name = "ZONE", default_value = "+00:00")]
    time_zone: String,

    #[command(flatten)]
    login: MysqlLogin,

    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormatName {
    /// RFC 4180; NULL is \N
    Csv,
    /// Tab-separated with \t \n \r \0 \\; NULL is \N
    Tsv,
    /// An array of objects
    Json,
    /// An object a line
    Ndjson,
    /// INSERT statements of many rows each
    Sql,
}

const SHORT_HELP: &str = "\
Examples:
  onecopy dump mysql://user@localhost/shop -p product -o p.csv
  onecopy dump mysql://user@localhost/shop -p 'SELECT * FROM product LIMIT 9'

--help says more.";

const LONG_HELP: &str = "\
Examples:
  To a file, in the format of its extension:
    onecopy dump mysql://user@localhost/shop -p product -o p.ndjson
  Compressed:
    onecopy dump mysql://user@localhost/shop -p product | zstd > p.tsv.zst
  A part of the rows:
    onecopy dump mysql://user@localhost/shop -p product --where 'id > 1000'
  Statements for any client, with the table:
    onecopy dump mysql://user@localhost/shop -p product --create -o p.sql
    onecopy sql mysql://user@localhost/other -p -q < p.sql
  A large table; run the same again after an interruption:
    onecopy dump mysql://user@localhost/shop -p product -o p.tsv --resume
  From one server to another:
    onecopy dump mysql://user@old/shop product |
      onecopy load mysql://user@new/shop product -

Values:
  Text is UTF-8, and numbers, dates and times are written as the server writes
  them. Binary values are raw bytes in csv and tsv, {\"base64\":\"...\"} in json and
  ndjson, 0x... in sql. A BIT is a number. TIMESTAMP is in UTC, where no
  hour occurs twice; --time-zone changes that, for dump and load.
  NULL is \\N in csv and tsv, and a text \\N of csv is \\\\N.
  A table's FLOAT columns have all their digits. In a query the server sends
  six; write CAST(x AS DOUBLE) for all.
  Generated columns of a table are left out, because they can't be loaded;
  invisible columns are included.

A dump is one statement: all rows come from one snapshot, if the table
supports transactions. For a snapshot of several tables use mariadb-dump or
mysqldump; onecopy sql loads what they write.

--resume:
  FILE.part grows by a batch at a time, and FILE.onecopy-dump has the key of
  the last row in it. The rows of each run are from one snapshot, if the table
  supports transactions; what changes between two runs may be in the file or
  not. It needs -o FILE, and a table whose primary key is of integers, decimals,
  texts, bytes, dates or times, not of FLOAT, DOUBLE, ENUM, SET or prefixes.
  --where is a condition only, without ORDER BY and LIMIT.

Login:
  As for onecopy sql: its --help tells of passwords, TLS and --defaults-file.

Exit status:
  0    success (also if the reader, such as head, closes the pipe early)
  1    error; the message is on stderr, and FILE is not created (with --resume
       what there is stays in FILE.part)
  2    wrong arguments";

pub(crate) fn run(args: Args) -> ExitCode {
    match session::run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(None),
    }
}
