//! Aggregates as views: each element is read when it is accessed.

use std::fmt;
use std::marker::PhantomData;

use onecopy_resp_proto::{Children, Kind, Reply};

use super::{DecodeError, FromReply};

/// An array or a set whose elements all have one type. The types were checked when the reply was read.
///
/// ```no_run
/// # fn show(members: onecopy_valkey::command::Array<'_, &[u8]>) {
/// for member in members {
///     println!("{}", member.escape_ascii());
/// }
/// # }
/// ```
pub struct Array<'r, T> {
    reply: Reply<'r>,
    element: PhantomData<fn() -> T>,
}

impl<'r, T: FromReply<'r>> Array<'r, T> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.reply.len()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.reply.is_empty()
    }

    /// Reads the whole array as another type: a collection, a tuple, or one that borrows from the reply.
    ///
    /// # Errors
    /// Fails if the reply does not have this type.
    pub fn read<U: FromReply<'r>>(&self) -> Result<U, DecodeError> {
        U::from_reply(self.reply)
    }

    /// Returns an iterator over the elements, in order. Each is read from the reply; nothing is copied.
    pub fn iter(&self) -> Elements<'r, T> {
        Elements {
            children: self.reply.children(),
            element: PhantomData,
        }
    }
}

impl<'r, T: FromReply<'r>> FromReply<'r> for Array<'r, T> {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        if !matches!(reply.kind(), Kind::Array | Kind::Set) {
            return Err(DecodeError::new("an array or a set", reply));
        }
        for child in reply.children() {
            T::from_reply(child)?;
        }
        Ok(Self {
            reply,
            element: PhantomData,
        })
    }
}

impl<'r, T: FromReply<'r>> IntoIterator for Array<'r, T> {
    type Item = T;
    type IntoIter = Elements<'r, T>;

    fn into_iter(self) -> Elements<'r, T> {
        self.iter()
    }
}

/// An iterator over the elements of an [`Array`].
pub struct Elements<'r, T> {
    children: Children<'r>,
    element: PhantomData<fn() -> T>,
}

impl<'r, T: FromReply<'r>> Iterator for Elements<'r, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        // All were checked when the array was read: this is not the end before its time.
        T::from_reply(self.children.next()?).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.children.size_hint()
    }
}

impl<'r, T: FromReply<'r>> ExactSizeIterator for Elements<'r, T> {}

/// A map of keys and values, or of members and scores. All keys have one type and all values have one type, which was checked
/// when the reply was read.
///
/// RESP3 sends a map or an array of pairs, RESP2 an array of alternating keys and values. All of them are accepted.
pub struct Map<'r, K, V> {
    reply: Reply<'r>,
    /// Whether it is an array of pairs.
    is_nested: bool,
    element: PhantomData<fn() -> (K, V)>,
}

impl<'r, K: FromReply<'r>, V: FromReply<'r>> Map<'r, K, V> {
    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        match self.is_nested {
            true => self.reply.len(),
            false => self.reply.len() / 2,
        }
    }

    /// Returns whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.reply.is_empty()
    }

    /// Reads the whole map as another type: a struct with `#[derive(FromReply)]`, which may borrow from the reply, or a collection.
    ///
    /// # Errors
    /// Fails if the reply does not have this type.
    pub fn read<U: FromReply<'r>>(&self) -> Result<U, DecodeError> {
        U::from_reply(self.reply)
    }

    /// Returns an iterator over the pairs, in the server's order. Each is read from the reply; nothing is copied.
    pub fn iter(&self) -> Pairs<'r, K, V> {
        Pairs {
            children: self.reply.children(),
            is_nested: self.is_nested,
            element: PhantomData,
        }
    }
}

impl<'r, V: FromReply<'r>> Map<'r, &'r [u8], V> {
    /// Returns the value of `key`. Costs a comparison with each key before it.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<V> {
        let mut pairs = self.iter();
        pairs.find_map(|(found, value)| (found == key.as_ref()).then_some(value))
    }
}

