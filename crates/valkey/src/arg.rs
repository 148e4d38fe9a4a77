//! One argument of a command: borrowed or owned bytes, or a number that is formatted when the command is written.

use std::fmt::{self, Write as _};

use bytes::Bytes;

/// One argument of a command. It implements `From` for text, bytes and numbers, borrowed or owned.
///
/// Arguments of 16 KiB and more are sent from where they are in memory: borrowed ones always, and owned ones ([`Bytes`],
/// `Vec<u8>`, `String`) also if the command outlives the call, as on a shared connection. Smaller ones are copied into the write
/// queue.
///
/// ```
/// use onecopy_valkey::Arg;
///
/// let arguments: [Arg; 4] = ["key".into(), b"\x00\xff".into(), 17.into(), vec![0; 3].into()];
/// assert_eq!(arguments.map(|argument| argument.len()), [3, 2, 2, 3]);
/// ```
#[derive(Clone)]
pub struct Arg<'a>(pub(crate) Form<'a>);

#[derive(Clone)]
pub(crate) enum Form<'a> {
    Borrowed(&'a [u8]),
    Owned(Bytes),
    Int(i64),
    UInt(u64),
    Double(f64),
}

impl Arg<'_> {
    /// Returns the number of bytes that it has on the wire, without their header.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Borrowed(bytes) => bytes.len(),
            Form::Owned(bytes) => bytes.len(),
            Form::Int(number) => Text::of(number).as_bytes().len(),
            Form::UInt(number) => Text::of(number).as_bytes().len(),
            Form::Double(number) => Text::of_double(*number).as_bytes().len(),
        }
    }

    /// Returns whether the argument is an empty text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shows the bytes as they go over the wire; numbers are written for it.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(&[u8])) {
        match &self.0 {
            Form::Borrowed(bytes) => visit(bytes),
            Form::Owned(bytes) => visit(bytes),
            Form::Int(number) => visit(Text::of(number).as_bytes()),
            Form::UInt(number) => visit(Text::of(number).as_bytes()),
            Form::Double(number) => visit(Text::of_double(*number).as_bytes()),
        }
    }

    /// The bytes of a text that the caller holds.
    #[inline]
    pub(crate) fn borrowed(&self) -> Option<&[u8]> {
        match self.0 {
            Form::Borrowed(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The bytes of a text; a number has none.
    pub(crate) fn as_bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Form::Borrowed(bytes) => Some(bytes),
            Form::Owned(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// Shows numbers, but of texts only the size: arguments are keys, values and passwords.
impl fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Int(number) => write!(f, "{number}"),
            Form::UInt(number) => write!(f, "{number}"),
            Form::Double(number) => write!(f, "{number}"),
            Form::Borrowed(_) | Form::Owned(_) => write!(f, "{} bytes", self.len()),
        }
    }
}

macro_rules! from {
    ($($type:ty, $value:ident => $form:expr;)+) => {$(
        impl<'a> From<$type> for Arg<'a> {
            #[inline]
            fn from($value: $type) -> Self {
                Self($form)
            }
        }
    )+};
}

from! {
    &'a str, text => Form::Borrowed(text.as_bytes());
    &'a [u8], bytes => Form::Borrowed(bytes);
    &'a &str, text => Form::Borrowed(text.as_bytes());
    &'a &[u8], bytes => Form::Borrowed(bytes);
    &'a String, text => Form::Borrowed(text.as_bytes());
    &'a Vec<u8>, bytes => Form::Borrowed(bytes);
    &'a Bytes, bytes => Form::Borrowed(bytes);
    String, text => Form::Owned(text.into());
    Vec<u8>, bytes => Form::Owned(bytes.into());
    Box<[u8]>, bytes => Form::Owned(bytes.into());
    Bytes, bytes => Form::Owned(bytes);
    i64, number => Form::Int(number);
    i32, number => Form::Int(number.into());
    i16, number => Form::Int(number.into());
    u64, number => Form::UInt(number);
    u32, number => Form::UInt(number.into());
    u16, number => Form::UInt(number.into());
    usize, number => Form::UInt(number as u64);
    f64, number => Form::Double(number);
    f32, number => Form::Double(number.into());
}

impl<'a, const N: usize> From<&'a [u8; N]> for Arg<'a> {
    #[inline]
    fn from(bytes: &'a [u8; N]) -> Self {
        Self(Form::Borrowed(bytes))
    }
}

impl<'a> From<&'a Arg<'_>> for Arg<'a> {
    fn from(arg: &'a Arg<'_>) -> Self {
        Self(match &arg.0 {
            Form::Borrowed(bytes) => Form::Borrowed(bytes),
            Form::Owned(bytes) => Form::Borrowed(bytes),
            Form::Int(number) => Form::Int(*number),
            Form::UInt(number) => Form::UInt(*number),
            Form::Double(number) => Form::Double(*number),
        })
    }
}

/// A number as it goes over the wire, a floating-point one in the fewest digits that give it again.
#[derive(Default)]
pub(crate) struct Text {
    bytes: [u8; 32],
    len: usize,
}

impl Text {
    pub(crate) fn of(number: impl fmt::Display) -> Self {
        let mut text = Self::default();
        // The longest has 25 characters: it fits.
        let _ = write!(text, "{number}");
        text
    }

    pub(crate) fn of_double(number: f64) -> Self {
        /// From here on all digits are left of the point, and zeros would follow them.
        const LARGE: f64 = 1e17;
        /// Below, zeros would come before the digits.
        const SMALL: f64 = 1e-5;
        let size = number.abs();
        let is_plain = size == 0.0 || (SMALL..LARGE).contains(&size) || !number.is_finite();
        // Of at most 17 digits, a sign, a point, and five zeros or an exponent of five characters.
        match is_plain {
            true => Self::of(number),
            false => Self::of(format_args!("{number:e}")),
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        let target = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        target.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
