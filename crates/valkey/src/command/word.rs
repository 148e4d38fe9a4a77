//! Arguments that are one of several words.

use crate::arg::Arg;
use crate::part::Part;
use crate::request::Request;

macro_rules! words {
    ($($(#[$doc:meta])+ $name:ident { $($variant:ident = $word:literal),+ $(,)? })+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = concat!("`", $word, "`.")] $variant,)+
        }

        impl $name {
            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl Part for $name {
            fn count(&self) -> usize {
                1
            }

            fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {
                request.borrowed(self.as_str().as_bytes());
            }
        }

        impl From<$name> for Arg<'_> {
            fn from(word: $name) -> Self {
                word.as_str().into()
            }
        }
    )+};
}

words! {
    /// `LEFT` or `RIGHT`.
    Side { Left = "LEFT", Right = "RIGHT" }

    /// `MIN` or `MAX`.
    Extreme { Min = "MIN", Max = "MAX" }

    /// `BEFORE` or `AFTER`.
    Place { Before = "BEFORE", After = "AFTER" }

    /// `AND`, `OR`, `XOR` or `NOT`.
    BitOperation { And = "AND", Or = "OR", Xor = "XOR", Not = "NOT" }

    /// `WRAP`, `SAT` or `FAIL`.
    Overflow { Wrap = "WRAP", Sat = "SAT", Fail = "FAIL" }

    /// `m`, `km`, `ft` or `mi`.
    Unit { M = "m", Km = "km", Ft = "ft", Mi = "mi" }

    /// `SUM`, `MIN` or `MAX`.
    Aggregate { Sum = "SUM", Min = "MIN", Max = "MAX" }

    /// `MAXLEN` or `MINID`.
    Trim { Maxlen = "MAXLEN", Minid = "MINID" }

    /// `YES` or `NO`.
    Answer { Yes = "YES", No = "NO" }

    /// `ON` or `OFF`.
    Switch { On = "ON", Off = "OFF" }

    /// `ON`, `OFF` or `SKIP`.
    ReplyMode { On = "ON", Off = "OFF", Skip = "SKIP" }

    /// `YES`, `SYNC` or `NO`.
    DebugMode { Yes = "YES", Sync = "SYNC", No = "NO" }

    /// `BF16`, `FP16`, `FP32` or `FP64`.
    FloatType { Bf16 = "BF16", Fp16 = "FP16", Fp32 = "FP32", Fp64 = "FP64" }

    /// `slow`, `large-request` or `large-reply`.
    CommandLog { Slow = "slow", LargeRequest = "large-request", LargeReply = "large-reply" }

    /// `normal`, `master`, `replica` or `pubsub`.
    ClientType { Normal = "normal", Master = "master", Replica = "replica", Pubsub = "pubsub" }

    /// `normal`, `master`, `primary`, `slave`, `replica` or `pubsub`.
    ClientKillType {
        Normal = "normal",
        Master = "master",
        Primary = "primary",
        Slave = "slave",
        Replica = "replica",
        Pubsub = "pubsub",
    }
}
