//! The method infile: the file goes to LOAD DATA LOCAL as it is, a batch of lines at a time.

use std::io::{self, BufRead, Read};

use onecopy_mysql::blocking::Connection;

use super::FormatName;
use super::records::{Position, Records};
use super::session::{Failed, Load, Place, Target, nowhere};
use super::source::Input;
use super::tsv::TsvRecords;
use crate::failure::Failure;
use crate::table::{ValueKind, quoted};

/// Loads the rest of the file.
pub(super) fn run(load: &mut Load<'_>) -> Result<(), Failed> {
    let (mut input, targets) = begin(load).map_err(nowhere)?;
    let sql = statement(load, &targets);
    loop {
        let start = load.committed.position();
        let mut lines = Lines::new(&mut input, start, load.args.batch_rows());
        if lines
            .is_at_end()
            .map_err(|error| nowhere(cannot_read(load, &error)))?
        {
            return Ok(());
        }
        let loaded = load.conn.load_infile(&sql, &mut lines);
        let (end, count) = (lines.end, lines.count);
        let place = || {
            Some(Place(format!(
                "{}, lines {} to {}",
                load.source.name,
                start.line,
                end.line.saturating_sub(1)
            )))
        };
        let done = loaded.map_err(|error| (error.into(), place()))?;
        if done.warnings > 0 && !load.args.ignore {
            let first = first_warning(&mut load.conn);
            let _ = load.conn.run("ROLLBACK");
            let (text, line) = first.map_err(|error| (error, place()))?;
            let line = line.map_or_else(place, |row| {
                Some(Place(format!(
                    "{}, line {}",
                    load.source.name,
                    start.line + row - 1
                )))
            });
            return Err((Failure::other(text), line));
        }
        load.conn
            .run("COMMIT")
            .map_err(|error| (error.into(), place()))?;
        load.committed.advance(count, end);
        load.resume.save(&load.committed).map_err(nowhere)?;
        load.progress.rows(count, end.offset);
    }
}

fn begin(load: &mut Load<'_>) -> Result<(Input, Vec<Target>), Failure> {
    if load.format != FormatName::Tsv || load.args.null != r"\N" {
        return Err(Failure::other(
            r"--method infile takes tsv with \N for NULL; the other methods take every format",
        ));
    }
    let is_new = load.committed.fields.is_empty();
    let at = load.committed.position();
    let mut records = TsvRecords::new(load.source.open(at.offset)?, &load.args.null, at);
    if is_new && load.args.no_header {
        load.committed.fields = load.unnamed();
    } else if is_new {
        load.committed.fields = load.names(&mut records)?;
        load.committed.advance(0, records.end());
    }
    let targets = load.targets()?;
    let (input, _) = records.into_input();
    Ok((input, targets))
}

/// The statement; a BIT is a number in the file, and a field without a column goes to a variable.
fn statement(load: &Load<'_>, targets: &[Target]) -> String {
    let has = |kind| targets.iter().any(|target| target.kind == kind);
    // Of a file in UTF-8 MySQL refuses what is no UTF-8 for columns of bytes too; MariaDB does not convert it.
    let is_of_bytes = has(ValueKind::Bytes) && !load.conn.server_version().contains("MariaDB");
    let has_sets = has(ValueKind::Bit) || (is_of_bytes && has(ValueKind::Text));
    let of_field = |field| targets.iter().find(|target| target.field == field);
    let mut places = Vec::new();
    let mut sets = Vec::new();
    for field in 0..load.committed.fields.len() {
        places.push(match of_field(field) {
            None => format!("@onecopy_{field}"),
            Some(target) => {
                let column = &load.table.columns[target.column];
                let (name, variable) = (quoted(&column.name), format!("@onecopy_{field}"));
                if target.kind == ValueKind::Bit {
                    sets.push(format!("{name} = CAST({variable} AS UNSIGNED)"));
                    variable
                } else if target.kind == ValueKind::Text && is_of_bytes {
                    sets.push(format!("{name} = CONVERT({variable} USING utf8mb4)"));
                    variable
                } else if column.is_counted && has_sets {
                    // Where anything is SET, MariaDB forgets that the field before it had a value, and counts on from 0.
                    sets.push(format!("{name} = {variable}"));
                    variable
                } else {
                    name
                }
            }
        });
    }
    let duplicates = match (load.args.replace, load.args.ignore) {
        (true, _) => "REPLACE ",
        (_, true) => "IGNORE ",
        _ => "",
    };
    let mut sql = format!(
        "LOAD DATA LOCAL INFILE 'onecopy' {duplicates}INTO TABLE {} CHARACTER SET {} ({})",
        load.table.sql,
        if is_of_bytes { "binary" } else { "utf8mb4" },
        places.join(", ")
    );
    if !sets.is_empty() {
        sql.push_str(" SET ");
        sql.push_str(&sets.join(", "));
    }
    sql
}

