//! `--bigkeys` and `--memkeys`: the largest keys of each type. `--hotkeys`: the keys that are used most, whatever their type.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use super::measure::Measure;
use super::pages::Pages;
use super::progress::Progress;
use super::report::{Outcome, write};
use crate::failure::{Failure, say};
use crate::output::Out;
use crate::valkey::format::FormatName;
use crate::valkey::interrupt::Interrupt;
use crate::valkey::{Args, login};

/// Types that are kept apart. Servers have 6, and modules a few more.
const MAX_TYPES: usize = 64;

/// Where the keys of all further types are counted.
const OTHERS: &str = "others";

/// What was found of one type.
#[derive(Debug)]
pub(super) struct Type {
    pub(super) name: String,
    pub(super) keys: u64,
    /// The sizes of all of them, in the unit of the [`Measure`].
    pub(super) total: u64,
    /// The largest, the largest one first.
    pub(super) top: Vec<(u64, Vec<u8>)>,
}

impl Type {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            keys: 0,
            total: 0,
            top: Vec::new(),
        }
    }

    fn add(&mut self, key: &[u8], size: Option<u64>, most: usize) {
        self.keys += 1;
        let Some(size) = size else { return };
        self.total = self.total.saturating_add(size);
        let place = self.top.partition_point(|(other, _)| *other >= size);
        // SCAN may find a key twice.
        if place >= most || self.top.iter().any(|(_, other)| other == key) {
            return;
        }
        self.top.truncate(most - 1);
        self.top.insert(place, (size, key.to_vec()));
    }
}

/// What was found so far, in memory that depends on the number of types and of keys that are shown alone.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) types: Vec<Type>,
    most: usize,
}

impl Found {
    fn new(most: usize) -> Self {
        Self {
            types: Vec::new(),
            most,
        }
    }

    fn add(&mut self, key: &[u8], kind: &str, size: Option<u64>) {
        let find = |types: &[Type], name: &str| types.iter().position(|kind| kind.name == name);
        let name = match find(&self.types, kind) {
            None if self.types.len() >= MAX_TYPES => OTHERS,
            _ => kind,
        };
        let at = find(&self.types, name).unwrap_or_else(|| {
            self.types.push(Type::new(name));
            self.types.len() - 1
        });
        self.types[at].add(key, size, self.most);
    }

    pub(super) fn keys(&self) -> u64 {
        self.types.iter().map(|kind| kind.keys).sum()
    }
}

pub(super) fn run(args: &mut Args) -> Result<(), ExitCode> {
    search(args).map_err(|failure| failure.report(None))
}

fn search(args: &mut Args) -> Result<(), Failure> {
    let (measure, option) = match &args.keys {
        keys if keys.memkeys => {
            let samples = keys.samples;
            (Measure::Memory { samples }, "--memkeys")
        }
        keys if keys.hotkeys => (Measure::Frequency, "--hotkeys"),
        _ => (Measure::Length, "--bigkeys"),
    };
    let target = login::target_alone(args, &format!("{option} takes its pattern from --match"))?;
    let interrupt = Interrupt::watch()?;
    let mut out = Out::stdout()?;
    let format = args.format(io::stdout().is_terminal());
    let mut peer = target.connect(FormatName::Raw)?;
    // Keys are borrowed from the first while the second measures them.
    let mut measuring = target.connect(FormatName::Raw)?;
    let running = interrupt.begin();
    let total = peer.count_keys();
    let is_all = args.keys.pattern.is_none() && args.keys.kind.is_none();
    let mut progress = Progress::new(io::stderr().is_terminal(), total.filter(|_| is_all));
    let mut found = Found::new(usize::from(args.keys.top));
    let pages = Pages {
        args: &args.keys,
        pause: args.interval.unwrap_or_default(),
    };
    let scanned = pages.each(&mut peer, total, &running, &mut |page, fraction| {
        measure.each(&mut measuring, page, |at, kind, size| {
            found.add(page[at], kind, size);
        })?;
        progress.add(page.len(), fraction);
        Ok(())
    });
    progress.clear();
    let outcome = Outcome {
        is_whole: scanned.is_ok() && !running.is_over(),
        measure,
        total,
        time: progress.elapsed(),
    };
    // What was found before a failure is shown too.
    if outcome.is_whole || found.keys() > 0 {
        write(format, &mut found, &outcome, &mut out)?;
        out.flush()?;
    }
    scanned?;
    match running.signal() {
        None => Ok(()),
        Some(signal) => {
            say("ended early: the keys that were not scanned are missing");
            Err(Failure::Cancelled { signal })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_kept_once_each_and_the_first_of_equals() {
        let mut kind = Type::new("string");
        for (key, size) in [("a", 3), ("b", 5), ("c", 1), ("b", 5), ("d", 5), ("e", 4)] {
            kind.add(key.as_bytes(), Some(size), 3);
        }
        kind.add(b"module", None, 3);
        let top: Vec<(u64, &[u8])> = kind
            .top
            .iter()
            .map(|(size, key)| (*size, &key[..]))
            .collect();
        assert_eq!(top, [(5, &b"b"[..]), (5, b"d"), (4, b"e")]);
        assert_eq!((kind.keys, kind.total), (7, 23));
    }

    #[test]
    fn types_without_end_are_counted_together() {
        let mut found = Found::new(2);
        for number in 0..1_000 {
            found.add(b"key", &format!("type{number}"), Some(1));
        }
        assert_eq!(found.types.len(), MAX_TYPES + 1);
        assert_eq!(found.keys(), 1_000);
        assert_eq!(found.types[MAX_TYPES].name, OTHERS);
    }
}
