//! serde_json 1.

use serde_json_1 as serde_json;

use serde_core::Serialize;
use serde_core::de::DeserializeOwned;

use crate::value::{FromValue, FromValueError, Param, ToParam, Value, ValueKind};

/// A value that is JSON in its column: `Json<T>` is read by serde as a `T`.
///
/// ```
/// use onecopy_mysql_proto::value::{FromValue, Json, JsonText, Param, Value};
///
/// let Json(sizes) = Json::<Vec<u32>>::from_value(Value::from("[38, 42]"))?;
/// assert_eq!(sizes, [38, 42]);
///
/// let text = JsonText::new(&sizes)?; // owns the text that the parameter borrows
/// assert_eq!(Param::from(&text), Param::Str("[38,42]"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// A JSON text that was made from a value, to be a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonText(String);

impl JsonText {
    /// Serialises a value.
    ///
    /// # Errors
    /// Fails if the value has no form in JSON, such as a map whose keys are no strings.
    pub fn new<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self)
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a JsonText> for Param<'a> {
    fn from(text: &'a JsonText) -> Self {
        Self::Str(&text.0)
    }
}

impl ToParam for JsonText {
    fn to_param(&self) -> Param<'_> {
        self.into()
    }
}

impl<'v, T: DeserializeOwned> FromValue<'v> for Json<T> {
    const COPIES: bool = true;

    fn accepts(kind: ValueKind) -> bool {
        matches!(kind, ValueKind::Text | ValueKind::Bytes)
    }

    /// Accepts text and bytes that are JSON of `T`'s form.
    fn from_value(value: Value<'v>) -> Result<Self, FromValueError> {
        if !Self::accepts(value.kind()) {
            return Err(FromValueError::wrong_kind("Json", value));
        }
        // The text is checked to be UTF-8.
        let text = <&str>::from_value(value).map_err(|error| error.wanting("Json"))?;
        match serde_json::from_str(text) {
            Ok(value) => Ok(Self(value)),
            Err(error) => Err(FromValueError::Json {
                is_syntax: error.is_syntax() || error.is_eof(),
                line: error.line(),
                column: error.column(),
            }),
        }
    }
}

impl<'v> FromValue<'v> for serde_json::Value {
    const COPIES: bool = true;

    fn accepts(kind: ValueKind) -> bool {
        <Json<Self> as FromValue<'v>>::accepts(kind)
    }

    fn from_value(value: Value<'v>) -> Result<Self, FromValueError> {
        Json::from_value(value).map(|json| json.0)
    }
}
