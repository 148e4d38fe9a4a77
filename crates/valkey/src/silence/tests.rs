use super::*;

const LIMIT: Duration = Duration::from_secs(16);

/// A connection whose clock and counts the test moves.
struct Connection {
    silence: Silence,
    now: Instant,
    seen: Seen,
}

impl Connection {
    /// One with a request that has just left.
    fn asked() -> Self {
        Self::with_limit(Some(LIMIT))
    }

    fn with_limit(limit: Option<Duration>) -> Self {
        let mut connection = Self {
            silence: Silence::new(limit),
            now: Instant::now(),
            seen: Seen {
                bytes_read: 0,
                bytes_written: 14,
                has_left: true,
            },
        };
        assert_eq!(connection.look_after(0), Verdict::Responsive);
        connection
    }

    fn look_after(&mut self, seconds: u64) -> Verdict {
        self.now += Duration::from_secs(seconds);
        self.silence.look(self.now, self.seen)
    }

    /// The seconds with another verdict than "responsive", of so many.
    fn verdicts(&mut self, seconds: u64) -> Vec<(u64, Verdict)> {
        (1..=seconds)
            .map(|second| (second, self.look_after(1)))
            .filter(|(_, verdict)| *verdict != Verdict::Responsive)
            .collect()
    }
}

#[test]
fn silence_is_probed_once_at_half_of_the_limit_and_is_the_end_at_the_limit() {
    let mut connection = Connection::asked();
    assert_eq!(
        connection.verdicts(16),
        [(8, Verdict::Probe), (16, Verdict::Unresponsive)]
    );
}

#[test]
fn a_byte_of_any_reply_starts_the_time_anew() {
    let mut connection = Connection::asked();
    assert_eq!(connection.verdicts(15), [(8, Verdict::Probe)]);
    connection.seen.bytes_read += 1;
    assert_eq!(connection.verdicts(16), [(9, Verdict::Probe)]);
}

#[test]
fn bytes_that_leave_behind_a_request_that_has_left_prove_nothing() {
    let mut connection = Connection::asked();
    let verdicts: Vec<_> = (0..16)
        .map(|_| {
            connection.seen.bytes_written += 14;
            connection.look_after(1)
        })
        .collect();
    assert_eq!(verdicts.last(), Some(&Verdict::Unresponsive));
}

#[test]
fn a_large_request_may_take_as_long_as_its_bytes_leave() {
    let mut connection = Connection::asked();
    connection.seen.has_left = false;
    connection.look_after(1);
    for _ in 0..100 {
        connection.seen.bytes_written += 100_000;
        assert_eq!(connection.look_after(1), Verdict::Responsive);
    }
    connection.seen.bytes_written += 100_000;
    connection.seen.has_left = true;
    assert_eq!(connection.look_after(1), Verdict::Responsive);
    assert_eq!(connection.verdicts(15), [(8, Verdict::Probe)]);
}

#[test]
fn a_write_that_stalls_is_silence_too() {
    let mut connection = Connection::asked();
    connection.seen.has_left = false;
    assert_eq!(
        connection.verdicts(16),
        [(8, Verdict::Probe), (16, Verdict::Unresponsive)]
    );
}

#[test]
fn time_without_a_reply_outstanding_does_not_count() {
    let mut connection = Connection::asked();
    connection.verdicts(15);
    connection.silence.end();
    connection.now += Duration::from_secs(1_000);
    assert_eq!(connection.look_after(0), Verdict::Responsive);
    assert_eq!(connection.verdicts(15), [(8, Verdict::Probe)]);
}

#[test]
fn a_process_that_was_stopped_itself_does_not_blame_the_server() {
    let mut connection = Connection::asked();
    assert_eq!(connection.look_after(3_600), Verdict::Responsive);
    assert_eq!(connection.look_after(1), Verdict::Responsive);
}

#[test]
fn without_a_limit_silence_is_accepted() {
    let mut connection = Connection::with_limit(None);
    assert_eq!(connection.verdicts(100_000), []);
}

#[test]
fn a_short_limit_is_looked_at_more_often_and_a_long_one_once_a_second() {
    let interval = |limit| Silence::new(Some(limit)).interval();
    assert_eq!(
        interval(Duration::from_millis(800)),
        Duration::from_millis(100)
    );
    assert_eq!(interval(Duration::from_secs(3_600)), LONGEST_INTERVAL);
    assert_eq!(interval(Duration::ZERO), Duration::from_millis(1));
}
