//! The rules of a listener: which one applies to a statement.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use onecopy_mysql_proto::digest::Digester;
use regex::bytes::{RegexSet, SetMatches};

use super::limiter::Limiter;
use super::look::{Reading, starts_with};
use crate::backend::{Name, Part};
use crate::config::{RuleConfig, RuleTarget, compile};

/// So much of a digest is matched.
pub(crate) const DIGEST_BYTES: usize = crate::digests::TEXT_BYTES;

/// A rule in force.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) config: RuleConfig,
    /// Its place among the expressions.
    expression: Option<usize>,
    words: Vec<Box<[u8]>>,
    /// What its reads are a part of.
    pub(crate) part: Option<Part>,
    pub(crate) limiter: Limiter,
    /// Statements that it was applied to, and those that it has refused: by its text, or because of its rate.
    pub(crate) statements: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) limited: AtomicU64,
}

/// All rules of a listener, in order.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    all: Vec<Arc<Rule>>,
    /// All of them at once: a statement's digest is read once for any number of rules.
    expressions: RegexSet,
}

/// A statement, as rules see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'s> {
    pub(crate) user: &'s [u8],
    pub(crate) schema: Option<&'s [u8]>,
    pub(crate) sql: &'s [u8],
    pub(crate) reading: Reading,
}

/// Why a rule does not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mismatch {
    User,
    Schema,
    StartsWith,
    Digest,
}

impl Mismatch {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Schema => "schema",
            Self::StartsWith => "starts-with",
            Self::Digest => "digest",
        }
    }
}

