//! `[digests]`.

use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::value::CountOrOff;
use crate::config::Config;

/// A worker looks at all of its digests when one has to leave for another.
const MAX_DIGESTS: usize = 10_000;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Digests {
    max: Option<Spanned<CountOrOff>>,
}

impl Digests {
    pub(super) fn put(self, config: &mut Config) -> Result<(), Problem> {
        let Some(max) = self.max else { return Ok(()) };
        let span = max.span();
        let CountOrOff(count) = max.into_inner();
        let count = count.unwrap_or(0) as usize;
        if count > MAX_DIGESTS {
            return Err(Problem::at(
                span,
                format!("{count} digests are too many; each worker keeps at most {MAX_DIGESTS}"),
            ));
        }
        config.digests.max = count;
        Ok(())
    }
}
