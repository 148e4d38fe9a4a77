//! `--scan`: the names of keys.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use super::pages::Pages;
use super::progress::Progress;
use crate::failure::{Failure, say};
use crate::output::Out;
use crate::valkey::format::{self, FormatName};
use crate::valkey::interrupt::Interrupt;
use crate::valkey::{Args, login};

pub(super) fn run(args: &mut Args) -> Result<(), ExitCode> {
    list(args).map_err(|failure| failure.report(None))
}

fn list(args: &mut Args) -> Result<(), Failure> {
    let target = login::target_alone(args, "--scan takes its pattern from --match")?;
    let interrupt = Interrupt::watch()?;
    let mut out = Out::stdout()?;
    let is_terminal = io::stdout().is_terminal();
    let format = args.format(is_terminal);
    let mut peer = target.connect(FormatName::Raw)?;
    let running = interrupt.begin();
    // What is asked for only to show it.
    let shows = !is_terminal && io::stderr().is_terminal();
    let keys = if shows { peer.count_keys() } else { None };
    let is_all = args.keys.pattern.is_none() && args.keys.kind.is_none();
    let mut progress = Progress::new(shows, keys.filter(|_| is_all));
    let pages = Pages {
        args: &args.keys,
        pause: args.interval.unwrap_or_default(),
    };
    let scanned = pages.each(&mut peer, keys, &running, &mut |page, fraction| {
        for key in page {
            format::write_string(format, key, &mut out)?;
        }
        // A person sees keys as they are found; a program that filters them too, where there are few.
        out.flush()?;
        progress.add(page.len(), fraction);
        Ok(())
    });
    progress.clear();
    out.flush()?;
    scanned?;
    match running.signal() {
        None => Ok(()),
        Some(signal) => {
            say(&format!("ended early, with {} keys", progress.found()));
            Err(Failure::Cancelled { signal })
        }
    }
}
