//! The options of pools.

use onecopy_net::url::UrlOption;

use super::bad;
use crate::{Config, Error};

/// All of them, as the error for an unknown option lists them.
pub(super) const NAMES: &str = "pool-min, pool-max, pool-acquire-timeout, pool-idle-timeout, pool-lifetime, pool-ping-after, \
                                pool-max-connecting, pool-reset, pool-reset-timeout and pool-idle-keep";

pub(super) fn set(config: &mut Config, option: &UrlOption<'_>) -> Result<(), Error> {
    let pool = &mut config.pool;
    match option.name {
        "pool-min" => pool.min = option.number()?,
        "pool-max" => pool.max = option.number()?,
        "pool-acquire-timeout" => pool.acquire_timeout = option.seconds()?,
        "pool-idle-timeout" => pool.idle_timeout = option.seconds()?,
        "pool-lifetime" => pool.lifetime = option.seconds()?,
        "pool-ping-after" => pool.ping_after = option.seconds()?.unwrap_or_default(),
        "pool-max-connecting" => pool.max_connecting = option.number()?,
        "pool-reset" => pool.reset = option.flag()?,
        "pool-reset-timeout" => pool.reset_timeout = reset_timeout(option)?,
        "pool-idle-keep" => pool.idle_keep = option.bytes()?,
        name => {
            return Err(bad(format!(
                "unknown option '{name}'; those of pools are {NAMES}"
            )));
        }
    }
    Ok(())
}

fn reset_timeout(option: &UrlOption<'_>) -> Result<std::time::Duration, Error> {
    let timeout = option.seconds()?;
    timeout.ok_or_else(|| bad("pool-reset-timeout is 0; give seconds, or pool-reset=false"))
}
