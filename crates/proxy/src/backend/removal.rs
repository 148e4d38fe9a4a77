//! A backend that is no longer configured.

use std::time::Instant;

use super::Backend;

impl Backend {
    /// It is no longer configured: nobody is sent to it. Its sessions may stay until then.
    pub(crate) fn remove(&self, until: Instant) {
        self.change(|| {
            let _ = self.state.removed.set(until);
        });
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.removed_until().is_some()
    }

    /// Where it was removed: when its last sessions end.
    pub(crate) fn removed_until(&self) -> Option<Instant> {
        self.state.removed.get().copied()
    }
}
