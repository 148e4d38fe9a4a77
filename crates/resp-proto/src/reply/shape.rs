//! Whole replies beside each other and as text: over the flat list, without recursion, whatever depth is allowed.

use std::fmt;

use super::Reply;
use crate::Kind;

/// Compares kinds, elements and bytes, including attributes inside the value, but not the attribute of the value itself.
impl PartialEq for Reply<'_> {
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (self.own_subtree(), other.own_subtree());
        own.len() == others.len()
            && own.iter().zip(others).all(|(node, another)| {
                node.kind == another.kind
                    && node.len == another.len
                    && self.bytes_of(node) == other.bytes_of(another)
            })
    }
}

impl Eq for Reply<'_> {}

/// Shows the value and everything it contains, with inner attributes before their values, and with bytes escaped. Use it for
/// debugging, not for logs.
impl fmt::Debug for Reply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Where the aggregates that are open end.
        let mut ends: Vec<u32> = Vec::new();
        let mut is_first = true;
        for (index, node) in (self.index..).zip(self.own_subtree()) {
            while ends.last() == Some(&index) {
                ends.pop();
                f.write_str("]")?;
                is_first = false;
            }
            f.write_str(if is_first { "" } else { ", " })?;
            is_first = node.kind.is_aggregate();
            if is_first {
                write!(f, "{:?} [", node.kind)?;
                ends.push(node.next);
            } else if node.kind == Kind::Null {
                f.write_str("Null")?;
            } else {
                write!(f, "{:?}({})", node.kind, self.bytes_of(node).escape_ascii())?;
            }
        }
        ends.iter().try_for_each(|_| f.write_str("]"))
    }
}
