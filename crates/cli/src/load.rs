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
/// Rows are committed in batches of 10,000, with --method infile of 100,000. An error rolls its batch back and names the
/// line and its values; earlier batches stay. FILE is - for standard input.
#[derive(Debug, clap::Args)]
#[command(after_help = SHORT_HELP, after_long_help = LONG_HELP)]
pub(crate) struct Args {
    /// URL (or ONECOPY_URL), table or database.table, file or -
    #[arg(value_names = ["URL", "TABLE", "FILE"], num_args = 2..=3, required = true)]
    arguments: Vec<String>,

    /// Format of FILE [default: by its extension; tsv for -]
    #[arg(short, long, value_enum)]
    format: Option<FormatName>,

    /// FILE has no header line with column names (csv, tsv)
    #[arg(short = 'N', long)]
    no_header: bool,

    /// Column of each field, in order; - skips a field [default: the names in the header]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,

    /// Text that stands for NULL, in csv and tsv
    #[arg(long, value_name = "TEXT", default_value = r"\N")]
    null: String,

    /// Field separator of csv
    #[arg(long, value_name = "CHARACTER", default_value = ",")]
    delimiter: char,

    /// How rows are sent
    #[arg(long, value_enum, default_value = "auto")]
    method: Method,

    /// Rows in a batch, which is a transaction [default: 10000, or 100000 with --method infile]
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    batch: Option<u64>,

    /// Skip rows that the server refuses (INSERT IGNORE)
    #[arg(long, conflicts_with = "replace")]
    ignore: bool,

    /// Replace existing rows with the same key (REPLACE)
    #[arg(long)]
    replace: bool,

    /// Continue where an earlier run with --resume stopped
    #[arg(long)]
    resume: bool,

    /// File in which --resume stores its position [default: FILE.onecopy-load]
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
    /// One JSON object per line; a missing key gets the default
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
  With a header line:
    onecopy load mysql://user@localhost/shop -p product p.csv
  Without a header; skip the second field:
    onecopy load mysql://user@localhost/shop -p product p.csv -N \\
      --columns id,-,price
  From a spreadsheet, with semicolons; empty fields are NULL:
    onecopy load mysql://user@localhost/shop -p product p.csv \\
      --delimiter ';' --null ''
  From a pipe:
    zcat p.tsv.gz | onecopy load mysql://user@localhost/shop -p product -
  From one server to another:
    onecopy dump mysql://user@old/shop product |
      onecopy load mysql://user@new/shop product -
  With the user and password from an option file:
    onecopy load --defaults-file ~/.my.cnf mysql:///shop product p.csv
  A long load that may be interrupted: repeat the command until it succeeds.
    onecopy load mysql://user@localhost/shop -p product p.csv --resume

Values:
  Numbers, dates and texts are sent as they are in the file, which is UTF-8
  except in binary columns. BIT is a number. In tsv, \\t \\n \\r \\0 and \\\\ are
  unescaped. In ndjson, {\"base64\":\"...\"} is bytes, true and false are 1 and 0,
  other objects and arrays are JSON text.
  The session is strict: a value that does not fit is an error. 0 in an
  AUTO_INCREMENT column is stored as 0. TIMESTAMP is read in UTC, as onecopy
  dump writes it, unless --time-zone says otherwise.
  Files that onecopy dump wrote as csv, tsv or ndjson are loaded without loss.

NULL:
  A csv or tsv field \\N, or the TEXT of --null, is NULL. In csv the text \\N is
  written as \\\\N. Columns that are not named get their defaults.

Methods:
  bulk is the fastest on MariaDB; insert works everywhere. infile sends the
  file unchanged to LOAD DATA LOCAL: it takes the least CPU in the client, but
  needs local_infile=ON on the server, and tsv. Its warnings count as errors.

--resume:
  The position after the last committed batch is stored in FILE.onecopy-load,
  which is removed at the end. Use --resume from the first run on. If the
  program was killed before a commit was confirmed, that batch is loaded again:
  with a primary key this is an error and not a second copy; --ignore skips it.
  With - for FILE, also give --state, and the same input again.

Errors:
  A failing batch is rolled back (except in tables without transactions, such as
  MyISAM and Aria). If FILE is a file, it is then run again row by row to find
  the line.

Login:
  As for onecopy sql: its --help describes passwords, TLS and --defaults-file.

Exit status:
  0    success
  1    error; the message is on stderr
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
                "{}: unknown file name extension; give --format csv, tsv or ndjson",
                file.display()
            ))),
        }
    }

    /// Rows in a batch. A file that goes to the server as it is has larger ones: each costs three round trips.
    fn batch_rows(&self) -> u64 {
        let default = match self.method {
            Method::Infile => 100_000,
            Method::Auto | Method::Bulk | Method::Insert => 10_000,
        };
        self.batch.unwrap_or(default)
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    #[test]
    fn a_file_that_is_sent_as_it_is_has_larger_batches_unless_the_user_says_otherwise() {
        for (method, batch, rows) in [
            (Method::Auto, None, 10_000),
            (Method::Insert, None, 10_000),
            (Method::Infile, None, 100_000),
            (Method::Infile, Some(7), 7),
        ] {
            let mut command = vec!["load", "mysql://localhost/", "t", "t.tsv"];
            let batch = batch.map(|batch: u64| batch.to_string());
            if let Some(batch) = &batch {
                command.extend(["--batch", batch]);
            }
            let name = clap::ValueEnum::to_possible_value(&method).unwrap();
            command.extend(["--method", name.get_name()]);
            let parser = Args::augment_args(clap::Command::new("load"));
            let found = Args::from_arg_matches(&parser.get_matches_from(command)).unwrap();
            assert_eq!(found.batch_rows(), rows, "{method:?}");
        }
    }
}
