//! `onecopy tour`: what onecopy does, on a server, in under two minutes.

use std::process::ExitCode;

/// Take the tour on a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: Args) -> ExitCode {
    ExitCode::FAILURE
}
