use std::sync::mpsc::{Sender, channel};

use super::*;

/// An output that waits for a permit before each write.
struct Gate {
    permits: Receiver<()>,
    written: Sender<Vec<u8>>,
}

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.permits.recv();
        let _ = self.written.send(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// No write takes as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was written once the log is dropped and its thread has ended.
fn all_of(log: Log, lines: &Receiver<Vec<u8>>) -> Vec<String> {
    drop(log);
    let lines = lines.iter();
    lines.map(|line| String::from_utf8(line).unwrap()).collect()
}

fn reloaded(what: usize) -> Event {
    Event::Reloaded {
        level: LogLevel::Info,
        what: what.to_string(),
    }
}

#[test]
fn events_beyond_what_may_wait_are_dropped_and_counted() {
    let (permit, permits) = channel();
    let (written, lines) = channel();
    let config = LogConfig {
        format: LogFormat::Json,
        level: LogLevel::Info,
    };
    let log = Log::start(&config, Gate { permits, written }).unwrap();
    // Nobody writes: all of these return all the same. One may be with the thread already.
    for number in 0..WAITING + 10 {
        log.event(reloaded(number));
    }
    let dropped = log.dropped();
    assert!((9..=10).contains(&dropped), "{dropped}");
    drop(permit);
    assert!(log.flush(PATIENCE));
    log.event(Event::Stopped);
    let lines = all_of(log, &lines);
    assert!(lines[0].contains("\"message\":\"0\""), "{}", lines[0]);
    assert!(lines[1].contains("events_dropped"), "{}", lines[1]);
    assert!(
        lines[1].contains(&format!("\"count\":{dropped}")),
        "{}",
        lines[1]
    );
    assert!(lines.last().unwrap().contains("stopped"));
    let changes = lines.iter().filter(|line| line.contains("\"reload\""));
    assert_eq!(changes.count() as u64, WAITING as u64 + 10 - dropped);
}

#[test]
fn what_matters_less_than_asked_for_is_not_said() {
    let (permit, permits) = channel();
    let (written, lines) = channel();
    let config = LogConfig {
        format: LogFormat::Text,
        level: LogLevel::Warn,
    };
    let log = Log::start(&config, Gate { permits, written }).unwrap();
    drop(permit);
    assert!(!log.has(LogLevel::Info) && log.has(LogLevel::Warn) && log.has(LogLevel::Error));
    log.event(reloaded(1));
    log.event(Event::BackendDown {
        backend: "db1".into(),
        why: "it is gone".into(),
    });
    let lines = all_of(log, &lines);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].ends_with("warn  backend_down backend=db1 message=\"it is gone\"\n"));
    // A log that was started nowhere says nothing, and has nothing to wait for.
    let none = Log::default();
    assert!(!none.has(LogLevel::Error));
    none.event(reloaded(1));
    none.note(LogLevel::Error, "nobody reads it");
    assert!(none.flush(PATIENCE));
}

#[test]
fn nobody_waits_for_an_output_that_takes_nothing_longer_than_asked() {
    let (permit, permits) = channel();
    let (written, lines) = channel();
    let log = Log::start(&LogConfig::default(), Gate { permits, written }).unwrap();
    for number in 0..2 * WAITING {
        log.note(LogLevel::Info, &number.to_string());
    }
    assert!(!log.flush(Duration::from_millis(1)));
    // Nothing was written since: nobody waits in vain twice.
    let begin = Instant::now();
    assert!(!log.flush(Duration::from_secs(3600)));
    assert!(begin.elapsed() < PATIENCE);
    drop(permit);
    while !log.flush(PATIENCE) {
        // It had been given up; whatever is written makes it worth waiting again.
        thread::yield_now();
    }
    assert_eq!(all_of(log, &lines).first().unwrap(), "0\n");
}

#[test]
fn a_programs_own_words_are_plain_text_or_an_event_of_each_line() {
    for (format, level, expected) in [
        (
            LogFormat::Text,
            LogLevel::Error,
            vec!["stopping\nfor good\n"],
        ),
        (LogFormat::Json, LogLevel::Error, vec![]),
        (
            LogFormat::Json,
            LogLevel::Info,
            vec![
                "\"level\":\"info\",\"event\":\"note\",\"message\":\"stopping\"}\n",
                "\"level\":\"info\",\"event\":\"note\",\"message\":\"for good\"}\n",
            ],
        ),
    ] {
        let (permit, permits) = channel();
        let (written, lines) = channel();
        drop(permit);
        let log = Log::start(&LogConfig { format, level }, Gate { permits, written }).unwrap();
        log.note(LogLevel::Info, "stopping\nfor good");
        let lines = all_of(log, &lines);
        assert_eq!(lines.len(), expected.len(), "{lines:?}");
        for (line, end) in lines.iter().zip(expected) {
            assert!(line.ends_with(end), "{line}");
        }
    }
}
