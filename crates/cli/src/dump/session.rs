//! One run: log in, find what to select, write what comes.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use onecopy_mysql::blocking::{Connection, Rows};

use super::{Args, FormatName};
use crate::failure::{Failure, say};
use crate::output::{self, Column, DumpFormat, Format, Out, dump_format};
use crate::table::{Table, ValueKind, quoted};
use crate::transfer::Transfer;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let format = format(args)?;
    let mut arguments = args.arguments.clone();
    let config = args.login.config_of(&mut arguments)?;
    let [what] = &arguments[..] else {
        return Err(Failure::other(
            "give a table or a query: onecopy dump URL TABLE",
        ));
    };
    let mut conn = Connection::connect_with(&config)?;
    let zone = args.time_zone.replace('\'', "''");
    conn.run(format!("SET SESSION time_zone = '{zone}'"))?;
    let selected = Selected::find(&mut conn, what, args)?;
    let mut target = Target::open(args.output.as_deref())?;
    let written = write(&mut conn, &selected, format, args, &mut target);
    let mut progress = written?;
    target.complete()?;
    let summary = progress.finish();
    if !args.quiet && (args.output.is_some() || !io::stdout().is_terminal()) {
        say(&summary);
    }
    let _ = conn.close();
    Ok(())
}

fn format(args: &Args) -> Result<FormatName, Failure> {
    let Some(path) = args.output.as_ref().filter(|_| args.format.is_none()) else {
        return Ok(args.format.unwrap_or(FormatName::Tsv));
    };
    match path.extension().and_then(|end| end.to_str()) {
        Some("csv") => Ok(FormatName::Csv),
        Some("tsv" | "txt") => Ok(FormatName::Tsv),
        Some("json") => Ok(FormatName::Json),
        Some("ndjson" | "jsonl") => Ok(FormatName::Ndjson),
        Some("sql") => Ok(FormatName::Sql),
        _ => Err(Failure::other(format!(
            "{}: unknown file name extension; give --format csv, tsv, json, ndjson or sql",
            path.display()
        ))),
    }
}

/// What is to be written.
struct Selected {
    sql: String,
    /// The table's, quoted; none of a query.
    table: Option<String>,
    /// About how many rows there are.
    rows: Option<u64>,
}

impl Selected {
    fn find(conn: &mut Connection, what: &str, args: &Args) -> Result<Self, Failure> {
        if what.contains(char::is_whitespace) {
            if args.r#where.is_some() || args.create {
                return Err(Failure::other(
                    "--where and --create need a table; put conditions into the query itself",
                ));
            }
            return Ok(Self {
                sql: what.to_owned(),
                table: None,
                rows: None,
            });
        }
        let table = Table::find(conn, what)?;
        let columns: Vec<String> = table
            .insertable()
            .map(|(_, column)| selected(&column.name, column.kind))
            .collect();
        let mut sql = format!("SELECT {} FROM {}", columns.join(", "), table.sql);
        if let Some(condition) = &args.r#where {
            sql.push_str(" WHERE ");
            sql.push_str(condition);
        }
        let rows = match args.r#where {
            None => estimate(conn, what)?,
            Some(_) => None,
        };
        Ok(Self {
            sql,
            table: Some(table.sql),
            rows,
        })
    }
}

/// A FLOAT as the DOUBLE that it is: of the FLOAT the server would write six digits.
fn selected(name: &str, kind: ValueKind) -> String {
    let name = quoted(name);
    match kind {
        ValueKind::Float => format!("({name} + 0e0) AS {name}"),
        _ => name,
    }
}

/// The server's own guess, for the bar alone.
fn estimate(conn: &mut Connection, table: &str) -> Result<Option<u64>, Failure> {
    let (database, name) = match table.split_once('.') {
        Some((database, name)) => (format!("'{}'", database.replace('\'', "''")), name),
        None => ("DATABASE()".to_owned(), table),
    };
    let name = name.replace('\\', "\\\\").replace('\'', "''");
    let mut rows = conn.query(format!(
        "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = {database} AND TABLE_NAME = '{name}'"
    ))?;
    let estimate = match rows.next()? {
        Some(row) => row.get(0)?,
        None => None,
    };
    rows.finish()?;
    Ok(estimate)
}

