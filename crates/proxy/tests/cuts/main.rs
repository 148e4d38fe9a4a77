//! Peers that die at any byte: the other side hears of it soon, and nothing of the session is left.
//!
//! The tests of this program run one after the other, as each counts the descriptors of the process. `ONECOPY_SOAK=1` plays
//! 1,000 cuts, and gives each a second to be heard of.
#![allow(clippy::unwrap_used)]

mod conversation;
mod killed;

use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use onecopy_net::Endpoint;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{BackendConfig, Config, HealthConfig, ListenerConfig};

use conversation::{Cut, Seen, Side, Step, conversation, play};

/// One test at a time.
pub(crate) static ALONE: Mutex<()> = Mutex::new(());

pub(crate) fn is_soak() -> bool {
    std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1")
}

/// How soon the other side has to know. A loaded machine may take its time.
pub(crate) fn limit() -> Duration {
    Duration::from_secs(if is_soak() { 1 } else { 30 })
}

/// A proxy in front of one port.
pub(crate) fn start(port: u16) -> Proxy {
    let loopback = |port| Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    };
    let config = Config {
        workers: 2,
        // The backend is a script, which has no part for a health check.
        health: HealthConfig {
            interval: None,
            ..HealthConfig::default()
        },
        listeners: vec![ListenerConfig {
            listen: vec![loopback(0)],
            backends: vec![BackendConfig::new(loopback(port))],
            ..ListenerConfig::default()
        }],
        ..Config::default()
    };
    Proxy::start(config).unwrap()
}

/// Descriptors of this process.
pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Waits until nothing is left of any session, and no more descriptors are open than before.
///
/// There may be fewer: a thread that starts reads the number of processors from a file, which may have been open before.
pub(crate) fn nothing_is_left(proxy: &Proxy, before: usize, what: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let left = (
            proxy.sessions(),
            proxy.snapshot(false).buffers_in_use,
            descriptors(),
        );
        if (left.0, left.1) == (0, 0) && left.2 <= before {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "sessions, buffers, descriptors are {left:?} and not (0, 0, {before} at most): {what}"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Nobody needs the buffers any more.
fn memory_goes_back(proxy: &Proxy) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while proxy.snapshot(false).buffer_bytes > 0 {
        assert!(Instant::now() < deadline, "buffers are left");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_cut_at_any_byte_reaches_the_other_side_and_leaves_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let steps = conversation();
    let backend = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = start(backend.local_addr().unwrap().port());
    let before = descriptors();
    let whole = Cut {
        side: Side::Client,
        step: steps.len() - 1,
        at: steps[steps.len() - 1].bytes.len(),
    };
    let (_, server) = round(&proxy, &backend, &steps, whole);
    let sent = |side| steps.iter().filter(move |step| step.side == side);
    let all: usize = sent(Side::Client).map(|step| step.bytes.len()).sum();
    assert_eq!((server.received, server.tail.len()), (all, 0));
    nothing_is_left(&proxy, before, "nobody died");
    // All threads have started by now.
    let before = descriptors();
    let mut resident = 0;
    let cuts = cuts(&steps);
    for (number, &cut) in cuts.iter().enumerate() {
        let what = format!("{cut:?}, {}", steps[cut.step].name);
        let (client, server) = round(&proxy, &backend, &steps, cut);
        let (dead, alive) = match cut.side {
            Side::Client => (&client, &server),
            Side::Server => (&server, &client),
        };
        let took = alive.at.saturating_duration_since(dead.at);
        assert!(took < limit(), "took {took:?}: {what}");
        match cut.side {
            Side::Client => check_end(cut, alive, &what),
            Side::Server => check_last_words(&steps, alive, &what),
        }
        nothing_is_left(&proxy, before, &what);
        if number == cuts.len() / 3 {
            resident = resident_kib();
        }
    }
    memory_goes_back(&proxy);
    // glibc keeps what was freed; what sessions left behind would grow with their number.
    let grown = resident_kib().saturating_sub(resident);
    println!("{grown} KiB more are resident after {} cuts", cuts.len());
    assert!(grown < 8 << 10, "{grown} KiB more are resident");
}

/// Places in all steps, for both sides: some dozens, or all and 1,000 of them.
fn cuts(steps: &[Step]) -> Vec<Cut> {
    let (rounds, stride) = if is_soak() { (6, 1) } else { (1, 3) };
    let mut cuts = Vec::new();
    for round in 0..rounds {
        for (step, content) in steps.iter().enumerate() {
            let len = content.bytes.len();
            let inside = len * (round + 1) / (rounds + 1);
            let mut places = vec![0, 1, 3, 4, 5, inside, len - 1, len];
            places.retain(|&at| at <= len);
            places.dedup();
            for at in places {
                // Behind its last word a client is gone anyway.
                let is_end = step + 1 == steps.len();
                cuts.push(Cut {
                    side: Side::Client,
                    step,
                    at,
                });
                if !is_end {
                    cuts.push(Cut {
                        side: Side::Server,
                        step,
                        at,
                    });
                }
            }
        }
    }
    let cuts: Vec<_> = cuts.into_iter().step_by(stride).collect();
    let wanted = if is_soak() { 1000 } else { 36 };
    assert!(cuts.len() >= wanted, "only {} cuts", cuts.len());
    cuts
}

/// One session, in which one side dies.
fn round(proxy: &Proxy, backend: &TcpListener, steps: &[Step], cut: Cut) -> (Seen, Seen) {
    let patient = |stream: TcpStream| {
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        stream
            .set_write_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        stream
    };
    std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            let stream = TcpStream::connect(proxy.tcp_address().unwrap()).unwrap();
            play(Side::Client, patient(stream), steps, cut)
        });
        let (stream, _) = backend.accept().unwrap();
        let server = play(Side::Server, patient(stream), steps, cut);
        (client.join().unwrap(), server)
    })
}

