//! `--scan`, `--bigkeys`, `--memkeys` and `--hotkeys`: all keys, a page at a time.

mod largest;
mod list;
mod measure;
mod pages;
mod progress;
mod report;

use std::process::ExitCode;

use super::Args;

/// Keys that the server looks at in one SCAN: it is busy with them for some 50 microseconds.
const COUNT: u32 = 250;

/// The options of all of them.
#[derive(Debug, clap::Args)]
pub(super) struct KeyArgs {
    /// List all keys
    #[arg(long, groups = ["mode", "keys"], help_heading = HEADING)]
    scan: bool,

    /// Find the largest keys of each type: strings by bytes, others by elements
    #[arg(long, groups = ["mode", "keys"], help_heading = HEADING)]
    bigkeys: bool,

    /// Find the keys that take the most memory, by MEMORY USAGE
    #[arg(long, groups = ["mode", "keys"], help_heading = HEADING)]
    memkeys: bool,

    /// Find the keys that are used most, by OBJECT FREQ; needs an LFU maxmemory-policy
    #[arg(long, groups = ["mode", "keys"], help_heading = HEADING)]
    hotkeys: bool,

    /// Only keys that match this glob pattern
    #[arg(long = "match", visible_alias = "pattern", value_name = "PATTERN", requires = "keys", help_heading = HEADING)]
    pattern: Option<String>,

    /// Only keys of this type: string, list, set, zset, hash, stream
    #[arg(long = "type", value_name = "TYPE", requires = "keys", help_heading = HEADING)]
    kind: Option<String>,

    /// Keys that the server looks at in one SCAN
    #[arg(long, value_name = "KEYS", requires = "keys", default_value_t = COUNT, value_parser = clap::value_parser!(u32).range(1..), help_heading = HEADING)]
    count: u32,

    /// Keys that are shown: of each type by --bigkeys and --memkeys, in all by --hotkeys
    #[arg(long, value_name = "KEYS", requires = "keys", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=10_000), help_heading = HEADING)]
    top: u16,

    /// Elements of each key that MEMORY USAGE looks at; 0: all [default: the server's, 5]
    #[arg(long, visible_alias = "memkeys-samples", value_name = "ELEMENTS", requires = "memkeys", conflicts_with_all = ["scan", "bigkeys", "hotkeys"], help_heading = HEADING)]
    samples: Option<u32>,
}

const HEADING: &str = "Find keys";

impl KeyArgs {
    pub(super) fn is_any(&self) -> bool {
        self.scan || self.bigkeys || self.memkeys || self.hotkeys
    }
}

pub(super) fn run(args: &mut Args) -> Result<(), ExitCode> {
    match args.keys.scan {
        true => list::run(args),
        false => largest::run(args),
    }
}
