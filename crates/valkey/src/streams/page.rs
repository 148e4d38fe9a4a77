//! Some entries that came together, until the caller has taken them.

use std::collections::VecDeque;

use onecopy_resp_proto::{Kind, OwnedReply, Reply};

use super::EntryId;
use crate::command::{DecodeError, Entry, FromReply};

/// Why entries were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// XREADGROUP of the consumer's pending entries.
    Own,
    /// XAUTOCLAIM.
    Claim,
    /// XREADGROUP of new entries.
    New,
}

/// An entry of the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) id: EntryId,
    /// Its place in the reply.
    index: usize,
    pub(super) source: Source,
    /// `None` as long as it is not known.
    pub(super) deliveries: Option<u64>,
}

/// One reply and what is left of it.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The source says where its entries are.
    reply: Option<(OwnedReply, Source)>,
    pub(super) items: VecDeque<Item>,
}

/// What was found in a reply.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Entries, those that were left out too.
    pub(super) count: usize,
    pub(super) last: Option<EntryId>,
    /// Pending entries that have no fields any more.
    pub(super) deleted: Vec<EntryId>,
    /// Those that the server has taken out of the pending ones itself.
    pub(super) gone: u64,
}

impl Page {
    /// Takes a reply up. `is_known`: entries that the caller has already.
    ///
    /// # Errors
    /// It has another shape than it must have.
    pub(super) fn fill(
        &mut self,
        reply: OwnedReply,
        source: Source,
        is_known: impl Fn(EntryId) -> bool,
    ) -> Result<Found, DecodeError> {
        self.items.clear();
        self.reply = None;
        let mut found = Found::default();
        let Some(entries) = entries(reply.reply(), source)? else {
            return Ok(found);
        };
        for (index, child) in entries.children().enumerate() {
            found.count += 1;
            // XAUTOCLAIM of 6.2 has nulls in the place of deleted entries.
            if child.is_null() {
                found.gone += 1;
                continue;
            }
            let entry = Entry::from_reply(child)?;
            let wrong = || DecodeError::new("the ID of an entry", child);
            let id = EntryId::parse(entry.id).ok_or_else(wrong)?;
            found.last = Some(id);
            if is_known(id) {
                continue;
            }
            if entry.fields.is_none() {
                found.deleted.push(id);
                continue;
            }
            self.items.push_back(Item {
                id,
                index,
                source,
                deliveries: (source == Source::New).then_some(1),
            });
        }
        if source == Source::Claim {
            let gone = reply.reply().children().nth(2);
            found.gone += gone.map_or(0, |gone| gone.len() as u64);
        }
        self.reply = Some((reply, source));
        Ok(found)
    }

    /// The fields of an entry.
    pub(super) fn fields(&self, item: &Item) -> Option<Reply<'_>> {
        let (reply, source) = self.reply.as_ref()?;
        let entries = entries(reply.reply(), *source).ok()??;
        entries.children().nth(item.index)?.children().nth(1)
    }

    /// Gives the memory back, once nothing of it is needed any more.
    pub(super) fn clear(&mut self) {
        if self.items.is_empty() {
            *self = Self::default();
        }
    }
}

/// The array of entries in a reply; `None` if there is none.
fn entries(reply: Reply<'_>, source: Source) -> Result<Option<Reply<'_>>, DecodeError> {
    let entries = match source {
        Source::Claim => reply.children().nth(1),
        _ if reply.is_null() => return Ok(None),
        _ if reply.kind().is_aggregate() && reply.is_empty() => return Ok(None),
        // A map of keys, or an array of pairs. Only one key was asked for.
        _ if reply.kind() == Kind::Map => reply.children().nth(1),
        _ => reply
            .children()
            .next()
            .and_then(|pair| pair.children().nth(1)),
    };
    let is_array = |entries: &Reply<'_>| entries.kind() == Kind::Array;
    let wrong = || DecodeError::new("entries of a stream", reply);
    entries.filter(is_array).ok_or_else(wrong).map(Some)
}

/// Where XAUTOCLAIM is to continue; `None` at the end.
pub(super) fn cursor(reply: Reply<'_>) -> Option<EntryId> {
    let cursor = reply.children().next()?;
    EntryId::parse(cursor.bytes()).filter(|cursor| *cursor != EntryId::ZERO)
}

/// What a page has of a reply, for a fuzz target: the entries, each with its fields, and the IDs of those that are gone.
#[cfg(feature = "fuzz")]
pub(crate) fn page_of(reply: OwnedReply, source: u8) -> Result<crate::fuzz::Entries, String> {
    let source = match source {
        0 => Source::New,
        1 => Source::Own,
        _ => Source::Claim,
    };
    let _ = cursor(reply.reply());
    let mut page = Page::default();
    let found = page.fill(reply, source, |id| id.sequence == 1);
    let found = found.map_err(|error| error.to_string())?;
    let fields = |item: &Item| page.fields(item).map(|fields| format!("{fields:?}").into());
    let entry = |item: &Item| (item.id, fields(item).unwrap_or_default());
    let entries: Vec<_> = page.items.iter().map(entry).collect();
    assert!(page.items.iter().all(|item| page.fields(item).is_some()));
    assert!(entries.len() + found.deleted.len() <= found.count);
    Ok((entries, found.deleted))
}
