//! The logs of statements: slow ones, and the audit log.

use std::path::PathBuf;
use std::time::Duration;

/// The log of slow statements: a JSON object per line.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowLogConfig {
    /// Where it is; `file.path` of `None`, the default: there is none.
    pub file: LogFileConfig,
    /// Statements that take at least so long are logged, from their arrival to the last byte of their reply. The time that they wait for a
    /// server connection counts.
    pub threshold: Duration,
    /// The share of these statements that is logged, from 0 to 1.
    pub sample: f64,
    /// Whether values are in the log.
    pub literals: Literals,
}

impl Default for SlowLogConfig {
    fn default() -> Self {
        Self {
            file: LogFileConfig::default(),
            threshold: Duration::from_millis(200),
            sample: 1.0,
            literals: Literals::Redacted,
        }
    }
}

/// The audit log: who logs in and what is executed, a JSON object per line.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditLogConfig {
    /// Where it is; `file.path` of `None`, the default: there is none.
    pub file: LogFileConfig,
    /// What is logged.
    pub what: AuditEvents,
    /// Whose logins and statements are logged; empty: everybody's.
    pub users: Vec<String>,
    /// Whose logins and statements are not logged.
    pub except_users: Vec<String>,
    /// The share of statements that is logged, from 0 to 1. Logins and administration are always logged.
    pub sample: f64,
    /// Whether values are in the log.
    pub literals: Literals,
    /// What happens to a line when too many others wait to be written.
    pub when_full: WhenFull,
}

impl Default for AuditLogConfig {
    fn default() -> Self {
        Self {
            file: LogFileConfig::default(),
            what: AuditEvents::default(),
            users: Vec::new(),
            except_users: Vec::new(),
            sample: 1.0,
            literals: Literals::Redacted,
            when_full: WhenFull::Drop,
        }
    }
}

/// A file that is rotated. Only its owner and its group can read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFileConfig {
    /// Its path; `None`: nothing is logged.
    pub path: Option<PathBuf>,
    /// It is renamed and begun anew before it is larger than this, in bytes. `None`: it grows.
    pub max_size: Option<u64>,
    /// How many renamed files are kept: `.1` is the last one.
    pub keep: u32,
}

impl Default for LogFileConfig {
    fn default() -> Self {
        Self {
            path: None,
            max_size: Some(100 << 20),
            keep: 10,
        }
    }
}

/// What the audit log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditEvents {
    /// Logins, refused ones too, changes of user, and the ends of sessions.
    pub logins: bool,
    /// Statements that were executed, and those that failed or that the proxy refused.
    pub statements: bool,
    /// What administrators do, on the admin listener and on the page.
    pub admin: bool,
}

impl Default for AuditEvents {
    fn default() -> Self {
        Self {
            logins: true,
            statements: true,
            admin: true,
        }
    }
}

/// Whether values are in a log of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Literals {
    /// Only digests are logged.
    #[default]
    Redacted,
    /// The text of statements is logged too, except for those that may have passwords in them.
    Kept,
}

/// What happens when lines come faster than they can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// Lines are lost, and counted.
    #[default]
    Drop,
    /// All sessions of the worker wait.
    Wait,
}
