//! Keyspace notifications.
//!
//! | channel | payload | class in `notify-keyspace-events` |
//! |---|---|---|
//! | `__keyspace@DB__:KEY` | the event: `set`, `del`, `expired` | `K` |
//! | `__keyevent@DB__:EVENT` | the key | `E` |
//!
//! Source: <https://valkey.io/topics/notifications/>.

use std::fmt;

const KEY_SPACE: &str = "__keyspace@";
const KEY_EVENT: &str = "__keyevent@";

/// What happened to a key. The server sends such notifications only if they are switched on, for example with
/// `CONFIG SET notify-keyspace-events KEA`. It does not keep them: after a [`Gap`](super::Gap) events are missing.
///
/// ```no_run
/// use onecopy_valkey::blocking::{Connection, Subscriber};
/// use onecopy_valkey::pubsub::{Delivery, key_event_channel};
/// use onecopy_valkey::raw;
///
/// # fn main() -> Result<(), onecopy_valkey::Error> {
/// Connection::connect("redis://localhost")?.run(&raw("CONFIG").args(["SET", "notify-keyspace-events", "Ex"]))?;
/// let mut subscriber = Subscriber::connect("redis://localhost")?;
/// subscriber.subscribe(key_event_channel(0, "expired"))?;
/// loop {
///     if let Delivery::Message(message) = subscriber.next()?
///         && let Some(event) = message.key_event()
///     {
///         println!("{:?} of database {} has expired", event.key(), event.database());
///     }
/// }
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyEvent<'r> {
    database: u64,
    event: &'r [u8],
    key: &'r [u8],
}

impl<'r> KeyEvent<'r> {
    /// Reads a message. `None` if it is no such notification.
    pub(super) fn read(channel: &'r [u8], payload: &'r [u8]) -> Option<Self> {
        let (is_event, rest) = match channel.strip_prefix(KEY_EVENT.as_bytes()) {
            Some(rest) => (true, rest),
            None => (false, channel.strip_prefix(KEY_SPACE.as_bytes())?),
        };
        let end = rest.iter().position(|&byte| byte == b'_')?;
        let (database, rest) = rest.split_at(end);
        let name = rest.strip_prefix(b"__:")?;
        let is_number = !database.is_empty() && database.iter().all(u8::is_ascii_digit);
        let database = std::str::from_utf8(database).ok()?.parse().ok()?;
        let (event, key) = if is_event {
            (name, payload)
        } else {
            (payload, name)
        };
        is_number.then_some(Self {
            database,
            event,
            key,
        })
    }

    /// Returns the number of the key's database.
    pub fn database(&self) -> u64 {
        self.database
    }

    /// Returns the name of the event, such as `set`, `del` or `expired`.
    pub fn event(&self) -> &'r [u8] {
        self.event
    }

    /// Returns the key.
    pub fn key(&self) -> &'r [u8] {
        self.key
    }
}

impl fmt::Debug for KeyEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyEvent")
            .field("database", &self.database)
            .field("event", &self.event.escape_ascii().to_string())
            .field("key", &format_args!("{} bytes", self.key.len()))
            .finish()
    }
}

/// Returns the channel of all events of one key. Subscribe to it as a channel; as a pattern, `key` may be one, and
/// [`escape_pattern`] escapes one that is not.
///
/// ```
/// use onecopy_valkey::pubsub::key_space_channel;
///
/// assert_eq!(key_space_channel(0, "cart:7"), b"__keyspace@0__:cart:7");
/// ```
pub fn key_space_channel(database: u64, key: impl AsRef<[u8]>) -> Vec<u8> {
    channel(KEY_SPACE, database, key.as_ref())
}

/// Returns the channel of one event of all keys of a database.
///
/// ```
/// use onecopy_valkey::pubsub::key_event_channel;
///
/// assert_eq!(key_event_channel(0, "expired"), b"__keyevent@0__:expired");
/// ```
pub fn key_event_channel(database: u64, event: impl AsRef<[u8]>) -> Vec<u8> {
    channel(KEY_EVENT, database, event.as_ref())
}

fn channel(prefix: &str, database: u64, name: &[u8]) -> Vec<u8> {
    let mut channel = format!("{prefix}{database}__:").into_bytes();
    channel.extend_from_slice(name);
    channel
}

/// Returns a glob pattern that matches exactly this text, for a part of a pattern.
///
/// ```
/// use onecopy_valkey::pubsub::escape_pattern;
///
/// assert_eq!(escape_pattern("what?[x]*"), br"what\?\[x\]\*");
/// ```
pub fn escape_pattern(text: impl AsRef<[u8]>) -> Vec<u8> {
    let mut pattern = Vec::new();
    for &byte in text.as_ref() {
        if matches!(byte, b'*' | b'?' | b'[' | b']' | b'\\') {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern
}
