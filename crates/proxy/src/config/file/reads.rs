//! Keys that say how replicas are used for reads.

use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::section::{set, set_time, set_time_or_off};
use super::value::{Time, TimeOrOff};
use crate::config::{Consistency, Reads, ReplicaReads};

/// Where reads go.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Destination {
    Primary,
    Replica,
}

/// What they show.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shown {
    Session,
    None,
}

/// How replicas are used for reads. Without a destination they are not, and nothing else can be said of it.
pub(super) fn replica_reads(
    to: Option<Destination>,
    consistency: Option<Spanned<Shown>>,
    max_lag: Option<Spanned<TimeOrOff>>,
    read_wait: Option<Spanned<Time>>,
) -> Result<Option<ReplicaReads>, Problem> {
    let Some(to) = to else {
        let settings = [
            ("consistency", consistency.map(|one| one.span())),
            ("max-lag", max_lag.map(|one| one.span())),
            ("read-wait", read_wait.map(|one| one.span())),
        ];
        let mut needless = settings.into_iter();
        return match needless.find_map(|(key, span)| Some((key, span?))) {
            None => Ok(None),
            Some((key, span)) => {
                let message = format!("`{key}` without `reads`");
                Err(Problem::at(span, message).hint("give reads = \"replica\" too, or remove it"))
            }
        };
    };
    let mut reads = ReplicaReads {
        to: to.into(),
        ..ReplicaReads::default()
    };
    let consistency = consistency.map(|one| one.into_inner().into());
    set(&mut reads.consistency, consistency);
    set_time_or_off(&mut reads.max_lag, max_lag.map(Spanned::into_inner));
    set_time(&mut reads.read_wait, read_wait.map(Spanned::into_inner));
    Ok(Some(reads))
}

impl From<Destination> for Reads {
    fn from(destination: Destination) -> Self {
        match destination {
            Destination::Primary => Self::Primary,
            Destination::Replica => Self::Replica,
        }
    }
}

impl From<Shown> for Consistency {
    fn from(shown: Shown) -> Self {
        match shown {
            Shown::Session => Self::Session,
            Shown::None => Self::None,
        }
    }
}
