//! The 17 parameters, of all the types that a driver has.

use onecopy_mysql::{Date, DateTime, Param, Time};

/// The values behind them.
pub(super) struct Values {
    short: String,
    long: String,
    short_bytes: Vec<u8>,
    long_bytes: Vec<u8>,
}

impl Values {
    pub(super) fn new() -> Self {
        Self {
            short: "a".repeat(200),
            long: "b".repeat(36_000),
            short_bytes: vec![5; 200],
            long_bytes: vec![7; 35_000],
        }
    }

    pub(super) fn params(&self) -> [Param<'_>; 17] {
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
        let date = Date {
            year: 2010,
            month: 6,
            day: 20,
        };
        [
            64_i8.into(),
            172_u8.into(),
            (-129_i16).into(),
            0xFE21_u16.into(),
            42_i32.into(),
            0x00FE_8173_u32.into(),
            (-1_i64).into(),
            98_302_402_u64.into(),
            (&self.short).into(),
            (&self.long).into(),
            (&self.short_bytes).into(),
            (&self.long_bytes).into(),
            3.14e10_f32.into(),
            7.1e-150_f64.into(),
            date.into(),
            date_time.into(),
            time.into(),
        ]
    }
}
