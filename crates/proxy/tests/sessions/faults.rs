//! Whose fault an end is: metrics, the log and the suggested alerts go by it.

use std::io::Write;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use onecopy_proxy::config::ListenerConfig;
use onecopy_proxy::{Proxy, Reason, Side};

use crate::common::{listener, start, until};
use crate::raw::{OK, Raw, USUAL, backend, greeting, packet, response};
use crate::sides::{Way, account, sides};

/// Sessions that were logged in and ended before their time, or were refused before: each reason and how often.
fn ends(proxy: &Proxy) -> Vec<(Reason, u64)> {
    let entrances = proxy.snapshot(false).counters.entrances;
    let count = |reason: Reason| {
        let of = entrances.iter();
        of.map(|one| one.failed[reason as usize] + one.refused[reason as usize])
            .sum()
    };
    let all = Reason::ALL
        .into_iter()
        .map(|reason| (reason, count(reason)));
    all.filter(|(_, count)| *count > 0).collect()
}

fn ends_for(proxy: &Proxy, reason: Reason, side: Side) {
    until("the end of the session", || {
        proxy.sessions() == 0 && !ends(proxy).is_empty()
    });
    assert_eq!(ends(proxy), [(reason, 1)]);
    assert_eq!(reason.side(), side, "{}", reason.name());
}

#[test]
fn a_command_sent_ahead_of_a_change_of_users_answer_is_the_clients_fault() {
    account("fault_a", "");
    let front = sides().proxy(sides().backend(Way::Plain), |_| {});
    let mut client = Raw::log_in(front.port(), "fault_a", USUAL);
    // A plugin that the account has not, so that the server asks for another one, and COM_PING.
    let change = packet(0, b"\x11fault_a\0\0test\0\x2D\0no_such_plugin\0");
    let both = [change, packet(0, b"\x0E")].concat();
    client.stream.write_all(&both).unwrap();
    client.rest();
    ends_for(&front.proxy, Reason::ClientProtocol, Side::Client);
}

#[test]
fn a_wrong_sequence_id_is_the_clients_fault() {
    account("fault_b", "");
    for sequence in [1, 7, 255] {
        let front = sides().proxy(sides().backend(Way::Plain), |_| {});
        let mut client = Raw::log_in(front.port(), "fault_b", USUAL);
        let ping = packet(sequence, b"\x0E");
        client.stream.write_all(&ping).unwrap();
        client.rest();
        ends_for(&front.proxy, Reason::ClientProtocol, Side::Client);
    }
}

#[test]
fn a_server_that_says_why_it_closes_is_not_lost() {
    for (code, reason, side) in [
        // ER_NET_PACKET_TOO_LARGE, ER_NET_PACKETS_OUT_OF_ORDER, ER_NET_READ_INTERRUPTED
        (1153_u16, Reason::ClientProtocol, Side::Client),
        (1156, Reason::ClientProtocol, Side::Client),
        (1159, Reason::Timeout, Side::Client),
        // ER_CONNECTION_KILLED, ER_QUERY_INTERRUPTED
        (1927, Reason::Killed, Side::Proxy),
        (1317, Reason::Killed, Side::Proxy),
        // ER_PARSE_ERROR is no reason to close.
        (1064, Reason::BackendLost, Side::Backend),
    ] {
        let [low, high] = code.to_le_bytes();
        let error = [&[0xFF, low, high][..], b"#08S01why"].concat();
        let said = packet(1, &error);
        let (config, _) = backend(move |mut server| {
            server.say(&greeting()).unwrap();
            server.hear().unwrap();
            server.say(OK).unwrap();
            server.sequence = 0;
            server.hear().unwrap();
            server.say(&error).unwrap();
        });
        let proxy = start(|to| to.listeners = vec![listener(vec![config])]);
        let mut client = Raw::log_in(proxy.tcp_address().unwrap().port(), "anybody", USUAL);
        client.command(b"\x0E");
        assert_eq!(client.rest(), said, "{code}");
        ends_for(&proxy, reason, side);
    }
}

#[test]
fn an_error_that_nobody_asked_for_says_why_too() {
    for (code, reason) in [
        (4031_u16, Reason::Idle),
        (1927, Reason::Killed),
        (1053, Reason::Refused),
    ] {
        let [low, high] = code.to_le_bytes();
        let farewell = packet(0, &[&[0xFF, low, high][..], b"#08S01why"].concat());
        let (config, _) = backend(move |mut server| {
            server.say(&greeting()).unwrap();
            server.hear().unwrap();
            server.say(OK).unwrap();
            server.stream.write_all(&farewell).unwrap();
        });
        let proxy = start(|to| to.listeners = vec![listener(vec![config])]);
        let mut client = Raw::log_in(proxy.tcp_address().unwrap().port(), "anybody", USUAL);
        assert!(client.rest().ends_with(b"why"), "{code}");
        ends_for(&proxy, reason, reason.side());
    }
}

/// A proxy in front of a backend that greets, and closes when it is told to.
fn closing() -> (Proxy, mpsc::Sender<()>) {
    let (close, closes) = mpsc::channel();
    let (config, _) = backend(move |mut server| {
        server.say(&greeting()).unwrap();
        let _ = closes.recv();
    });
    let proxy = start(|to| {
        let listener = listener(vec![config]);
        to.listeners = vec![ListenerConfig {
            handshake_timeout: Duration::from_secs(600),
            ..listener
        }];
    });
    (proxy, close)
}

#[test]
fn a_server_that_waited_for_a_login_and_closed_was_left_waiting() {
    let (proxy, close) = closing();
    let (mut client, _) = Raw::connect(proxy.tcp_address().unwrap().port());
    // The shortest connect_timeout that servers take.
    std::thread::sleep(Duration::from_millis(2_100));
    drop(close);
    client.rest();
    ends_for(&proxy, Reason::Timeout, Side::Client);
}

#[test]
fn a_server_that_closes_sooner_is_lost() {
    let (proxy, close) = closing();
    let began = Instant::now();
    let (mut client, _) = Raw::connect(proxy.tcp_address().unwrap().port());
    drop(close);
    client.rest();
    // On a machine that was busy for so long it is not known.
    if began.elapsed() < Duration::from_secs(2) {
        ends_for(&proxy, Reason::BackendLost, Side::Backend);
    }
}

#[test]
fn the_proxys_deadline_for_a_login_is_before_the_servers() {
    // connect_timeout of MariaDB and MySQL by default; sessions look at the time four times a second.
    let servers = Duration::from_secs(10);
    let ours = ListenerConfig::default().handshake_timeout;
    assert!(ours + Duration::from_secs(1) < servers, "{ours:?}");
}

#[test]
fn a_login_that_the_server_does_not_answer_is_the_servers_fault() {
    for (answers, reason, side) in [
        (true, Reason::BackendTimeout, Side::Backend),
        (false, Reason::Timeout, Side::Client),
    ] {
        let (over, is_over) = mpsc::channel::<()>();
        let (config, _) = backend(move |mut server| {
            server.say(&greeting()).unwrap();
            let _ = is_over.recv();
        });
        let proxy = start(|to| {
            to.listeners = vec![listener(vec![config])];
            to.listeners[0].handshake_timeout = Duration::from_millis(300);
        });
        let (mut client, _) = Raw::connect(proxy.tcp_address().unwrap().port());
        if answers {
            client.say(&response("anybody", USUAL)).unwrap();
        }
        assert_eq!(client.last_error(), 1159);
        drop(over);
        ends_for(&proxy, reason, side);
    }
}
