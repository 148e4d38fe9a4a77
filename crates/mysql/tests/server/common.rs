//! Which server, which counts, and bytes to send.

use std::io::{self, Read};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use onecopy_mysql::{Config, Endpoint, Error, blocking};
pub(crate) use onecopy_testkit::server::lacks;
use onecopy_testkit::server::{sequences, test_server};

/// What fits one packet; a payload of this length is followed by an empty packet.
pub(crate) const PACKET: usize = 0xFF_FFFF;

/// More than any statement and row around two whole packets has.
pub(crate) const LARGEST: usize = 2 * PACKET + (4 << 10);

/// Whether the whole of each matrix is run.
pub(crate) fn soak() -> bool {
    std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1")
}

/// `small` in a test run, `large` in a soak.
pub(crate) fn count(small: usize, large: usize) -> usize {
    if soak() { large } else { small }
}

/// The server over each transport it has, the Unix socket first and a compressed one last. `SELECT seq FROM seq_1_to_100` gives rows on it.
pub(crate) fn urls() -> Vec<String> {
    static URLS: OnceLock<Vec<String>> = OnceLock::new();
    let urls = URLS.get_or_init(|| {
        let server = test_server();
        let urls: Vec<String> = server
            .socket_url()
            .into_iter()
            .chain([server.url()])
            .chain(server.tls_url())
            .collect();
        let compressed = urls
            .last()
            .map(|url| with_option(url, "compression=zstd,zlib"));
        let is_given = urls.len() == 1;
        if is_given {
            lacks(
                "Unix socket",
                "ONECOPY_TEST_MYSQL_URL names one transport; tests over each run over that alone",
            );
        }
        let compressed = compressed.filter(|url| !is_given || offers_compression(url));
        let urls: Vec<String> = urls.into_iter().chain(compressed).collect();
        make_sequences(&urls[0]).unwrap();
        urls
    });
    urls.clone()
}

/// `url` with compression by zlib; `None` where the server offers no compression, which `urls` says.
pub(crate) fn with_zlib(url: &str) -> Option<String> {
    let is_offered = urls().iter().any(|url| url.contains("compression"));
    is_offered.then(|| with_option(url, "compression=zlib"))
}

/// Whether the given server does, which not every proxy does for shared connections. What it lacks is said.
fn offers_compression(url: &str) -> bool {
    match blocking::Connection::connect(url) {
        Ok(_) => true,
        Err(error) => {
            assert!(error.protocol().is_some(), "{error:?}");
            lacks("compression", &error.to_string());
            false
        }
    }
}

/// The server over TCP in clear text, for a relay that reads what goes through it. Where the given one is not reached so,
/// that is said.
pub(crate) fn clear_tcp_url() -> Option<String> {
    static URL: OnceLock<Result<String, &str>> = OnceLock::new();
    let url = URL.get_or_init(|| {
        let url = test_server().url();
        let config = Config::from_url(&url).unwrap();
        if !matches!(config.endpoint, Endpoint::Tcp { .. }) {
            return Err("ONECOPY_TEST_MYSQL_URL names a Unix socket");
        }
        let conn = blocking::Connection::connect_with(&config).unwrap();
        if conn.tls().is_some() {
            return Err("ONECOPY_TEST_MYSQL_URL leads over TLS");
        }
        Ok(url)
    });
    match url {
        Ok(url) => Some(url.clone()),
        Err(reason) => {
            lacks("TCP in clear text", reason);
            None
        }
    }
}

/// Accounts that a test makes. They go with this, also where the test fails.
pub(crate) struct Users {
    admin: blocking::Connection,
    made: Vec<String>,
}

impl Users {
    /// `None` where the user of the URL may not make users, which is said.
    pub(crate) fn open() -> Option<Self> {
        let mut users = Self {
            admin: blocking::Connection::connect(&url()).unwrap(),
            made: Vec::new(),
        };
        let probe = users.make("IDENTIFIED BY 'Pr0be. of onecopy'");
        offered("CREATE USER", probe).then_some(users)
    }

