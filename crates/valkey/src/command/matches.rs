//! What a JSON command returns for the values that its path matches.

use std::fmt;

use onecopy_resp_proto::{Kind, Reply};

use super::{Array, DecodeError, FromReply};

/// One value for each that a path matches, in order.
///
/// The reply to a path that begins with `$` is an array; with `Option`, `None` stands for a match of another type, such as a number
/// of which the length is asked. The reply to any other path is a single value, which is read as an array of one, and null as an
/// empty one: there is no such key or value.
pub struct Matches<'r, T>(Form<'r, T>);

enum Form<'r, T> {
    None,
    One(Reply<'r>),
    Array(Array<'r, T>),
}

impl<'r, T: FromReply<'r>> Matches<'r, T> {
    /// Returns the number of matches.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::None => 0,
            Form::One(_) => 1,
            Form::Array(array) => array.len(),
        }
    }

    /// Returns whether nothing matched.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an iterator over the values. Each is read from the reply; nothing is copied.
    pub fn iter(&self) -> impl Iterator<Item = T> + use<'r, T> {
        let (one, array) = match &self.0 {
            Form::None => (None, None),
            // It was checked when the reply was read.
            Form::One(reply) => (T::from_reply(*reply).ok(), None),
            Form::Array(array) => (None, Some(array.iter())),
        };
        one.into_iter().chain(array.into_iter().flatten())
    }

    /// Returns the value of the first match.
    pub fn first(&self) -> Option<T> {
        self.iter().next()
    }
}

impl<'r, T: FromReply<'r>> FromReply<'r> for Matches<'r, T> {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        Ok(Self(match reply.kind() {
            Kind::Array | Kind::Set => Form::Array(FromReply::from_reply(reply)?),
            _ if reply.is_null() => Form::None,
            _ => {
                T::from_reply(reply)?;
                Form::One(reply)
            }
        }))
    }
}

impl<T> Clone for Matches<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Matches<'_, T> {}

impl<T> Clone for Form<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Form<'_, T> {}

/// Shows the whole reply, with bytes escaped. Use it for debugging, not for logs.
impl<T> fmt::Debug for Matches<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::None => f.write_str("nil"),
            Form::One(reply) => reply.fmt(f),
            Form::Array(array) => array.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
