//! `onecopy sql`: statements to a server, rows to standard output.

use std::process::ExitCode;

/// Run SQL and show its rows as they stream in.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: Args) -> ExitCode {
    ExitCode::FAILURE
}
