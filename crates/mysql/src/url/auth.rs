//! The options of authentication.

use std::fs::File;
use std::io::Read;

use onecopy_mysql_proto::auth::{MAX_PEM_BYTES, Plugin, PluginSet, PublicKey};

use super::bad;
use crate::Error;

pub(super) fn plugins(value: &str) -> Result<PluginSet, Error> {
    let mut allowed = PluginSet::empty();
    for name in value.split(',') {
        let plugin = Plugin::from_name(name.as_bytes()).ok_or_else(|| {
            let known = Plugin::ALL.map(Plugin::name).join(", ");
            bad(format!("auth-plugins: '{name}' is none of {known}"))
        })?;
        allowed |= plugin.into();
    }
    Ok(allowed)
}

pub(crate) fn public_key(path: &str) -> Result<PublicKey, Error> {
    let mut pem = Vec::new();
    // One byte more than a key has is enough to refuse it: the path may name a device.
    File::open(path)
        .and_then(|file| file.take(MAX_PEM_BYTES as u64 + 1).read_to_end(&mut pem))
        .map_err(|error| bad(format!("server-public-key: can't read '{path}': {error}")))?;
    PublicKey::from_pem(&pem).map_err(|error| bad(format!("server-public-key: '{path}': {error}")))
}
