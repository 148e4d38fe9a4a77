//! Replies of lists, and of names with values, that come from servers that may lie: read without a type of their own.

use onecopy_resp_proto::{Kind, Reply};

pub(crate) fn number(reply: Reply<'_>) -> Result<i64, String> {
    reply.as_i64().ok_or_else(|| "a number is not one".into())
}

/// The elements of an array. A map's names and values come one after the other, as in the array that RESP2 has for it.
pub(crate) fn list<'r>(
    reply: Option<Reply<'r>>,
    what: &str,
) -> Result<impl Iterator<Item = Reply<'r>> + use<'r>, String> {
    let is_list = |reply: &Reply<'_>| matches!(reply.kind(), Kind::Array | Kind::Set | Kind::Map);
    let reply = reply.filter(is_list);
    Ok(reply
        .ok_or_else(|| format!("{what} is not a list"))?
        .children())
}

/// The value of that name in a map, or in an array of names and values.
pub(crate) fn field<'r>(map: Reply<'r>, name: &[u8]) -> Option<Reply<'r>> {
    if !matches!(map.kind(), Kind::Array | Kind::Map) {
        return None;
    }
    let mut words = map.children();
    loop {
        let (key, value) = (words.next()?, words.next()?);
        if key.bytes() == name {
            return Some(value);
        }
    }
}
