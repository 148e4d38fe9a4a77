//! What every client does.

/// Commands in flight at any time.
pub(crate) const DEPTH: usize = 32;

/// Key of the small value.
pub(crate) const KEY: &str = "key:000000000001";

/// Key of the large one.
pub(crate) const LARGE_KEY: &str = "large";

/// Bytes of the small value.
pub(crate) const SMALL: usize = 1024;

/// Bytes of the large one: 64 MiB.
pub(crate) const LARGE: usize = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    Set,
    Get,
    GetLarge,
    GetLargeReuse,
    GetLargeStream,
}

impl Workload {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "set" => Self::Set,
            "get" => Self::Get,
            "get-64m" => Self::GetLarge,
            "get-64m-reuse" => Self::GetLargeReuse,
            "get-64m-stream" => Self::GetLargeStream,
            _ => return None,
        })
    }

    pub(crate) fn is_large(self) -> bool {
        !matches!(self, Self::Set | Self::Get)
    }
}

/// The processor time of each request by itself, printed in nanoseconds in the end. The system may take fresh memory away at
/// its own pace (a virtual machine's balloon does every two seconds), and a value that meets that pays ten times the price:
/// the median of requests says what a value costs, the mean of a few dozen of them does not.
pub(crate) struct Laps {
    nanos: Vec<i128>,
    began: i128,
}

impl Laps {
    pub(crate) fn start() -> Self {
        Self {
            nanos: Vec::new(),
            began: cpu_nanos(),
        }
    }

    /// A request is over, and its value dropped.
    pub(crate) fn lap(&mut self) {
        let now = cpu_nanos();
        self.nanos.push(now - self.began);
        self.began = cpu_nanos();
    }
}

impl Drop for Laps {
    fn drop(&mut self) {
        // The first one makes what the others use again.
        let laps = self.nanos.iter().skip(1).map(i128::to_string);
        println!("cpu_ns {}", laps.collect::<Vec<_>>().join(" "));
    }
}

/// Processor time of this program.
pub(crate) fn cpu_nanos() -> i128 {
    // By the C library: valgrind hides what the kernel maps for calls of its own.
    let clock = nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID;
    let now = nix::time::clock_gettime(clock).expect("a clock of the process");
    i128::from(now.tv_sec()) * 1_000_000_000 + i128::from(now.tv_nsec())
}

/// The small value.
pub(crate) fn value() -> Vec<u8> {
    vec![b'x'; SMALL]
}

/// One thread, for every asynchronous client.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}
