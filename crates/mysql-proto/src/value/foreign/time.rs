//! time 0.3.

use time_03 as time;

use time::{Duration, Month, OffsetDateTime, PrimitiveDateTime, UtcOffset};

use super::moment::{Nanoseconds, both_ways, duration, microseconds};
use crate::value::{
    Date, DateTime, FromValue, FromValueError, Lossy, Param, ParamProblem, Time, ToParam, Value,
    ValueKind,
};

both_ways! {
    time::Date, "time::Date" => Date, to_date, from_date;
    PrimitiveDateTime, "PrimitiveDateTime" => DateTime, to_date_time, from_date_time;
    OffsetDateTime, "OffsetDateTime" => DateTime, to_utc, from_utc;
    time::Time, "time::Time" => Time, to_time, from_time;
    Duration, "time::Duration" => Time, to_duration, from_duration;
}

fn to_date(date: time::Date, _: Nanoseconds) -> Result<Date, ParamProblem> {
    let (year, month, day) = date.to_calendar_date();
    let year = u16::try_from(year).map_err(|_| ParamProblem::Year)?;
    Date::new(year, month.into(), day).ok_or(ParamProblem::Year)
}

fn from_date(date: Date) -> Option<time::Date> {
    let month = Month::try_from(date.month).ok()?;
    time::Date::from_calendar_date(date.year.into(), month, date.day).ok()
}

fn to_date_time(moment: PrimitiveDateTime, rest: Nanoseconds) -> Result<DateTime, ParamProblem> {
    let date = to_date(moment.date(), rest)?;
    let (hour, minute, second, nanosecond) = moment.time().as_hms_nano();
    Ok(DateTime {
        hour,
        minute,
        second,
        microsecond: microseconds(nanosecond, rest)?,
        ..DateTime::at_midnight(date)
    })
}

fn from_date_time(moment: DateTime) -> Option<PrimitiveDateTime> {
    let DateTime {
        hour,
        minute,
        second,
        microsecond,
        ..
    } = moment;
    let time = time::Time::from_hms_micro(hour, minute, second, microsecond).ok()?;
    Some(from_date(moment.date())?.with_time(time))
}

fn to_utc(moment: OffsetDateTime, rest: Nanoseconds) -> Result<DateTime, ParamProblem> {
    let moment = moment
        .checked_to_offset(UtcOffset::UTC)
        .ok_or(ParamProblem::Year)?;
    to_date_time(PrimitiveDateTime::new(moment.date(), moment.time()), rest)
}

fn from_utc(moment: DateTime) -> Option<OffsetDateTime> {
    from_date_time(moment).map(PrimitiveDateTime::assume_utc)
}

fn to_time(time: time::Time, rest: Nanoseconds) -> Result<Time, ParamProblem> {
    let (hours, minutes, seconds, nanoseconds) = time.as_hms_nano();
    Ok(Time {
        negative: false,
        hours: hours.into(),
        minutes,
        seconds,
        microseconds: microseconds(nanoseconds, rest)?,
    })
}

fn from_time(time: Time) -> Option<time::Time> {
    if time.negative && !time.is_zero() {
        return None;
    }
    let hours = u8::try_from(time.hours).ok()?;
    time::Time::from_hms_micro(hours, time.minutes, time.seconds, time.microseconds).ok()
}

fn to_duration(length: Duration, rest: Nanoseconds) -> Result<Time, ParamProblem> {
    duration(length.whole_seconds(), length.subsec_nanoseconds(), rest)
}

fn from_duration(time: Time) -> Option<Duration> {
    Some(Duration::microseconds(time.total_microseconds()))
}
