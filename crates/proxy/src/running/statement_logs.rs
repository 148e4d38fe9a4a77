//! The logs of statements of a running proxy.

use std::sync::Arc;

use super::{InForce, Running};
use crate::config::Config;
use crate::error::Error;
use crate::statement_log::{Opened, Outlet, Watched};

impl Running {
    /// Opens the logs of statements, anew where they are the same. The thread that writes them is started for the first one. `None` where
    /// there is none, and was none before.
    pub(super) fn open_statement_logs(
        &self,
        before: &InForce,
        config: &Config,
    ) -> Result<Option<Opened>, Error> {
        let opened = Opened::new(config).map_err(|failed| {
            Error::StatementLog(failed.which.table(), failed.path, failed.error)
        })?;
        if opened.is_none() && before.watched.is_none() {
            return Ok(None);
        }
        if self.outlet.get().is_none() {
            let outlet = Outlet::start(&self.log).map_err(Error::start("statement-log"))?;
            // Changes come one after the other: nobody else has set it.
            let _ = self.outlet.set(outlet);
        }
        Ok(Some(opened))
    }

    pub(super) fn log_statements(
        &self,
        config: &Config,
        opened: Option<Opened>,
    ) -> Option<Arc<Watched>> {
        let outlet = self.outlet.get()?;
        outlet.write_to(opened?);
        Watched::new(config, outlet).map(Arc::new)
    }

    /// The logs of statements, where there has been one.
    pub(crate) fn statement_logs(&self) -> Option<&Outlet> {
        self.outlet.get()
    }
}
