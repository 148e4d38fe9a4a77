//! One run: log in, read records, send them in batches, commit each.

use std::fmt;

use onecopy_mysql::blocking::{Bulk, Connection};
use onecopy_mysql::{BulkMethod, BulkOptions, Error, Param};

use super::convert::{param, recycle};
use super::csv_records::CsvRecords;
use super::ndjson::NdjsonRecords;
use super::records::{Field, Position, Records, shown};
use super::resume::{Resume, State};
use super::source::{Input, Source};
use super::tsv::TsvRecords;
use super::{Args, FormatName, Method, infile};
use crate::failure::{Failure, say};
use crate::table::{Table, ValueKind, quoted};
use crate::transfer::Transfer;

/// Where in the input a failure is.
#[derive(Debug)]
pub(super) struct Place(pub(super) String);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A failure, and where it is.
pub(super) type Failed = (Failure, Option<Place>);

pub(super) fn run(args: &Args) -> Result<(), Failed> {
    let mut load = Load::start(args).map_err(nowhere)?;
    let result = match args.method {
        Method::Infile => infile::run(&mut load),
        _ => load.run(),
    };
    let summary = load.progress.finish();
    match result {
        Ok(()) => {
            load.resume.remove().map_err(nowhere)?;
            if !args.quiet {
                say(&summary);
            }
            let _ = load.conn.close();
            Ok(())
        }
        Err(failed) => {
            let (table, rows) = (&load.table_name, load.committed.rows);
            if rows > 0 {
                let were = if rows == 1 { "row was" } else { "rows were" };
                say(&format!(
                    "{rows} {were} loaded into {table} before the error"
                ));
            }
            Err(failed)
        }
    }
}

pub(super) fn nowhere(failure: impl Into<Failure>) -> Failed {
    (failure.into(), None)
}

/// What one run has.
pub(super) struct Load<'a> {
    pub(super) args: &'a Args,
    pub(super) conn: Connection,
    pub(super) table_name: String,
    pub(super) table: Table,
    pub(super) source: Source,
    pub(super) format: FormatName,
    pub(super) resume: Resume,
    pub(super) progress: Transfer,
    /// The place behind the last batch that was committed.
    pub(super) committed: State,
}

/// What becomes of a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) field: usize,
    /// Its column in the table.
    pub(super) column: usize,
    pub(super) kind: ValueKind,
}

impl<'a> Load<'a> {
    fn start(args: &'a Args) -> Result<Self, Failure> {
        let mut arguments = args.arguments.clone();
        let mut config = args.login.config_of(&mut arguments)?;
        config.local_infile = args.method == Method::Infile;
        let (table_name, file) = Args::table_and_file(&arguments)?;
        let format = args.format_of(file)?;
        let source = Source::find(file)?;
        let resume = Resume::new(args.resume, args.state.as_deref(), &source)?;
        let committed = resume.load(table_name, &source)?;
        let mut conn = Connection::connect_with(&config)?;
        set_session(&mut conn, &args.time_zone)?;
        let table = Table::find(&mut conn, table_name)?;
        let progress = Transfer::of_bytes(source.bytes, args.quiet);
        let committed = committed.unwrap_or_else(|| State {
            table: table_name.to_owned(),
            bytes: source.bytes,
            offset: 0,
            line: 1,
            rows: 0,
            fields: Vec::new(),
        });
        if committed.rows > 0 && !args.quiet {
            say(&format!(
                "continuing after row {}, at line {}",
                committed.rows, committed.line
            ));
        }
        Ok(Self {
            args,
            conn,
            table_name: table_name.to_owned(),
            table,
            source,
            format,
            resume,
            progress,
            committed,
        })
    }

    fn run(&mut self) -> Result<(), Failed> {
        let (mut records, targets) = self.begin().map_err(nowhere)?;
        let sql = self.insert(&targets);
        match self.send_all(&mut *records, &targets, &sql) {
            Ok(()) => Ok(()),
            Err(Unplaced {
                failure,
                place: Some(place),
            }) => Err((failure, Some(place))),
            Err(Unplaced {
                failure,
                place: None,
            }) => Err(self.locate(failure, &targets, &sql)),
        }
    }

    /// The records behind the last committed batch, and where their fields go. The first line may name them.
    fn begin(&mut self) -> Result<(Box<dyn Records>, Vec<Target>), Failure> {
        let has_names = self.format != FormatName::Ndjson && !self.args.no_header;
        let is_new = self.committed.fields.is_empty();
        if is_new && !has_names {
            self.committed.fields = self.unnamed();
        }
        let mut records = self.records(self.committed.position())?;
        if is_new && has_names {
            self.committed.fields = self.names(&mut *records)?;
            self.committed.advance(0, records.end());
        }
        let targets = self.targets()?;
        Ok((records, targets))
    }

