//! A dump in batches by the primary key, which continues behind the last one that is on the disk.

use std::path::Path;

use indicatif::HumanCount;
use onecopy_mysql::Config;
use onecopy_mysql::blocking::Connection;
use serde::{Deserialize, Serialize};

use super::key::{Key, Place};
use super::session::{Selected, Written, write};
use super::target::{Target, may_be_file, part_of, state_of};
use super::{Args, FormatName};
use crate::failure::{Failure, say};
use crate::state_file::StateFile;
use crate::table::Table;
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
    (config, selected): (&Config, &Selected),
    format: FormatName,
    args: &Args,
) -> Result<Transfer, Failure> {
    let (path, table) = file_and_table(args, selected, format)?;
    allow_zero_dates(conn)?;
    let dump = Dump {
        selected,
        table,
        format,
        args,
        key: Key::find(conn, table, &args.time_zone)?,
    };
    // First: what another run notes while it is looked at would be lost.
    let mut target = Target::resume(path)?;
    let kept = state_of(path);
    let mut state = dump.state(conn, config, &kept)?;
    target.keep(state.bytes)?;
    let part = part_of(path);
    if state.rows > 0 && !args.quiet {
        let (rows, part) = (HumanCount(state.rows), part.display());
        say(&format!("continuing after row {rows} in {part}"));
    }
    let mut progress = Transfer::of_rows(selected.rows, args.quiet);
    let dumped = dump.all(conn, &mut state, &kept, &mut target, &mut progress);
    if dumped.is_err() && state.rows > 0 {
        let part = part.display();
        let rows = match state.rows {
            1 => "1 row is".to_owned(),
            rows => format!("{} rows are", HumanCount(rows)),
        };
        say(&format!(
            "{rows} in {part} and stay there: run the same command again to continue"
        ));
    }
    dumped?;
    // First: a complete file without its name is better than a place in a file that is not there any more.
    kept.remove()?;
    target.complete()?;
    Ok(progress)
}

/// A key may have them, and with the usual modes MySQL takes none as a literal.
fn allow_zero_dates(conn: &mut Connection) -> Result<(), Failure> {
    let mode: String = conn.query_scalar("SELECT @@SESSION.sql_mode")?;
    let strict = [
        "NO_ZERO_DATE",
        "NO_ZERO_IN_DATE",
        "TRADITIONAL",
        "STRICT_ALL_TABLES",
        "STRICT_TRANS_TABLES",
    ];
    let modes = mode.split(',').filter(|mode| !strict.contains(mode));
    let modes: Vec<&str> = modes.chain(["ALLOW_INVALID_DATES"]).collect();
    let modes = modes.join(",");
    let modes = modes.trim_start_matches(',');
    conn.run(format!("SET SESSION sql_mode = '{modes}'"))?;
    Ok(())
}

/// The file and the table, if the dump can be continued at all.
fn file_and_table<'a>(
    args: &'a Args,
    selected: &'a Selected,
    format: FormatName,
) -> Result<(&'a Path, &'a Table), Failure> {
    let path = args.output.as_deref().filter(|path| may_be_file(path));
    let Some(path) = path else {
        return Err(Failure::other("--resume needs a file: give -o FILE"));
    };
    let Some(table) = &selected.table else {
        return Err(Failure::other(
            "--resume needs a table with a primary key, not a query; for a part of the rows add --where",
        ));
    };
    if format == FormatName::Json {
        return Err(Failure::other(
            "--resume does not support json, which is one array; use ndjson",
        ));
    }
    Ok((path, table))
}

/// What does not change from one batch to the next.
struct Dump<'a> {
    selected: &'a Selected,
    table: &'a Table,
    format: FormatName,
    args: &'a Args,
    key: Key,
}

impl Dump<'_> {
    /// What an earlier run left, or the beginning.
    fn state(
        &self,
        conn: &mut Connection,
        config: &Config,
        kept: &StateFile,
    ) -> Result<State, Failure> {
        let dump = self.description(conn, config)?;
        let Some(state) = kept.load::<State>()? else {
            return Ok(State {
                dump,
                bytes: 0,
                rows: 0,
                last: None,
            });
        };
        if state.dump == dump {
            return Ok(state);
        }
        Err(Failure::other(format!(
            "{} belongs to another dump; remove it to start from the beginning\n  that one: {}\n  this one: {dump}",
            kept.path().display(),
            state.dump
        )))
    }

    /// All that has to be the same in the next run.
    fn description(&self, conn: &mut Connection, config: &Config) -> Result<String, Failure> {
        let database: Option<String> = conn.query_scalar("SELECT DATABASE()")?;
        let database = self.table.database.clone().or(database);
        let servers = [&config.endpoint].into_iter().chain(&config.alternatives);
        let servers: Vec<String> = servers.map(ToString::to_string).collect();
        let args = self.args;
        let options = [
            args.r#where.as_ref().map(|text| format!("--where {text}")),
            args.into.as_ref().map(|name| format!("--into {name}")),
            args.no_header.then(|| "--no-header".to_owned()),
            args.create.then(|| "--create".to_owned()),
            Some(format!("--time-zone {}", args.time_zone)),
        ];
        let options: Vec<String> = options.into_iter().flatten().collect();
        Ok(format!(
            "{} of {} on {}, columns {}, key {}, {:?} {}",
            self.table.name,
            database.unwrap_or_default(),
            servers.join(","),
            self.selected.columns,
            self.key.order(),
            self.format,
            options.join(" ")
        ))
    }

    /// The rows of one run are from one snapshot.
    fn all(
        &self,
        conn: &mut Connection,
        state: &mut State,
        kept: &StateFile,
        target: &mut Target,
        progress: &mut Transfer,
    ) -> Result<(), Failure> {
        let rows_before = state.rows;
        conn.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
        conn.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
        loop {
            let bound = self.bound(conn, state.last.as_ref())?;
            let written = Written {
                sql: &self.batch(state.last.as_ref(), bound.as_ref()),
                is_first: state.bytes == 0,
                rows_before,
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
        let conditions = [
            self.selected.condition.clone(),
            after.map(|place| self.key.after(place)),
            up_to.map(|place| self.key.up_to(place)),
        ];
        let conditions: Vec<String> = conditions
            .into_iter()
            .flatten()
            // A comment in it ends with its line.
            .map(|condition| format!("({condition}\n)"))
            .collect();
        let condition = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        };
        format!(" FROM {} FORCE INDEX (PRIMARY){condition}", self.table.sql)
    }
}