    /// A new account with this behind its name, and the name.
    pub(crate) fn make(&mut self, identified: &str) -> Result<String, Error> {
        let user = format!("onecopy_{}_{}", std::process::id(), number());
        self.admin
            .run(format!("CREATE USER {user}@'%' {identified}"))?;
        self.made.push(user.clone());
        Ok(user)
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        for user in &self.made {
            if let Err(error) = self.admin.run(format!("DROP USER {user}@'%'")) {
                assert!(std::thread::panicking(), "{user} is left: {error}");
            }
        }
    }
}

/// The database of those URLs.
pub(crate) fn database() -> String {
    Config::from_url(&url()).unwrap().database.unwrap()
}

/// Stand-ins for MariaDB's SEQUENCE engine where the server has none.
pub(crate) fn make_sequences(url: &str) -> Result<(), Error> {
    let mut conn = blocking::Connection::connect(url)?;
    if conn.run("SELECT seq FROM seq_1_to_2").is_err() {
        for statement in sequences() {
            conn.run(&statement)?;
        }
    }
    conn.close()
}

/// The largest value that the server takes and makes, in bytes.
pub(crate) fn max_value_bytes() -> u64 {
    static MOST: OnceLock<u64> = OnceLock::new();
    *MOST.get_or_init(|| {
        let mut conn = blocking::Connection::connect(&url()).unwrap();
        let mut rows = conn.query("SELECT @@max_allowed_packet").unwrap();
        rows.next().unwrap().unwrap().get(0).unwrap()
    })
}

/// Whether the server takes values of so many bytes; where it does not, that is said.
pub(crate) fn takes(bytes: usize) -> bool {
    let most = max_value_bytes();
    let takes = most >= bytes as u64;
    if !takes {
        lacks(
            &format!("values of {bytes} bytes"),
            &format!("max_allowed_packet is {most}"),
        );
    }
    takes
}

/// Whether a statement that asks for `what` ran; where the server can't, that is said.
///
/// # Panics
/// On an error that is not the server's.
pub(crate) fn offered<T>(what: &str, asked: Result<T, Error>) -> bool {
    match asked {
        Ok(_) => true,
        Err(error) => {
            let Some(server) = error.server() else {
                panic!("{what}: {error}");
            };
            lacks(what, &server.to_string());
            false
        }
    }
}

/// The server over its Unix socket, or over TCP where it has none that is known.
pub(crate) fn url() -> String {
    urls().swap_remove(0)
}

/// The URL with one more option.
pub(crate) fn with_option(url: &str, option: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{option}")
}

