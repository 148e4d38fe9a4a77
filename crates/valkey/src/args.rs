//! Several arguments at once: keys, fields, members.

use std::fmt;

use bytes::Bytes;

use crate::arg::{Arg, Form as ArgForm};
use crate::part::Part;
use crate::request::Request;

/// Arguments by value that need no list of their own.
const INLINE: usize = 4;

/// One or more arguments of a command. It implements `From` for a single argument, slices, arrays and vectors.
///
/// Slices are borrowed. An array by value allocates if it has more than four arguments, or contains numbers or owned arguments; a
/// vector allocates unless its elements are [`Arg`]. A single argument never allocates.
///
/// ```
/// use onecopy_valkey::command::generic::del;
///
/// let keys: Vec<String> = (0..100).map(|n| format!("key:{n}")).collect();
/// let (one, two, many) = (del("a"), del(["a", "b"]), del(&keys));
/// ```
#[derive(Clone)]
pub struct Args<'a>(Form<'a>);

#[derive(Clone)]
enum Form<'a> {
    One(Arg<'a>),
    Inline([&'a [u8]; INLINE], usize),
    Texts(&'a [&'a str]),
    Slices(&'a [&'a [u8]]),
    Strings(&'a [String]),
    Vectors(&'a [Vec<u8>]),
    Bytes(&'a [Bytes]),
    Args(&'a [Arg<'a>]),
    Owned(Vec<Arg<'a>>),
}

impl<'a> Args<'a> {
    /// Creates an empty list of arguments.
    pub const fn none() -> Self {
        Self(Form::Slices(&[]))
    }

    /// Returns the number of arguments.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::One(_) => 1,
            Form::Inline(_, len) => *len,
            Form::Texts(list) => list.len(),
            Form::Slices(list) => list.len(),
            Form::Strings(list) => list.len(),
            Form::Vectors(list) => list.len(),
            Form::Bytes(list) => list.len(),
            Form::Args(list) => list.len(),
            Form::Owned(list) => list.len(),
        }
    }

    /// Returns whether there are no arguments.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shows the bytes of each, as they go over the wire.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(&[u8])) {
        match &self.0 {
            Form::One(arg) => arg.each(visit),
            Form::Inline(list, len) => list[..*len].iter().for_each(|bytes| visit(bytes)),
            Form::Texts(list) => list.iter().for_each(|text| visit(text.as_bytes())),
            Form::Slices(list) => list.iter().for_each(|bytes| visit(bytes)),
            Form::Strings(list) => list.iter().for_each(|text| visit(text.as_bytes())),
            Form::Vectors(list) => list.iter().for_each(|bytes| visit(bytes)),
            Form::Bytes(list) => list.iter().for_each(|bytes| visit(bytes)),
            Form::Args(list) => list.iter().for_each(|arg| arg.each(visit)),
            Form::Owned(list) => list.iter().for_each(|arg| arg.each(visit)),
        }
    }
}

impl Part for Args<'_> {
    fn count(&self) -> usize {
        self.len()
    }

    fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {
        match &self.0 {
            Form::One(arg) => request.part(arg),
            Form::Inline(list, len) => list[..*len]
                .iter()
                .for_each(|bytes| request.borrowed(bytes)),
            Form::Texts(list) => list
                .iter()
                .for_each(|text| request.borrowed(text.as_bytes())),
            Form::Slices(list) => list.iter().for_each(|bytes| request.borrowed(bytes)),
            Form::Strings(list) => list
                .iter()
                .for_each(|text| request.borrowed(text.as_bytes())),
            Form::Vectors(list) => list.iter().for_each(|bytes| request.borrowed(bytes)),
            Form::Bytes(list) => list.iter().for_each(|bytes| request.owned(bytes)),
            Form::Args(list) => list.iter().for_each(|arg| request.part(arg)),
            Form::Owned(list) => list.iter().for_each(|arg| request.part(arg)),
        }
    }
}

/// Shows only the number of arguments: they are keys and values.
impl fmt::Debug for Args<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} arguments", self.len())
    }
}

impl<'a, T: Into<Arg<'a>>> From<T> for Args<'a> {
    #[inline]
    fn from(arg: T) -> Self {
        Self(Form::One(arg.into()))
    }
}

macro_rules! borrowed {
    ($($element:ty => $form:ident;)+) => {$(
        impl<'a> From<&'a [$element]> for Args<'a> {
            #[inline]
            fn from(list: &'a [$element]) -> Self {
                Self(Form::$form(list))
            }
        }

        impl<'a> From<&'a Vec<$element>> for Args<'a> {
            #[inline]
            fn from(list: &'a Vec<$element>) -> Self {
                Self(Form::$form(list))
            }
        }

        impl<'a, const N: usize> From<&'a [$element; N]> for Args<'a> {
            #[inline]
            fn from(list: &'a [$element; N]) -> Self {
                Self(Form::$form(list))
            }
        }
    )+};
}

borrowed! {
    &'a str => Texts;
    &'a [u8] => Slices;
    String => Strings;
    Vec<u8> => Vectors;
    Bytes => Bytes;
    Arg<'a> => Args;
}

impl<'a, T: Into<Arg<'a>>> From<Vec<T>> for Args<'a> {
    fn from(list: Vec<T>) -> Self {
        Self(Form::Owned(list.into_iter().map(Into::into).collect()))
    }
}

impl<'a, T: Into<Arg<'a>>, const N: usize> From<[T; N]> for Args<'a> {
    #[inline]
    fn from(list: [T; N]) -> Self {
        let list = list.map(Into::into);
        let mut inline = [&[] as &[u8]; INLINE];
        for (slot, arg) in inline.iter_mut().zip(&list) {
            if let ArgForm::Borrowed(bytes) = arg.0 {
                *slot = bytes;
            }
        }
        let is_borrowed = |arg: &Arg<'_>| matches!(arg.0, ArgForm::Borrowed(_));
        Self(if N <= INLINE && list.iter().all(is_borrowed) {
            Form::Inline(inline, N)
        } else {
            Form::Owned(list.into())
        })
    }
}

#[cfg(test)]
mod tests;
