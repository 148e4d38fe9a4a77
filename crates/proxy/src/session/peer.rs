//! A stream, and what the last events said of it.

use onecopy_net::evented::Stream;

/// One end of a session.
pub(crate) struct Peer {
    pub(crate) stream: Stream,
    /// Something may be there to be read: events tell of changes only.
    pub(crate) is_readable: bool,
    /// The kernel may take more.
    pub(crate) is_writable: bool,
    /// It was told that nothing more comes from here.
    pub(crate) is_shut: bool,
    /// Nothing more comes.
    pub(crate) is_closed: bool,
}

impl Peer {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            is_readable: true,
            is_writable: true,
            is_shut: false,
            is_closed: false,
        }
    }
}
