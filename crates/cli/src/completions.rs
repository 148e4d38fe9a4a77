//! `onecopy completions`: scripts with which shells complete our commands and options.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap_complete::Shell;
use clap_complete::aot::generate;

use crate::failure::Failure;

/// Print a script for a shell that completes commands and options
///
/// The packages of onecopy install these scripts. Use this command if you have built onecopy yourself.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    shell: ShellName,
}

/// The shells that a test runs the script in; `clap_complete` has others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ShellName {
    Bash,
    Zsh,
    Fish,
}

const EXAMPLES: &str = "\
Examples:
  bash, in this shell (for all shells: in ~/.bashrc):
    source <(onecopy completions bash)
  zsh, in a folder of $fpath:
    onecopy completions zsh > ~/.zfunc/_onecopy
  fish:
    onecopy completions fish > ~/.config/fish/completions/onecopy.fish";

pub(crate) fn run(args: &Args, mut cli: clap::Command) -> ExitCode {
    match print(args.shell, &mut cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => Failure::from(error).report(None),
    }
}

fn print(shell: ShellName, cli: &mut clap::Command) -> io::Result<()> {
    let shell = match shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
    };
    // `generate` panics if it can't write.
    let mut script = Vec::new();
    generate(shell, cli, "onecopy", &mut script);
    let mut out = io::stdout();
    out.write_all(&script)?;
    out.flush()
}
