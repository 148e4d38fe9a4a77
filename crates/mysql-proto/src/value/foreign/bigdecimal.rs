//! bigdecimal 0.4: digits without a limit.

use std::str::FromStr;

use bigdecimal_04 as bigdecimal;

use bigdecimal::BigDecimal;

use crate::value::{
    Decimal, FromValue, FromValueError, OwnedDecimal, ParamProblem, Value, ValueKind,
};

impl TryFrom<&BigDecimal> for OwnedDecimal {
    type Error = ParamProblem;

    /// All digits, those after the point too. Fails if a DECIMAL has no room for them.
    fn try_from(decimal: &BigDecimal) -> Result<Self, ParamProblem> {
        let (digits, scale) = decimal.as_bigint_and_exponent();
        let digits = digits.to_string();
        let (sign, digits) = match digits.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", &digits[..]),
        };
        // Not built before it is known to be short: the exponent may be anything.
        let most = i64::try_from(Decimal::MAX_DIGITS).unwrap_or(i64::MAX);
        if !(-most..=most).contains(&scale) {
            return Err(ParamProblem::Digits);
        }
        let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
        let (integer, fraction) = match usize::try_from(scale) {
            Ok(scale) if scale < digits.len() => {
                let (integer, fraction) = digits.split_at(digits.len() - scale);
                (integer.to_owned(), fraction.to_owned())
            }
            Ok(scale) => ("0".to_owned(), "0".repeat(scale - digits.len()) + digits),
            Err(_) => (digits.to_owned() + &zeros(-scale), String::new()),
        };
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{sign}{integer}{point}{fraction}")
            .parse()
            .map_err(|_| ParamProblem::Digits)
    }
}

impl<'v> FromValue<'v> for BigDecimal {
    const COPIES: bool = true;

    fn accepts(kind: ValueKind) -> bool {
        kind.is_exact_number()
    }

    /// Accepts integers and every DECIMAL, with the zeros at its end.
    fn from_value(value: Value<'v>) -> Result<Self, FromValueError> {
        match value {
            Value::Int(number) => Ok(number.into()),
            Value::UInt(number) => Ok(number.into()),
            Value::Decimal(decimal) => Self::from_str(decimal.as_str())
                .map_err(|_| FromValueError::does_not_fit("BigDecimal", value.kind())),
            other => Err(FromValueError::wrong_kind("BigDecimal", other)),
        }
    }
}
