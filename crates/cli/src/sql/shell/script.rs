//! `\.` and `source`: the statements of a file.

use std::fs::File;
use std::io::BufReader;
use std::time::Instant;

use super::execute::taken;
use super::message::say;
use super::{Next, Shell};
use crate::failure::Failure;
use crate::sql::splitter::{Ending, Splitter};
use crate::sql::summary::counted;

impl Shell {
    /// Runs them up to the first error. They are not the shell's commands, but for DELIMITER: a file runs no programs.
    pub(super) fn script(&mut self, path: &str) -> Result<Next, Failure> {
        let start = Instant::now();
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) => {
                say(&format!("error: can't read {path}: {error}"));
                return Ok(Next::Stop);
            }
        };
        let mut splitter = Splitter::of_script(BufReader::new(file), self.delimiter.as_bytes());
        let mut count = 0_u64;
        loop {
            let found = match splitter.next(self.backslash_escapes()) {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(error) => {
                    say(&format!("error: can't read {path}: {error}"));
                    return Ok(Next::Stop);
                }
            };
            if found.ending == Ending::Clear {
                continue;
            }
            // Of the bytes of a BLOB, only what an error shows of them is changed.
            let text = String::from_utf8_lossy(&found.sql).into_owned();
            if !self.is_ready(&text)? {
                return Ok(Next::Stop);
            }
            let ended = self.run(&found.sql, found.ending == Ending::Vertical, false);
            if self.after(&text, ended)? != Next::Go {
                say(&format!(
                    "{path} stopped at line {}, after {} that ran",
                    found.line,
                    counted(count, "statement")
                ));
                return Ok(Next::Stop);
            }
            count += 1;
        }
        let time = taken(start.elapsed());
        let statements = counted(count, "statement");
        say(&format!("{statements} of {path} ({time})"));
        Ok(Next::Go)
    }
}
