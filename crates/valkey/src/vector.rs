//! Vectors as arguments.

use std::fmt;

use crate::arg::Arg;
use crate::args::Args;
use crate::part::Part;
use crate::request::Request;

/// A vector for VADD and VSIM. It implements `From` for slices, arrays and vectors of `f32`, which are sent in binary (`FP32`).
///
/// That costs one allocation and one copy; bytes that you pass to [`fp32`](Self::fp32) are borrowed.
///
/// ```
/// use onecopy_valkey::Vector;
/// use onecopy_valkey::command::vector_set::vadd;
///
/// let one = vadd("words", [0.5, -1.25], "apple");
/// let other = vadd("words", Vector::values([0.5, -1.25]), "apple");
/// ```
#[derive(Clone)]
pub struct Vector<'a>(Form<'a>);

#[derive(Clone)]
enum Form<'a> {
    Fp32(Arg<'a>),
    Values(Args<'a>),
}

impl<'a> Vector<'a> {
    /// Creates a vector from its bytes: 4 for each dimension, an IEEE 754 number in little-endian order.
    pub fn fp32(bytes: impl Into<Arg<'a>>) -> Self {
        Self(Form::Fp32(bytes.into()))
    }

    /// Creates a vector that is sent as text (`VALUES`), a number or its text for each dimension.
    pub fn values(values: impl Into<Args<'a>>) -> Self {
        Self(Form::Values(values.into()))
    }
}

impl Part for Vector<'_> {
    fn count(&self) -> usize {
        match &self.0 {
            Form::Fp32(_) => 2,
            Form::Values(values) => 2 + values.len(),
        }
    }

    fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {
        match &self.0 {
            Form::Fp32(bytes) => {
                request.token(b"$4\r\nFP32\r\n");
                request.part(bytes);
            }
            Form::Values(values) => {
                request.token(b"$6\r\nVALUES\r\n");
                request.number_of(values);
                request.part(values);
            }
        }
    }
}

impl From<&[f32]> for Vector<'_> {
    fn from(vector: &[f32]) -> Self {
        let bytes: Vec<u8> = vector.iter().flat_map(|one| one.to_le_bytes()).collect();
        Self::fp32(bytes)
    }
}

impl From<&Vec<f32>> for Vector<'_> {
    fn from(vector: &Vec<f32>) -> Self {
        vector.as_slice().into()
    }
}

impl From<Vec<f32>> for Vector<'_> {
    fn from(vector: Vec<f32>) -> Self {
        vector.as_slice().into()
    }
}

impl<const N: usize> From<&[f32; N]> for Vector<'_> {
    fn from(vector: &[f32; N]) -> Self {
        vector.as_slice().into()
    }
}

impl<const N: usize> From<[f32; N]> for Vector<'_> {
    fn from(vector: [f32; N]) -> Self {
        vector.as_slice().into()
    }
}

/// Shows how it is sent, not the numbers.
impl fmt::Debug for Vector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Fp32(_) => f.write_str("FP32"),
            Form::Values(values) => write!(f, "VALUES {}", values.len()),
        }
    }
}

/// What VSIM compares with: a [`Vector`], or an element of the set.
#[derive(Clone)]
pub struct Query<'a>(Compared<'a>);

#[derive(Clone)]
enum Compared<'a> {
    Element(Arg<'a>),
    Vector(Vector<'a>),
}

impl<'a> Query<'a> {
    /// Compares with the vector of an element (`ELE`).
    pub fn element(element: impl Into<Arg<'a>>) -> Self {
        Self(Compared::Element(element.into()))
    }
}

impl<'a, V: Into<Vector<'a>>> From<V> for Query<'a> {
    fn from(vector: V) -> Self {
        Self(Compared::Vector(vector.into()))
    }
}

impl Part for Query<'_> {
    fn count(&self) -> usize {
        match &self.0 {
            Compared::Element(_) => 2,
            Compared::Vector(vector) => vector.count(),
        }
    }

    fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {
        match &self.0 {
            Compared::Element(element) => {
                request.token(b"$3\r\nELE\r\n");
                request.part(element);
            }
            Compared::Vector(vector) => request.part(vector),
        }
    }
}

/// Shows neither an element nor numbers.
impl fmt::Debug for Query<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Compared::Element(_) => f.write_str("ELE"),
            Compared::Vector(vector) => vector.fmt(f),
        }
    }
}
