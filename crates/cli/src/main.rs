//! The onecopy command line.
#![forbid(unsafe_code)]

mod bench;
mod completions;
mod dump;
mod failure;
mod foreign;
mod hint;
mod json_object;
mod load;
mod login;
mod man;
mod meter;
mod output;
mod progress_line;
mod prompt;
mod proxy;
mod sql;
mod state_file;
mod table;
mod top;
mod tour;
mod transfer;
mod upgrade;
mod valkey;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// MySQL proxy and MySQL/Valkey clients that avoid copying data.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Sql(sql::Args),
    Load(load::Args),
    Dump(dump::Args),
    Valkey(valkey::Args),
    Proxy(proxy::Args),
    Top(top::Args),
    Upgrade(upgrade::Args),
    Bench(bench::Args),
    Tour(tour::Args),
    Completions(completions::Args),
    Man(man::Args),
}

const EXAMPLES: &str = "\
Examples:
  onecopy sql mysql://user@localhost/shop -p
  onecopy sql mysql://user@localhost/shop -p 'SELECT * FROM product'
  onecopy sql mysql://user@localhost/shop -p 'SELECT * FROM product' > p.tsv
  onecopy load mysql://user@localhost/shop -p product p.csv
  onecopy dump mysql://user@localhost/shop -p product -o p.csv
  onecopy valkey redis://localhost SET greeting hello
  onecopy valkey redis://localhost
  onecopy sql --help
  onecopy valkey --help";

fn main() -> ExitCode {
    match Cli::parse_from(sql::with_meter_format(std::env::args_os())).command {
        Command::Sql(args) => sql::run(args),
        Command::Load(args) => load::run(args),
        Command::Dump(args) => dump::run(args),
        Command::Valkey(args) => valkey::run(args),
        Command::Proxy(args) => proxy::run(args),
        Command::Top(args) => top::run(args),
        Command::Upgrade(args) => upgrade::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Tour(args) => tour::run(args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clap wraps these texts too, and leaves single words on lines of their own.
    fn fits(command: &clap::Command) {
        for text in [command.get_after_help(), command.get_after_long_help()] {
            let text = text.map(ToString::to_string).unwrap_or_default();
            for line in text.lines() {
                let name = command.get_name();
                assert!(line.chars().count() <= 80, "{name}: {line}");
            }
        }
        command.get_subcommands().for_each(fits);
    }

    #[test]
    fn examples_in_help_fit_a_terminal_of_80_columns() {
        fits(&Cli::command());
    }
}
