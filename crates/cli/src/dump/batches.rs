//! A dump in batches by the primary key, which continues behind the last one that is on the disk.

use std::path::Path;

use onecopy_mysql::blocking::Connection;
use serde::{Deserialize, Serialize};

use super::key::{Key, Place};
use super::session::{Selected, Written, write};
use super::target::{Target, may_be_file, part_of};
use super::{Args, FormatName};
use crate::failure::{Failure, say};
use crate::state_file::StateFile;
use crate::transfer::Transfer;

/// Where a dump is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    /// What is dumped and how: another command has another text.
    dump: String,
    /// Of the file that is not complete yet.
    bytes: u64,
    rows: u64,
    /// The key of the last row.
    last: Option<Place>,
}

/// Dumps what is left, batch by batch. Each is on the disk before its end is noted.
pub(super) fn run(
    conn: &mut Connection,
    (what, selected): (&str, &Selected),
    format: FormatName,
    args: &Args,
) -> Result<Transfer, Failure> {
    let path = file(args, selected, format)?;
    let key = Key::find(conn, what, &args.time_zone)?;
    let kept = StateFile::beside(path, ".onecopy-dump");
    let mut state = state(&kept, what, format, args)?;
    if state.rows > 0 && !args.quiet {
        say(&format!(
            "continuing after row {} in {}",
            state.rows,
            part_of(path).display()
        ));
    }
    let mut target = Target::resume(path, state.bytes)?;
    let mut progress = Transfer::of_rows(selected.rows, args.quiet);
    let dump = Dump {
        selected,
        format,
        args,
        key,
        rows_before: state.rows,
    };
    let dumped = dump.all(conn, &mut state, &kept, &mut target, &mut progress);
    if dumped.is_err() && state.rows > 0 {
        say(&format!(
            "{} rows are in {} and stay there: run the same command again to continue",
            state.rows,
            part_of(path).display()
        ));
    }
    dumped?;
    target.complete()?;
    kept.remove()?;
    Ok(progress)
}

/// What does not change from one batch to the next.
struct Dump<'a> {
    selected: &'a Selected,
    format: FormatName,
    args: &'a Args,
    key: Key,
    /// Those of earlier runs.
    rows_before: u64,
}

/// The file, if the dump can be continued at all.
fn file<'a>(args: &'a Args, selected: &Selected, format: FormatName) -> Result<&'a Path, Failure> {
    let path = args.output.as_deref().filter(|path| may_be_file(path));
    let Some(path) = path else {
        return Err(Failure::other("--resume needs a file: give -o FILE"));
    };
    if selected.table.is_none() {
        return Err(Failure::other(
            "--resume needs a table, by whose primary key it goes on; for some of its rows add --where",
        ));
    }
    if format == FormatName::Json {
        return Err(Failure::other(
            "--resume writes csv, tsv, ndjson or sql: the array of json is one piece",
        ));
    }
    Ok(path)
}

/// What an earlier run left, or the beginning.
fn state(kept: &StateFile, what: &str, format: FormatName, args: &Args) -> Result<State, Failure> {
    let dump = format!(
        "{what} as {format:?}, where {:?}, into {:?}, header {}, create {}, time zone {}",
        args.r#where, args.into, !args.no_header, args.create, args.time_zone
    );
    match kept.load::<State>()? {
        None => Ok(State {
            dump,
            bytes: 0,
            rows: 0,
            last: None,
        }),
        Some(state) if state.dump == dump => Ok(state),
        Some(state) => Err(Failure::other(format!(
            "{} belongs to another dump ({}); remove it to start from the beginning",
            kept.path().display(),
            state.dump
        ))),
    }
}

impl Dump<'_> {
    /// The rows of one run are from one snapshot.
    fn all(
        &self,
        conn: &mut Connection,
        state: &mut State,
        kept: &StateFile,
        target: &mut Target,
        progress: &mut Transfer,
    ) -> Result<(), Failure> {
        conn.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
        conn.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
        loop {
            let bound = self.bound(conn, state.last.as_ref())?;
            let written = Written {
                sql: &self.batch(state.last.as_ref(), bound.as_ref()),
                is_first: state.bytes == 0,
                rows_before: self.rows_before,
            };
            let (selected, format, args) = (self.selected, self.format, self.args);
            let rows = write(conn, selected, format, args, target, progress, &written)?;
            state.bytes = target.synced()?;
            state.rows += rows;
            if bound.is_none() {
                return Ok(());
            }
            state.last = bound;
            kept.save(state)?;
        }
    }

    /// The key of the last row of the next batch; none if it is the last batch.
    fn bound(
        &self,
        conn: &mut Connection,
        after: Option<&Place>,
    ) -> Result<Option<Place>, Failure> {
        let from = self.from(after, None);
        let offset = self.args.batch.saturating_sub(1);
        let sql = format!(
            "SELECT {}{from} ORDER BY {} LIMIT 1 OFFSET {offset}",
            self.key.literals(),
            self.key.order()
        );
        let mut rows = conn.query(sql)?;
        let place = match rows.next()? {
            None => None,
            Some(row) => {
                let literals = (0..row.len()).map(|at| row.get::<String>(at));
                Some(literals.collect::<Result<Place, _>>()?)
            }
        };
        rows.finish()?;
        Ok(place)
    }

    /// The rows between two places.
    fn batch(&self, after: Option<&Place>, up_to: Option<&Place>) -> String {
        let from = self.from(after, up_to);
        let (columns, order) = (&self.selected.columns, self.key.order());
        format!("SELECT {columns}{from} ORDER BY {order}")
    }

    /// By the primary key even where another one looks better: without it each batch would be sorted.
    fn from(&self, after: Option<&Place>, up_to: Option<&Place>) -> String {
        let table = self.selected.table.as_deref().unwrap_or_default();
        let conditions = [
            self.selected.condition.clone(),
            after.map(|place| self.key.after(place)),
            up_to.map(|place| self.key.up_to(place)),
        ];
        let conditions: Vec<String> = conditions
            .into_iter()
            .flatten()
            .map(|condition| format!("({condition})"))
            .collect();
        let condition = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        };
        format!(" FROM {table} FORCE INDEX (PRIMARY){condition}")
    }
}
