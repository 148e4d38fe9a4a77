//! What is run, and by which statement.

use clap::ValueEnum;
use onecopy_mysql::{Date, DateTime, Param, Time};

use super::shape::{BLOB, BLOB_TABLE, LARGE_BLOB, ROWS_TABLE};

/// One workload; each iteration is one execution, read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// Prepared: one row of 15 columns, about 1.4 kB.
    OneSmallRow,
    /// Prepared: one row of all 18 columns, about 105 kB.
    OneBigRow,
    /// Prepared: all 5,001 rows, about 450 MB.
    ManyRows,
    /// Prepared: 17 parameters, 71 kB of them, and no row.
    StmtParams,
    /// Text: the value of 64 MiB, owned, in a fresh allocation each time.
    Blob,
    /// Text: the value of 64 MiB, owned, in an allocation that is used again.
    BlobReuse,
    /// Text: the value of 64 MiB, streamed.
    BlobStream,
}

impl Workload {
    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Iterations that take some seconds.
    pub(crate) fn default_iterations(self) -> u64 {
        match self {
            Self::OneSmallRow => 50_000,
            Self::OneBigRow | Self::StmtParams => 20_000,
            Self::ManyRows => 5,
            Self::Blob | Self::BlobReuse | Self::BlobStream => 50,
        }
    }

    /// Whether it is executed as a prepared statement, or else sent as text.
    pub(crate) fn is_prepared(self) -> bool {
        !matches!(self, Self::Blob | Self::BlobReuse | Self::BlobStream)
    }

    /// Its statement. `large` reads the value of 256 MiB in place of 64.
    pub(crate) fn sql(self, large: bool) -> String {
        let blob = if large { LARGE_BLOB } else { BLOB };
        match self {
            Self::OneSmallRow => format!(
                "SELECT s8, u8, s16, u16, s32, u32, s64, u64, s1, b1, flt, dbl, dt, dtime, t FROM {ROWS_TABLE} \
                 WHERE id = 1"
            ),
            Self::OneBigRow => format!("SELECT * FROM {ROWS_TABLE} WHERE id = 1"),
            Self::ManyRows => format!("SELECT * FROM {ROWS_TABLE}"),
            Self::StmtParams => format!(
                "SELECT id FROM {ROWS_TABLE} WHERE id = 1 AND s8 = ? AND u8 = ? AND s16 = ? AND u16 = ? AND s32 = ? \
                 AND u32 = ? AND s64 = ? AND u64 = ? AND s1 = ? AND s2 = ? AND b1 = ? AND b2 = ? AND flt = ? \
                 AND dbl = ? AND dt = ? AND dtime = ? AND t = ?"
            ),
            Self::Blob | Self::BlobReuse | Self::BlobStream => {
                format!("SELECT data FROM {BLOB_TABLE} WHERE id = {}", blob.id)
            }
        }
    }
}

/// The values behind the parameters of [`Workload::StmtParams`].
#[derive(Debug)]
pub(crate) struct Values {
    s1: String,
    s2: String,
    b1: Vec<u8>,
    b2: Vec<u8>,
}

impl Values {
    pub(crate) fn new() -> Self {
        Self {
            s1: "a".repeat(200),
            s2: "b".repeat(36_000),
            b1: vec![5; 200],
            b2: vec![7; 35_000],
        }
    }

    /// The parameters of `workload`; empty for all but one.
    pub(crate) fn params(&self, workload: Workload) -> Vec<Param<'_>> {
        if workload != Workload::StmtParams {
            return Vec::new();
        }
        let date_time = DateTime {
            year: 2020,
            month: 3,
            day: 21,
            hour: 10,
            minute: 40,
            second: 10,
            microsecond: 123_456,
        };
        let time = Time {
            negative: false,
            hours: 126,
            minutes: 18,
            seconds: 40,
            microseconds: 123_456,
        };
        vec![
            64_i8.into(),
            172_u8.into(),
            (-129_i16).into(),
            0xFE21_u16.into(),
            42_i32.into(),
            0x00FE_8173_u32.into(),
            (-1_i64).into(),
            98_302_402_u64.into(),
            (&self.s1).into(),
            (&self.s2).into(),
            (&self.b1).into(),
            (&self.b2).into(),
            3.14e10_f32.into(),
            7.1e-150_f64.into(),
            Date {
                year: 2010,
                month: 6,
                day: 20,
            }
            .into(),
            date_time.into(),
            time.into(),
        ]
    }
}
