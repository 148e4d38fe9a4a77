//! What the admin listener can be asked to do with what a row is about.

use super::proxy::Proxy;
use super::table::{Row, Subject};
use super::value::Shown;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Kill,
    Drain,
    Resume,
    Pause,
    Move,
}

/// Something that is done if the question is answered with yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Action {
    /// The place of its proxy.
    pub(super) proxy: usize,
    pub(super) sql: String,
    /// Names the thing and what happens to it.
    pub(super) question: Shown,
    /// What is said when it is done.
    pub(super) done: Shown,
}

impl Action {
    /// # Errors
    /// Why this can't be done with the row.
    pub(super) fn new(verb: Verb, row: &Row, proxies: &[Proxy]) -> Result<Self, &'static str> {
        let at = match (proxies.len(), proxies.get(row.proxy)) {
            (2.., Some(proxy)) => format!(" of proxy {}", proxy.name),
            _ => String::new(),
        };
        let (sql, question, done) = match (verb, &row.subject) {
            (Verb::Kill, Subject::Session { listener, id, user }) => (
                format!("KILL '{listener}':{id}"),
                format!(
                    "Kill session {id} of user '{user}' on listener '{listener}'{at}? Its transaction is rolled back."
                ),
                format!("session {id} was killed"),
            ),
            (Verb::Drain, Subject::Backend(name)) => (
                format!("DRAIN BACKEND '{name}'"),
                format!(
                    "Drain backend '{name}'{at}? It gets no new sessions, on any listener; those of pools leave it between transactions."
                ),
                format!("backend '{name}' is being drained"),
            ),
            (Verb::Resume, Subject::Backend(name)) => (
                format!("RESUME BACKEND '{name}'"),
                format!(
                    "Resume backend '{name}'{at}? It gets sessions again, on all its listeners."
                ),
                format!("backend '{name}' was resumed"),
            ),
            (Verb::Move, Subject::Backend(name)) => (
                format!("MOVE BACKEND '{name}'"),
                format!(
                    "Make the shared connections to backend '{name}'{at} anew? Each goes to the backend with the fewest for its weight."
                ),
                format!("connections to backend '{name}' are made anew"),
            ),
            (
                Verb::Pause,
                Subject::Listener {
                    is_pooled: false, ..
                },
            )
            | (
                Verb::Resume,
                Subject::Listener {
                    is_pooled: false, ..
                },
            ) => {
                return Err("only listeners whose clients share connections can be paused");
            }
            (Verb::Pause, Subject::Listener { name, .. }) => (
                format!("PAUSE '{name}'"),
                format!(
                    "Pause listener '{name}'{at}? New transactions wait, at most failover-timeout."
                ),
                format!("listener '{name}' is paused"),
            ),
            (Verb::Resume, Subject::Listener { name, .. }) => (
                format!("RESUME '{name}'"),
                format!("Resume listener '{name}'{at}?"),
                format!("listener '{name}' was resumed"),
            ),
            (Verb::Kill, _) => {
                return Err("K kills a session: choose one on the screen Sessions or Pins");
            }
            (Verb::Drain, _) => {
                return Err("D drains a backend: choose one on the screen Backends");
            }
            (Verb::Move, _) => {
                return Err("M moves connections of a backend: choose one on the screen Backends");
            }
            (Verb::Pause, _) => {
                return Err("P pauses a listener: choose one on the screen Overview");
            }
            (Verb::Resume, _) => {
                return Err(
                    "R resumes a backend or a listener: choose one on the screen Backends or Overview",
                );
            }
        };
        Ok(Self {
            proxy: row.proxy,
            sql,
            question: Shown::new(&question),
            done: Shown::new(&done),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(subject: Subject) -> Row {
        Row::new(&[], []).about(subject)
    }

    #[test]
    fn a_question_names_the_thing_and_its_statement_does_it() {
        let session = row(Subject::Session {
            listener: "127.0.0.1:3307".into(),
            id: 1_234,
            user: "app\x1b[2J".into(),
        });
        let one = [Proxy::new(Shown::new("a"))];
        let kill = Action::new(Verb::Kill, &session, &one).unwrap();
        assert_eq!(kill.sql, "KILL '127.0.0.1:3307':1234");
        let question = kill.question.as_str();
        assert!(
            question.starts_with("Kill session 1234 of user 'app\\u{1b}[2J' on"),
            "{question}"
        );
        assert!(!question.contains("proxy"), "{question}");
        let several = ["a", "b"].map(|name| Proxy::new(Shown::new(name)));
        let backend = row(Subject::Backend("db 1".into()));
        let drain = Action::new(Verb::Drain, &backend, &several).unwrap();
        assert_eq!(drain.sql, "DRAIN BACKEND 'db 1'");
        assert!(
            drain
                .question
                .as_str()
                .starts_with("Drain backend 'db 1' of proxy a? ")
        );
        let pooled = row(Subject::Listener {
            name: "front".into(),
            is_pooled: true,
        });
        let pause = Action::new(Verb::Pause, &pooled, &one).unwrap();
        assert_eq!(pause.sql, "PAUSE 'front'");
    }

    #[test]
    fn what_does_not_fit_the_row_is_refused_with_the_screen_that_has_it() {
        let one = [Proxy::new(Shown::new("a"))];
        for verb in [
            Verb::Kill,
            Verb::Drain,
            Verb::Resume,
            Verb::Pause,
            Verb::Move,
        ] {
            let refused = Action::new(verb, &row(Subject::None), &one).unwrap_err();
            assert!(refused.contains("choose one on the screen"), "{refused}");
        }
        let plain = row(Subject::Listener {
            name: "front".into(),
            is_pooled: false,
        });
        let refused = Action::new(Verb::Pause, &plain, &one).unwrap_err();
        assert!(refused.contains("share connections"), "{refused}");
    }
}
