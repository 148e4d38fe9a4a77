//! Which of several failures a search ends with.

use super::error::SentinelError;
use crate::Error;

/// Why the sentinels that were asked in one search did not lead to a primary.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// One that a retry can't mend: a refused login, a server that is not trusted.
    final_one: Option<Error>,
    /// A sentinel's answer, or a server that is not what it is said to be.
    answer: Option<Error>,
    other: Option<Error>,
    is_name_known: bool,
    unknown_name: Option<Error>,
}

impl Failures {
    pub(crate) fn add(&mut self, error: Error) {
        if let Some(SentinelError::UnknownName { .. }) = error.sentinel() {
            self.unknown_name = Some(error);
            return;
        }
        self.is_name_known = true;
        if error.sentinel().is_some() {
            self.answer = Some(error);
        } else if error.tls().is_some() || error.server().is_some() && !error.is_retryable() {
            self.final_one = Some(error);
        } else {
            self.other = Some(error);
        }
    }

    /// The error of the whole search. That a name is unknown counts only if nothing else went wrong: another sentinel may know it.
    pub(crate) fn into_error(self) -> Error {
        if let Some(unknown) = self.unknown_name
            && !self.is_name_known
        {
            return unknown;
        }
        if let Some(error) = self.final_one.or(self.answer) {
            return error;
        }
        let last = self.other.map(|error| error.to_string());
        Error::sentinel_error(SentinelError::NoPrimary {
            last: last.unwrap_or_else(|| "there is no sentinel to ask".into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::NodeAddress;

    fn address() -> NodeAddress {
        NodeAddress::new(b"10.0.0.1", 26_379).unwrap()
    }

    fn unknown() -> Error {
        Error::sentinel_error(SentinelError::UnknownName {
            name: "main".into(),
            sentinel: address(),
        })
    }

    fn ends_with(failures: impl IntoIterator<Item = Error>) -> String {
        let mut all = Failures::default();
        failures.into_iter().for_each(|error| all.add(error));
        all.into_error().to_string()
    }

    #[test]
    fn a_name_is_unknown_if_all_say_so() {
        assert!(ends_with([unknown(), unknown()]).contains("`main`"));
        let lost = Error::closed("lost");
        let text = ends_with([unknown(), lost.clone()]);
        assert!(
            text.contains("no sentinel named") && text.contains("lost"),
            "{text}"
        );
        assert!(ends_with([lost, unknown()]).contains("no sentinel named"));
        assert!(ends_with([]).contains("no sentinel to ask"));
    }

    #[test]
    fn a_refusal_says_more_than_an_answer_and_that_more_than_a_loss() {
        let answer = Error::sentinel_error(SentinelError::NotPrimary {
            server: address(),
            role: "a replica",
        });
        let refused = Error::server_error(b"NOPERM no rights");
        let lost = Error::closed("lost");
        assert!(ends_with([lost.clone(), answer.clone(), lost.clone()]).contains("a replica"));
        assert!(ends_with([answer, refused, lost]).contains("NOPERM"));
    }
}
