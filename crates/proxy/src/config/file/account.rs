//! Accounts of a listener in a file.

use std::path::{Path, PathBuf};

use onecopy_pool::Rate;
use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::reads::Destination;
use super::secrets::{secret, stored};
use super::section::Sharing;
use super::value::{CountOrOff, Password, TimeOrOff};
use crate::config::{AccountConfig, Mode};

/// One of `account`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Account {
    user: String,
    password: Option<Spanned<Password>>,
    password_file: Option<Spanned<PathBuf>>,
    hash: Option<Spanned<String>>,
    query_timeout: Option<TimeOrOff>,
    statement_rate: Option<CountOrOff>,
    statement_burst: Option<Spanned<u32>>,
    reads: Option<Destination>,
    mode: Option<Spanned<Sharing>>,
}

impl Account {
    pub(super) fn config(self, folder: &Path) -> Result<AccountConfig, Problem> {
        let has_password = self.password.is_some() || self.password_file.is_some();
        let password = secret(self.password, self.password_file, folder)?;
        let mut config = AccountConfig::new(self.user, password.unwrap_or_default());
        config.hash = self
            .hash
            .map(|hash| stored(&hash, has_password))
            .transpose()?;
        let timeout = self.query_timeout;
        config.query_timeout = timeout.map(|TimeOrOff(time)| time.unwrap_or_default());
        let rate = self.statement_rate.and_then(|CountOrOff(rate)| rate);
        let burst = self.statement_burst;
        if let (None, Some(burst)) = (rate, &burst) {
            let message = "`statement-burst` without `statement-rate`";
            return Err(Problem::at(burst.span(), message)
                .hint("give statement-rate too: statements a second"));
        }
        config.reads = self.reads.map(Into::into);
        if let Some(mode) = self.mode {
            let span = mode.span();
            let mode = Mode::from(mode.into_inner());
            if mode.keeps_connection() && config.reads.is_some() {
                let message = format!("`reads` of an account with mode = \"{mode}\" has no effect");
                return Err(Problem::at(span, message)
                    .hint("remove one of them: reads go to replicas with mode = \"transaction\""));
            }
            config.mode = Some(mode);
        }
        config.statement_rate = rate.map(|per_second| Rate {
            per_second,
            burst: burst.map_or(per_second, Spanned::into_inner),
        });
        Ok(config)
    }
}