/// LOCAL makes warnings of what would be errors: the first, and its row if it names one.
fn first_warning(conn: &mut Connection) -> Result<(String, Option<u64>), Failure> {
    let mut rows = conn.query("SHOW WARNINGS LIMIT 1")?;
    let Some(row) = rows.next()? else {
        return Ok(("the server reported a warning without a text".into(), None));
    };
    let (code, message): (u32, String) = (row.get("Code")?, row.get("Message")?);
    rows.finish()?;
    let number = message
        .rsplit_once("at row ")
        .and_then(|(_, row)| row.trim().parse().ok());
    Ok((format!("{code}: {message}"), number))
}

fn cannot_read(load: &Load<'_>, error: &io::Error) -> Failure {
    Failure::other(format!("can't read {}: {error}", load.source.name))
}

/// So many lines of the input, as they are.
struct Lines<'i> {
    input: &'i mut Input,
    left: u64,
    count: u64,
    end: Position,
    /// The last byte that was given is a backslash that begins an escape: a line feed behind it ends no line.
    escaped: bool,
    /// Bytes were given since the last line's end.
    in_line: bool,
}

impl<'i> Lines<'i> {
    fn new(input: &'i mut Input, start: Position, lines: u64) -> Self {
        Self {
            input,
            left: lines,
            count: 0,
            end: start,
            escaped: false,
            in_line: false,
        }
    }

    fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.input.fill_buf()?.is_empty())
    }
}

impl Read for Lines<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let there = self.input.fill_buf()?;
        let there = &there[..there.len().min(into.len())];
        if there.is_empty() && self.in_line {
            // The last line has no end.
            (self.count, self.in_line) = (self.count + 1, false);
        }
        let mut taken = there.len();
        let mut last = 0;
        for at in memchr::memchr_iter(b'\n', there) {
            self.end.line += 1;
            let escapes = there[last..at]
                .iter()
                .rev()
                .take_while(|&&byte| byte == b'\\')
                .count();
            let carried = escapes == at && self.escaped && last == 0;
            if (escapes + usize::from(carried)) % 2 == 1 {
                continue;
            }
            (last, self.left, self.count) = (at + 1, self.left - 1, self.count + 1);
            if self.left == 0 {
                taken = at + 1;
                break;
            }
        }
        let given = &there[..taken];
        let escapes = given
            .iter()
            .rev()
            .take_while(|&&byte| byte == b'\\')
            .count();
        let carried = escapes == given.len() && self.escaped;
        self.escaped = (escapes + usize::from(carried)) % 2 == 1;
        if let Some(byte) = given.last() {
            self.in_line = *byte != b'\n';
        }
        into[..taken].copy_from_slice(given);
        self.input.consume(taken);
        self.end.offset += taken as u64;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use super::*;

    fn input(text: &[u8], buffer: usize) -> Input {
        BufReader::with_capacity(buffer, Box::new(Cursor::new(text.to_vec())))
    }

    #[test]
    fn a_batch_ends_behind_a_lines_end_however_it_is_read() {
        let text = b"one\ntw\\\no\n\\\\\nfour\nfive";
        for buffer in [1, 2, 3, 5, 100] {
            for step in [1, 3, 100] {
                let mut input = input(text, buffer);
                let mut batches = Vec::new();
                let mut at = Position::START;
                loop {
                    let mut lines = Lines::new(&mut input, at, 2);
                    let mut batch = Vec::new();
                    let mut piece = vec![0; step];
                    loop {
                        let n = lines.read(&mut piece).unwrap();
                        if n == 0 {
                            break;
                        }
                        batch.extend_from_slice(&piece[..n]);
                    }
                    if batch.is_empty() {
                        break;
                    }
                    at = lines.end;
                    batches.push((String::from_utf8(batch).unwrap(), lines.count, at.line));
                }
                let batch = |text: &str, count, line| (text.to_owned(), count, line);
                assert_eq!(
                    batches,
                    [
                        batch("one\ntw\\\no\n", 2, 4),
                        batch("\\\\\nfour\n", 2, 6),
                        batch("five", 1, 6),
                    ],
                    "{buffer}, {step}"
                );
                assert_eq!(at.offset, text.len() as u64);
            }
        }
    }
}
