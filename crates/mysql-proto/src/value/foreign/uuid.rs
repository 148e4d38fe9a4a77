//! uuid 1.

use uuid_1 as uuid;

use uuid::Uuid;
use uuid::fmt::Hyphenated;

use crate::value::{FromValue, FromValueError, Param, ToParam, Value, ValueKind};

/// Sent as 16 bytes, for a BINARY(16) and MariaDB's UUID; for a CHAR(36) use [`Uuid::hyphenated`].
impl<'a> From<Uuid> for Param<'a> {
    fn from(uuid: Uuid) -> Self {
        Self::Bytes16(uuid.into_bytes())
    }
}

impl<'a> From<&'a Uuid> for Param<'a> {
    fn from(uuid: &'a Uuid) -> Self {
        Self::Bytes(uuid.as_bytes())
    }
}

impl ToParam for Uuid {
    fn to_param(&self) -> Param<'_> {
        self.into()
    }
}

/// Sent as text.
impl<'a> From<Hyphenated> for Param<'a> {
    fn from(uuid: Hyphenated) -> Self {
        Self::UuidText(uuid.into_uuid().into_bytes())
    }
}

impl<'a> From<&Hyphenated> for Param<'a> {
    fn from(uuid: &Hyphenated) -> Self {
        <Self as From<Hyphenated>>::from(*uuid)
    }
}

impl ToParam for Hyphenated {
    fn to_param(&self) -> Param<'_> {
        self.into()
    }
}

impl<'v> FromValue<'v> for Uuid {
    fn accepts(kind: ValueKind) -> bool {
        <&[u8] as FromValue<'v>>::accepts(kind)
    }

    /// Accepts 16 bytes, and the text of a UUID in any of its forms.
    fn from_value(value: Value<'v>) -> Result<Self, FromValueError> {
        let uuid = match value {
            Value::Bytes(bytes) if bytes.len() == 16 => Self::from_slice(bytes).ok(),
            Value::Text(text) | Value::Bytes(text) | Value::OtherText { bytes: text, .. } => {
                Self::try_parse_ascii(text).ok()
            }
            other => return Err(FromValueError::wrong_kind("Uuid", other)),
        };
        uuid.ok_or_else(|| FromValueError::does_not_fit("Uuid", value.kind()))
    }
}

impl<'v> FromValue<'v> for Hyphenated {
    fn accepts(kind: ValueKind) -> bool {
        <Uuid as FromValue<'v>>::accepts(kind)
    }

    fn from_value(value: Value<'v>) -> Result<Self, FromValueError> {
        Uuid::from_value(value).map(Uuid::hyphenated)
    }
}
