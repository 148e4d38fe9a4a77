//! The settings of a pool.

use std::fmt;
use std::time::Duration;

/// The settings of a pool. Create it with [`PoolConfig::default`] and set its fields.
///
/// # Example
/// ```
/// use std::time::Duration;
///
/// use onecopy_pool::PoolConfig;
///
/// let mut config = PoolConfig::default();
/// config.max = 20;
/// config.acquire_timeout = Some(Duration::from_secs(3));
/// assert!(config.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolConfig {
    /// The number of connections that are kept open, even if nobody uses them. Default: 0.
    pub min: usize,
    /// The maximum number of connections, from the first byte of their login until they are closed. Default: 10.
    pub max: usize,
    /// How long a caller waits for a connection. The error then contains the last error of connecting. `None`: forever.
    /// Default: 30 seconds.
    pub acquire_timeout: Option<Duration>,
    /// A connection that nobody has used for this long is closed, unless it is one of the last [`min`](Self::min). `None`: never.
    /// Default: 10 minutes.
    pub idle_timeout: Option<Duration>,
    /// A connection of this age is closed when it is returned or idle. It is reduced by up to an eighth at random (jitter), so that
    /// connections that were opened together are not closed together. `None`: never. Default: 30 minutes.
    pub lifetime: Option<Duration>,
    /// A connection that was idle for this long is pinged before it is handed out. For a shorter time it is only checked whether
    /// the server has closed it, without a round trip. Default: 30 seconds.
    pub ping_after: Duration,
    /// The maximum number of connections that are opened at the same time. Default: 4.
    pub max_connecting: usize,
    /// The pause after a failed attempt to connect. It doubles with each further failure, and is reduced by up to a half at random
    /// (jitter). Default: 100 ms.
    pub backoff_min: Duration,
    /// The longest pause between two attempts to connect. Default: 5 seconds.
    pub backoff_max: Duration,
    /// Whether the session of a connection is reset when it is returned, in the background. Default: on. Without it, what the last
    /// borrower changed is visible to the next one: variables, temporary tables, locks and the current database of MySQL; the
    /// database, user, name and tracking of Valkey.
    pub reset: bool,
    /// How long it may take to restore a returned connection: to read or cancel what its borrower left, and to reset the session.
    /// After that it is closed. Default: 10 seconds.
    pub reset_timeout: Duration,
    /// How many bytes of memory an idle connection's buffers may keep. Default: 16 KiB.
    pub idle_keep: usize,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            min: 0,
            max: 10,
            acquire_timeout: Some(Duration::from_secs(30)),
            idle_timeout: Some(Duration::from_secs(10 * 60)),
            lifetime: Some(Duration::from_secs(30 * 60)),
            ping_after: Duration::from_secs(30),
            max_connecting: 4,
            backoff_min: Duration::from_millis(100),
            backoff_max: Duration::from_secs(5),
            reset: true,
            reset_timeout: Duration::from_secs(10),
            idle_keep: 16 << 10,
        }
    }
}

impl PoolConfig {
    /// Checks that the settings do not contradict each other.
    ///
    /// # Errors
    /// Fails if `max` or `max_connecting` is 0, or `min` is greater than `max`.
    pub fn check(&self) -> Result<(), PoolConfigError> {
        match self {
            Self { max: 0, .. } => Err(PoolConfigError::NoConnections),
            Self {
                max_connecting: 0, ..
            } => Err(PoolConfigError::NoConnects),
            Self { min, max, .. } if min > max => Err(PoolConfigError::MinOverMax {
                min: *min,
                max: *max,
            }),
            _ => Ok(()),
        }
    }
}

/// Settings that contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolConfigError {
    /// `max` is 0.
    NoConnections,
    /// `max_connecting` is 0.
    NoConnects,
    /// `min` is greater than `max`.
    MinOverMax {
        /// The minimum.
        min: usize,
        /// The maximum.
        max: usize,
    },
}

impl fmt::Display for PoolConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConnections => f.write_str("pool-max is 0; a pool needs at least 1 connection"),
            Self::NoConnects => {
                f.write_str("pool-max-connecting is 0; a pool needs at least 1 to connect")
            }
            Self::MinOverMax { min, max } => {
                write!(
                    f,
                    "pool-min {min} is greater than pool-max {max}; raise pool-max"
                )
            }
        }
    }
}

impl std::error::Error for PoolConfigError {}
