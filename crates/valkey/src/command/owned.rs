//! Replies as types that own their values: texts, numbers of each size, collections.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

use bytes::Bytes;
use onecopy_resp_proto::{Kind, Reply};

use super::{Array, DecodeError, FromReply, Map};

macro_rules! integers {
    ($($type:ty),+) => {$(
        /// Accepts an integer in the type's range, or a string that contains one.
        impl<'r> FromReply<'r> for $type {
            fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
                let number = match reply.kind() {
                    Kind::Integer => reply.as_i64().and_then(|number| number.try_into().ok()),
                    // The largest unsigned numbers are strings, as no integer has them.
                    Kind::BulkString | Kind::SimpleString | Kind::BigNumber => {
                        std::str::from_utf8(reply.bytes()).ok().and_then(|text| text.parse().ok())
                    }
                    _ => None,
                };
                number.ok_or_else(|| {
                    DecodeError::new(concat!("an integer of type ", stringify!($type)), reply)
                })
            }
        }
    )+};
}

integers!(u64, u32, i32, u16, i16, usize);

macro_rules! copied {
    ($($type:ty: $from:ty;)+) => {$(
        /// Copies what the borrowed type accepts.
        impl<'r> FromReply<'r> for $type {
            fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
                <$from>::from_reply(reply).map(Into::into)
            }
        }
    )+};
}

copied! {
    String: &'r str;
    Box<str>: &'r str;
    Vec<u8>: &'r [u8];
    Box<[u8]>: &'r [u8];
}

/// Copies a string.
impl<'r> FromReply<'r> for Bytes {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        <&[u8]>::from_reply(reply).map(Self::copy_from_slice)
    }
}

/// Accepts an array or a set.
impl<'r, T: FromReply<'r>> FromReply<'r> for Vec<T> {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        elements(reply)
    }
}

/// Accepts an array or a set.
impl<'r, T: FromReply<'r> + Eq + Hash, S: BuildHasher + Default> FromReply<'r> for HashSet<T, S> {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        elements(reply)
    }
}

/// Accepts an array or a set.
impl<'r, T: FromReply<'r> + Ord> FromReply<'r> for BTreeSet<T> {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        elements(reply)
    }
}

/// Accepts what a [`Map`] does. Of equal keys the last one's value stays.
impl<'r, K: FromReply<'r> + Eq + Hash, V: FromReply<'r>, S: BuildHasher + Default> FromReply<'r>
    for HashMap<K, V, S>
{
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        pairs(reply)
    }
}

/// Accepts what a [`Map`] does. Of equal keys the last one's value stays.
impl<'r, K: FromReply<'r> + Ord, V: FromReply<'r>> FromReply<'r> for BTreeMap<K, V> {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        pairs(reply)
    }
}

/// Reads each element once; memory grows with those that were read.
fn elements<'r, T: FromReply<'r>, C: FromIterator<T>>(reply: Reply<'r>) -> Result<C, DecodeError> {
    let replies = Array::<Reply<'r>>::from_reply(reply)?;
    replies.into_iter().map(T::from_reply).collect()
}

fn pairs<'r, K: FromReply<'r>, V: FromReply<'r>, C: FromIterator<(K, V)>>(
    reply: Reply<'r>,
) -> Result<C, DecodeError> {
    let replies = Map::<Reply<'r>, Reply<'r>>::from_reply(reply)?;
    let read = |(key, value)| Ok((K::from_reply(key)?, V::from_reply(value)?));
    replies.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests;
