//! Replies that commands have for keys that do not exist.

use onecopy_resp_proto::{Kind, Reply};

/// Whether a command may have had this reply because its key does not exist. Such a reply of a node is out of date without a word from
/// it when its slot moves and another node makes the key, so it is not cached in a cluster. Some replies of keys that exist are like it.
pub(crate) fn may_be_missing(reply: Reply<'_>) -> bool {
    if reply.is_null() {
        return true;
    }
    match reply.kind() {
        kind if kind.is_aggregate() => reply.children().all(may_be_missing),
        // BITPOS has -1 for a bit that is not there.
        Kind::Integer => reply.as_i64().is_none_or(|number| number <= 0),
        // TYPE has `none`.
        _ => matches!(reply.bytes(), b"" | b"none"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_reply;

    #[test]
    fn what_a_missing_key_has_is_recognised() {
        let missing = |reply: &[u8]| with_reply(reply, may_be_missing);
        for reply in [
            &b"_\r\n"[..],
            b"$-1\r\n",
            b":0\r\n",
            b":-1\r\n",
            b"$0\r\n\r\n",
            b"+none\r\n",
            b"*0\r\n",
            b"%0\r\n",
            b"~0\r\n",
            b"*2\r\n_\r\n_\r\n",
            b"*2\r\n:0\r\n:0\r\n",
        ] {
            assert!(missing(reply), "{}", reply.escape_ascii());
        }
        for reply in [
            &b"$1\r\nx\r\n"[..],
            b":1\r\n",
            b"*2\r\n_\r\n$1\r\nx\r\n",
            b"%1\r\n$1\r\nf\r\n$1\r\nv\r\n",
            b"+string\r\n",
            b",1.5\r\n",
        ] {
            assert!(!missing(reply), "{}", reply.escape_ascii());
        }
    }
}
