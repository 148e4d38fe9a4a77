//! Clients that do not keep to the protocol: each gets a typed end, in bounded memory, and no other session notices.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::packet::SslRequest;
use onecopy_proxy::config::ListenerConfig;

use crate::basics::text;
use crate::common::until;
use crate::raw::{Raw, USUAL, packet, response};
use crate::sides::{Front, Way, account, sides};

/// `Bad packet`, the proxy's own.
const BAD_PACKET: u16 = 1835;

/// A proxy with one session of an honest client, and what has to be so when the others are gone.
struct Scene {
    front: Front,
    honest: Connection,
}

impl Scene {
    fn new(user: &str, change: impl FnOnce(&mut ListenerConfig)) -> Self {
        account(user, "");
        let front = sides().proxy(sides().backend(Way::Plain), change);
        let honest = Connection::connect_with(&front.config(Way::Tls)).unwrap();
        Self { front, honest }
    }

    fn port(&self) -> u16 {
        self.front.port()
    }

    fn end(mut self) {
        let proxy = &self.front.proxy;
        until("the end of the other sessions", || proxy.sessions() == 1);
        assert_eq!(text(&mut self.honest, "SELECT 'unharmed'"), "unharmed");
        let snapshot = proxy.snapshot(false);
        assert_eq!(snapshot.buffers_in_use, 0);
        assert!(snapshot.buffer_bytes < 2 << 20, "{snapshot:?}");
        assert_eq!(proxy.servers()[0].1, 1, "sessions on the backend");
    }
}

pub(crate) fn ssl_request() -> Vec<u8> {
    let mut payload = Vec::new();
    SslRequest {
        capabilities: USUAL | Capabilities::SSL,
        max_packet_bytes: 1 << 24,
        collation: 45,
    }
    .encode(&mut payload);
    payload
}

#[test]
fn a_login_packet_that_claims_16_mib_is_refused_at_its_header() {
    let scene = Scene::new("hostile_a", |_| {});
    for header in [[0xFF, 0xFF, 0xFF, 1], [1, 0x40, 1, 1]] {
        let (mut client, _) = Raw::connect(scene.port());
        client.stream.write_all(&header).unwrap();
        client.stream.write_all(&[7]).unwrap();
        client.sequence = 2;
        assert_eq!(client.last_error(), BAD_PACKET);
    }
    scene.end();
}

