//! `onecopy bench valkey`: one kind of request over and over, with the habits of `redis-benchmark`.

mod blocking;
mod cluster;
pub(crate) mod floor;
mod latency;
pub(crate) mod meters;
mod plan;
mod report;
mod shared;
mod tokio;
mod workload;

use onecopy_valkey::{Meter, Session};

use super::failure::Failure;
use super::usage::{Moment, Usage, peak_resident};
use crate::valkey::target::Target;
use latency::Latency;
use plan::{Plan, Test};

/// Benchmark a Valkey or Redis server and print the cost per request.
///
/// Takes redis-benchmark's short options, with its defaults and its keys: key:__rand_int__, or key:000000000000 and so on with
/// -r. In a cluster each client has keys of its own, so that all nodes have some: key:__rand_int__:7, mylist:7. The keys are not
/// deleted afterwards. Replies are checked: a wrong one ends the run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The server: redis://host:port, redis+unix:///path and so on; redis+cluster://a,b for a cluster
    #[arg(long)]
    url: String,
    /// The URL names a node of a cluster: send each request to the node of its key
    #[arg(long)]
    cluster: bool,
    /// Requests in flight per connection
    #[arg(short = 'P', long, value_name = "DEPTH", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pipeline: u32,
    /// Size of a value in bytes
    #[arg(short, long, value_name = "BYTES", default_value_t = 3, value_parser = clap::value_parser!(u32).range(..=1 << 30))]
    data_size: u32,
    /// Number of connections; for --driver shared: tasks on its one connection; for a cluster: clients with a connection to each node
    #[arg(short, long, value_name = "CONNECTIONS", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Total number of requests
    #[arg(short = 'n', long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    requests: u64,
    /// Pick each key, member or field at random from this many, with the same sequence in each run
    #[arg(short = 'r', long, value_name = "KEYS", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    keyspace: Option<u64>,
    /// Tests to run, separated by commas, one after the other
    #[arg(short, long, value_enum, value_name = "TEST", value_delimiter = ',', default_values_t = [Test::Set, Test::Get])]
    tests: Vec<Test>,
    /// Client API to use
    #[arg(long, value_enum, default_value_t = Driver::Blocking)]
    driver: Driver,
    /// Measure the lower bound instead: prebuilt requests, and replies discarded unread; for ping, set and get
    #[arg(long, conflicts_with_all = ["driver", "keyspace"])]
    floor: bool,
    /// Print one line of JSON per test instead of tables
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  onecopy bench valkey --url redis://localhost
  onecopy bench valkey --url redis+unix:///run/valkey.sock -c 1 -P 32 -d 1024
  onecopy bench valkey --url redis://localhost -c 32 --driver shared -t get
  onecopy bench valkey --url redis+cluster://node-a,node-b -c 64 -r 100000
The lower bound, to compare with:
  onecopy bench valkey --url redis://localhost -c 1 -P 32 -t get --floor";

/// The client API that sends the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Driver {
    /// Blocking calls, a thread for each connection
    Blocking,
    /// Tokio, on a runtime of one thread, a task for each connection
    Tokio,
    /// Tokio, all tasks on one connection that batches their requests; of a cluster one to each node
    Shared,
}

/// What came of one test.
#[derive(Debug)]
struct Outcome {
    plan: Plan,
    driver: &'static str,
    server: String,
    usage: Usage,
    /// Of all connections, over the requests alone.
    meter: Meter,
    latency: Latency,
    /// Replies without a value: keys that nothing had written.
    misses: u64,
    /// Over the whole life of the process, in bytes.
    peak_resident: Option<u64>,
}

/// What one client did.
#[derive(Debug)]
struct Done {
    meter: Meter,
    misses: u64,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let target = Target::of_url(&args.url, args.cluster)?;
    for (index, &test) in args.tests.iter().enumerate() {
        let plan = Plan {
            test,
            requests: args.requests,
            // More would have nothing to do.
            clients: u32::try_from(args.requests)
                .map_or(args.connections, |most| most.min(args.connections)),
            depth: args.pipeline,
            keyspace: args.keyspace,
            value: vec![b'x'; args.data_size as usize],
            spreads: matches!(target, Target::Cluster(_)),
        };
        let outcome = match &target {
            Target::Cluster(config) => cluster::run(config, plan, args.driver, args.floor),
            Target::Server(_) | Target::Sentinel(_) => {
                let config = &target.server()?;
                match args.driver {
                    _ if args.floor => floor::run(config, plan),
                    Driver::Blocking => blocking::run(config, plan),
                    Driver::Tokio => tokio::run(config, plan),
                    Driver::Shared => shared::run(config, plan),
                }
            }
        }?;
        if args.json {
            println!("{}", report::json(&outcome));
        } else {
            let gap = if index > 0 { "\n" } else { "" };
            print!("{gap}{}", report::table(&outcome));
        }
    }
    Ok(())
}

/// A stretch that is measured, over all clients.
#[derive(Debug)]
struct Stretch {
    began: Moment,
    latency: Latency,
}

impl Stretch {
    fn start() -> Self {
        Self {
            latency: Latency::new(),
            began: Moment::now(),
        }
    }

    fn end(self, driver: &'static str, server: String, plan: Plan, clients: &[Done]) -> Outcome {
        let usage = self.began.usage();
        Outcome {
            plan,
            driver,
            server,
            usage,
            meter: meters::sum(clients.iter().map(|done| done.meter)),
            latency: self.latency,
            misses: clients.iter().map(|done| done.misses).sum(),
            peak_resident: peak_resident(),
        }
    }
}

/// The server's name and version, where it tells them.
fn server(session: &Session) -> String {
    let name = session.server.as_deref().unwrap_or("server");
    let version = session.version.as_deref().unwrap_or("of unknown version");
    format!("{name} {version}")
}
