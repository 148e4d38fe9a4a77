//! The GTIDs of the session's last transaction, kept from the OK packet that reported them.

use super::core::ClientCore;

/// More is not kept: 64 KiB. A transaction of one's own has one of some dozens of bytes; with `ALL_GTIDS` a server reports all.
const MAX_KEPT: usize = 64 << 10;

impl ClientCore {
    /// Returns the last GTIDs that the server reported in this session, see
    /// [`SessionTrack::gtids`](crate::packet::SessionTrack::gtids). `None` if it has reported none, or more than 64 KiB.
    pub fn last_gtids(&self) -> Option<&str> {
        Some(&*self.gtids).filter(|gtids| !gtids.is_empty())
    }

    #[cold]
    pub(super) fn note_gtids(&mut self) {
        let Some(gtids) = self.session_changes().gtids() else {
            return;
        };
        let text = str::from_utf8(gtids).unwrap_or_default();
        let mut kept = String::new();
        if text.len() <= MAX_KEPT && kept.try_reserve_exact(text.len()).is_ok() {
            kept.push_str(text);
        }
        self.gtids = kept;
    }
}
