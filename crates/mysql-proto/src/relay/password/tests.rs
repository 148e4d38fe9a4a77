use super::Protection::{None as Open, Socket, Tls};
use super::Verdict::{Decrypt, Encrypt, Pass, Refuse};
use super::*;

const SIDES: [Protection; 3] = [Open, Socket, Tls];

/// AuthSwitchRequest: the header, the plugin's name, a NUL, a nonce.
fn switch(plugin: &str) -> Vec<u8> {
    [b"\xFE", plugin.as_bytes(), b"\0", &[7; 21]].concat()
}

#[test]
fn hashes_pass_between_all_sides() {
    for plugin in ["mysql_native_password", "client_ed25519", "parsec"] {
        for (client, server) in pairs() {
            let mut guard = PasswordGuard::new(client, server);
            assert_eq!(guard.client(Some(plugin.as_bytes()), &[7; 20]), Pass);
            assert_eq!(guard.server(&switch(plugin), true), Pass);
            assert_eq!(guard.server(&[0x01, 0x04], true), Pass);
        }
    }
}

#[test]
fn caching_sha2_password_passes_until_the_server_asks_for_the_password() {
    for (client, server) in pairs() {
        let expected = match (client != Open, server != Open) {
            (true, false) => Encrypt,
            (false, true) => Decrypt,
            _ => Pass,
        };
        for asks in [&[0x01, 0x04][..], &[0x04]] {
            let mut guard = PasswordGuard::new(client, server);
            let plugin = Some(&b"caching_sha2_password"[..]);
            assert_eq!(guard.client(plugin, &[7; 32]), Pass);
            assert_eq!(guard.server(&[0x01, 0x03], false), Pass);
            assert_eq!(guard.server(asks, false), expected, "{client:?} {server:?}");
            let mut guard = PasswordGuard::new(client, server);
            assert_eq!(guard.client(None, &[7; 20]), Pass);
            assert_eq!(guard.server(&switch("caching_sha2_password"), false), Pass);
            assert_eq!(guard.server(asks, false), expected, "{client:?} {server:?}");
        }
    }
}

#[test]
fn sha256_password_is_secure_over_tls_alone() {
    for (client, server) in pairs() {
        let expected = match (client == Tls, server == Tls) {
            (true, false) => Encrypt,
            (false, true) => Decrypt,
            _ => Pass,
        };
        let mut guard = PasswordGuard::new(client, server);
        assert_eq!(guard.server(&switch("sha256_password"), false), expected);
        let plugin = Some(&b"sha256_password"[..]);
        assert_eq!(guard.client(plugin, b"secret\0"), expected);
        assert_eq!(guard.client(plugin, b"\0"), Pass, "no password");
    }
}

#[test]
fn passwords_in_clear_text_pass_only_where_both_sides_are_alike() {
    for plugin in ["mysql_clear_password", "dialog"] {
        for (client, server) in pairs() {
            let is_even = (client == Open) == (server == Open);
            let expected = if is_even { Pass } else { Refuse };
            let mut guard = PasswordGuard::new(client, server);
            assert_eq!(guard.server(&switch(plugin), false), expected);
            // The server asks such a client on, without a switch.
            assert_eq!(guard.client(Some(plugin.as_bytes()), b""), expected);
        }
    }
}

#[test]
fn a_plugin_that_is_not_known_may_send_a_password() {
    let long = "x".repeat(300);
    for plugin in ["authentication_ldap_simple", "", &long] {
        let mut guard = PasswordGuard::new(Tls, Open);
        let packet = switch(plugin);
        let seen = &packet[..packet.len().min(DECIDING_BYTES)];
        assert_eq!(guard.server(seen, false), Refuse, "{plugin}");
        let mut guard = PasswordGuard::new(Open, Tls);
        assert_eq!(guard.server(seen, false), Pass, "{plugin}");
    }
    // A request of one byte is for the password's hash before MySQL 4.1, which gives it away.
    assert_eq!(PasswordGuard::new(Tls, Open).server(&[0xFE], false), Refuse);
}

#[test]
fn another_factor_is_a_switch_where_there_are_factors() {
    let next = b"\x02mysql_clear_password\0";
    let mut guard = PasswordGuard::new(Tls, Open);
    assert_eq!(guard.client(None, &[7; 20]), Pass);
    assert_eq!(guard.server(next, true), Refuse);
    let mut guard = PasswordGuard::new(Tls, Open);
    assert_eq!(guard.client(None, &[7; 20]), Pass);
    assert_eq!(guard.server(next, false), Pass, "data of the plugin's");
}

#[test]
fn there_is_nothing_to_watch_between_sides_that_are_alike() {
    for (client, server) in pairs() {
        assert_eq!(
            PasswordGuard::new(client, server).is_idle(),
            client == server,
            "{client:?} {server:?}"
        );
    }
}

fn pairs() -> impl Iterator<Item = (Protection, Protection)> {
    SIDES
        .iter()
        .flat_map(|&client| SIDES.iter().map(move |&server| (client, server)))
}
