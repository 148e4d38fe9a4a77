//! `onecopy bench`: the workloads, and how they are run.

pub(crate) mod client;
pub(crate) mod failure;
pub(crate) mod floor;
mod fold;
mod parse;
pub(crate) mod progress;
mod report;
pub(crate) mod setup;
pub(crate) mod shape;
mod tap;
pub(crate) mod usage;
pub(crate) mod valkey;
pub(crate) mod workload;

use std::process::ExitCode;

/// Run benchmark workloads.
///
/// For MySQL, run `setup` once to create the tables; `client` then runs one workload over one connection. `valkey` needs no
/// setup. `parse` needs no server: it parses replies of Valkey and Redis in memory.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Setup(setup::Args),
    Client(client::Args),
    Valkey(valkey::Args),
    Parse(parse::Args),
}

pub(crate) fn run(args: Args) -> ExitCode {
    let done = match args.command {
        Command::Setup(args) => setup::run(&args),
        Command::Client(args) => client::run(&args),
        Command::Valkey(args) => valkey::run(&args),
        Command::Parse(args) => parse::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => crate::failure::Failure::from(failure).report(None),
    }
}
