//! `\watch`, and the last statement again.

use std::time::Duration;

use super::lexer::{Kind, tokens};
use super::message::say;
use super::{Next, Shell};
use crate::failure::Failure;

impl Shell {
    /// Runs a statement again and again, until Ctrl-C or an error.
    pub(super) fn watch(&mut self, seconds: f64, sql: &str) -> Result<Next, Failure> {
        let sql = if sql.is_empty() {
            self.last.clone()
        } else {
            sql.to_owned()
        };
        if sql.is_empty() {
            say("error: there is no statement to watch; type it after \\watch");
            return Ok(Next::Stop);
        }
        self.last.clone_from(&sql);
        let pause = Duration::from_secs_f64(seconds);
        let pages = self.settings.set_paging(false);
        let ended = self.watch_until_it_ends(&sql, pause);
        self.settings.set_paging(pages);
        ended
    }

    fn watch_until_it_ends(&mut self, sql: &str, pause: Duration) -> Result<Next, Failure> {
        self.printer.cancel.start_repeating();
        let mut count = 0_u64;
        loop {
            count += 1;
            say(&format!(
                "-- every {} s, run {count}; Ctrl-C ends it",
                pause.as_secs_f64()
            ));
            if self.statement(sql, false)? != Next::Go {
                return Ok(Next::Stop);
            }
            match self.printer.cancel.pause(pause) {
                Ok(()) => {}
                Err(Failure::Cancelled { signal })
                    if i32::from(signal) == signal_hook::consts::SIGINT =>
                {
                    say("ended");
                    return Ok(Next::Go);
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// `\G` alone. Only what reads is run again without being typed again.
    pub(super) fn last_vertically(&mut self) -> Result<Next, Failure> {
        if !only_reads(&self.last) {
            say(
                "error: there is no statement to end; on its own, it repeats the last statement if that was a SELECT or SHOW",
            );
            return Ok(Next::Stop);
        }
        let sql = self.last.clone();
        self.statement(&sql, true)
    }
}

fn only_reads(sql: &str) -> bool {
    let mut words = tokens(sql).filter(|token| token.kind == Kind::Word);
    let first = words.next();
    let reads = [
        "SELECT", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "TABLE", "VALUES",
    ];
    // SELECT ... INTO OUTFILE, and locks.
    let writes = |token: super::lexer::Token<'_>| token.is_word("INTO") || token.is_word("UPDATE");
    first.is_some_and(|first| reads.iter().any(|word| first.is_word(word))) && !words.any(writes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_statements_that_read_are_run_again() {
        for sql in ["SELECT 1", "show tables", "/* a */ SELECT 'INTO'", "DESC t"] {
            assert!(only_reads(sql), "{sql}");
        }
        for sql in [
            "",
            "INSERT INTO t VALUES (1)",
            "SELECT 1 INTO @a",
            "SELECT 1 FOR UPDATE",
            "CALL p()",
        ] {
            assert!(!only_reads(sql), "{sql}");
        }
    }
}
