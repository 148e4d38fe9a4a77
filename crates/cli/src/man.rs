//! `onecopy man`: a manual page of each command, made of what `--help` says.

mod sections;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::failure::Failure;
use sections::{Section, sections};

/// Print the manual page of a command
///
/// The packages of onecopy install the pages. Use this command if you have built onecopy yourself.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The command, such as `sql` or `bench client`; default: onecopy itself
    command: Vec<String>,
    /// Write the pages of all commands to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  onecopy man proxy | man -l -
  onecopy man --out ~/.local/share/man/man1";

pub(crate) fn run(args: &Args, mut cli: Command) -> ExitCode {
    cli = cli.disable_help_subcommand(true);
    // Gives subcommands their whole names, such as `onecopy bench client`.
    cli.build();
    let done = match &args.out {
        Some(folder) => write_all(&cli, folder),
        None => print(&cli, &args.command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(None),
    }
}

fn print(cli: &Command, names: &[String]) -> Result<(), Failure> {
    let mut command = cli;
    for name in names {
        let found = command.find_subcommand(name);
        command = found.ok_or_else(|| {
            let place = command.get_bin_name().unwrap_or("onecopy");
            Failure::other(format!("{place} has no command `{name}`"))
        })?;
    }
    let mut out = io::stdout();
    out.write_all(&page(command)?)?;
    Ok(out.flush()?)
}

/// One file a command, named like its page: `onecopy-bench-client.1`.
fn write_all(command: &Command, folder: &Path) -> Result<(), Failure> {
    let path = folder.join(Man::new(command.clone()).get_filename());
    fs::write(&path, page(command)?)
        .map_err(|error| Failure::other(format!("{}: {error}", path.display())))?;
    let mut shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    shown.try_for_each(|sub| write_all(sub, folder))
}

/// The text behind the options of `--help` has headings of its own, and examples whose line breaks matter: both would be lost in
/// `clap_mangen`'s own section for it.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    // `render_title` leaves the empty date out, and then the version stands in its place.
    let name = command.get_display_name().unwrap_or("onecopy");
    let version = env!("CARGO_PKG_VERSION");
    let manual = "Onecopy Manual";
    writeln!(
        page,
        r#".TH "{name}" "1" "" "onecopy {version}" "{manual}""#
    )?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|sub| !sub.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_long_help();
    if let Some(text) = after.or_else(|| command.get_after_help()) {
        write_sections(&sections(&text.to_string()), &mut page)?;
    }
    Ok(page)
}

fn write_sections(sections: &[Section], page: &mut Vec<u8>) -> io::Result<()> {
    let mut roff = Roff::new();
    for section in sections {
        roff.control("SH", [section.heading.as_str()]);
        roff.control("nf", []);
        for line in &section.lines {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff.to_writer(page)
}