    /// The fields' columns of a file without names: those of --columns, or all that can be given.
    pub(super) fn unnamed(&self) -> Vec<String> {
        if self.args.columns.is_empty() {
            let names = self
                .table
                .insertable()
                .map(|(_, column)| column.name.clone());
            return names.collect();
        }
        self.args.columns.clone()
    }

    /// The fields' columns by the first line, or by --columns in its place.
    pub(super) fn names(&self, records: &mut dyn Records) -> Result<Vec<String>, Failure> {
        let any = records.next().map_err(|problem| {
            Failure::other(format!("{}, line 1: {problem}", self.source.name))
        })?;
        if !any {
            return Err(Failure::other(format!(
                "{} is empty; -N is for a file without names",
                self.source.name
            )));
        }
        if !self.args.columns.is_empty() {
            return Ok(self.args.columns.clone());
        }
        let name = |index| match records.field(index) {
            Field::Value(name) => String::from_utf8_lossy(name)
                .trim_start_matches('\u{feff}')
                .to_owned(),
            Field::Null | Field::Missing => String::new(),
        };
        Ok((0..records.len()).map(name).collect())
    }

    /// Where the fields go.
    pub(super) fn targets(&self) -> Result<Vec<Target>, Failure> {
        let mut targets: Vec<Target> = Vec::new();
        for (field, name) in self.committed.fields.iter().enumerate() {
            if name == "-" {
                continue;
            }
            let Some(column) = self.table.column(name) else {
                return Err(Failure::other(format!(
                    "{} has no column '{name}'; it has {}. -N says that the first line has no names, --columns names the fields",
                    self.table_name,
                    self.table.names()
                )));
            };
            let found = &self.table.columns[column];
            if found.is_generated {
                continue;
            }
            if targets.iter().any(|target| target.column == column) {
                return Err(Failure::other(format!(
                    "the column '{name}' is named twice"
                )));
            }
            let kind = found.kind;
            targets.push(Target {
                field,
                column,
                kind,
            });
        }
        if targets.is_empty() {
            return Err(Failure::other("no column is left to load"));
        }
        Ok(targets)
    }

    fn records(&self, at: Position) -> Result<Box<dyn Records>, Failure> {
        let input: Input = self.source.open(at.offset)?;
        Ok(match self.format {
            FormatName::Csv => {
                let delimiter = u8::try_from(self.args.delimiter).map_err(|_| {
                    Failure::other(format!(
                        "--delimiter '{}' is no ASCII character",
                        self.args.delimiter
                    ))
                })?;
                Box::new(CsvRecords::new(input, delimiter, &self.args.null, at))
            }
            FormatName::Tsv => Box::new(TsvRecords::new(input, &self.args.null, at)),
            FormatName::Ndjson => {
                let generated = self
                    .table
                    .columns
                    .iter()
                    .filter(|column| column.is_generated);
                let passed: Vec<String> = generated.map(|column| column.name.clone()).collect();
                Box::new(NdjsonRecords::new(
                    input,
                    &self.committed.fields,
                    &passed,
                    at,
                ))
            }
        })
    }

    fn insert(&self, targets: &[Target]) -> String {
        let verb = match (self.args.replace, self.args.ignore) {
            (true, _) => "REPLACE",
            (_, true) => "INSERT IGNORE",
            _ => "INSERT",
        };
        let names: Vec<String> = targets
            .iter()
            .map(|target| quoted(&self.table.columns[target.column].name))
            .collect();
        let places = vec!["?"; targets.len()].join(", ");
        format!(
            "{verb} INTO {} ({}) VALUES ({places})",
            self.table.sql,
            names.join(", ")
        )
    }

    fn bulk_options(&self) -> BulkOptions {
        let mut options = BulkOptions::default();
        options.max_rows = self.args.batch_rows();
        options.method = match self.args.method {
            Method::Bulk => BulkMethod::Execute,
            Method::Insert => BulkMethod::Insert,
            Method::Auto | Method::Infile => BulkMethod::Auto,
        };
        options
    }

    fn send_all(
        &mut self,
        records: &mut dyn Records,
        targets: &[Target],
        sql: &str,
    ) -> Result<(), Unplaced> {
        let options = self.bulk_options();
        let mut bulk = self.conn.bulk_with(sql, &options)?;
        let fields = self.committed.fields.len();
        let mut params = Vec::with_capacity(targets.len());
        let mut in_batch = 0;
        loop {
            let more = records
                .next()
                .map_err(|problem| self.source.problem(&*records, &problem))?;
            if in_batch == self.args.batch_rows() || (!more && in_batch > 0) {
                bulk.run("COMMIT")?;
                let at = if more { records.place() } else { records.end() };
                self.committed.advance(in_batch, at);
                self.resume.save(&self.committed)?;
                in_batch = 0;
            }
            if !more {
                return Ok(bulk.finish().map(drop)?);
            }
            if records.len() != fields {
                let problem = format!(
                    "the number of fields is {}, expected {fields}",
                    records.len()
                );
                return Err(self.source.problem(&*records, &problem));
            }
            params = match push(&mut bulk, &*records, targets, params) {
                Ok(params) => recycle(params),
                Err(Refused::Field(problem)) => {
                    return Err(self.source.problem(&*records, &problem));
                }
                Err(Refused::Row(error)) => return Err(self.source.refused(&*records, error)),
                Err(Refused::Batch(error)) => return Err(error.into()),
            };
            in_batch += 1;
            let at = records.end();
            self.progress.row(|_| at.offset);
        }
    }

