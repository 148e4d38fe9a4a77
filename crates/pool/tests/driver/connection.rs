//! A connection to nowhere.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onecopy_pool::{Health, PoolConfig, Poolable, Returned, aio, blocking};

/// What connections are to do, and how many there are.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// So many connects panic first.
    pub(crate) panics: AtomicUsize,
    /// So many are refused for good behind them.
    pub(crate) refusals: AtomicUsize,
    /// Connections that exist.
    pub(crate) open: AtomicUsize,
    opened: AtomicUsize,
}

#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) pool: PoolConfig,
    pub(crate) peer: Arc<Peer>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) number: usize,
    pub(crate) returned: Returned,
    pub(crate) health: Health,
    pub(crate) restore: Restore,
    /// Whether it answers a ping.
    pub(crate) answers: bool,
    pub(crate) restored: usize,
    peer: Arc<Peer>,
}

/// How restoring it ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Restore {
    Well,
    Error,
    Panic,
}

#[derive(Debug)]
pub(crate) struct Error(pub(crate) &'static str);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Error {}

impl Config {
    pub(crate) fn new(max: usize) -> Self {
        let mut pool = PoolConfig::default();
        pool.max = max;
        pool.max_connecting = 1;
        pool.acquire_timeout = Some(Duration::from_secs(600));
        pool.backoff_min = Duration::from_millis(1);
        pool.backoff_max = Duration::from_millis(1);
        Self {
            pool,
            peer: Arc::default(),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.peer.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Poolable for Connection {
    type Config = Config;
    type Error = Error;

    fn pool_config(config: &Config) -> &PoolConfig {
        &config.pool
    }

    fn check(&mut self, _: bool, _: &Config) -> Health {
        self.health
    }

    fn returned(&mut self, _: &Config) -> Returned {
        self.returned
    }

    fn trim(&mut self, _: &Config) {}

    fn is_final(error: &Error) -> bool {
        error.0 == "refused"
    }

    fn closed(cause: &'static str) -> Error {
        Error(cause)
    }
}

impl Connection {
    fn open(config: &Config) -> Result<Box<Self>, Error> {
        let peer = &config.peer;
        let one_less = |left: usize| left.checked_sub(1);
        let take = |left: &AtomicUsize| {
            let taken = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
            taken.is_ok()
        };
        assert!(!take(&peer.panics), "a connect panics, as it was told to");
        if take(&peer.refusals) {
            return Err(Error("refused"));
        }
        peer.open.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(Self {
            number: peer.opened.fetch_add(1, Ordering::SeqCst) + 1,
            returned: Returned::Clean,
            health: Health::Good,
            restore: Restore::Well,
            answers: true,
            restored: 0,
            peer: Arc::clone(peer),
        }))
    }

    fn restored(&mut self) -> Result<(), Error> {
        match self.restore {
            Restore::Well => {
                self.restored += 1;
                self.returned = Returned::Clean;
                Ok(())
            }
            Restore::Error => Err(Error("not restored")),
            Restore::Panic => panic!("a restore panics, as it was told to"),
        }
    }
}

impl blocking::Connect for Connection {
    fn connect(config: &Config) -> Result<Box<Self>, Error> {
        Self::open(config)
    }

    fn restore(&mut self, _: &Config) -> Result<(), Error> {
        self.restored()
    }

    fn answers(&mut self, _: &Config) -> bool {
        self.answers
    }
}

impl aio::Connect for Connection {
    async fn connect(config: &Config) -> Result<Box<Self>, Error> {
        tokio::task::yield_now().await;
        Self::open(config)
    }

    async fn restore(&mut self, _: &Config) -> Result<(), Error> {
        tokio::task::yield_now().await;
        self.restored()
    }

    async fn answers(&mut self, _: &Config) -> bool {
        tokio::task::yield_now().await;
        self.answers
    }
}
