//! chrono 0.4.

use chrono_04 as chrono;

use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike, Utc};

use super::moment::{Nanoseconds, both_ways, duration, microseconds};
use crate::value::{
    Date, DateTime, FromValue, FromValueError, Lossy, Param, ParamProblem, Time, ToParam, Value,
    ValueKind,
};

both_ways! {
    NaiveDate, "NaiveDate" => Date, to_date, from_date;
    NaiveDateTime, "NaiveDateTime" => DateTime, to_date_time, from_date_time;
    chrono::DateTime<Utc>, "DateTime<Utc>" => DateTime, to_utc, from_utc;
    NaiveTime, "NaiveTime" => Time, to_time, from_time;
    TimeDelta, "TimeDelta" => Time, to_duration, from_duration;
}

fn to_date(date: NaiveDate, _: Nanoseconds) -> Result<Date, ParamProblem> {
    let year = u16::try_from(date.year()).map_err(|_| ParamProblem::Year)?;
    // Months and days are below 32.
    let [month, day] = [date.month(), date.day()].map(|field| u8::try_from(field).unwrap_or(0));
    Date::new(year, month, day).ok_or(ParamProblem::Year)
}

fn from_date(date: Date) -> Option<NaiveDate> {
    NaiveDate::from_ymd_opt(date.year.into(), date.month.into(), date.day.into())
}

fn to_date_time(moment: NaiveDateTime, rest: Nanoseconds) -> Result<DateTime, ParamProblem> {
    let (date, time) = (to_date(moment.date(), rest)?, moment.time());
    // Hours, minutes and seconds are below 60.
    let [hour, minute, second] =
        [time.hour(), time.minute(), time.second()].map(|field| u8::try_from(field).unwrap_or(0));
    Ok(DateTime {
        hour,
        minute,
        second,
        microsecond: microseconds(time.nanosecond(), rest)?,
        ..DateTime::at_midnight(date)
    })
}

fn from_date_time(moment: DateTime) -> Option<NaiveDateTime> {
    let DateTime {
        hour,
        minute,
        second,
        microsecond,
        ..
    } = moment;
    from_date(moment.date())?.and_hms_micro_opt(
        hour.into(),
        minute.into(),
        second.into(),
        microsecond,
    )
}

fn to_utc(moment: chrono::DateTime<Utc>, rest: Nanoseconds) -> Result<DateTime, ParamProblem> {
    to_date_time(moment.naive_utc(), rest)
}

fn from_utc(moment: DateTime) -> Option<chrono::DateTime<Utc>> {
    from_date_time(moment).map(|moment| moment.and_utc())
}

fn to_time(time: NaiveTime, rest: Nanoseconds) -> Result<Time, ParamProblem> {
    let nanoseconds = microseconds(time.nanosecond(), rest)? * 1_000;
    let nanoseconds = i32::try_from(nanoseconds).map_err(|_| ParamProblem::LeapSecond)?;
    duration(time.num_seconds_from_midnight().into(), nanoseconds, rest)
}

fn from_time(time: Time) -> Option<NaiveTime> {
    if time.negative && !time.is_zero() {
        return None;
    }
    NaiveTime::from_hms_micro_opt(
        time.hours.into(),
        time.minutes.into(),
        time.seconds.into(),
        time.microseconds,
    )
}

fn to_duration(delta: TimeDelta, rest: Nanoseconds) -> Result<Time, ParamProblem> {
    duration(delta.num_seconds(), delta.subsec_nanos(), rest)
}

fn from_duration(time: Time) -> Option<TimeDelta> {
    Some(TimeDelta::microseconds(time.total_microseconds()))
}
