//! The reply types of commands for which they depend on the options.
//!
//! `zrange("key", 0, 9)` returns members, and `zrange("key", 0, 9).withscores()` returns members with their scores. The method
//! changes the command's type from `Zrange<shape::Bulks>` to `Zrange<shape::Scores>`, and with it the output.

use onecopy_resp_proto::Reply;

use super::{Array, Entry, FromReply, Map};

/// A shape of a reply: one of this module's types.
pub trait Shape {
    /// The type that a reply of this shape is read as.
    type Output<'r>: FromReply<'r>;
}

macro_rules! shapes {
    ($($(#[$doc:meta])+ $name:ident => $output:ty;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl Shape for $name {
            type Output<'r> = $output;
        }
    )+};
}

shapes! {
    /// An integer.
    Integer => i64;
    /// An integer or nil.
    MaybeInteger => Option<i64>;
    /// Integers.
    Integers => Array<'r, i64>;
    /// A number or nil.
    MaybeDouble => Option<f64>;
    /// A string.
    Bulk => &'r [u8];
    /// A string or nil.
    MaybeBulk => Option<&'r [u8]>;
    /// Strings.
    Bulks => Array<'r, &'r [u8]>;
    /// An array of strings, or nil instead of the array.
    MaybeBulks => Option<Array<'r, &'r [u8]>>;
    /// An array of strings, some of which may be nil.
    BulksWithNil => Array<'r, Option<&'r [u8]>>;
    /// Members and scores.
    Scores => Map<'r, &'r [u8], f64>;
    /// A rank and a score, or nil.
    RankAndScore => Option<(i64, f64)>;
    /// Fields and values.
    Fields => Map<'r, &'r [u8], &'r [u8]>;
    /// Names and their values, of any type.
    Properties => Map<'r, &'r [u8], Reply<'r>>;
    /// Elements of several types.
    Replies => Array<'r, Reply<'r>>;
    /// Entries of a stream.
    Entries => Array<'r, Entry<'r>>;
    /// The ID to continue from, the claimed entries, and the IDs of deleted entries.
    Claimed => (&'r [u8], Array<'r, Entry<'r>>, Array<'r, &'r [u8]>);
    /// The ID to continue from, the claimed IDs, and the IDs of deleted entries.
    ClaimedIds => (&'r [u8], Array<'r, &'r [u8]>, Array<'r, &'r [u8]>);
    /// The number of pending entries, the first and the last ID, and the number of entries of each consumer.
    PendingSummary => (i64, Option<&'r [u8]>, Option<&'r [u8]>, Option<Map<'r, &'r [u8], i64>>);
    /// For each pending entry its ID, its consumer, the milliseconds since its last delivery, and the number of deliveries.
    Pending => Array<'r, (&'r [u8], &'r [u8], i64, i64)>;
}

#[cfg(feature = "modules")]
mod vector_set;
#[cfg(feature = "modules")]
pub use vector_set::*;
