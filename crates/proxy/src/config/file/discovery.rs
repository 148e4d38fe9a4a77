//! `discover` and `forget-after` of a listener.

use toml::Spanned;

use super::error::Problem;
use super::value::Time;
use crate::config::{DiscoveryConfig, HealthConfig};

/// Whether servers are found, and how long they stay.
pub(super) fn discovery(
    discover: Option<Spanned<bool>>,
    forget_after: Option<Spanned<Time>>,
    health: &HealthConfig,
) -> Result<Option<DiscoveryConfig>, Problem> {
    let Some(discover) = discover.filter(|discover| *discover.get_ref()) else {
        return match forget_after {
            None => Ok(None),
            Some(time) => Err(
                Problem::at(time.span(), "`forget-after` without `discover = true`")
                    .hint("set discover = true, or remove it"),
            ),
        };
    };
    if health.login.is_none() || health.interval.is_none() {
        let message = "discover = true needs health checks that can ask for other servers";
        return Err(Problem::at(discover.span(), message).hint(
            "give `user` and `password-file` in [health]; to ask for replicas it needs REPLICATION MASTER ADMIN (MariaDB) or REPLICATION SLAVE \
             (MySQL)",
        ));
    }
    let mut config = DiscoveryConfig::default();
    if let Some(time) = forget_after {
        config.forget_after = time.into_inner().0;
    }
    Ok(Some(config))
}