impl Rules {
    /// These from now on. Those that have not changed go on with their counts and their limits.
    ///
    /// # Errors
    /// Says what is wrong with their expressions.
    pub(crate) fn new(configs: &[RuleConfig], before: &Self) -> Result<Self, String> {
        let expressions: Vec<_> = configs
            .iter()
            .filter_map(|rule| rule.digest.as_deref())
            .collect();
        let mut at = 0;
        let rule = |config: &RuleConfig| {
            let expression = config.digest.as_ref().map(|_| {
                at += 1;
                at - 1
            });
            let mut known = before.all.iter();
            let same = known.find(|rule| rule.config == *config && rule.expression == expression);
            same.map_or_else(|| Arc::new(Rule::new(config, expression)), Arc::clone)
        };
        Ok(Self {
            all: configs.iter().map(rule).collect(),
            expressions: compile(&expressions)?,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn all(&self) -> &[Arc<Rule>] {
        &self.all
    }

    /// The first rule that applies.
    pub(crate) fn find(&self, subject: Subject<'_>, digester: &mut Digester) -> Option<&Arc<Rule>> {
        let mut matches = None;
        let mut all = self.all.iter();
        all.find(|rule| {
            rule.mismatch_without_digest(subject).is_none()
                && rule.expression.is_none_or(|at| {
                    let matches =
                        matches.get_or_insert_with(|| self.matches(subject.sql, digester));
                    matches.matched(at)
                })
        })
    }

    /// Of each rule, why it does not apply, the earlier ones left out of account.
    pub(crate) fn explain(
        &self,
        subject: Subject<'_>,
        digester: &mut Digester,
    ) -> Vec<(Arc<Rule>, Option<Mismatch>)> {
        let matches = self.matches(subject.sql, digester);
        let mismatch = |rule: &Rule| {
            let is_found = rule.expression.is_none_or(|at| matches.matched(at));
            let mismatch = rule.mismatch_without_digest(subject);
            mismatch.or((!is_found).then_some(Mismatch::Digest))
        };
        let all = self.all.iter();
        all.map(|rule| (Arc::clone(rule), mismatch(rule))).collect()
    }

    fn matches(&self, sql: &[u8], digester: &mut Digester) -> SetMatches {
        digester.digest(sql);
        self.expressions.matches(digester.text().as_bytes())
    }
}

impl Rule {
    fn new(config: &RuleConfig, expression: Option<usize>) -> Self {
        let words = config.starts_with.as_deref().unwrap_or_default();
        let limiter = Limiter::default();
        limiter.set(config.rate);
        let part = config.to.as_ref().map(|to| match to {
            RuleTarget::Primary => Part::Writes,
            RuleTarget::Replica => Part::Reads,
            RuleTarget::Backend(name) => Part::ReadsOf(Name::of(name)),
        });
        Self {
            config: config.clone(),
            expression,
            words: words
                .split_whitespace()
                .map(|word| word.as_bytes().into())
                .collect(),
            part,
            limiter,
            statements: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            limited: AtomicU64::new(0),
        }
    }

    fn mismatch_without_digest(&self, subject: Subject<'_>) -> Option<Mismatch> {
        let config = &self.config;
        if (config.user.as_ref()).is_some_and(|user| user.as_bytes() != subject.user) {
            return Some(Mismatch::User);
        }
        let schema = config.schema.as_ref().map(String::as_bytes);
        if schema.is_some() && schema != subject.schema {
            return Some(Mismatch::Schema);
        }
        let starts =
            self.words.is_empty() || starts_with(subject.sql, subject.reading, &self.words);
        (!starts).then_some(Mismatch::StartsWith)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::SeqCst;

    use super::*;

    fn rule(name: &str, change: impl FnOnce(&mut RuleConfig)) -> RuleConfig {
        let mut config = RuleConfig {
            name: name.to_owned(),
            ..RuleConfig::default()
        };
        change(&mut config);
        config
    }

    fn rules() -> Vec<RuleConfig> {
        vec![
            rule("report", |rule| rule.user = Some("report".into())),
            rule("shop", |rule| {
                rule.schema = Some("shop".into());
                rule.starts_with = Some("select SQL_NO_CACHE".into());
            }),
            rule("by id", |rule| {
                rule.digest = Some("FROM `t` WHERE `id` = \\?$".into())
            }),
            rule("deletes", |rule| rule.digest = Some("(?i)^delete ".into())),
        ]
    }

    fn found(rules: &Rules, user: &str, schema: Option<&str>, sql: &str) -> Option<String> {
        let subject = Subject {
            user: user.as_bytes(),
            schema: schema.map(str::as_bytes),
            sql: sql.as_bytes(),
            reading: Reading::default(),
        };
        let mut digester = Digester::new(DIGEST_BYTES);
        let rule = rules.find(subject, &mut digester);
        let explained = rules.explain(subject, &mut digester);
        let first = explained.iter().find(|(_, mismatch)| mismatch.is_none());
        assert_eq!(
            rule.map(|rule| &rule.config),
            first.map(|(rule, _)| &rule.config)
        );
        rule.map(|rule| rule.config.name.clone())
    }

    #[test]
    fn the_first_rule_whose_conditions_hold_applies() {
        let rules = Rules::new(&rules(), &Rules::default()).unwrap();
        for (user, schema, sql, expected) in [
            ("report", None, "SELECT 1", Some("report")),
            (
                "app",
                Some("shop"),
                "/* a */ (Select sql_no_cache 1)",
                Some("shop"),
            ),
            ("app", Some("shop"), "SELECT 1", None),
            ("app", Some("other"), "SELECT SQL_NO_CACHE 1", None),
            ("app", None, "SELECT SQL_NO_CACHE 1", None),
            ("app", None, "select * from t where id=7", Some("by id")),
            ("app", None, "select * from t where id=7 limit 1", None),
            ("app", None, "DELETE FROM t", Some("deletes")),
            ("app", None, "", None),
        ] {
            let found = found(&rules, user, schema, sql);
            assert_eq!(found.as_deref(), expected, "{user} {schema:?} {sql}");
        }
    }

    #[test]
    fn a_rule_that_stays_goes_on_counting() {
        let before = Rules::new(&rules(), &Rules::default()).unwrap();
        before.all[2].statements.fetch_add(7, SeqCst);
        let mut configs = rules();
        configs.remove(0);
        configs[2].reject = Some("no".into());
        let after = Rules::new(&configs, &before).unwrap();
        let counts: Vec<_> = after
            .all
            .iter()
            .map(|rule| rule.statements.load(SeqCst))
            .collect();
        assert_eq!(counts, [0, 7, 0]);
        assert!(!Arc::ptr_eq(&after.all[2], &before.all[3]));
    }
}
