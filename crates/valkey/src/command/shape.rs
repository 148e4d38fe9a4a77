//! What the reply of a command is read as, where that hangs on its options.
//!
//! `zrange("key", 0, 9)` gives members, and `zrange("key", 0, 9).withscores()` members with their scores: the method changes
//! the command's type, `Zrange<shape::Bulks>` to `Zrange<shape::Scores>`, and with it its output.

use onecopy_resp_proto::Reply;

use super::{Array, Entry, FromReply, Map};

/// One of this module's types.
pub trait Shape {
    /// What a reply of this shape is read as.
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
    /// Strings, or nil instead of them.
    MaybeBulks => Option<Array<'r, &'r [u8]>>;
    /// Strings, some of them nil.
    BulksWithNil => Array<'r, Option<&'r [u8]>>;
    /// Members and scores.
    Scores => Map<'r, &'r [u8], f64>;
    /// A rank and a score, or nil.
    RankAndScore => Option<(i64, f64)>;
    /// Fields and values.
    Fields => Map<'r, &'r [u8], &'r [u8]>;
    /// Names and what they are the names of.
    Properties => Map<'r, &'r [u8], Reply<'r>>;
    /// Elements of several types.
    Replies => Array<'r, Reply<'r>>;
    /// Entries of a stream.
    Entries => Array<'r, Entry<'r>>;
    /// The ID to go on from, entries, and the IDs of those that were deleted.
    Claimed => (&'r [u8], Array<'r, Entry<'r>>, Array<'r, &'r [u8]>);
    /// The ID to go on from, IDs, and the IDs of those that were deleted.
    ClaimedIds => (&'r [u8], Array<'r, &'r [u8]>, Array<'r, &'r [u8]>);
    /// How many entries are pending, the first and the last ID, and how many each consumer has.
    PendingSummary => (i64, Option<&'r [u8]>, Option<&'r [u8]>, Option<Map<'r, &'r [u8], i64>>);
    /// Of each pending entry its ID, its consumer, the milliseconds since it was delivered, and how often it was.
    Pending => Array<'r, (&'r [u8], &'r [u8], i64, i64)>;
}
