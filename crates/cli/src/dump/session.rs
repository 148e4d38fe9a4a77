//! One run: log in, find what to select, write what comes.

use std::io::{self, IsTerminal, Write};

use onecopy_mysql::blocking::{Connection, Rows};
use onecopy_mysql::params;

use super::target::Target;
use super::{Args, FormatName, batches};
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
    let mut progress = match args.resume {
        false => whole(&mut conn, &selected, format, args)?,
        true => batches::run(&mut conn, (&config, &selected), format, args)?,
    };
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

/// In one statement.
fn whole(
    conn: &mut Connection,
    selected: &Selected,
    format: FormatName,
    args: &Args,
) -> Result<Transfer, Failure> {
    let mut target = Target::open(args.output.as_deref())?;
    let mut progress = Transfer::of_rows(selected.rows, args.quiet);
    let written = Written {
        sql: &selected.sql(),
        is_first: true,
        rows_before: 0,
    };
    write(
        conn,
        selected,
        format,
        args,
        &mut target,
        &mut progress,
        &written,
    )?;
    target.complete()?;
    Ok(progress)
}

/// What is to be written.
pub(super) struct Selected {
    /// Of a table its columns; of a query all of it.
    pub(super) columns: String,
    /// None of a query.
    pub(super) table: Option<Table>,
    /// Which of its rows.
    pub(super) condition: Option<String>,
    /// About how many rows there are.
    pub(super) rows: Option<u64>,
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
                columns: what.to_owned(),
                table: None,
                condition: None,
                rows: None,
            });
        }
        let table = Table::find(conn, what)?;
        let columns: Vec<String> = table
            .insertable()
            .map(|(_, column)| selected(&column.name, column.kind))
            .collect();
        let rows = match args.r#where {
            None => estimate(conn, &table)?,
            Some(_) => None,
        };
        Ok(Self {
            columns: columns.join(", "),
            table: Some(table),
            condition: args.r#where.clone(),
            rows,
        })
    }

    /// All of it in one statement.
    fn sql(&self) -> String {
        let Some(table) = &self.table else {
            return self.columns.clone();
        };
        let mut sql = format!("SELECT {} FROM {}", self.columns, table.sql);
        if let Some(condition) = &self.condition {
            sql.push_str(" WHERE ");
            sql.push_str(condition);
        }
        sql
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
fn estimate(conn: &mut Connection, table: &Table) -> Result<Option<u64>, Failure> {
    let sql = "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?";
    let name = params![table.database.as_deref(), &*table.name];
    let rows: Option<(Option<u64>,)> = conn.exec_opt(sql, &name)?;
    Ok(rows.and_then(|(rows,)| rows))
}

/// What is written at a time.
pub(super) struct Written<'a> {
    pub(super) sql: &'a str,
    /// Whether nothing is in front of it.
    pub(super) is_first: bool,
    /// Rows of earlier runs, for the bar.
    pub(super) rows_before: u64,
}

/// Writes the rows of a statement; gives their number.
pub(super) fn write(
    conn: &mut Connection,
    selected: &Selected,
    format: FormatName,
    args: &Args,
    target: &mut Target,
    progress: &mut Transfer,
    written: &Written<'_>,
) -> Result<u64, Failure> {
    let mut format = form(conn, selected, format, args, written.is_first)?;
    let mut rows = conn.query(written.sql)?;
    let Some(columns) = rows.columns().map(Column::all) else {
        return Err(Failure::other("the statement has no rows"));
    };
    let out = &mut target.out;
    format.begin(&columns, out)?;
    let mut count = 0;
    let ended = write_rows(&mut rows, &columns, &mut *format, out, || {
        count += 1;
        progress.row(|rows| rows + written.rows_before);
    });
    if let Err(failure) = ended {
        if !matches!(failure, Failure::ReaderGone) {
            format.break_off(out)?;
            out.flush()?;
        }
        return Err(failure);
    }
    rows.finish()?;
    format.end(out)?;
    Ok(count)
}

/// The form of the rows, with what stands in front of the first.
fn form(
    conn: &mut Connection,
    selected: &Selected,
    format: FormatName,
    args: &Args,
    is_first: bool,
) -> Result<Box<dyn Format>, Failure> {
    let create = match (&selected.table, args.create && is_first) {
        (Some(table), true) => Some(create_statement(conn, &table.sql)?),
        _ => None,
    };
    let into = args
        .into
        .as_deref()
        .map(quoted)
        .or_else(|| selected.table.as_ref().map(|table| quoted(&table.name)));
    let header = !args.no_header && is_first;
    Ok(dump_format(match format {
        FormatName::Csv => DumpFormat::Csv { header },
        FormatName::Tsv => DumpFormat::Tsv { header },
        FormatName::Json => DumpFormat::Json,
        FormatName::Ndjson => DumpFormat::Ndjson,
        FormatName::Sql => DumpFormat::Sql {
            into: into.ok_or_else(|| {
                Failure::other("sql of a query needs --into NAME, the table to insert into")
            })?,
            create,
        },
    }))
}

fn write_rows(
    rows: &mut Rows<'_>,
    columns: &[Column],
    format: &mut dyn Format,
    out: &mut Out,
    mut written: impl FnMut(),
) -> Result<(), Failure> {
    let are_small = output::are_small(columns);
    while output::write_row(rows, columns, are_small, format, out)? {
        written();
    }
    Ok(())
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
