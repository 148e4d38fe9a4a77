//! What VSIM finds, with scores and attributes.

use std::fmt;

use onecopy_resp_proto::{Children, Kind, Reply};

use super::{DecodeError, FromReply};

/// Elements, how similar each is (from 0 to 1), and its attributes, if it has any. The most similar one is the first.
///
/// RESP3 sends a map of elements to pairs, RESP2 an array in which element, score and attributes alternate. Both are accepted.
#[derive(Clone, Copy)]
pub struct Similar<'r> {
    reply: Reply<'r>,
}

impl<'r> Similar<'r> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match self.reply.kind() {
            Kind::Map => self.reply.len() / 2,
            _ => self.reply.len() / 3,
        }
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.reply.is_empty()
    }

    /// Returns an iterator over the elements. Each is read from the reply; nothing is copied.
    pub fn iter(&self) -> impl Iterator<Item = (&'r [u8], f64, Option<&'r [u8]>)> + use<'r> {
        let is_map = self.reply.kind() == Kind::Map;
        let mut children = self.reply.children();
        // All were checked when the reply was read.
        std::iter::from_fn(move || next(is_map, &mut children)?.ok())
    }
}

type Element<'r> = (&'r [u8], f64, Option<&'r [u8]>);

fn next<'r>(is_map: bool, children: &mut Children<'r>) -> Option<Result<Element<'r>, DecodeError>> {
    let element = children.next()?;
    let mut read = || {
        let mut child = || {
            let wrong = || DecodeError::new("an element with its score and attributes", element);
            children.next().ok_or_else(wrong)
        };
        let name = FromReply::from_reply(element)?;
        let (score, attributes) = match is_map {
            true => FromReply::from_reply(child()?)?,
            false => (
                FromReply::from_reply(child()?)?,
                FromReply::from_reply(child()?)?,
            ),
        };
        Ok((name, score, attributes))
    };
    Some(read())
}

impl<'r> FromReply<'r> for Similar<'r> {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        if !matches!(reply.kind(), Kind::Array | Kind::Map) {
            return Err(DecodeError::new(
                "elements with scores and attributes",
                reply,
            ));
        }
        let is_map = reply.kind() == Kind::Map;
        let mut children = reply.children();
        while let Some(element) = next(is_map, &mut children) {
            element?;
        }
        Ok(Self { reply })
    }
}

/// Shows the whole reply, with bytes escaped. Use it for debugging, not for logs.
impl fmt::Debug for Similar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reply.fmt(f)
    }
}

#[cfg(test)]
mod tests;
