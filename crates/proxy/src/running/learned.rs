//! What servers have told of their accounts and of other servers.

use super::Running;
use crate::config::changes::keep_tls;
use crate::config::{AccountConfig, BackendConfig, Changes};
use crate::error::Error;
use crate::lock::lock;

impl Running {
    /// The listener of that name has these accounts of a server from now on.
    pub(crate) fn learn_accounts(
        &self,
        listener: &str,
        accounts: Vec<AccountConfig>,
    ) -> Result<Changes, Error> {
        let _change = lock(&self.change);
        let before = self.in_force();
        let mut config = before.config.clone();
        let mut all = config.listeners.iter_mut();
        if let Some(listener) = all.find(|one| one.name == listener) {
            let known = listener.accounts.clone();
            listener.take_server_accounts(accounts);
            if listener.accounts == known {
                return Ok(Changes::default());
            }
        }
        self.install_all(&before, config)
    }

    /// The listener of that name has found these servers. Gives what has changed, and what is wrong with those that can't be used.
    pub(crate) fn learn_servers(
        &self,
        listener: &str,
        found: Vec<BackendConfig>,
    ) -> Result<(Changes, Vec<String>), Error> {
        let _change = lock(&self.change);
        let before = self.in_force();
        let mut config = before.config.clone();
        let Some(at) = (config.listeners.iter()).position(|one| one.name == listener) else {
            return Ok((Changes::default(), Vec::new()));
        };
        let (mut usable, mut wrong) = (Vec::new(), Vec::new());
        for backend in found {
            usable.push(backend);
            config.listeners[at].take_discovered(usable.iter().cloned());
            if let Err(error) = config.check() {
                wrong.push(error.to_string());
                usable.pop();
            }
        }
        config.listeners[at].take_discovered(usable);
        keep_tls(&before.config, &mut config);
        if Changes::between(&before.config, &config).is_empty() {
            return Ok((Changes::default(), wrong));
        }
        Ok((self.install_all(&before, config)?, wrong))
    }
}
