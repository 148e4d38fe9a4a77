//! Numbers as people read them.

use std::time::Duration;

/// Where a value is not known.
pub(super) const UNKNOWN: &str = "–";

/// `1,234,567`
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `0`, `3.2`, `1,234`
pub(super) fn rate(rate: Option<f64>) -> String {
    let Some(rate) = rate else {
        return UNKNOWN.to_owned();
    };
    if rate > 0.0 && rate < 9.95 {
        return format!("{rate:.1}");
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // rounded, and saturating
    let whole = rate.round() as u64;
    count(whole)
}

/// `75 µs`, `2.5 ms`, `10 s`
pub(super) fn micros(micros: Option<u64>) -> String {
    match micros {
        None => UNKNOWN.to_owned(),
        Some(micros @ 0..1_000) => format!("{micros} µs"),
        Some(micros @ 1_000..1_000_000) => format!("{} ms", tenths(micros, 1_000)),
        Some(micros) => format!("{} s", tenths(micros, 1_000_000)),
    }
}

/// `512 B`, `1.5 KiB`, `64 MiB`
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1 << 10 {
        return format!("{bytes} B");
    }
    let mut unit = 1_u64 << 10;
    let mut at = 0;
    while bytes / unit >= 1 << 10 && at + 1 < UNITS.len() {
        unit <<= 10;
        at += 1;
    }
    format!("{} {}", tenths(bytes, unit), UNITS[at])
}

/// The same a second.
pub(super) fn byte_rate(rate: Option<f64>) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturating
    match rate {
        None => UNKNOWN.to_owned(),
        Some(rate) => format!("{}/s", bytes(rate.round() as u64)),
    }
}

/// `45 s`, `2 min 5 s`, `3 h 20 min`, `4 d 2 h`
pub(super) fn seconds(seconds: u64) -> String {
    let two = |large: u64, unit: &str, small: u64, other: &str| match small {
        0 => format!("{large} {unit}"),
        small => format!("{large} {unit} {small} {other}"),
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => two(seconds / 60, "min", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds / 60 % 60, "min"),
        _ => two(seconds / 86_400, "d", seconds / 3_600 % 24, "h"),
    }
}

/// `0.25 %` of a whole.
pub(super) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return UNKNOWN.to_owned();
    }
    #[allow(clippy::cast_precision_loss)] // of a share that is shown with two digits
    let percent = part as f64 * 100.0 / whole as f64;
    format!("{percent:.2} %")
}

/// The UTC time of day since 1970: `21:02:07`.
pub(super) fn time_of_day(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs() % 86_400;
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// One digit behind the point where it says something.
fn tenths(value: u64, unit: u64) -> String {
    let tenths = u128::from(value) * 10 / u128::from(unit);
    match (tenths / 10, tenths % 10) {
        (whole, rest) if rest == 0 || whole >= 100 => whole.to_string(),
        (whole, rest) => format!("{whole}.{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_digits_as_people_read() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(count(number), text);
        }
        for (number, text) in [
            (None, "–"),
            (Some(0.0), "0"),
            (Some(0.04), "0.0"),
            (Some(3.21), "3.2"),
            (Some(9.96), "10"),
            (Some(12_345.6), "12,346"),
        ] {
            assert_eq!(rate(number), text);
        }
        for (number, text) in [
            (75, "75 µs"),
            (2_500, "2.5 ms"),
            (250_000, "250 ms"),
            (20_000_000, "20 s"),
        ] {
            assert_eq!(micros(Some(number)), text);
        }
        for (number, text) in [
            (1_023, "1023 B"),
            (1_536, "1.5 KiB"),
            (64 << 20, "64 MiB"),
            (u64::MAX, "16383 PiB"),
        ] {
            assert_eq!(bytes(number), text);
        }
        for (number, text) in [
            (59, "59 s"),
            (125, "2 min 5 s"),
            (3_600, "1 h"),
            (93_600, "1 d 2 h"),
        ] {
            assert_eq!(seconds(number), text);
        }
        assert_eq!(share(1, 400), "0.25 %");
        assert_eq!(share(1, 0), "–");
        assert_eq!(time_of_day(Duration::from_secs(86_399)), "23:59:59");
    }
}
