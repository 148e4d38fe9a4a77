//! An aggregate that is under way.

use crate::Kind;

/// An aggregate whose elements have not all come; or the frame, which has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub(super) node: u32,
    /// Elements that are missing. Of a streamed one, whose number is not known, `u32::MAX` less those that have arrived: as
    /// an `i32` that is below 0.
    pub(super) left: u32,
    pub(super) kind: Kind,
}

impl Open {
    pub(super) const FRAME: Self = Self {
        node: u32::MAX,
        left: 1,
        kind: Kind::Null,
    };

    /// Whether an end must come, whose distance is not known.
    #[inline]
    pub(super) fn is_streamed(&self) -> bool {
        self.left > i32::MAX as u32
    }
}
