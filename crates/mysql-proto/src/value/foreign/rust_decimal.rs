//! rust_decimal 1: 96 bits and a scale of at most 28.

use rust_decimal_1 as rust_decimal;

use rust_decimal::Decimal as Foreign;

use crate::value::{
    FromValue, FromValueError, Param, ParamProblem, SmallDecimal, ToParam, Value, ValueKind,
};

impl<'a> From<Foreign> for Param<'a> {
    fn from(decimal: Foreign) -> Self {
        let scale = u8::try_from(decimal.scale()).ok();
        let small = scale.and_then(|scale| SmallDecimal::new(decimal.mantissa(), scale));
        // It always fits: the same 96 bits.
        small.map_or(Self::Invalid(ParamProblem::Digits), Self::SmallDecimal)
    }
}

impl<'a> From<&Foreign> for Param<'a> {
    fn from(decimal: &Foreign) -> Self {
        <Self as From<Foreign>>::from(*decimal)
    }
}

impl ToParam for Foreign {
    fn to_param(&self) -> Param<'_> {
        self.into()
    }
}

impl<'v> FromValue<'v> for Foreign {
    fn accepts(kind: ValueKind) -> bool {
        kind.is_exact_number()
    }

    /// Accepts integers, and a DECIMAL of at most 28 digits, zeros at its end included.
    fn from_value(value: Value<'v>) -> Result<Self, FromValueError> {
        match value {
            Value::Int(number) => Ok(number.into()),
            Value::UInt(number) => Ok(number.into()),
            Value::Decimal(decimal) => Self::from_str_exact(decimal.as_str())
                .map_err(|_| FromValueError::does_not_fit("rust_decimal::Decimal", value.kind())),
            other => Err(FromValueError::wrong_kind("rust_decimal::Decimal", other)),
        }
    }
}