#[test]
fn a_login_that_comes_byte_by_byte_for_ever_ends_at_the_deadline() {
    let timeout = Duration::from_millis(1500);
    let scene = Scene::new("hostile_b", |listener| listener.handshake_timeout = timeout);
    let (mut client, _) = Raw::connect(scene.port());
    let mut writer = client.stream.try_clone().unwrap();
    writer.write_all(&[0, 0xF0, 0, 1]).unwrap();
    let drip = std::thread::spawn(move || {
        while writer.write_all(&[0]).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    client.sequence = 1;
    let error = client.hear().unwrap();
    assert_eq!(u16::from_le_bytes([error[1], error[2]]), 1159);
    drip.join().unwrap();
    scene.end();
}

#[test]
fn a_login_out_of_sequence_is_refused() {
    let scene = Scene::new("hostile_c", |_| {});
    for sequence in [0, 2, 255] {
        let (mut client, _) = Raw::connect(scene.port());
        let packet = packet(sequence, &response("hostile_c", USUAL));
        client.stream.write_all(&packet).unwrap();
        assert_eq!(client.last_error(), BAD_PACKET);
    }
    scene.end();
}

#[test]
fn a_response_cut_at_any_byte_is_refused() {
    let scene = Scene::new("hostile_d", |_| {});
    let whole = response("hostile_d", USUAL);
    // In the plugin's name servers let it pass.
    for cut in 0..whole.len() - b"mysql_native_password\0".len() {
        let (mut client, _) = Raw::connect(scene.port());
        client.say(&whole[..cut]).unwrap();
        // One that ends behind its capabilities is a request for TLS, if it says so; this one does not.
        assert_eq!(client.last_error(), BAD_PACKET, "cut at {cut}");
    }
    scene.end();
}

#[test]
fn tls_is_asked_for_once_and_only_where_it_is_offered() {
    let scene = Scene::new("hostile_e", |_| {});
    let (mut client, _) = Raw::connect(scene.port());
    client.say(&ssl_request()).unwrap();
    // Clear text behind the request, a second one or a login, is no TLS.
    let login = packet(2, &response("hostile_e", USUAL));
    for behind in [
        packet(2, &ssl_request()),
        login,
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    ] {
        let (mut client, _) = Raw::connect(scene.port());
        let both = [packet(1, &ssl_request()), behind].concat();
        client.stream.write_all(&both).unwrap();
        let said = client.rest();
        // At the most an alert of TLS.
        assert!(said.is_empty() || said[0] == 0x15, "{said:?}");
    }
    drop(client);
    scene.end();
    let scene = sides().proxy(sides().backend(Way::Plain), |listener| listener.tls = None);
    let (mut client, _) = Raw::connect(scene.port());
    client.say(&ssl_request()).unwrap();
    assert_eq!(client.last_error(), BAD_PACKET);
}

#[test]
fn empty_packets_are_no_login_and_no_commands() {
    let scene = Scene::new("hostile_f", |_| {});
    let (mut client, _) = Raw::connect(scene.port());
    client.say(b"").unwrap();
    assert_eq!(client.last_error(), BAD_PACKET);
    // As the end of a file that nobody asked for.
    let mut client = Raw::log_in(scene.port(), "hostile_f", USUAL);
    client.command(b"");
    assert_eq!(client.last_error(), BAD_PACKET);
    scene.end();
}

#[test]
fn a_header_of_16_mib_and_nothing_behind_it_ends_by_the_idle_timeout() {
    let timeout = Some(Duration::from_secs(2));
    let scene = Scene::new("hostile_g", |_| {});
    let other = sides().proxy(sides().backend(Way::Plain), |listener| {
        listener.idle_timeout = timeout;
    });
    let mut clients: Vec<_> = (0..20)
        .map(|_| {
            let mut client = Raw::log_in(other.port(), "hostile_g", USUAL);
            client.stream.write_all(b"\xFF\xFF\xFF\0\x03").unwrap();
            client
        })
        .collect();
    assert!(other.proxy.snapshot(false).buffer_bytes < 1 << 20);
    for client in &mut clients {
        client.rest();
    }
    until("the end of the sessions", || other.proxy.sessions() == 0);
    assert_eq!(other.proxy.snapshot(false).buffers_in_use, 0);
    scene.end();
}

#[test]
fn a_client_that_says_nothing_is_told_why_it_has_to_go() {
    let scene = Scene::new("hostile_idle", |_| {});
    let other = sides().proxy(sides().backend(Way::Plain), |listener| {
        listener.idle_timeout = Some(Duration::from_millis(500));
    });
    let mut client = Raw::log_in(other.port(), "hostile_idle", USUAL);
    client.sequence = 0;
    // ER_CLIENT_INTERACTION_TIMEOUT
    assert_eq!(client.last_error(), 4031);
    scene.end();
}

#[test]
fn packets_that_are_continued_for_ever_pass_in_constant_memory() {
    let scene = Scene::new("hostile_h", |_| {});
    let mut client = Raw::log_in(scene.port(), "hostile_h", USUAL);
    let mut piece = vec![b' '; 4 + 0xFF_FFFF];
    for sequence in 0..6 {
        piece[..4].copy_from_slice(&[0xFF, 0xFF, 0xFF, sequence]);
        piece[4] = 3;
        client.stream.write_all(&piece).unwrap();
        let snapshot = scene.front.proxy.snapshot(false);
        assert!(snapshot.buffer_bytes < 2 << 20, "{snapshot:?}");
    }
    drop(client);
    scene.end();
}

#[test]
fn users_are_changed_again_and_again_in_constant_memory() {
    let scene = Scene::new("hostile_i", |_| {});
    let mut client = Raw::log_in(scene.port(), "hostile_i", USUAL);
    for _ in 0..300 {
        client.command(b"\x11hostile_i\0\0test\0\x2D\0mysql_native_password\0");
        let mut answer = client.hear().unwrap();
        if answer[0] == 0xFE {
            client.say(b"").unwrap();
            answer = client.hear().unwrap();
        }
        assert_eq!(answer[0], 0, "{}", answer.escape_ascii());
    }
    let clients = scene.front.proxy.snapshot(true).clients;
    let commands = clients.iter().map(|client| client.commands).max();
    assert_eq!(commands, Some(300));
    drop(client);
    scene.end();
}

#[test]
fn a_flood_of_commands_whose_replies_nobody_reads_is_held_up_or_ended() {
    let scene = Scene::new("hostile_j", |_| {});
    let mut client = Raw::log_in(scene.port(), "hostile_j", USUAL);
    client
        .stream
        .set_write_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    let pings = [1, 0, 0, 0, 0x0E].repeat(1 << 10);
    for _ in 0..400 {
        if client.stream.write_all(&pings).is_err() {
            break;
        }
    }
    let snapshot = scene.front.proxy.snapshot(false);
    assert!(snapshot.buffer_bytes < 4 << 20, "{snapshot:?}");
    drop(client);
    scene.end();
}

#[test]
fn a_client_that_only_listens_any_more_is_gone() {
    let scene = Scene::new("hostile_k", |_| {});
    let mut client = Raw::log_in(scene.port(), "hostile_k", USUAL);
    client.stream.shutdown(Shutdown::Write).unwrap();
    let mut said = [0];
    assert_eq!(client.stream.read(&mut said).unwrap_or(0), 0);
    scene.end();
}

#[test]
fn bytes_of_any_kind_end_their_own_session_alone() {
    let scene = Scene::new("hostile_l", |_| {});
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut noise = |len: usize| -> Vec<u8> {
        let mut byte = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed.to_le_bytes()[3]
        };
        (0..len).map(|_| byte()).collect()
    };
    for len in [1, 4, 5, 40, 300, 5000, 70_000] {
        let (mut client, _) = Raw::connect(scene.port());
        let _ = client.stream.write_all(&noise(len));
        let _ = client.stream.shutdown(Shutdown::Write);
        let mut rest = Vec::new();
        let _ = client.stream.read_to_end(&mut rest);
        let mut client = Raw::log_in(scene.port(), "hostile_l", USUAL);
        let _ = client.stream.write_all(&noise(len));
        let _ = client.stream.shutdown(Shutdown::Write);
        let _ = client.stream.read_to_end(&mut rest);
    }
    scene.end();
}
