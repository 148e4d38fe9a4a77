//! What this process has used so far.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// Time and page faults between two moments of this process.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) wall: Duration,
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    /// Pages that the kernel had to map, without the disk.
    pub(crate) faults: u64,
}

impl Usage {
    /// User and system time.
    pub(crate) fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// A moment from which usage is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    at: Instant,
    user: Duration,
    system: Duration,
    faults: u64,
}

impl Moment {
    pub(crate) fn now() -> Self {
        let at = Instant::now();
        // It can fail only for a bad argument: then everything reads as zero, which nobody takes for a measurement.
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
        Self {
            at,
            user: usage.map_or(Duration::ZERO, |usage| duration(usage.user_time())),
            system: usage.map_or(Duration::ZERO, |usage| duration(usage.system_time())),
            faults: usage.map_or(0, |usage| {
                usage.minor_page_faults().try_into().unwrap_or_default()
            }),
        }
    }

    /// From this moment to now.
    pub(crate) fn usage(&self) -> Usage {
        let now = Self::now();
        Usage {
            wall: now.at - self.at,
            user: now.user.saturating_sub(self.user),
            system: now.system.saturating_sub(self.system),
            faults: now.faults - self.faults,
        }
    }
}

fn duration(time: TimeVal) -> Duration {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or_default();
    let micros = u64::try_from(time.tv_usec()).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

/// The most memory that was resident at once, in bytes; `None` where `/proc` is not there.
pub(crate) fn peak_resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// Makes the peak start again from what is resident now. Where the kernel refuses, the peak stays the process's.
pub(crate) fn forget_peak() {
    // 5 resets VmHWM: proc_pid_clear_refs(5).
    let _ = fs::write("/proc/self/clear_refs", "5");
}
