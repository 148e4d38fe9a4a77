//! `[slow-log]` and `[audit-log]`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::section::{set, set_time};
use super::value::{SizeOrOff, Time};
use crate::config::{AuditEvents, Config, Literals, LogFileConfig, WhenFull};

/// A line may have some 70 KiB where all of its bytes have to be escaped: 128 KiB.
const LEAST_SIZE: usize = 128 << 10;

/// All of them are renamed, one after the other.
const MOST_KEPT: u32 = 1_000;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SlowLog {
    file: Option<Spanned<PathBuf>>,
    threshold: Option<Time>,
    sample: Option<Spanned<f64>>,
    literals: Option<Shown>,
    max_size: Option<Spanned<SizeOrOff>>,
    keep: Option<Spanned<u32>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct AuditLog {
    file: Option<Spanned<PathBuf>>,
    what: Option<Spanned<Vec<What>>>,
    users: Option<Vec<String>>,
    except_users: Option<Vec<String>>,
    sample: Option<Spanned<f64>>,
    literals: Option<Shown>,
    max_size: Option<Spanned<SizeOrOff>>,
    keep: Option<Spanned<u32>>,
    when_full: Option<Full>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shown {
    Redacted,
    Kept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum What {
    Logins,
    Statements,
    Admin,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Full {
    Drop,
    Wait,
}

impl SlowLog {
    pub(super) fn put(self, config: &mut Config, folder: &Path) -> Result<(), Problem> {
        let log = &mut config.slow_log;
        put_file(&mut log.file, self.file, folder)?;
        put_rotation(&mut log.file, self.max_size, self.keep)?;
        set_time(&mut log.threshold, self.threshold);
        set(&mut log.sample, sample(self.sample)?);
        set(&mut log.literals, self.literals.map(Literals::from));
        Ok(())
    }
}

impl AuditLog {
    /// Behind the slow log: both need files of their own.
    pub(super) fn put(self, config: &mut Config, folder: &Path) -> Result<(), Problem> {
        let log = &mut config.audit_log;
        let span = self.file.as_ref().map(Spanned::span);
        put_file(&mut log.file, self.file, folder)?;
        if let (Some(span), Some(path)) = (span, &log.file.path)
            && config.slow_log.file.path.as_ref() == Some(path)
        {
            let message = "[slow-log] has the same `file`";
            return Err(Problem::at(span, message).hint("give each log a file of its own"));
        }
        put_rotation(&mut log.file, self.max_size, self.keep)?;
        if let Some(what) = self.what {
            if what.get_ref().is_empty() {
                return Err(Problem::at(what.span(), "`what` is empty").hint(
                    "list \"logins\", \"statements\" or \"admin\"; without `file` there is no audit log",
                ));
            }
            let has = |one| what.get_ref().contains(&one);
            log.what = AuditEvents {
                logins: has(What::Logins),
                statements: has(What::Statements),
                admin: has(What::Admin),
            };
        }
        set(&mut log.users, self.users);
        set(&mut log.except_users, self.except_users);
        set(&mut log.sample, sample(self.sample)?);
        set(&mut log.literals, self.literals.map(Literals::from));
        set(&mut log.when_full, self.when_full.map(WhenFull::from));
        Ok(())
    }
}

fn put_file(
    log: &mut LogFileConfig,
    file: Option<Spanned<PathBuf>>,
    folder: &Path,
) -> Result<(), Problem> {
    let Some(file) = file else { return Ok(()) };
    if file.get_ref().as_os_str().is_empty() {
        return Err(Problem::at(file.span(), "`file` is empty").hint("leave it out for no log"));
    }
    let (span, path) = (file.span(), folder.join(file.into_inner()));
    let within = path.parent().unwrap_or(Path::new(""));
    let is_there = within.as_os_str().is_empty() || within.is_dir();
    if !is_there {
        let message = format!("the folder of `file` is not there: {}", within.display());
        return Err(Problem::at(span, message).hint("create it, for the proxy's user to write to"));
    }
    log.path = Some(path);
    Ok(())
}

fn put_rotation(
    log: &mut LogFileConfig,
    max_size: Option<Spanned<SizeOrOff>>,
    keep: Option<Spanned<u32>>,
) -> Result<(), Problem> {
    if let Some(size) = max_size {
        let span = size.span();
        let SizeOrOff(size) = size.into_inner();
        if size.is_some_and(|size| size < LEAST_SIZE) {
            let message = "`max-size` is too small";
            return Err(Problem::at(span, message).hint(
                "give at least \"128KiB\", or \"off\" where another program rotates the file",
            ));
        }
        log.max_size = size.map(|size| size as u64);
    }
    if let Some(keep) = keep {
        let (span, keep) = (keep.span(), keep.into_inner());
        if keep > MOST_KEPT {
            let message = format!("`keep` is at most {MOST_KEPT}");
            return Err(Problem::at(span, message));
        }
        log.keep = keep;
    }
    Ok(())
}

pub(super) fn sample(sample: Option<Spanned<f64>>) -> Result<Option<f64>, Problem> {
    let Some(sample) = sample else {
        return Ok(None);
    };
    let (span, share) = (sample.span(), sample.into_inner());
    // What is no number is not in it either.
    match (0.0..=1.0).contains(&share) {
        true => Ok(Some(share)),
        false => Err(Problem::at(span, "`sample` is not between 0 and 1")
            .hint("it is a share: 0.01 for one in a hundred, 1 for all")),
    }
}

impl From<Shown> for Literals {
    fn from(shown: Shown) -> Self {
        match shown {
            Shown::Redacted => Self::Redacted,
            Shown::Kept => Self::Kept,
        }
    }
}

impl From<Full> for WhenFull {
    fn from(full: Full) -> Self {
        match full {
            Full::Drop => Self::Drop,
            Full::Wait => Self::Wait,
        }
    }
}
