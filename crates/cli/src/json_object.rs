//! Named numbers as a JSON object.

use std::time::Duration;

use onecopy_mysql::Meter;
use serde::{Serialize, Serializer};
use serde_json::Number;

/// A JSON object of numbers. They keep the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct JsonObject(Vec<(String, Number)>);

impl JsonObject {
    /// Every counter of a meter by its name.
    pub(crate) fn of_meter(meter: &Meter) -> Self {
        Self::default().counts(meter.fields())
    }

    pub(crate) fn counts<'n>(mut self, counts: impl IntoIterator<Item = (&'n str, u64)>) -> Self {
        let counts = counts.into_iter();
        self.0
            .extend(counts.map(|(name, count)| (name.to_owned(), count.into())));
        self
    }

    /// Fractions, rounded to so many decimals. One that is not finite is 0.
    pub(crate) fn fractions<'n>(
        mut self,
        decimals: i32,
        fractions: impl IntoIterator<Item = (&'n str, f64)>,
    ) -> Self {
        for (name, fraction) in fractions {
            let number = Number::from_f64(rounded(fraction, decimals));
            self.0
                .push((name.to_owned(), number.unwrap_or_else(|| 0.into())));
        }
        self
    }

    /// Whole nanoseconds, with names that end with `_ns`.
    pub(crate) fn times<'n>(
        mut self,
        times: impl IntoIterator<Item = (&'n str, Duration)>,
    ) -> Self {
        for (name, time) in times {
            self.0.push((format!("{name}_ns"), nanos(time).into()));
        }
        self
    }
}

impl Serialize for JsonObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, number)| (name, number)))
    }
}

pub(crate) fn rounded(number: f64, decimals: i32) -> f64 {
    let factor = 10f64.powi(decimals);
    (number * factor).round() / factor
}

/// The most are 584 years.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What is serialised here are strings and numbers, which cannot fail.
pub(crate) fn to_text(report: &impl Serialize) -> String {
    serde_json::to_string(report).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_order_and_their_decimals() {
        let object = JsonObject::default()
            .times([("wall", Duration::from_micros(3))])
            .counts([("reads", 7)])
            .fractions(2, [("each", 2.346), ("none", f64::NAN)]);
        let text = r#"{"wall_ns":3000,"reads":7,"each":2.35,"none":0}"#;
        assert_eq!(to_text(&object), text);
    }
}
