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

fn changed(what: usize) -> Event {
    Event::Changed {
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
    let log = Log::start(&config, Some(Box::new(Gate { permits, written }))).unwrap();
    // Nobody writes: all of these return all the same. One may be with the thread already.
    for number in 0..WAITING + 10 {
        log.event(changed(number));
    }
    let dropped = log.dropped();
    assert!((9..=10).contains(&dropped), "{dropped}");
    drop(permit);
    log.finish();
    let lines: Vec<_> = lines
        .iter()
        .map(|line| String::from_utf8(line).unwrap())
        .collect();
    assert!(lines[0].contains("\"message\":\"0\""), "{}", lines[0]);
    assert!(lines[1].contains("events_dropped"), "{}", lines[1]);
    assert!(
        lines[1].contains(&format!("\"count\":{dropped}")),
        "{}",
        lines[1]
    );
    assert!(lines.last().unwrap().contains("stopped"));
    let changes = lines.iter().filter(|line| line.contains("\"changed\""));
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
    let log = Log::start(&config, Some(Box::new(Gate { permits, written }))).unwrap();
    drop(permit);
    assert!(!log.has(LogLevel::Info) && log.has(LogLevel::Warn) && log.has(LogLevel::Error));
    log.event(changed(1));
    log.event(Event::BackendDown {
        backend: "db1".into(),
        why: "it is gone".into(),
    });
    log.finish();
    let lines: Vec<_> = lines
        .iter()
        .map(|line| String::from_utf8(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].ends_with("warn  backend_down backend=db1 message=\"it is gone\"\n"));
    // A log that was started nowhere says nothing, and has nothing to wait for.
    let none = Log::default();
    assert!(!none.has(LogLevel::Error));
    none.event(changed(1));
    none.finish();
}