/// Another number each time, in both APIs: for names.
pub(crate) fn number() -> usize {
    static NUMBER: AtomicUsize = AtomicUsize::new(1);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// Lengths at which a length prefix, a home or the read buffer changes.
pub(crate) fn small_lengths() -> Vec<usize> {
    let mut lengths = vec![0, 1, 250, 251, 255, 256, 65_535, 65_536];
    lengths.extend(262_140..=262_150);
    lengths
}

/// Lengths around one and two whole packets; of those around two only some in a test run.
pub(crate) fn large_lengths() -> Vec<usize> {
    let step = count(4, 1);
    (16_777_205..=16_777_220)
        .chain((2 * PACKET - 8..=2 * PACKET + 8).step_by(step))
        .collect()
}

/// Where windows of lengths begin; sums up to here are kept.
const CHECKPOINTS: [usize; 3] = [0, PACKET - 64, 2 * PACKET - 64];

/// Bytes to send and to expect, longer than any of the lengths above.
#[derive(Debug)]
pub(crate) struct Sample {
    bytes: Vec<u8>,
    sums: [u32; CHECKPOINTS.len()],
}

impl Sample {
    fn new(bytes: Vec<u8>) -> Self {
        let sums = CHECKPOINTS.map(|len| crc32fast::hash(&bytes[..len]));
        Self { bytes, sums }
    }

    /// The first `len` bytes.
    pub(crate) fn first(&self, len: usize) -> &[u8] {
        &self.bytes[..len]
    }

    /// CRC-32 of the first `len` bytes. From the last checkpoint on: a whole one takes 100 ms in debug.
    pub(crate) fn crc32(&self, len: usize) -> u32 {
        let checkpoint = CHECKPOINTS.partition_point(|&start| start <= len) - 1;
        let mut hasher = crc32fast::Hasher::new_with_initial(self.sums[checkpoint]);
        hasher.update(&self.bytes[CHECKPOINTS[checkpoint]..len]);
        hasher.finalize()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

/// Bytes of every value without a period.
pub(crate) fn binary() -> &'static Sample {
    static BINARY: OnceLock<Sample> = OnceLock::new();
    BINARY.get_or_init(|| {
        let mut random = Random::new(0x0FEC_0B17);
        let words = (2 * PACKET + 64) / 8;
        Sample::new(
            (0..words)
                .flat_map(|_| random.next().to_le_bytes())
                .collect(),
        )
    })
}

/// Sixteen letters in the same order: text that needs no escape.
pub(crate) fn letters() -> &'static Sample {
    static LETTERS: OnceLock<Sample> = OnceLock::new();
    LETTERS.get_or_init(|| {
        let letter = |byte: &u8| b'a' + (byte & 0x0F);
        Sample::new(binary().bytes.iter().map(letter).collect())
    })
}

/// Soon no statement with this text runs on the server: within a second in a soak, which has the machine to itself.
pub(crate) fn assert_nothing_runs(text: &str) {
    let within = std::time::Duration::from_secs(if soak() { 1 } else { 10 });
    let left = wait_for_statements(text, within, |running| running == 0);
    assert!(left.is_none(), "{left:?} of '{text}' still run");
}

/// The server has taken up a statement with this text: before that it forgets an order against it.
pub(crate) fn assert_runs(text: &str) {
    let within = std::time::Duration::from_secs(10);
    let none = wait_for_statements(text, within, |running| running > 0);
    assert!(none.is_none(), "'{text}' never ran");
}

/// Waits until the number of running statements with this text is as wished for; gives it where it never was.
fn wait_for_statements(
    text: &str,
    within: std::time::Duration,
    is_wished: fn(u32) -> bool,
) -> Option<u32> {
    let mut conn = onecopy_mysql::blocking::Connection::connect(&url()).unwrap();
    let start = std::time::Instant::now();
    loop {
        // Not from information_schema: there MySQL fails on statements of other tests that are no text.
        let mut rows = conn.query("SHOW FULL PROCESSLIST").unwrap();
        let mut running = 0;
        while let Some(row) = rows.next().unwrap() {
            let statement: Option<&[u8]> = row.get("Info").unwrap();
            let runs = |statement: &[u8]| {
                statement
                    .windows(text.len())
                    .any(|part| part == text.as_bytes())
            };
            running += u32::from(statement.is_some_and(runs));
        }
        drop(rows);
        if is_wished(running) {
            return None;
        }
        if start.elapsed() >= within {
            return Some(running);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
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

/// A reader that gives its bytes a few at a time, as a pipe does; it may fail at their end, or pause before each piece.
#[derive(Debug)]
pub(crate) struct Dribble<'b> {
    bytes: &'b [u8],
    step: usize,
    fails: bool,
    pauses: bool,
    paused: bool,
}

impl<'b> Dribble<'b> {
    pub(crate) fn new(bytes: &'b [u8], step: usize) -> Self {
        Self {
            bytes,
            step,
            fails: false,
            pauses: false,
            paused: false,
        }
    }

    pub(crate) fn that_fails(self) -> Self {
        Self {
            fails: true,
            ..self
        }
    }

    /// In the tokio API only: a reader that blocks has nobody to pause for.
    pub(crate) fn that_pauses(self) -> Self {
        Self {
            pauses: true,
            ..self
        }
    }
}

impl Read for Dribble<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() && self.fails {
            return Err(io::Error::other("the pipe broke"));
        }
        let n = self.bytes.len().min(self.step).min(into.len());
        let (now, later) = self.bytes.split_at(n);
        into[..n].copy_from_slice(now);
        self.bytes = later;
        Ok(n)
    }
}

#[cfg(feature = "tokio")]
impl ::tokio::io::AsyncRead for Dribble<'_> {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        into: &mut ::tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.pauses && !this.paused {
            this.paused = true;
            context.waker().wake_by_ref();
            return std::task::Poll::Pending;
        }
        this.paused = false;
        let n = this.read(into.initialize_unfilled())?;
        into.advance(n);
        std::task::Poll::Ready(Ok(()))
    }
}
