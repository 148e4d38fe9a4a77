//! The parts of a command: arguments and optional words.

use bytes::Bytes;

use crate::arg::{Arg, Form, Text};
use crate::request::Request;

/// A part that adds arguments to a command: one, several, or none if it is an option that was not chosen.
pub trait Part {
    /// Returns the number of arguments that it adds.
    fn count(&self) -> usize;

    /// Writes exactly as many arguments as [`count`](Self::count) returns.
    fn write<'a>(&'a self, request: &mut Request<'_, 'a>);

    /// Calls `visit` with the bytes of each argument, as they are sent. Fixed words of the protocol are left out.
    fn each(&self, visit: &mut dyn FnMut(&[u8])) {
        let _ = visit;
    }
}

impl Part for Arg<'_> {
    #[inline]
    fn count(&self) -> usize {
        1
    }

    #[inline]
    fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {
        match &self.0 {
            Form::Borrowed(bytes) => request.borrowed(bytes),
            other => write_other(other, request),
        }
    }

    fn each(&self, visit: &mut dyn FnMut(&[u8])) {
        Arg::each(self, visit);
    }
}

/// What fewer arguments are, apart, so that the others are written without a call.
#[inline(never)]
fn write_other<'a>(form: &'a Form<'_>, request: &mut Request<'_, 'a>) {
    match form {
        Form::Borrowed(bytes) => request.borrowed(bytes),
        Form::Owned(bytes) => request.owned(bytes),
        Form::Int(number) => request.integer(*number),
        Form::UInt(number) => request.unsigned(*number),
        Form::Double(number) => request.double(*number),
    }
}

/// An option: it adds nothing if it is `None`.
impl<P: Part> Part for Option<P> {
    #[inline]
    fn count(&self) -> usize {
        self.as_ref().map_or(0, P::count)
    }

    #[inline]
    fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {
        if let Some(part) = self {
            part.write(request);
        }
    }

    fn each(&self, visit: &mut dyn FnMut(&[u8])) {
        if let Some(part) = self {
            part.each(visit);
        }
    }
}

/// Two arguments that belong together, such as `offset count`.
impl<A: Part, B: Part> Part for (A, B) {
    #[inline]
    fn count(&self) -> usize {
        self.0.count() + self.1.count()
    }

    #[inline]
    fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {
        self.0.write(request);
        self.1.write(request);
    }
}

/// One word, encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token(pub(crate) &'static [u8]);

impl Part for Token {
    #[inline]
    fn count(&self) -> usize {
        1
    }

    #[inline]
    fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {
        request.token(self.0);
    }
}

/// One of several options: its word, encoded, and its values, of which it may have fewer than others.
#[derive(Clone, Debug)]
pub(crate) struct Choice<'a, const N: usize>(
    pub(crate) &'static [u8],
    pub(crate) [Option<Arg<'a>>; N],
);

impl<const N: usize> Part for Choice<'_, N> {
    #[inline]
    fn count(&self) -> usize {
        1 + self.1.iter().map(Part::count).sum::<usize>()
    }

    #[inline]
    fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {
        request.token(self.0);
        for value in &self.1 {
            value.write(request);
        }
    }

    fn each(&self, visit: &mut dyn FnMut(&[u8])) {
        for value in &self.1 {
            value.each(visit);
        }
    }
}

/// Options that can be given several times, their words included.
impl Part for Vec<Arg<'_>> {
    fn count(&self) -> usize {
        self.len()
    }

    fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {
        for arg in self {
            arg.write(request);
        }
    }
}

/// Arguments of an option with so many words before it: none at all where it was not chosen.
#[inline]
pub(crate) fn tagged<P: Part>(words: usize, part: &P) -> usize {
    match part.count() {
        0 => 0,
        count => words + count,
    }
}

macro_rules! argument {
    ($($type:ty, $value:ident, $request:ident => $write:expr, $bytes:expr;)+) => {$(
        impl Part for $type {
            #[inline]
            fn count(&self) -> usize {
                1
            }

            #[inline]
            fn write<'a>(&'a self, $request: &mut Request<'_, 'a>) {
                let $value = self;
                $write
            }

            fn each(&self, visit: &mut dyn FnMut(&[u8])) {
                let $value = self;
                visit($bytes);
            }
        }
    )+};
}

argument! {
    &str, text, request => request.borrowed(text.as_bytes()), text.as_bytes();
    &[u8], bytes, request => request.borrowed(bytes), bytes;
    String, text, request => request.borrowed(text.as_bytes()), text.as_bytes();
    Vec<u8>, bytes, request => request.borrowed(bytes), bytes;
    Bytes, bytes, request => request.owned(bytes), bytes;
    i64, number, request => request.integer(*number), Text::of(number).as_bytes();
    i32, number, request => request.integer((*number).into()),
        Text::of(number).as_bytes();
    u64, number, request => request.unsigned(*number), Text::of(number).as_bytes();
    u32, number, request => request.unsigned((*number).into()),
        Text::of(number).as_bytes();
    f64, number, request => request.double(*number), Text::of_double(*number).as_bytes();
}

impl<const N: usize> Part for &[u8; N] {
    #[inline]
    fn count(&self) -> usize {
        1
    }

    #[inline]
    fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {
        request.borrowed(*self);
    }

    fn each(&self, visit: &mut dyn FnMut(&[u8])) {
        visit(*self);
    }
}
