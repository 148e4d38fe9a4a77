//! `onecopy bench client`: one workload, over and over, on one connection.

pub(crate) mod blocking;
mod floor;
mod tokio;

use onecopy_mysql::{Config, Meter, Param};

use super::failure::Failure;
use super::progress::Progress;
use super::report;
use super::usage::{Moment, Usage, peak_resident};
use super::workload::{Values, Workload};

/// Run one workload over one connection and print its cost per iteration.
///
/// Every column of every row is decoded and added to a checksum; of a byte string its length and five bytes, because adding all
/// bytes would cost more than receiving them. Start-up and two warm-up iterations are not counted.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The workload.
    workload: Workload,
    /// Server and database, prepared by `onecopy bench setup`.
    #[arg(long)]
    url: String,
    /// Iterations [default: as many as fit in a few seconds].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// Client API to use.
    #[arg(long, value_enum, default_value_t = Driver::Blocking)]
    driver: Driver,
    /// Measure the lower bound instead: a bare socket that sends the same prebuilt request and discards the response.
    #[arg(long, conflicts_with = "driver")]
    floor: bool,
    /// Use the value of 256 MiB instead of 64 MiB.
    #[arg(long)]
    large: bool,
    /// Print a JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// The client API that runs the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Driver {
    /// Blocking calls.
    Blocking,
    /// Tokio, on a runtime of one thread.
    Tokio,
}

/// What is run, made before anything is measured.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) workload: Workload,
    pub(crate) sql: String,
    pub(crate) params: &'a [Param<'a>],
    pub(crate) iterations: u64,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) server: String,
    pub(super) iterations: u64,
    pub(super) usage: Usage,
    /// Counted over the iterations alone.
    pub(super) meter: Meter,
    /// The same since the connection was made, login and warm-up included.
    pub(super) connection_meter: Meter,
    /// The sum of one iteration, the same for each; the floor has none.
    pub(super) checksum: Option<u64>,
    /// Over the whole life of the process, in bytes.
    pub(super) peak_resident: Option<u64>,
}

/// Iterations before the first that counts: the server sends a statement's definitions with the first one, and the
/// client's buffers find their size.
const WARM_UP: u64 = 2;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let config = Config::from_url(&args.url)?;
    if config.database.is_none() {
        return Err(Failure::said(
            "the url names no database; write mysql://user@host/database",
        ));
    }
    let values = Values::new();
    let params = values.params(args.workload);
    let job = Job {
        workload: args.workload,
        sql: args.workload.sql(args.large),
        params: &params,
        iterations: args
            .iterations
            .unwrap_or_else(|| args.workload.default_iterations()),
    };
    let (api, outcome) = match args.driver {
        _ if args.floor => ("floor", floor::run(&config, &job)?),
        Driver::Blocking => ("blocking", blocking::run(&config, &job)?),
        Driver::Tokio => ("tokio", tokio::run(&config, &job)?),
    };
    let workload = args.workload.name();
    if args.json {
        println!("{}", report::json(&workload, api, &outcome));
    } else {
        print!("{}", report::table(&workload, api, &outcome));
    }
    Ok(())
}

impl Job<'_> {
    fn progress(&self) -> Progress {
        Progress::of_steps("iterations", self.iterations)
    }
}

/// A stretch that is measured.
#[derive(Debug)]
struct Stretch {
    server: String,
    before: Meter,
    start: Moment,
}

impl Stretch {
    fn start(server: &str, meter: Meter) -> Self {
        let server = server.strip_prefix("5.5.5-").unwrap_or(server).to_owned();
        Self {
            server,
            before: meter,
            start: Moment::now(),
        }
    }

    fn end(self, iterations: u64, meter: Meter, checksum: Option<u64>) -> Outcome {
        Outcome {
            usage: self.start.usage(),
            server: self.server,
            iterations,
            meter: meter.since(&self.before),
            connection_meter: meter,
            checksum,
            peak_resident: peak_resident(),
        }
    }
}

/// Every iteration reads the same: another sum is a mistake of the client's, or somebody changes the table.
fn same(sum: u64, expected: u64) -> Result<(), Failure> {
    if sum == expected {
        Ok(())
    } else {
        Err(differ())
    }
}

#[cold]
fn differ() -> Failure {
    Failure::said("two iterations gave different values; does anyone write to the tables?")
}
