//! Which server, which counts, and bytes to send.

use onecopy_testkit::valkey::test_server;

/// Whether the large counts are run.
pub(crate) fn soak() -> bool {
    std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1")
}

/// `small` in a test run, `large` in a soak.
pub(crate) fn count(small: usize, large: usize) -> usize {
    if soak() { large } else { small }
}

/// The server over TCP, or however the given one is reached.
pub(crate) fn url() -> String {
    test_server().url()
}

/// The server over each transport and in each protocol that it has.
pub(crate) fn urls() -> Vec<String> {
    let server = test_server();
    [Some(server.url()), server.socket_url(), server.tls_url()]
        .into_iter()
        .flatten()
        .flat_map(|url| {
            let resp2 = with_option(&url, "protocol=2");
            [url, resp2]
        })
        .collect()
}

/// The URL with one more option.
pub(crate) fn with_option(url: &str, option: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{option}")
}

/// Bytes without a period that a shift by whole words could hide.
pub(crate) fn sample(len: usize) -> Vec<u8> {
    let mut state = 0x0FEC_0B17_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(next).collect();
    bytes.truncate(len);
    bytes
}

/// The seed of a test's random numbers: `ONECOPY_SEED` repeats a run. Printed, so that a failure names it.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("ONECOPY_SEED").ok();
    let seed = given.and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        u64::from(now.unwrap().subsec_nanos())
    });
    println!("ONECOPY_SEED={seed}");
    seed
}

/// Xorshift: enough for lengths and moments, and the same in each run.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
