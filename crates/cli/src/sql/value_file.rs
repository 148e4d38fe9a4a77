//! `--out`: one value to a file, as it arrives.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use onecopy_mysql::Definitions;
use onecopy_mysql::blocking::{ColumnReader, Rows};

use super::cancel::Cancel;
use crate::failure::{Failure, say};

/// Bytes that go from the socket to the file at a time: 256 KiB.
const PIECE: usize = 256 << 10;

/// Progress is shown for values from this size on: 16 MiB.
const PROGRESS_FROM: u64 = 16 << 20;

/// Writes the value of the result's one row to `path`. The file is opened once the value is there.
pub(super) fn save(
    rows: &mut Rows<'_>,
    column: Option<&str>,
    path: &Path,
    cancel: &Cancel,
    quiet: bool,
) -> Result<(), Failure> {
    let start = Instant::now();
    let Some(index) = rows
        .columns()
        .map(|columns| find(columns, column))
        .transpose()?
    else {
        return Err(Failure::other("the result has no columns"));
    };
    let Some(mut row) = rows.next_streaming()? else {
        return Err(Failure::other(
            "the result has no row, and so no value for --out",
        ));
    };
    let mut written = None;
    while let Some(mut value) = row.next_column()? {
        if value.index() == index {
            written = Some(copy(&mut value, path, cancel)?);
            break;
        }
    }
    drop(row);
    let Some(written) = written else {
        return Err(Failure::other("the row ended before the column for --out"));
    };
    if rows.next_streaming()?.is_some() {
        return Err(Failure::other(format!(
            "the result has more than one row, and {} holds the first one's value; LIMIT 1 takes one row",
            path.display()
        )));
    }
    if !quiet {
        let seconds = start.elapsed().as_secs_f64();
        say(&format!(
            "{} bytes ({}) in {} ({seconds:.2} s)",
            written,
            HumanBytes(written),
            path.display()
        ));
    }
    Ok(())
}

fn find(columns: &Definitions, column: Option<&str>) -> Result<usize, Failure> {
    match column {
        Some(name) => columns.index_of(name).ok_or_else(|| {
            Failure::other(format!(
                "the result has no column {name}; it has {}",
                names(columns)
            ))
        }),
        None if columns.len() == 1 => Ok(0),
        None => Err(Failure::other(format!(
            "--out takes one column; --column says which of {}",
            names(columns)
        ))),
    }
}

/// The first columns' names.
fn names(columns: &Definitions) -> String {
    const SHOWN: usize = 10;
    let names = (0..columns.len().min(SHOWN)).filter_map(|index| columns.name(index));
    let names: Vec<_> = names.map(String::from_utf8_lossy).collect();
    names.join(", ") + if columns.len() > SHOWN { ", ..." } else { "" }
}

fn copy(value: &mut ColumnReader<'_>, path: &Path, cancel: &Cancel) -> Result<u64, Failure> {
    let Some(len) = value.len() else {
        return Err(Failure::other(format!(
            "column {} is NULL; {} was left as it was",
            value.name(),
            path.display()
        )));
    };
    let mut file = File::create(path)
        .map_err(|error| Failure::other(format!("can't write to {}: {error}", path.display())))?;
    let progress = progress(len);
    let mut piece = vec![0; PIECE];
    let mut written = 0;
    loop {
        cancel.check()?;
        let n = value.read(&mut piece)?;
        if n == 0 {
            progress.finish_and_clear();
            return Ok(written);
        }
        file.write_all(&piece[..n]).map_err(|error| {
            let path = path.display();
            Failure::other(format!(
                "can't write to {path}: {error}; {written} of {len} bytes are there"
            ))
        })?;
        written += n as u64;
        progress.set_position(written);
    }
}

/// Hidden where standard error is no terminal.
fn progress(len: u64) -> ProgressBar {
    if len < PROGRESS_FROM {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(
        "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
    ) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
