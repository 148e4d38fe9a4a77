//! A listener, as its sessions see it.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use crate::backend::Backends;
use crate::config::ListenerConfig;
use crate::key::Key;
use crate::pooling::account_reading::AccountReading;
use crate::pooling::accounts::Accounts;
use crate::pooling::pool::Pool;
use crate::pooling::wrong_logins::WrongLogins;
use crate::queue::{Patience, Queue};
use crate::registry::Registry;

/// One listener, as its sessions see it.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) config: ListenerConfig,
    pub(crate) backends: Backends,
    pub(crate) registry: Arc<Registry>,
    pub(crate) refused: Arc<Refusals>,
    /// Who may log in, where its clients share connections, and who tried with a wrong password.
    pub(crate) accounts: Accounts,
    pub(crate) wrong_logins: Arc<WrongLogins>,
    /// When its accounts are read from a server, where they are.
    pub(crate) account_reading: Arc<AccountReading>,
    /// Where passwords may be put under another key, or are checked here.
    pub(crate) key: Option<Arc<Key>>,
    /// The connections that its clients share, where they do.
    pub(crate) pool: Option<Arc<Pool>>,
    /// Sessions that wait for a place on a backend.
    pub(crate) queue: Arc<Queue>,
    pub(crate) patience: Patience,
    /// What is in force in its place since a reload. Sessions keep theirs once they have a backend.
    pub(crate) successor: OnceLock<Arc<Listener>>,
}

/// Clients that were refused before they had a session.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    pub(crate) max_connections: AtomicU64,
    pub(crate) open_files: AtomicU64,
}
