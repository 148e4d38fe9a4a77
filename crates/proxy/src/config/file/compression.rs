//! Compression as a file asks for it, on each side.

use onecopy_mysql_proto::compression::{self, Method};
use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use crate::config::Offered;

/// What a listener offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Offer {
    Backend,
    Off,
    Zlib,
    Zstd,
    Both,
}

/// What a backend is spoken to by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Algorithm {
    Off,
    Zlib,
    Zstd,
}

impl From<Offer> for Offered {
    fn from(offer: Offer) -> Self {
        match offer {
            Offer::Backend => Self::Backend,
            Offer::Off => Self::Off,
            Offer::Zlib => Self::Zlib,
            Offer::Zstd => Self::Zstd,
            Offer::Both => Self::Both,
        }
    }
}

/// How a backend is spoken to; the level is checked against the algorithm's.
pub(super) fn method(
    algorithm: Option<Algorithm>,
    level: Option<Spanned<u8>>,
) -> Result<Option<Method>, Problem> {
    let algorithm = match algorithm {
        None | Some(Algorithm::Off) => {
            return match level {
                None => Ok(None),
                Some(level) => {
                    let message = "a compression level needs an algorithm";
                    Err(Problem::at(level.span(), message)
                        .hint("set `compression` to \"zlib\" or \"zstd\""))
                }
            };
        }
        Some(Algorithm::Zlib) => compression::Algorithm::Zlib,
        Some(Algorithm::Zstd) => compression::Algorithm::Zstd,
    };
    let Some(level) = level else {
        let level = Method::default_level(algorithm);
        return Ok(Some(Method::new(algorithm, level)));
    };
    let most = Method::max_level(algorithm);
    if !(1..=most).contains(level.get_ref()) {
        let message = format!("{algorithm} has levels from 1 to {most}");
        return Err(Problem::at(level.span(), message));
    }
    Ok(Some(Method::new(algorithm, level.into_inner())))
}
