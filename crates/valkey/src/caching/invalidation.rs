//! What the server says of keys that have changed: the push `invalidate` with a list of keys, or with null for all of them.
//!
//! Source: <https://valkey.io/topics/client-side-caching/>.

use onecopy_resp_proto::{Kind, Reply};

/// The keys of a push.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Invalidation<'r> {
    All,
    Keys(Reply<'r>),
}

impl<'r> Invalidation<'r> {
    /// Reads a push; `None` if it is another one. One that is not as it should be concerns all keys: it must not be passed over.
    pub(crate) fn of(push: Reply<'r>) -> Option<Self> {
        let mut words = push.children();
        if words.next()?.bytes() != b"invalidate" {
            return None;
        }
        let keys = words.next().filter(|keys| keys.kind() == Kind::Array);
        let is_list = |keys: &Reply<'_>| {
            let mut keys = keys.children();
            keys.all(|key| !key.kind().is_aggregate() && !key.is_null())
        };
        Some(keys.filter(is_list).map_or(Self::All, Self::Keys))
    }

    /// Calls `visit` with each key.
    pub(crate) fn each(self, mut visit: impl FnMut(&[u8])) {
        if let Self::Keys(keys) = self {
            keys.children().for_each(|key| visit(key.bytes()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_reply;

    /// The keys; `None` for all.
    fn read(push: &[u8]) -> Option<Option<Vec<Vec<u8>>>> {
        with_reply(push, |push| {
            Some(match Invalidation::of(push)? {
                Invalidation::All => None,
                some => {
                    let mut keys = Vec::new();
                    some.each(|key| keys.push(key.to_vec()));
                    Some(keys)
                }
            })
        })
    }

    #[test]
    fn keys_are_named_and_whatever_is_unclear_is_all_of_them() {
        let two = b">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n";
        assert_eq!(read(two), Some(Some(vec![b"a".to_vec(), b"b".to_vec()])));
        for all in [
            &b">2\r\n$10\r\ninvalidate\r\n_\r\n"[..],
            b">2\r\n$10\r\ninvalidate\r\n*-1\r\n",
            b">1\r\n$10\r\ninvalidate\r\n",
            b">2\r\n$10\r\ninvalidate\r\n$1\r\na\r\n",
            b">2\r\n$10\r\ninvalidate\r\n*1\r\n*0\r\n",
        ] {
            assert_eq!(read(all), Some(None), "{}", all.escape_ascii());
        }
        assert_eq!(read(b">2\r\n$7\r\nmessage\r\n$1\r\na\r\n"), None);
    }
}
