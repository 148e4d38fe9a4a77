//! The tables as text: for pipes, files and other programs.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::time::{SystemTime, UNIX_EPOCH};

use unicode_width::UnicodeWidthStr;

use super::Args;
use super::poller::{self, Plan, Report};
use super::screen::Screen;
use super::state::State;
use super::table::{Row, Table};
use super::target::Target;
use super::value::Value;
use crate::failure::{Failure, say};
use crate::output::Out;

/// Rates need two answers.
const FOR_RATES: u32 = 2;

/// What is known of a proxy since the last snapshot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    Answers(u32),
    Lost,
}

pub(super) fn run(targets: Vec<Target>, args: &Args) -> Result<(), ExitCode> {
    match print(targets, args) {
        Ok(true) => Ok(()),
        // What is missing has been said.
        Ok(false) => Err(ExitCode::FAILURE),
        Err(failure) => Err(failure.report(None)),
    }
}

/// Returns whether all proxies are in the last snapshot.
fn print(targets: Vec<Target>, args: &Args) -> Result<bool, Failure> {
    let screens = match args.screens.as_slice() {
        [] => &Screen::ALL[..],
        some => some,
    };
    let names = targets.iter().map(|target| target.name.clone()).collect();
    let mut state = State::new(names, Screen::Overview, args.interval);
    let (sender, reports) = sync_channel(0);
    let mut orders = Vec::new();
    for (at, target) in targets.into_iter().enumerate() {
        let sender = sender.clone();
        let plan = Plan {
            shows: Screen::needs(screens),
            interval: args.interval,
            is_paused: false,
        };
        let report = move |report| sender.send((at, report)).is_ok();
        orders.push(poller::start(target.config, plan, report)?);
    }
    let mut out = Out::stdout()?;
    let mut heard = vec![Heard::Answers(0); state.proxies.len()];
    let mut needed = FOR_RATES;
    let mut printed = 0;
    while let Ok((at, report)) = reports.recv() {
        let now = match (&report, heard[at]) {
            (Report::Lost { why, .. }, _) => {
                let line = format!("{}: {why}", state.proxies[at].name);
                say(&Failure::other(line).text(None, None));
                Heard::Lost
            }
            (_, Heard::Answers(count)) => Heard::Answers(count + 1),
            (_, Heard::Lost) => Heard::Answers(1),
        };
        heard[at] = now;
        state.report(at, report);
        let is_complete = |heard: &Heard| match heard {
            Heard::Answers(count) => *count >= needed,
            Heard::Lost => true,
        };
        if !heard.iter().all(is_complete) {
            continue;
        }
        let is_anybody_there = heard.iter().any(|heard| *heard != Heard::Lost);
        if !is_anybody_there && printed == 0 {
            return Ok(false);
        }
        snapshot(&mut out, &state, screens, args, printed)?;
        printed += 1;
        if args.count.is_some_and(|count| printed >= count) {
            return Ok(heard.iter().all(|heard| *heard != Heard::Lost));
        }
        needed = 1;
        // One that is lost is waited for no longer than the others take.
        for heard in heard
            .iter_mut()
            .filter(|heard| **heard != Heard::Lost || !is_anybody_there)
        {
            *heard = Heard::Answers(0);
        }
    }
    Ok(false)
}

/// The tables of the screens. A line with the time is in front of them if there are several snapshots.
fn snapshot(
    out: &mut Out,
    state: &State,
    screens: &[Screen],
    args: &Args,
    printed: u64,
) -> io::Result<()> {
    if args.count != Some(1) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let between = if printed > 0 { "\n" } else { "" };
        let seconds = time.unwrap_or_default().as_secs();
        writeln!(out, "{between}# time {seconds}")?;
    }
    let mut is_first = true;
    for screen in screens {
        let mut tables: Vec<_> = screen
            .tables(&state.proxies)
            .into_iter()
            .enumerate()
            .collect();
        if *screen == Screen::Overview {
            // Proxies before their listeners, as on the screen.
            tables.reverse();
        }
        for (at, mut table) in tables {
            if at == 0 {
                table.sort(screen.order(&table.columns));
            }
            // A filter is for what the screen is about.
            let is_filtered = at == 0;
            if let Some(filter) = args.filter.as_ref().filter(|_| is_filtered) {
                table.filter(filter);
            }
            for warning in &table.warnings {
                say(&Failure::other(warning.as_str()).text(None, None));
            }
            if !is_first {
                writeln!(out)?;
            }
            is_first = false;
            write_table(out, &table)?;
        }
    }
    out.flush()
}

/// A line with the name of the table, one with those of the columns, and the rows.
fn write_table(out: &mut impl Write, table: &Table) -> io::Result<()> {
    writeln!(out, "# {}", table.plain)?;
    let plain = |row: &Row| row.values.iter().map(Value::plain).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = table.rows.iter().map(plain).collect();
    let names: Vec<String> = table
        .columns
        .iter()
        .map(|column| column.plain.to_owned())
        .collect();
    let width = |at: usize| {
        let rows = rows.iter().chain([&names]);
        let texts = rows.filter_map(|row| row.get(at));
        texts.map(|text| text.width()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    for row in [&names].into_iter().chain(&rows) {
        let mut line = String::new();
        for ((text, width), column) in row.iter().zip(&widths).zip(&table.columns) {
            let pad = " ".repeat(width.saturating_sub(text.width()));
            let between = if line.is_empty() { "" } else { "  " };
            line.push_str(between);
            match column.is_number {
                true => line.extend([pad.as_str(), text]),
                false => line.extend([text, pad.as_str()]),
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::table::{number, text};

    #[test]
    fn columns_are_aligned_by_what_a_terminal_shows() {
        let row = |name: &str, count| {
            Row::new(
                &[Some(name)],
                [Value::text(Some(name)), Value::of(count, Value::Count)],
            )
        };
        let table = Table {
            title: "Things",
            plain: "things",
            none: "",
            columns: vec![text("Name", "Name"), number("Count", "Count_bytes")],
            rows: vec![row("日本", Some(1_234_567)), row("a\x1b\n", None)],
            is_answered: true,
            hidden: 0,
            warnings: Vec::new(),
        };
        let mut out = Vec::new();
        write_table(&mut out, &table).unwrap();
        let lines = [
            "# things",
            "Name       Count_bytes",
            "日本           1234567",
            "a\\u{1b}\\n            -",
            "",
        ];
        assert_eq!(String::from_utf8(out).unwrap(), lines.join("\n"));
    }
}
