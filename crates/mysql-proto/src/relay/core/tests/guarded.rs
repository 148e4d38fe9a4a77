//! Changes of user where only one of the two sides is secure.

use super::*;
use crate::relay::{PasswordGuard, Protection};

const PLUGINS: Capabilities = PLAIN.union(Capabilities::PLUGIN_AUTH);

/// COM_CHANGE_USER of a client that guesses at this plugin.
fn change_user(plugin: &str, response: &[u8]) -> Vec<u8> {
    let length = u8::try_from(response.len()).unwrap();
    let head = [b"\x11app\0", &[length][..], response, b"db\0\x2D\0"].concat();
    packet(0, &[&head[..], plugin.as_bytes(), b"\0"].concat())
}

fn switch(plugin: &str) -> Vec<u8> {
    [b"\xFE", plugin.as_bytes(), b"\0", &[7; 20], b"\0"].concat()
}

/// A change of user between a client with TLS and a server without, in pieces of `most`; how far it went.
fn change(most: usize, first: &[u8], reply: &[u8]) -> (Followed, Result<(), RelayError>) {
    let mut followed = Followed::new(PLUGINS);
    let guard = PasswordGuard::new(Protection::Tls, Protection::None);
    followed.relay = followed.relay.with_guard(guard);
    let end = followed
        .feed(Side::Client, first, most)
        .and_then(|()| followed.feed(Side::Server, &packet(1, reply), most));
    (followed, end)
}

#[test]
fn a_change_of_user_by_hashes_passes() {
    for most in [usize::MAX, 1, 7] {
        for plugin in ["mysql_native_password", "caching_sha2_password"] {
            let first = change_user(plugin, &[7; 20]);
            let (followed, end) = change(most, &first, &switch(plugin));
            end.unwrap();
            assert!(followed.all_passed());
        }
    }
}

#[test]
fn nothing_passes_of_a_packet_with_a_password_or_of_a_request_for_one() {
    for most in [usize::MAX, 1, 7] {
        for plugin in ["sha256_password", "mysql_clear_password", "dialog"] {
            let first = change_user(plugin, b"secret\0");
            let (followed, end) = change(most, &first, OK);
            assert_eq!(end, Err(RelayError::PasswordExposed), "{plugin}");
            assert_eq!(followed.passed, [0, 0], "{plugin}");
            let first = change_user("mysql_native_password", &[7; 20]);
            let (followed, end) = change(most, &first, &switch(plugin));
            assert_eq!(end, Err(RelayError::PasswordExposed), "{plugin}");
            assert_eq!(followed.passed, [first.len(), 0], "{plugin}");
        }
        let first = change_user("caching_sha2_password", &[7; 32]);
        let (followed, end) = change(most, &first, &[0x01, 0x04]);
        assert_eq!(end, Err(RelayError::PasswordExposed));
        assert_eq!(followed.passed, [first.len(), 0]);
    }
}

#[test]
fn a_change_of_user_that_is_no_packet_of_one_does_not_pass() {
    for payload in [&b"\x11"[..], b"\x11app", b"\x11app\0\x14short"] {
        let (followed, end) = change(usize::MAX, &packet(0, payload), OK);
        assert!(matches!(
            end,
            Err(RelayError::Decode {
                side: Side::Client,
                ..
            })
        ));
        assert_eq!(followed.passed, [0, 0]);
    }
    // A header that says more than any has, before it comes.
    let (_, end) = change(usize::MAX, &[0, 0, 2, 0, 0x11], OK);
    let side = Side::Client;
    assert_eq!(end, Err(RelayError::BadLength { side }));
}

#[test]
fn what_follows_the_plugins_name_is_for_the_server_to_judge() {
    // mysql_common, on which Rust's `mysql` and `mysql_async` are, writes attributes whether or not CONNECT_ATTRS was agreed on.
    let mut first = change_user("mysql_native_password", &[7; 20]);
    first.push(0);
    first[0] += 1;
    for most in [usize::MAX, 1, 7] {
        let (followed, end) = change(most, &first, OK);
        end.unwrap();
        assert!(followed.all_passed());
    }
}

#[test]
fn the_error_for_a_refused_command_has_the_id_that_its_client_waits_for() {
    let exposed = change_user("mysql_clear_password", b"secret\0");
    let empty = packet(0, b"");
    for first in [&exposed, &empty] {
        for most in [usize::MAX, 1] {
            let (followed, end) = change(most, first, OK);
            end.unwrap_err();
            assert_eq!(followed.relay.error_sequence(), Some(1));
        }
    }
}

#[test]
fn between_sides_that_are_alike_nothing_is_looked_at() {
    let mut followed = Followed::new(PLUGINS);
    let guard = PasswordGuard::new(Protection::Tls, Protection::Tls);
    followed.relay = followed.relay.with_guard(guard);
    let first = change_user("mysql_clear_password", b"secret\0");
    followed.read(Side::Client, &first).unwrap();
    followed.read(Side::Server, &packet(1, OK)).unwrap();
    assert!(followed.all_passed());
}