/// A server that still waits for its login hears one of the proxy's own, and one that has let the client in meanwhile COM_QUIT.
/// Later it hears nothing more.
fn check_end(cut: Cut, server: &Seen, what: &str) {
    const QUIT: &[u8] = &[1, 0, 0, 0, 1];
    let tail = server.tail.as_slice();
    if cut.step > 2 {
        assert_eq!(tail, b"", "{what}");
    } else if server.received == 0 {
        assert_eq!(boundaries(tail), [(tail.len(), 2)], "{what}: {tail:?}");
        let user = &tail[4 + 32..];
        assert!(user.starts_with(b"onecopy\0"), "{what}: {tail:?}");
    } else {
        assert!(tail.is_empty() || tail == QUIT, "{what}: {tail:?}");
    }
}

/// Behind whole packets of the server's there is an error with the next sequence id; behind a part of one nothing can be, and
/// between commands nothing need be.
fn check_last_words(steps: &[Step], client: &Seen, what: &str) {
    let tail = &client.tail;
    let sequences = next_sequences(steps, client.received);
    let all: usize = steps
        .iter()
        .filter(|step| step.side == Side::Server)
        .map(|step| step.bytes.len())
        .sum();
    // A side that has said goodbye gets no error.
    let may_be_quiet = sequences.is_empty()
        || client.received == all
        || is_between_commands(steps, client.received);
    if tail.is_empty() && may_be_quiet {
        return;
    }
    assert!(tail.len() > 7, "{what}: {tail:?}");
    let len = usize::from(tail[0]) + (usize::from(tail[1]) << 8);
    assert_eq!((tail.len(), tail[2]), (len + 4, 0), "{what}: {tail:?}");
    assert_eq!(tail[4], 0xFF, "{what}: {tail:?}");
    let is_next = sequences.contains(&tail[3]);
    assert!(is_next, "{} of {sequences:?}: {what}", tail[3]);
    let code = u16::from_le_bytes([tail[5], tail[6]]);
    assert!([1429, 2013].contains(&code), "{code}, {what}");
}

/// Whether so many bytes of the server's end where the client's next words are a command, which begins with sequence id 0.
fn is_between_commands(steps: &[Step], received: usize) -> bool {
    let mut said = 0;
    steps.windows(2).any(|pair| {
        if pair[0].side == Side::Server {
            said += pair[0].bytes.len();
        }
        said == received && pair[1].side == Side::Client && pair[1].bytes[3] == 0
    })
}

/// The sequence ids that an error may have behind so many bytes of the server's; none in the middle of a packet. Between a
/// reply and the next it depends on what of the client's has been seen.
fn next_sequences(steps: &[Step], received: usize) -> Vec<u8> {
    let mut left = received;
    let mut sequences = vec![0];
    for step in steps {
        let places = boundaries(&step.bytes);
        if step.side == Side::Client {
            sequences.extend(places.iter().map(|place| place.1));
            continue;
        }
        if left < step.bytes.len() {
            let here = places.iter().find(|place| place.0 == left);
            return match here {
                Some(place) => vec![place.1],
                None if left == 0 => sequences,
                None => Vec::new(),
            };
        }
        left -= step.bytes.len();
        sequences = vec![0, places[places.len() - 1].1];
    }
    sequences
}

/// Where packets end, and the sequence id that follows.
fn boundaries(bytes: &[u8]) -> Vec<(usize, u8)> {
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(&[a, b, c, sequence]) = bytes.get(at..at + 4) {
        at += 4 + u32::from_le_bytes([a, b, c, 0]) as usize;
        places.push((at, sequence + 1));
    }
    places
}

fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.unwrap().split_whitespace().nth(1).unwrap();
    number.parse().unwrap()
}
