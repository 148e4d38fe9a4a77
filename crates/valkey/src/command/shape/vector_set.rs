//! The shapes of what commands of vector sets return.

use onecopy_resp_proto::Reply;

use super::{Bulks, Scores, Shape};
use crate::command::{Array, Map, Similar};

shapes! {
    /// Numbers, or nil instead of the array.
    MaybeDoubles => Option<Array<'r, f64>>;
    /// The quantization, the bytes, the norm of the vector, and for `int8` the range; or nil.
    RawVector => Option<Array<'r, Reply<'r>>>;
    /// The neighbors in each layer of the graph, or nil.
    Links => Option<Array<'r, Array<'r, &'r [u8]>>>;
    /// The neighbors in each layer of the graph with their scores, or nil.
    ScoredLinks => Option<Array<'r, Map<'r, &'r [u8], f64>>>;
    /// Elements and their attributes, which may be nil.
    Attributes => Map<'r, &'r [u8], Option<&'r [u8]>>;
    /// Elements with their scores and attributes.
    ScoresAndAttributes => Similar<'r>;
}

/// The shapes of VSIM's reply, and which one follows after an option.
pub trait Similarity: Shape {
    /// The same with scores.
    type Scored: Similarity;
    /// The same with attributes.
    type Attributed: Similarity;
}

impl Similarity for Bulks {
    type Scored = Scores;
    type Attributed = Attributes;
}

impl Similarity for Scores {
    type Scored = Self;
    type Attributed = ScoresAndAttributes;
}

impl Similarity for Attributes {
    type Scored = ScoresAndAttributes;
    type Attributed = Self;
}

impl Similarity for ScoresAndAttributes {
    type Scored = Self;
    type Attributed = Self;
}
