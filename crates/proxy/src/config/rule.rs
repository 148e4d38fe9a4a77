//! Rules for statements of a pooled listener.

use std::fmt;
use std::time::Duration;

use onecopy_pool::Rate;
use regex::bytes::{RegexSet, RegexSetBuilder};

/// What happens to statements of a kind.
///
/// A rule applies to statements that all of its conditions hold for; without one it applies to all. Of the rules of a listener the first one
/// that applies counts. Statements are those that are sent as text, prepared or executed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleConfig {
    /// The name in metrics, errors and on the admin listener. Unique in the listener.
    pub name: String,
    /// Condition: the user of the session.
    pub user: Option<String>,
    /// Condition: the schema that the session is in. A prepared statement belongs to the one that it was prepared in.
    pub schema: Option<String>,
    /// Condition: the first words of the statement, in any case; comments and parentheses in front of it do not count.
    pub starts_with: Option<String>,
    /// Condition: a regular expression that is found in the statement's
    /// [digest](onecopy_mysql_proto::digest), its text without literals: ``SELECT `name` FROM `product` WHERE `id` = ?``. Of longer digests
    /// the first 4 KiB are looked at.
    pub digest: Option<String>,
    /// Where the statement goes, if it only reads; all else goes to the primary. Needs
    /// [`ListenerConfig::replica_reads`](super::ListenerConfig::replica_reads). A comment in the statement overrides it.
    pub to: Option<RuleTarget>,
    /// It is not sent: its client gets error 3164 with this text.
    pub reject: Option<String>,
    /// How long it may take, in place of the [listener's](super::ListenerConfig::query_timeout) or account's time; zero: as long as it
    /// likes.
    pub timeout: Option<Duration>,
    /// How many of these statements may be sent, together, by all clients; more get error 1226.
    pub rate: Option<Rate>,
}

/// Where statements of a rule go that only read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleTarget {
    /// To the primary.
    Primary,
    /// To any replica.
    Replica,
    /// To the backend with this name, while it serves reads as a replica; else to another replica, or the primary. A backend with the
    /// [weight](super::BackendConfig::weight) 0 gets nothing else.
    Backend(String),
}

impl RuleTarget {
    /// As a file has it: `primary`, `replica`, or the name of a backend.
    pub(crate) fn from_text(text: String) -> Self {
        match text.as_str() {
            "primary" => Self::Primary,
            "replica" => Self::Replica,
            _ => Self::Backend(text),
        }
    }
}

impl fmt::Display for RuleTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primary => f.write_str("primary"),
            Self::Replica => f.write_str("replica"),
            Self::Backend(name) => write!(f, "backend '{name}'"),
        }
    }
}

/// The compiled expressions of one listener may take so many bytes.
const COMPILED_BYTES: usize = 16 << 20;

/// Compiles expressions of rules. Bytes are matched as they are, as digests are.
///
/// # Errors
/// Says what is wrong with one of them.
pub(crate) fn compile(expressions: &[&str]) -> Result<RegexSet, String> {
    let mut builder = RegexSetBuilder::new(expressions);
    builder.unicode(false).size_limit(COMPILED_BYTES);
    builder.build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_checked() {
        assert!(compile(&["^SELECT .* FROM `t`"]).is_ok());
        let open = compile(&["("]).unwrap_err();
        assert!(open.contains("unclosed group"), "{open}");
        let large = compile(&["(a{1000}){1000}"]).unwrap_err();
        assert!(large.contains("size limit"), "{large}");
    }
}
