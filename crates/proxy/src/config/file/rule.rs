//! Rules in a file.

use onecopy_pool::Rate;
use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::value::{CountOrOff, TimeOrOff};
use crate::config::{RuleConfig, RuleTarget, compile};

/// A table `[[mysql.rule]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RuleSection {
    name: Option<String>,
    user: Option<String>,
    schema: Option<String>,
    starts_with: Option<String>,
    digest: Option<Spanned<String>>,
    to: Option<String>,
    reject: Option<String>,
    timeout: Option<TimeOrOff>,
    rate: Option<CountOrOff>,
    burst: Option<Spanned<u32>>,
}

/// What it says; without a name it is called by its place.
pub(super) fn config(rule: Spanned<RuleSection>, place: usize) -> Result<RuleConfig, Problem> {
    let span = rule.span();
    let rule = rule.into_inner();
    if let Some(digest) = &rule.digest
        && let Err(why) = compile(&[digest.get_ref().as_str()])
    {
        // What is wrong is said in the last of its lines.
        let why = why.lines().last().unwrap_or_default().trim();
        let message = format!("`digest` is not a valid regular expression: {why}");
        return Err(Problem::at(digest.span(), message)
            .hint("in TOML write it in single quotes, so that backslashes stay"));
    }
    let rate = rule.rate.and_then(|CountOrOff(rate)| rate);
    if let (None, Some(burst)) = (rate, &rule.burst) {
        return Err(Problem::at(burst.span(), "`burst` without `rate`")
            .hint("give rate too: statements a second"));
    }
    let does_nothing =
        rule.to.is_none() && rule.reject.is_none() && rule.timeout.is_none() && rate.is_none();
    if does_nothing && rule.name.is_none() {
        return Err(Problem::at(span, "this rule does nothing").hint(
            "give it `to`, `reject`, `timeout` or `rate`; or a `name`, if it is there to count statements or to exempt them from later \
             rules",
        ));
    }
    Ok(RuleConfig {
        name: rule.name.unwrap_or_else(|| format!("rule {place}")),
        user: rule.user,
        schema: rule.schema,
        starts_with: rule.starts_with,
        digest: rule.digest.map(Spanned::into_inner),
        to: rule.to.map(RuleTarget::from_text),
        reject: rule.reject,
        timeout: rule.timeout.map(|TimeOrOff(time)| time.unwrap_or_default()),
        rate: rate.map(|per_second| Rate {
            per_second,
            burst: rule.burst.map_or(per_second, Spanned::into_inner),
        }),
    })
}
