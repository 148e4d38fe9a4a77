//! The progress of long statements, as MariaDB reports it.

use std::fmt;
use std::sync::Arc;

use onecopy_mysql_proto::client::ProgressListener;
use onecopy_mysql_proto::packet::ProgressReport;

/// More of a description is cut off: MariaDB sends 193 bytes at most.
const MAX_DESCRIPTION_BYTES: usize = 256;

/// A function that is told how far long statements are.
///
/// MariaDB reports the progress of `ALTER TABLE`, `CREATE INDEX`, `DROP INDEX`, `LOAD DATA INFILE` of a file on the server, and `CHECK`,
/// `REPAIR`, `ANALYZE` and `OPTIMIZE TABLE`, for tables of engines that know it. A report comes when a stage begins, and then every
/// `progress_report_time` seconds: the larger of the session's and the global value (default: 5); 0 for no reports. MySQL does not report
/// progress.
///
/// The function is called on the thread or task that waits for the statement. It must not block. It is not called for an abandoned
/// statement whose rows are discarded. While it is set, statements cost nothing more.
///
/// # Example
/// ```no_run
/// use onecopy_mysql::blocking::Connection;
/// use onecopy_mysql::{Config, ProgressReports};
///
/// let mut config = Config::from_url("mysql://user:password@localhost/shop")?;
/// config.progress = Some(ProgressReports::new(|progress| {
///     eprintln!("{:.0} %: {}", progress.percent(), progress.description);
/// }));
/// let mut conn = Connection::connect_with(&config)?;
/// conn.run("ALTER TABLE product ENGINE = InnoDB, ALGORITHM = COPY")?;
/// # Ok::<(), onecopy_mysql::Error>(())
/// ```
#[derive(Clone)]
pub struct ProgressReports(Arc<dyn Fn(&Progress<'_>) + Send + Sync>);

impl ProgressReports {
    /// Calls `report` for each report of the server.
    pub fn new(report: impl Fn(&Progress<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// What the core of one connection calls.
    pub(crate) fn listener(&self, connection_id: u32) -> ProgressListener {
        let report = Arc::clone(&self.0);
        ProgressListener::new(move |packet| report(&Progress::new(packet, connection_id)))
    }
}

impl fmt::Debug for ProgressReports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressReports")
    }
}

/// How far a statement is.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Progress<'p> {
    /// The current stage, from 1.
    pub stage: u8,
    /// The number of stages, at least `stage`.
    pub stages: u8,
    /// How much of the stage is done, from 0 to 1.
    pub fraction: f64,
    /// What the server is doing, such as `copy to tmp table`, in the server's words. Text that is not UTF-8 is cut off.
    pub description: &'p str,
    /// The server's id of the connection.
    pub connection_id: u32,
}

impl<'p> Progress<'p> {
    fn new(packet: &ProgressReport<'p>, connection_id: u32) -> Self {
        /// 100 % in the packet.
        const WHOLE: f64 = 100_000.0;
        let text = &packet.info[..packet.info.len().min(MAX_DESCRIPTION_BYTES)];
        let description = match str::from_utf8(text) {
            Ok(text) => text,
            Err(error) => str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default(),
        };
        let stage = packet.stage.max(1);
        Self {
            stage,
            stages: packet.stages.max(stage),
            // Servers count pages that they have estimated, and may find more.
            fraction: (f64::from(packet.progress) / WHOLE).min(1.0),
            description,
            connection_id,
        }
    }

    /// Returns how much of the statement is done in percent, from 0 to 100, as if all stages took equally long.
    #[must_use]
    pub fn percent(&self) -> f64 {
        (f64::from(self.stage - 1) + self.fraction) / f64::from(self.stages) * 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_in_range_whatever_the_server_says() {
        let packet = |stage, stages, progress, info| ProgressReport {
            stage,
            stages,
            progress,
            info,
        };
        let half = packet(2, 2, 50_000, &b"copy"[..]);
        let half = Progress::new(&half, 7);
        assert_eq!((half.fraction, half.percent()), (0.5, 75.0));
        assert_eq!((half.description, half.connection_id), ("copy", 7));

        let long = [b'x'; 300];
        for (packet, percent, description) in [
            (packet(0, 0, 0, b""), 0.0, ""),
            (packet(3, 1, 0xFF_FFFF, b"caf\xe9"), 100.0, "caf"),
            (
                packet(255, 255, 100_000, &long),
                100.0,
                &"x".repeat(256)[..],
            ),
        ] {
            let progress = Progress::new(&packet, 7);
            assert_eq!(
                (progress.percent(), progress.description),
                (percent, description)
            );
        }
    }
}
