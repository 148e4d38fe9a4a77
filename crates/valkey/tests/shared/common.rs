//! Which server, which counts, and waiting for what comes in its own time.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use onecopy_testkit::valkey::test_server;
use onecopy_valkey::aio::{Shared, SharedOptions};
use onecopy_valkey::{Config, raw};

/// Longer than anything that is waited for takes on a busy machine: only a hang reaches it.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// `small` in a test run, `large` in a soak.
pub(crate) fn count(small: usize, large: usize) -> usize {
    if is_soak() { large } else { small }
}

/// Whether this is a soak, with the machine to itself.
pub(crate) fn is_soak() -> bool {
    std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1")
}

/// The server over TCP, or however the given one is reached.
pub(crate) fn url() -> String {
    test_server().url()
}

pub(crate) fn config() -> Config {
    Config::from_url(&url()).unwrap()
}

pub(crate) async fn connect() -> Shared {
    Shared::connect(&url()).await.unwrap()
}

pub(crate) async fn connect_with(config: &Config, options: SharedOptions) -> Shared {
    Shared::connect_with(config, options).await.unwrap()
}

/// The options, changed.
pub(crate) fn options(change: impl FnOnce(&mut SharedOptions)) -> SharedOptions {
    let mut options = SharedOptions::default();
    change(&mut options);
    options
}

/// What comes of it, unless it hangs.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, work).await.expect("it hangs")
}

/// Asks until the answer is yes.
pub(crate) async fn until<F: Future<Output = bool>>(mut is_so: impl FnMut() -> F) {
    within(async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// The server's answer to ECHO, which is what was sent.
pub(crate) async fn echo(shared: &Shared, text: &str) -> Result<String, onecopy_valkey::Error> {
    let response = shared.run(&raw("ECHO").arg(text)).await?;
    Ok(response.reply().as_str().unwrap().to_owned())
}

/// The same with bytes that are shared and not copied.
pub(crate) async fn echo_bytes(
    shared: &Shared,
    bytes: &Bytes,
) -> Result<Vec<u8>, onecopy_valkey::Error> {
    let response = shared.run(&raw("ECHO").arg(bytes.clone())).await?;
    Ok(response.into_bytes().unwrap())
}

/// The connections of this name that the server has.
pub(crate) async fn connections(shared: &Shared, name: &str) -> usize {
    let list = shared.run(&raw("CLIENT").arg("LIST")).await.unwrap();
    let list = String::from_utf8(list.into_bytes().unwrap()).unwrap();
    let name = format!("name={name} ");
    list.lines().filter(|line| line.contains(&name)).count()
}

/// Bytes without a period that a shift by whole words could hide.
pub(crate) fn sample(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes: Vec<u8> = (0..len.div_ceil(8))
        .flat_map(|_| random.next().to_le_bytes())
        .collect();
    bytes.truncate(len);
    bytes
}

/// Reproducible numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
