//! Rows as a shop has them: those of `crates/mysql-proto/examples/compression.rs`.

use std::fmt::Write;

const ROWS: u64 = 20_000;

const ROWS_A_STATEMENT: u64 = 1_000;

const STATEMENT_BYTES: usize = 1 << 20;

/// Statements that make the table.
pub(crate) fn table() -> Vec<String> {
    let mut numbers = Numbers::default();
    let columns = "id INT PRIMARY KEY, name VARCHAR(40), price DECIMAL(10,2), sold DATETIME, digest CHAR(16)";
    let mut statements =
        vec!["DROP TABLE IF EXISTS compressed_rows".to_owned(), format!("CREATE TABLE compressed_rows ({columns})")];
    for first in (1..=ROWS).step_by(usize::try_from(ROWS_A_STATEMENT).expect("a few")) {
        let rows: Vec<String> = (first..first + ROWS_A_STATEMENT).map(|id| numbers.row(id)).collect();
        statements.push(format!("INSERT INTO compressed_rows VALUES {}", rows.join(",")));
    }
    statements
}

/// A statement with 1 MiB of such rows in it, to which the reply is short.
pub(crate) fn statement() -> String {
    let mut numbers = Numbers::default();
    let mut sql = "SELECT LENGTH(\"".to_owned();
    let mut id = 0;
    while sql.len() < STATEMENT_BYTES {
        id += 1;
        write!(sql, "{},", numbers.row(id)).expect("memory");
    }
    sql.push_str("\")");
    sql
}

/// The same numbers in every run.
struct Numbers(u64);

impl Default for Numbers {
    fn default() -> Self {
        Self(0x9E37_79B9_7F4A_7C15)
    }
}

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 33
    }

    fn word(&mut self) -> &'static str {
        const WORDS: [&str; 8] = ["steel", "bolt", "garden", "lamp", "blue", "large", "spare", "wooden"];
        WORDS[usize::try_from(self.next() % 8).expect("a few")]
    }

    fn row(&mut self, id: u64) -> String {
        format!(
            "({id},'{} {} {}',{}.{:02},'2026-{:02}-{:02} {:02}:{:02}:{:02}','{:016x}')",
            self.word(),
            self.word(),
            self.word(),
            self.next() % 1000,
            self.next() % 100,
            self.next() % 12 + 1,
            self.next() % 28 + 1,
            self.next() % 24,
            self.next() % 60,
            self.next() % 60,
            self.next() << 20 ^ self.next(),
        )
    }
}
