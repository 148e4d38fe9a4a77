//! `[upgrade]`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::section::set_time;
use super::value::Time;
use crate::config::Config;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Upgrade {
    socket: Option<PathBuf>,
    ready_timeout: Option<Time>,
    stay_timeout: Option<Time>,
}

impl Upgrade {
    pub(super) fn put(self, config: &mut Config, folder: &Path) {
        let socket = self.socket.map(|path| folder.join(path));
        config.upgrade.socket = socket;
        set_time(&mut config.upgrade.ready_timeout, self.ready_timeout);
        set_time(&mut config.upgrade.stay_timeout, self.stay_timeout);
    }
}
