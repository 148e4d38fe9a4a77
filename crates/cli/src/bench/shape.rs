//! The tables of the workloads, and what stands in them: always the same, on every server.

use std::io::{self, Read};

use onecopy_mysql::{Date, DateTime, Param, Time};

/// Rows of about 90 kB.
pub(crate) const ROWS_TABLE: &str = "onecopy_bench_rows";
/// Single large values.
pub(crate) const BLOB_TABLE: &str = "onecopy_bench_blob";

/// Rows of [`ROWS_TABLE`]. With it, [`SEED`] and the lengths below, s2 and b2 hold 448.6 MB within a percent.
pub(crate) const ROWS: u32 = 5001;

/// The row of [`BLOB_TABLE`] with the value of 64 MiB.
pub(crate) const BLOB: Blob = Blob {
    id: 1,
    bytes: 64 << 20,
};
/// The row with the value of 256 MiB.
pub(crate) const LARGE_BLOB: Blob = Blob {
    id: 2,
    bytes: 256 << 20,
};

/// A large value, by its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(crate) id: u32,
    pub(crate) bytes: u64,
}

/// Columns of [`ROWS_TABLE`], all of them `NOT NULL`.
const COLUMNS: [(&str, &str); 18] = [
    ("id", "INT NOT NULL PRIMARY KEY AUTO_INCREMENT"),
    ("s8", "TINYINT NOT NULL"),
    ("u8", "TINYINT UNSIGNED NOT NULL"),
    ("s16", "SMALLINT NOT NULL"),
    ("u16", "SMALLINT UNSIGNED NOT NULL"),
    ("s32", "INT NOT NULL"),
    ("u32", "INT UNSIGNED NOT NULL"),
    ("s64", "BIGINT NOT NULL"),
    ("u64", "BIGINT UNSIGNED NOT NULL"),
    ("s1", "VARCHAR(256) NOT NULL"),
    ("s2", "TEXT NOT NULL"),
    ("b1", "VARBINARY(256) NOT NULL"),
    ("b2", "BLOB NOT NULL"),
    ("flt", "FLOAT NOT NULL"),
    ("dbl", "DOUBLE NOT NULL"),
    ("dt", "DATE NOT NULL"),
    ("dtime", "DATETIME NOT NULL"),
    ("t", "TIME NOT NULL"),
];

const SHORT: usize = 180;
/// Shortest and longest value of s2 and b2.
const LONG: (usize, usize) = (36_000, 54_000);
/// Row 1 is read alone: with it, its whole response is about 105 kB.
const FIRST_ROW_LONG: usize = 52_430;

const SEED: u64 = 0x6F6E_6563_6F70_7901;

/// The statement that makes [`ROWS_TABLE`].
pub(crate) fn create_rows(comment: &str) -> String {
    let columns: Vec<String> = COLUMNS
        .iter()
        .map(|(name, kind)| format!("{name} {kind}"))
        .collect();
    format!(
        "CREATE TABLE {ROWS_TABLE} ({}) COMMENT = '{comment}'",
        columns.join(", ")
    )
}

/// The statement that makes [`BLOB_TABLE`].
pub(crate) fn create_blobs(comment: &str) -> String {
    format!(
        "CREATE TABLE {BLOB_TABLE} (id INT NOT NULL PRIMARY KEY, data LONGBLOB NOT NULL) COMMENT = '{comment}'"
    )
}

/// The statement that takes a row's parameters.
pub(crate) fn insert_row() -> String {
    let marks = vec!["?"; COLUMNS.len()].join(", ");
    format!("INSERT INTO {ROWS_TABLE} VALUES ({marks})")
}

/// The rows of [`ROWS_TABLE`] in order. One buffer of each letter is enough for all of them.
#[derive(Debug)]
pub(crate) struct Rows {
    random: Random,
    letters: [Vec<u8>; 4],
}

impl Rows {
    pub(crate) fn new() -> Self {
        let letters = [(b'a', SHORT), (b'b', LONG.1), (b'c', SHORT), (b'd', LONG.1)];
        Self {
            random: Random(SEED),
            letters: letters.map(|(letter, len)| vec![letter; len]),
        }
    }