fn write(
    conn: &mut Connection,
    selected: &Selected,
    format: FormatName,
    args: &Args,
    target: &mut Target,
) -> Result<Transfer, Failure> {
    let create = match (&selected.table, args.create) {
        (Some(table), true) => Some(create_statement(conn, table)?),
        _ => None,
    };
    let into = args
        .into
        .as_deref()
        .map(quoted)
        .or_else(|| selected.table.as_ref().map(|table| unqualified(table)));
    let mut format = dump_format(match format {
        FormatName::Csv => DumpFormat::Csv {
            header: !args.no_header,
        },
        FormatName::Tsv => DumpFormat::Tsv {
            header: !args.no_header,
        },
        FormatName::Json => DumpFormat::Json,
        FormatName::Ndjson => DumpFormat::Ndjson,
        FormatName::Sql => DumpFormat::Sql {
            into: into.ok_or_else(|| {
                Failure::other("sql of a query needs --into NAME, the table to insert into")
            })?,
            create,
        },
    });
    let mut progress = Transfer::of_rows(selected.rows, args.quiet);
    let mut rows = conn.query(&selected.sql)?;
    let Some(columns) = rows.columns().map(Column::all) else {
        return Err(Failure::other("the statement has no rows"));
    };
    format.begin(&columns, &mut target.out)?;
    let written = write_rows(
        &mut rows,
        &columns,
        &mut *format,
        &mut target.out,
        &mut progress,
    );
    if let Err(failure) = written {
        if !matches!(failure, Failure::ReaderGone) {
            format.break_off(&mut target.out)?;
            target.out.flush()?;
        }
        return Err(failure);
    }
    rows.finish()?;
    format.end(&mut target.out)?;
    Ok(progress)
}

fn write_rows(
    rows: &mut Rows<'_>,
    columns: &[Column],
    format: &mut dyn Format,
    out: &mut Out,
    progress: &mut Transfer,
) -> Result<(), Failure> {
    let are_small = output::are_small(columns);
    while output::write_row(rows, columns, are_small, format, out)? {
        progress.row(|rows| rows);
    }
    Ok(())
}

/// The name without its database, so that it is inserted into the one that is in use.
fn unqualified(table: &str) -> String {
    table
        .rsplit_once("`.`")
        .map_or_else(|| table.to_owned(), |(_, name)| format!("`{name}"))
}

fn create_statement(conn: &mut Connection, table: &str) -> Result<String, Failure> {
    let mut rows = conn.query(format!("SHOW CREATE TABLE {table}"))?;
    let Some(row) = rows.next()? else {
        return Err(Failure::other(format!(
            "the server shows no CREATE TABLE for {table}"
        )));
    };
    let statement = row.get(1)?;
    rows.finish()?;
    Ok(statement)
}

/// Standard output, or a file that gets its name when it is complete.
struct Target {
    out: Out,
    /// Its name for now, and at the end.
    names: Option<(PathBuf, PathBuf)>,
}

impl Target {
    fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            let out = Out::stdout()
                .map_err(|error| Failure::other(format!("standard output is closed: {error}")))?;
            return Ok(Self { out, names: None });
        };
        // What is no file, a pipe or /dev/null, is written to as it is.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options()
                .write(true)
                .open(path)
                .map_err(|error| cannot_write(path, &error))?;
            return Ok(Self {
                out: Out::to_file(file),
                names: None,
            });
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|error| cannot_write(&part, &error))?;
        Ok(Self {
            out: Out::to_file(file),
            names: Some((part, path.to_owned())),
        })
    }

    fn complete(&mut self) -> Result<(), Failure> {
        self.out.flush()?;
        if let Some((part, path)) = self.names.take() {
            fs::rename(&part, &path).map_err(|error| cannot_write(&path, &error))?;
        }
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some((part, _)) = &self.names {
            // It failed, and its failure is what is reported.
            let _ = fs::remove_file(part);
        }
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::other(format!("can't write {}: {error}", path.display()))
}
