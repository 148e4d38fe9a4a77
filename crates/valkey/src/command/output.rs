//! The types that replies are read as. RESP2's forms are accepted like RESP3's: numbers as strings, null as nil, maps as arrays.

use onecopy_resp_proto::{Kind, Reply};

use super::DecodeError;

/// A type that a reply can be read as. It borrows from the reply.
///
/// ```
/// use onecopy_valkey::Reply;
/// use onecopy_valkey::command::{DecodeError, FromReply, Map};
///
/// /// Of what a raw command has given.
/// fn total(reply: Reply<'_>) -> Result<i64, DecodeError> {
///     let counts = Map::<&[u8], i64>::from_reply(reply)?;
///     Ok(counts.iter().map(|(_, count)| count).sum())
/// }
/// ```
pub trait FromReply<'r>: Sized {
    /// Reads the reply.
    ///
    /// # Errors
    /// Fails if the reply has another type.
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError>;

    /// Returns whether the reply says that there is no value, which an `Option` reads as `None`: null, and for a struct an empty
    /// map, which is what HGETALL returns for a key that does not exist.
    #[inline]
    fn is_absent(reply: Reply<'r>) -> bool {
        reply.is_null()
    }
}

/// Accepts any reply.
impl<'r> FromReply<'r> for Reply<'r> {
    #[inline]
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        Ok(reply)
    }
}

/// Accepts the status `OK`, and RESET's status.
impl<'r> FromReply<'r> for () {
    #[inline]
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        match (reply.kind(), reply.bytes()) {
            (Kind::SimpleString, b"OK" | b"RESET") => Ok(()),
            _ => Err(DecodeError::new("the status OK", reply)),
        }
    }
}

/// Accepts a simple, bulk or verbatim string, the last without its format.
impl<'r> FromReply<'r> for &'r [u8] {
    #[inline]
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        match reply.kind() {
            Kind::BulkString | Kind::SimpleString | Kind::VerbatimString => Ok(reply.bytes()),
            _ => Err(DecodeError::new("a string", reply)),
        }
    }
}

/// Accepts a string that is UTF-8. Costs a check of each byte.
impl<'r> FromReply<'r> for &'r str {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        <&[u8]>::from_reply(reply)?;
        let text = reply.as_str();
        text.ok_or_else(|| DecodeError::new("a string in UTF-8", reply))
    }
}

/// Accepts an integer, or a string that contains one.
impl<'r> FromReply<'r> for i64 {
    #[inline]
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        let number = match reply.kind() {
            Kind::Integer | Kind::BulkString | Kind::SimpleString => reply.as_i64(),
            _ => None,
        };
        number.ok_or_else(|| DecodeError::new("an integer", reply))
    }
}

/// Accepts a double, an integer, or a string that contains one.
impl<'r> FromReply<'r> for f64 {
    #[inline]
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        let number = match reply.kind() {
            Kind::Double | Kind::BulkString | Kind::Integer | Kind::SimpleString => reply.as_f64(),
            _ => None,
        };
        number.ok_or_else(|| DecodeError::new("a number", reply))
    }
}

/// Accepts a boolean, 0 and 1, also as strings: that is what the values of keys and fields are.
impl<'r> FromReply<'r> for bool {
    #[inline]
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        let answer = match (reply.kind(), reply.bytes()) {
            (Kind::BulkString, b"1") => Some(true),
            (Kind::BulkString, b"0") => Some(false),
            _ => reply.as_bool(),
        };
        answer.ok_or_else(|| DecodeError::new("0 or 1", reply))
    }
}

/// Reads null as `None`, and for structs an empty map.
impl<'r, T: FromReply<'r>> FromReply<'r> for Option<T> {
    #[inline]
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        if T::is_absent(reply) {
            return Ok(None);
        }
        T::from_reply(reply).map(Some)
    }
}

macro_rules! tuple {
    ($expected:literal, $($type:ident),+) => {
        /// Accepts an array of exactly this length.
        impl<'r, $($type: FromReply<'r>),+> FromReply<'r> for ($($type),+) {
            fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
                let wrong = || DecodeError::new($expected, reply);
                if reply.kind() != Kind::Array {
                    return Err(wrong());
                }
                let mut children = reply.children();
                let tuple = ($($type::from_reply(children.next().ok_or_else(wrong)?)?),+);
                match children.next() {
                    None => Ok(tuple),
                    Some(_) => Err(wrong()),
                }
            }
        }
    };
}

tuple!("an array of 2", A, B);
tuple!("an array of 3", A, B, C);
tuple!("an array of 4", A, B, C, D);
tuple!("an array of 5", A, B, C, D, E);
tuple!("an array of 6", A, B, C, D, E, F);
tuple!("an array of 7", A, B, C, D, E, F, G);
tuple!("an array of 8", A, B, C, D, E, F, G, H);

#[cfg(test)]
mod tests;