impl<'r, K: FromReply<'r>, V: FromReply<'r>> FromReply<'r> for Map<'r, K, V> {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        let is_nested = match reply.kind() {
            Kind::Map => false,
            Kind::Array => is_of_pairs(reply),
            _ => return Err(DecodeError::new("a map or an array of pairs", reply)),
        };
        if !is_nested && !reply.len().is_multiple_of(2) {
            return Err(DecodeError::new("an array with a value to each key", reply));
        }
        let map = Self {
            reply,
            is_nested,
            element: PhantomData,
        };
        let mut pairs = map.iter();
        while let Some(pair) = pairs.read() {
            pair?;
        }
        Ok(map)
    }
}

/// Whether the first element is itself a pair. Keys are never arrays.
fn is_of_pairs(reply: Reply<'_>) -> bool {
    let first = reply.children().next();
    first.is_some_and(|first| first.kind() == Kind::Array)
}

impl<'r, K: FromReply<'r>, V: FromReply<'r>> IntoIterator for Map<'r, K, V> {
    type Item = (K, V);
    type IntoIter = Pairs<'r, K, V>;

    fn into_iter(self) -> Pairs<'r, K, V> {
        self.iter()
    }
}

/// An iterator over the pairs of a [`Map`].
pub struct Pairs<'r, K, V> {
    children: Children<'r>,
    is_nested: bool,
    element: PhantomData<fn() -> (K, V)>,
}

impl<'r, K: FromReply<'r>, V: FromReply<'r>> Pairs<'r, K, V> {
    #[inline]
    fn read(&mut self) -> Option<Result<(K, V), DecodeError>> {
        let first = self.children.next()?;
        if self.is_nested {
            return Some(<(K, V)>::from_reply(first));
        }
        let second = self.children.next()?;
        let pair = K::from_reply(first).and_then(|key| Ok((key, V::from_reply(second)?)));
        Some(pair)
    }
}

impl<'r, K: FromReply<'r>, V: FromReply<'r>> Iterator for Pairs<'r, K, V> {
    type Item = (K, V);

    #[inline]
    fn next(&mut self) -> Option<(K, V)> {
        // All were checked when the map was read: this is not the end before its time.
        self.read()?.ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.children.len();
        let pairs = if self.is_nested { left } else { left / 2 };
        (pairs, Some(pairs))
    }
}

impl<'r, K: FromReply<'r>, V: FromReply<'r>> ExactSizeIterator for Pairs<'r, K, V> {}

/// An entry of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'r> {
    /// The ID of the entry, such as `1526919030474-55`.
    pub id: &'r [u8],
    /// The fields of the entry. `None` if it was deleted while it was pending for a consumer.
    pub fields: Option<Map<'r, &'r [u8], &'r [u8]>>,
}

impl<'r> FromReply<'r> for Entry<'r> {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        let (id, fields) = FromReply::from_reply(reply)?;
        Ok(Self { id, fields })
    }
}

/// The result of one step of a scan.
#[derive(Clone, Copy, Debug)]
pub struct Scanned<'r> {
    /// The cursor for the next step; 0 after the last step.
    pub cursor: u64,
    /// The keys or members that were found. For HSCAN fields and values alternate, for ZSCAN members and scores.
    pub elements: Array<'r, &'r [u8]>,
}

impl<'r> FromReply<'r> for Scanned<'r> {
    fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
        let (cursor, elements): (&str, _) = FromReply::from_reply(reply)?;
        let cursor = cursor.parse();
        Ok(Self {
            cursor: cursor.map_err(|_| DecodeError::new("a cursor and elements", reply))?,
            elements,
        })
    }
}

macro_rules! view {
    ($name:ident<$($type:ident),+>) => {
        impl<$($type),+> Clone for $name<'_, $($type),+> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($type),+> Copy for $name<'_, $($type),+> {}

        /// Shows the whole reply, with bytes escaped. Use it for debugging, not for logs.
        impl<$($type),+> fmt::Debug for $name<'_, $($type),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.reply.fmt(f)
            }
        }
    };
}

view!(Array<T>);
view!(Map<K, V>);

/// Shows the number of elements left.
impl<T> fmt::Debug for Elements<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Elements({})", self.children.len())
    }
}

/// Shows the number of replies left.
impl<K, V> fmt::Debug for Pairs<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pairs({})", self.children.len())
    }
}

#[cfg(test)]
mod tests;
