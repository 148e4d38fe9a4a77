//! JSON in strings, by serde.

use onecopy_resp_proto::Reply;
use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned};
use serde_json::Value;

use crate::command::{DecodeError, FromReply};
use crate::{Arg, Error, ToArg};

/// A value that is JSON in a string of the server.
///
/// ```no_run
/// use onecopy_valkey::Json;
/// use onecopy_valkey::blocking::Connection;
/// use onecopy_valkey::command::{Command as _, string};
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// let mut conn = Connection::connect("redis://localhost")?;
/// let sizes = vec![1, 2, 3];
/// conn.run(&string::set("sizes", Json(&sizes).to_arg()?))?;
/// let sizes: Option<Json<Vec<u32>>> = conn.run(&string::get("sizes").typed())?;
/// # let _ = sizes; Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Json<T>(pub T);

impl<T: Serialize> Json<T> {
    /// Serialises the value.
    ///
    /// # Errors
    /// Fails if the value cannot be JSON: a map whose keys are not strings, or an error of its own.
    pub fn to_arg(&self) -> Result<Arg<'static>, Error> {
        let text = serde_json::to_vec(&self.0);
        text.map(Arg::from)
            .map_err(|error| Error::misuse(format!("the value cannot be JSON: {error}")))
    }
}

/// Accepts a string that is JSON of this type. The value may borrow nothing.
impl<'r, T: DeserializeOwned> FromReply<'r> for Json<T> {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        parse(reply).map(Self)
    }
}

/// Accepts a string that is JSON.
impl<'r> FromReply<'r> for Value {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        parse(reply)
    }
}

/// Its JSON.
impl ToArg for Value {
    fn to_arg(&self) -> Arg<'_> {
        self.to_string().into()
    }
}

impl From<Value> for Arg<'_> {
    fn from(value: Value) -> Self {
        value.to_string().into()
    }
}

/// serde_json limits the depth to 128.
fn parse<'r, T: Deserialize<'r>>(reply: Reply<'r>) -> Result<T, DecodeError> {
    let text = <&[u8]>::from_reply(reply)?;
    serde_json::from_slice(text).map_err(|_| DecodeError::new("JSON of the expected type", reply))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_reply;

    #[test]
    fn json_is_read_and_written() {
        let text = br#"{"a":[1,null,"x"]}"#;
        let reply = [format!("${}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat();
        let value = with_reply(&reply, |reply| Value::from_reply(reply).unwrap());
        assert_eq!(value["a"][2], "x");
        let arg = ToArg::to_arg(&value);
        assert_eq!(arg.as_bytes(), Some(&text[..]));
        let same = with_reply(&reply, |reply| Json::<Value>::from_reply(reply).unwrap());
        assert_eq!(same.to_arg().unwrap().as_bytes(), Some(&text[..]));
        let error = with_reply(&reply, |reply| {
            Json::<Vec<i32>>::from_reply(reply).unwrap_err()
        });
        assert_eq!(error.expected, "JSON of the expected type");
        assert!(with_reply(b"$1\r\n{\r\n", |reply| Value::from_reply(reply).is_err()));
        assert!(with_reply(b"*0\r\n", |reply| Value::from_reply(reply).is_err()));
    }

    #[test]
    fn what_cannot_be_json_is_an_error() {
        let map = std::collections::BTreeMap::from([((1, 2), 3)]);
        let error = Json(map).to_arg().unwrap_err();
        assert!(
            error.is_misuse() && error.to_string().contains("JSON"),
            "{error}"
        );
    }
}
