//! A request as a view: its arguments are borrowed as they arrived.

use std::fmt;

use crate::{Children, Reply};

/// A request, borrowed until the server's state machine is advanced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Request<'r>(Reply<'r>);

impl<'r> Request<'r> {
    pub(super) fn new(array: Reply<'r>) -> Self {
        Self(array)
    }

    /// Returns the name of the command, in the letter case that the client used.
    pub fn name(&self) -> &'r [u8] {
        self.arguments().next().unwrap_or_default()
    }

    /// Returns whether `name` is the name of the command, ignoring letter case.
    pub fn is(&self, name: &str) -> bool {
        self.name().eq_ignore_ascii_case(name.as_bytes())
    }

    /// Returns an iterator over the arguments in order, the name first.
    pub fn arguments(&self) -> Arguments<'r> {
        Arguments(self.0.children())
    }

    /// Returns the number of arguments, including the name; at least one.
    #[allow(clippy::len_without_is_empty)] // it never is
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the request as an array of bulk strings, to detach it or send it on.
    pub fn as_array(&self) -> Reply<'r> {
        self.0
    }
}

/// Shows the name and the arguments, with bytes escaped. They may include passwords: use it for debugging, not for logs.
impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self
            .arguments()
            .map(|argument| argument.escape_ascii().to_string());
        f.debug_list().entries(shown).finish()
    }
}

/// An iterator over the arguments of a request.
#[derive(Debug, Clone)]
pub struct Arguments<'r>(Children<'r>);

impl<'r> Iterator for Arguments<'r> {
    type Item = &'r [u8];

    fn next(&mut self) -> Option<&'r [u8]> {
        Some(self.0.next()?.bytes())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Arguments<'_> {}
