//! jiff 0.2.

use jiff_02 as jiff;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, civil};

use super::moment::{Nanoseconds, both_ways, duration, microseconds};
use crate::value::{
    Date, DateTime, FromValue, FromValueError, Lossy, Param, ParamProblem, Time, ToParam, Value,
    ValueKind,
};

both_ways! {
    civil::Date, "civil::Date" => Date, to_date, from_date;
    civil::DateTime, "civil::DateTime" => DateTime, to_date_time, from_date_time;
    Timestamp, "Timestamp" => DateTime, to_utc, from_utc;
    civil::Time, "civil::Time" => Time, to_time, from_time;
    SignedDuration, "SignedDuration" => Time, to_duration, from_duration;
}

/// A field that is never negative.
fn unsigned(field: i8) -> u8 {
    field.unsigned_abs()
}

fn to_date(date: civil::Date, _: Nanoseconds) -> Result<Date, ParamProblem> {
    let year = u16::try_from(date.year()).map_err(|_| ParamProblem::Year)?;
    Date::new(year, unsigned(date.month()), unsigned(date.day())).ok_or(ParamProblem::Year)
}

fn from_date(date: Date) -> Option<civil::Date> {
    let year = i16::try_from(date.year).ok()?;
    let (month, day) = (i8::try_from(date.month).ok()?, i8::try_from(date.day).ok()?);
    civil::Date::new(year, month, day).ok()
}

fn to_date_time(moment: civil::DateTime, rest: Nanoseconds) -> Result<DateTime, ParamProblem> {
    let date = to_date(moment.date(), rest)?;
    let nanoseconds = moment.subsec_nanosecond().unsigned_abs();
    Ok(DateTime {
        hour: unsigned(moment.hour()),
        minute: unsigned(moment.minute()),
        second: unsigned(moment.second()),
        microsecond: microseconds(nanoseconds, rest)?,
        ..DateTime::at_midnight(date)
    })
}

fn from_date_time(moment: DateTime) -> Option<civil::DateTime> {
    let time = from_time(Time {
        negative: false,
        hours: moment.hour.into(),
        minutes: moment.minute,
        seconds: moment.second,
        microseconds: moment.microsecond,
    })?;
    Some(from_date(moment.date())?.to_datetime(time))
}

fn to_utc(moment: Timestamp, rest: Nanoseconds) -> Result<DateTime, ParamProblem> {
    to_date_time(TimeZone::UTC.to_datetime(moment), rest)
}

fn from_utc(moment: DateTime) -> Option<Timestamp> {
    TimeZone::UTC.to_timestamp(from_date_time(moment)?).ok()
}

fn to_time(time: civil::Time, rest: Nanoseconds) -> Result<Time, ParamProblem> {
    Ok(Time {
        negative: false,
        hours: unsigned(time.hour()).into(),
        minutes: unsigned(time.minute()),
        seconds: unsigned(time.second()),
        microseconds: microseconds(time.subsec_nanosecond().unsigned_abs(), rest)?,
    })
}

fn from_time(time: Time) -> Option<civil::Time> {
    if time.negative && !time.is_zero() {
        return None;
    }
    let hours = i8::try_from(time.hours).ok()?;
    let (minutes, seconds) = (
        i8::try_from(time.minutes).ok()?,
        i8::try_from(time.seconds).ok()?,
    );
    let nanoseconds = i32::try_from(time.microseconds).ok()?.checked_mul(1_000)?;
    civil::Time::new(hours, minutes, seconds, nanoseconds).ok()
}

fn to_duration(length: SignedDuration, rest: Nanoseconds) -> Result<Time, ParamProblem> {
    duration(length.as_secs(), length.subsec_nanos(), rest)
}

fn from_duration(time: Time) -> Option<SignedDuration> {
    Some(SignedDuration::from_micros(time.total_microseconds()))
}