    /// The parameters of the next row, which is to be `id`.
    pub(crate) fn next(&mut self, id: u32) -> [Param<'_>; COLUMNS.len()] {
        let random = &mut self.random;
        let [s1, s2, b1, b2] = &self.letters;
        let (mut s2_len, mut b2_len) = (
            random.between(LONG.0, LONG.1),
            random.between(LONG.0, LONG.1),
        );
        if id == 1 {
            (s2_len, b2_len) = (FIRST_ROW_LONG, FIRST_ROW_LONG);
        }
        let [r0, r1, r2, r3, r4, r5, r6, r7, ..] = random.next().to_le_bytes();
        [
            id.into(),
            i8::from_le_bytes([r0]).into(),
            r1.into(),
            i16::from_le_bytes([r2, r3]).into(),
            u16::from_le_bytes([r4, r5]).into(),
            i32::from_le_bytes([r6, r7, r0, r1]).into(),
            u32::from_le_bytes([r2, r4, r6, r3]).into(),
            random.next().cast_signed().into(),
            random.next().into(),
            Param::Bytes(s1),
            Param::Bytes(&s2[..s2_len]),
            Param::Bytes(b1),
            Param::Bytes(&b2[..b2_len]),
            random.float().into(),
            random.double().into(),
            random.date().into(),
            random.date_time().into(),
            random.time().into(),
        ]
    }
}

/// A large value's bytes, without end where nobody takes a part of them.
#[derive(Debug)]
pub(crate) struct Noise {
    random: Random,
    /// Bytes of the last word that were not given yet, at its end.
    word: [u8; 8],
    left: usize,
}

impl Blob {
    /// The value's bytes: of no pattern that a server or a file system could shorten.
    pub(crate) fn reader(self) -> impl Read {
        Noise {
            random: Random(SEED ^ u64::from(self.id)),
            word: [0; 8],
            left: 0,
        }
        .take(self.bytes)
    }
}

impl Read for Noise {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut rest = &mut *into;
        while !rest.is_empty() {
            if self.left == 0 {
                (self.word, self.left) = (self.random.next().to_le_bytes(), 8);
            }
            let n = self.left.min(rest.len());
            let from = 8 - self.left;
            rest[..n].copy_from_slice(&self.word[from..from + n]);
            self.left -= n;
            rest = &mut rest[n..];
        }
        Ok(into.len())
    }
}

/// SplitMix64, <https://prng.di.unimi.it/splitmix64.c>: a few instructions, the same everywhere.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ word >> 31
    }

    /// Below `bound`, which is small beside 2^64: the remainder favours none.
    fn below(&mut self, bound: u16) -> u16 {
        u16::try_from(self.next() % u64::from(bound)).unwrap_or_default()
    }

    fn small(&mut self, bound: u8) -> u8 {
        u8::try_from(self.below(bound.into())).unwrap_or_default()
    }

    fn between(&mut self, least: usize, most: usize) -> usize {
        let span = u64::try_from(most - least + 1).unwrap_or(1);
        least + usize::try_from(self.next() % span).unwrap_or_default()
    }

    /// Of seven significant digits, which FLOAT keeps.
    fn float(&mut self) -> f32 {
        f32::from(self.below(10_000)) / 8.0
    }

    fn double(&mut self) -> f64 {
        f64::from(self.below(u16::MAX)) / 7.0
    }

    fn date(&mut self) -> Date {
        Date {
            year: 1970 + self.below(100),
            month: 1 + self.small(12),
            day: 1 + self.small(28),
        }
    }

    fn date_time(&mut self) -> DateTime {
        let Date { year, month, day } = self.date();
        let (hour, minute, second) = (self.small(24), self.small(60), self.small(60));
        DateTime {
            year,
            month,
            day,
            hour,
            minute,
            second,
            microsecond: 0,
        }
    }

    fn time(&mut self) -> Time {
        let hours = self.below(838);
        Time {
            negative: self.small(2) == 1,
            hours,
            minutes: self.small(60),
            seconds: self.small(60),
            microseconds: 0,
        }
    }
}

#[cfg(test)]
mod tests;
