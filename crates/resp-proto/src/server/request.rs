//! A request as a view: its arguments are borrowed as they came.

use std::fmt;

use crate::{Children, Reply};

/// One request, borrowed until the server's core goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Request<'r>(Reply<'r>);

impl<'r> Request<'r> {
    pub(super) fn new(array: Reply<'r>) -> Self {
        Self(array)
    }

    /// The command's name, as the client wrote it: in whichever case.
    pub fn name(&self) -> &'r [u8] {
        self.arguments().next().unwrap_or_default()
    }

    /// Whether that is the command's name, in any case.
    pub fn is(&self, name: &str) -> bool {
        self.name().eq_ignore_ascii_case(name.as_bytes())
    }

    /// Arguments in order, the name first.
    pub fn arguments(&self) -> Arguments<'r> {
        Arguments(self.0.children())
    }

    /// How many arguments there are, the name included; one at least.
    #[allow(clippy::len_without_is_empty)] // it never is
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The same as an array of bulk strings, to be detached or sent on.
    pub fn as_array(&self) -> Reply<'r> {
        self.0
    }
}

/// Shows names and arguments, bytes escaped: passwords among them, so for a look at it and not for logs.
impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self
            .arguments()
            .map(|argument| argument.escape_ascii().to_string());
        f.debug_list().entries(shown).finish()
    }
}

/// The arguments of a request.
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