    /// Rolls the failing batch back, and runs it again row by row to find the row that fails.
    fn locate(&mut self, failure: Failure, targets: &[Target], sql: &str) -> Failed {
        let start = self.committed.position();
        let batch = format!(
            "{}, from line {} on, at most {} rows",
            self.source.name,
            start.line,
            self.args.batch_rows()
        );
        let in_rows = matches!(&failure, Failure::Database(error) if error.server().is_some() && !error.is_closed());
        if !in_rows {
            return (failure, Some(Place(batch)));
        }
        // An error of the rollback is of no interest beside the one before.
        let _ = self.conn.run("ROLLBACK");
        let found = if self.source.is_file() {
            self.find_row(start, targets, sql)
        } else {
            None
        };
        let _ = self.conn.run("ROLLBACK");
        found.unwrap_or((failure, Some(Place(batch))))
    }

    fn find_row(&mut self, start: Position, targets: &[Target], sql: &str) -> Option<Failed> {
        let mut records = self.records(start).ok()?;
        let mut options = self.bulk_options();
        options.max_rows = 1;
        let mut bulk = self.conn.bulk_with(sql, &options).ok()?;
        let mut params = Vec::new();
        for _ in 0..self.args.batch_rows() {
            if !records.next().ok()? {
                return None;
            }
            let pushed = push(&mut bulk, &*records, targets, params);
            let error = match pushed.map(|pushed| (recycle(pushed), bulk.flush())) {
                Ok((again, Ok(()))) => {
                    params = again;
                    continue;
                }
                Ok((_, Err(error))) | Err(Refused::Row(error) | Refused::Batch(error)) => error,
                Err(Refused::Field(_)) => return None,
            };
            let Unplaced { failure, place } = self.source.refused(&*records, error);
            return Some((failure, place));
        }
        None
    }
}

/// A failure that may still have to be looked for.
pub(super) struct Unplaced {
    pub(super) failure: Failure,
    pub(super) place: Option<Place>,
}

impl<F: Into<Failure>> From<F> for Unplaced {
    fn from(failure: F) -> Self {
        Self {
            failure: failure.into(),
            place: None,
        }
    }
}

/// Why a row was not taken.
enum Refused {
    Field(String),
    /// This row alone.
    Row(Error),
    /// A row of those that were sent.
    Batch(Error),
}

/// Gives the row to the bulk, and its parameters' memory back.
fn push<'r>(
    bulk: &mut Bulk<'_>,
    records: &'r dyn Records,
    targets: &[Target],
    params: Vec<Param<'static>>,
) -> Result<Vec<Param<'r>>, Refused> {
    let mut params: Vec<Param<'r>> = params;
    for target in targets {
        let field = records.field(target.field);
        params.push(param(target.kind, field).map_err(Refused::Field)?);
    }
    let before = bulk.rows();
    match bulk.push(&params) {
        Ok(()) => Ok(params),
        Err(error)
            if error.server().is_none()
                && error.bulk_rows() == Some(before..before + 1)
                && !error.is_closed() =>
        {
            Err(Refused::Row(error))
        }
        Err(error) => Err(Refused::Batch(error)),
    }
}

impl Source {
    /// What is wrong with a record, found on this side.
    pub(super) fn problem(&self, records: &dyn Records, problem: &str) -> Unplaced {
        let line = records.place().line;
        Unplaced {
            failure: Failure::other(problem),
            place: Some(Place(format!("{}, line {line}", self.name))),
        }
    }

    /// What the server says of a record.
    fn refused(&self, records: &dyn Records, error: Error) -> Unplaced {
        let line = records.place().line;
        Unplaced {
            failure: error.into(),
            place: Some(Place(format!(
                "{}, line {line}: {}",
                self.name,
                shown(records)
            ))),
        }
    }
}

/// What makes a file mean the same everywhere, see the help.
fn set_session(conn: &mut Connection, time_zone: &str) -> Result<(), Failure> {
    let zone = time_zone.replace('\'', "''");
    conn.run(format!(
        "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO', time_zone = '{zone}', autocommit = 0"
    ))?;
    Ok(())
}
