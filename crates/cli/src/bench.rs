//! `onecopy bench`: the workloads, and how they are run.

use std::process::ExitCode;

/// Run the benchmarks' workloads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: Args) -> ExitCode {
    ExitCode::FAILURE
}
