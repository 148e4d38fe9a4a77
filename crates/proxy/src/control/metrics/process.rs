//! What the system says of the process, by the names that Prometheus' own libraries have for it.

use rustix::param::{clock_ticks_per_second, page_size};

use super::Page;
use crate::open_files;

/// What `/proc/self/stat` says, as far as it is wanted.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    /// Of all threads, user and system.
    cpu_ticks: u64,
    /// Since the system's start.
    start_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    fn read() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/self/stat").ok()?)
    }

    /// The second field is the program's name, which may have anything in it: what follows is behind the last bracket.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<_> = text.rsplit_once(')')?.1.split_whitespace().collect();
        // proc(5) counts from 1, and the first here is its third.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: field(14)? + field(15)?,
            start_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

/// When the system was started, in seconds since 1970.
fn boot_time() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

impl Page {
    /// Nothing of what this system does not tell.
    pub(super) fn write_process(&mut self) {
        if let Some(open) = open_files::open_now() {
            let help = "Open file descriptors: one for each client, and one for each connection to a server.";
            self.one("process_open_fds", "gauge", help, open as u64);
        }
        if let Some(limit) = open_files::limit() {
            let help = "Limit of open file descriptors (ulimit -n).";
            self.one("process_max_fds", "gauge", help, limit as u64);
        }
        let Some(stat) = Stat::read() else { return };
        self.one(
            "process_virtual_memory_bytes",
            "gauge",
            "Address space of the process, used or not.",
            stat.virtual_bytes,
        );
        self.one(
            "process_resident_memory_bytes",
            "gauge",
            "Resident memory: onecopy_buffer_bytes, code, stacks and what the allocator keeps.",
            stat.resident_pages.saturating_mul(page_size() as u64),
        );
        let ticks = clock_ticks_per_second().max(1);
        self.decimal(
            "process_cpu_seconds_total",
            "counter",
            "CPU time of all threads, user and system.",
            (stat.cpu_ticks, ticks),
        );
        if let Some(boot) = boot_time() {
            let start = boot.saturating_mul(ticks).saturating_add(stat.start_ticks);
            self.decimal(
                "process_start_time_seconds",
                "gauge",
                "Start time of the process, in seconds since 1970.",
                (start, ticks),
            );
        }
    }

    /// A number of seconds: so many parts of a second, of which it has `per`.
    fn decimal(&mut self, name: &str, kind: &str, help: &str, (parts, per): (u64, u64)) {
        self.head(name, kind, help);
        let hundredths = parts % per * 100 / per;
        self.push(format_args!("{name} {}.{hundredths:02}\n", parts / per));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_from_behind_the_programs_name() {
        // Linux 6.1: `cat /proc/self/stat` of a program that is called `a) (b`.
        let text = "4242 (a) (b) S 1 4242 4242 0 -1 4194560 5000 0 3 0 150 25 0 0 20 0 7 0 123456 104857600 2560 \
                    18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        let expected = Stat {
            cpu_ticks: 175,
            start_ticks: 123_456,
            virtual_bytes: 100 << 20,
            resident_pages: 2_560,
        };
        assert_eq!(Stat::parse(text), Some(expected));
        for cut in ["", "4242 (a", "4242 (a) S 1", "4242 (a) S x y z"] {
            assert_eq!(Stat::parse(cut), None, "{cut}");
        }
    }

    #[test]
    fn seconds_have_hundredths() {
        let mut page = Page(String::new());
        page.decimal("a_seconds", "gauge", "Help.", (305, 100));
        page.decimal("b_seconds", "gauge", "Help.", (1_023, 1_024));
        assert!(page.0.contains("\na_seconds 3.05\n"), "{}", page.0);
        assert!(page.0.contains("\nb_seconds 0.99\n"), "{}", page.0);
    }
}
