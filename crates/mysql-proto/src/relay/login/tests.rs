use super::*;
use crate::packet::testing::hex;
use crate::packet::{HandshakeResponse, SslRequest};
use crate::relay::{RelayError, Side};
use crate::{Capabilities, StatusFlags};

/// Captured from MariaDB 10.11.19 (Debian 12).
const MARIADB: &str = "
    0a                                                  protocol 10
    35 2e 35 2e 35 2d 31 30 2e 31 31 2e 31 39 2d 4d
    61 72 69 61 44 42 2d 30 2b 64 65 62 31 32 75 31 00  version
    03 00 00 00                                         connection 3
    33 31 3e 22 2f 63 27 37 00                          nonce, first part; filler
    fe f7                                               lower capabilities: without SSL
    08 02 00                                            latin1_swedish_ci, AUTOCOMMIT
    ff 81                                               upper capabilities
    15 00 00 00 00 00 00                                21 bytes of auth data, filler
    1d 00 00 00                                         MariaDB's capabilities
    7e 3a 41 77 56 27 5e 25 3c 40 69 72 00              nonce, second part
    6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 73
    73 77 6f 72 64 00                                   mysql_native_password";

/// Laid out after MySQL 8.4's page of the packet; in place of MariaDB's capabilities a filler that must stay.
const MYSQL: &str = "
    0a 38 2e 34 2e 33 00                                protocol 10, 8.4.3
    0b 00 00 00                                         connection 11
    01 02 03 04 05 06 07 08 00                          nonce, first part; filler
    ff ff                                               lower capabilities
    ff 02 00                                            utf8mb4_0900_ai_ci, AUTOCOMMIT
    ff df                                               upper capabilities
    15 00 00 00 00 00 00 a1 a2 a3 a4                    21 bytes of auth data, filler
    09 0a 0b 0c 0d 0e 0f 10 11 12 13 14 00              nonce, second part
    63 61 63 68 69 6e 67 5f 73 68 61 32 5f 70 61 73
    73 77 6f 72 64 00                                   caching_sha2_password";

/// Accepted by MariaDB 10.11.19 for user `root` without a password.
const RESPONSE: &str = "
    8e a2 bf 00                                         capabilities
    00 00 00 01 2d                                      16 MiB, utf8mb4_general_ci
    00 00 00 00 00 00 00 00 00 00
    00 00 00 00 00 00 00 00 00                          filler
    1d 00 00 00                                         MariaDB's capabilities
    72 6f 6f 74 00 00 74 65 73 74 00                    root, no auth response, test
    6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 73
    73 77 6f 72 64 00                                   mysql_native_password
    1c 0c 5f 63 6c 69 65 6e 74 5f 6e 61 6d 65
    07 6f 6e 65 63 6f 70 79                             _client_name = onecopy
    04 5f 70 69 64 01 37                                _pid = 7";

/// Where a greeting's bytes differ from what they were.
fn differences(before: &[u8], after: &[u8]) -> Vec<usize> {
    assert_eq!(before.len(), after.len());
    let pairs = before.iter().zip(after).enumerate();
    let differ = pairs.filter(|(_, (before, after))| before != after);
    differ.map(|(place, _)| place).collect()
}

#[test]
fn a_greeting_keeps_all_but_the_bits_that_are_the_proxys_own() {
    let before = hex(MARIADB);
    let mut payload = before.clone();
    let change = Change {
        clear: Capabilities::COMPRESS | Capabilities::MARIADB_PROGRESS,
        set: Capabilities::SSL | Capabilities::ZSTD_COMPRESSION_ALGORITHM,
    };
    let told = greeting(&mut payload, change).unwrap();
    assert_eq!(told.server_version, b"5.5.5-10.11.19-MariaDB-0+deb12u1");
    assert_eq!(told.connection_id, 3);
    assert_eq!(told.to_nonce(), b"31>\"/c'7~:AwV'^%<@ir");
    assert_eq!(told.auth_plugin, Some(&b"mysql_native_password"[..]));
    assert!(told.capabilities.contains(change.set));
    assert!(!told.capabilities.intersects(change.clear));
    // Both bytes of the lower half, the upper half's higher one, the first of MariaDB's.
    assert_eq!(differences(&before, &payload), [47, 48, 53, 61]);
    assert_eq!(payload[47..49], [0xDE, 0xFF]);
    assert_eq!(payload[52..54], [0xFF, 0x85]);
    assert_eq!(payload[61], 0x1C);
}

#[test]
fn a_filler_in_place_of_mariadbs_capabilities_stays() {
    let before = hex(MYSQL);
    let mut payload = before.clone();
    let change = Change {
        clear: Capabilities::SSL,
        set: Capabilities::MARIADB_PROGRESS,
    };
    let told = greeting(&mut payload, change).unwrap();
    assert!(!told.capabilities.contains(Capabilities::SSL));
    // The lower half's higher byte.
    assert_eq!(differences(&before, &payload), [21]);
    assert_eq!(payload[21], 0xF7);
}

#[test]
fn a_greeting_cut_at_any_byte_is_refused_and_stays() {
    let whole = hex(MYSQL);
    for count in 0..whole.len() {
        let mut payload = whole[..count].to_vec();
        assert!(greeting(&mut payload, Change::default()).is_err());
        assert_eq!(payload, whole[..count]);
    }
}

#[test]
fn a_response_keeps_user_database_plugin_and_attributes() {
    let before = hex(RESPONSE);
    let mut payload = before.clone();
    let change = Change {
        clear: Capabilities::LOCAL_FILES | Capabilities::MARIADB_PROGRESS,
        set: Capabilities::SSL,
    };
    let told = response(&mut payload, change).unwrap();
    assert_eq!(
        (told.user, told.database),
        (&b"root"[..], Some(&b"test"[..]))
    );
    assert_eq!(told.auth_plugin, Some(&b"mysql_native_password"[..]));
    assert!(told.capabilities.contains(Capabilities::SSL));
    assert!(!told.capabilities.intersects(change.clear));
    assert_eq!(differences(&before, &payload), [0, 1, 28]);
}

#[test]
fn the_level_of_zstd_comes_and_goes_with_its_capability() {
    let before = hex(RESPONSE);
    let mut payload = before.clone();
    let zstd = Capabilities::ZSTD_COMPRESSION_ALGORITHM;
    let set = Change {
        set: zstd,
        ..Change::default()
    };
    let clear = Change {
        clear: zstd,
        ..Change::default()
    };
    assert_eq!(response(&mut payload, set).unwrap().zstd_level, Some(3));
    assert_eq!(payload.len(), before.len() + 1);
    // There already: as the client said it.
    *payload.last_mut().unwrap() = 9;
    assert_eq!(response(&mut payload, set).unwrap().zstd_level, Some(9));
    assert_eq!(response(&mut payload, clear).unwrap().zstd_level, None);
    assert_eq!(payload, before);
}

#[test]
fn a_response_cut_at_any_byte_is_refused_and_stays() {
    let whole = hex(RESPONSE);
    let set = Change {
        set: Capabilities::ZSTD_COMPRESSION_ALGORITHM,
        ..Change::default()
    };
    for count in 0..whole.len() {
        let mut payload = whole[..count].to_vec();
        assert!(response(&mut payload, set).is_err());
        assert_eq!(payload, whole[..count]);
    }
}

#[test]
fn a_response_that_servers_let_pass_is_mended() {
    let whole = hex(RESPONSE);
    assert_eq!(tidy(&whole), None);
    let trailing = [&whole[..], b"\0and more"].concat();
    assert_eq!(tidy(&trailing), Some(whole.clone()));
    for cut in 0..whole.len() {
        assert_eq!(tidy(&whole[..cut]), None, "cut at {cut}");
    }
    let mut payload = Vec::new();
    let response = HandshakeResponse {
        capabilities: Capabilities::PLUGIN_AUTH,
        database: None,
        attributes: Default::default(),
        ..HandshakeResponse::decode(&whole).unwrap()
    };
    response.encode(&mut payload).unwrap();
    let without_nul = &payload[..payload.len() - 1];
    assert_eq!(tidy(without_nul), Some(payload.clone()));
}

#[test]
fn a_request_for_tls_is_the_responses_beginning() {
    let payload = hex(RESPONSE);
    let change = Change {
        clear: Capabilities::LOCAL_FILES,
        ..Change::default()
    };
    let request = ssl_request(&payload, change).unwrap();
    assert!(SslRequest::is(&request));
    assert_eq!(differences(&payload[..32], &request), [0, 1]);
    assert_eq!(
        ssl_request(&request, change),
        Ok(request),
        "from a request too"
    );
    let read = SslRequest::decode(&request).unwrap();
    assert!(read.capabilities.contains(Capabilities::SSL));
    assert_eq!((read.max_packet_bytes, read.collation), (1 << 24, 45));
    for count in 0..32 {
        assert!(ssl_request(&payload[..count], change).is_err());
    }
    let mut old = payload;
    old[1] = 0;
    assert!(ssl_request(&old, change).is_err(), "without PROTOCOL_41");
}

#[test]
fn a_response_and_a_request_come_to_the_same_capabilities() {
    let mut payload = hex(RESPONSE);
    let change = Change {
        clear: Capabilities::LOCAL_FILES,
        set: Capabilities::SSL | Capabilities::FOUND_ROWS,
    };
    let request = ssl_request(&payload, change).unwrap();
    response(&mut payload, change).unwrap();
    assert_eq!(request, payload[..32]);
    assert!(HandshakeResponse::decode(&payload).is_ok());
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[length, 0, 0, sequence], payload].concat()
}

const OK: &[u8] = &[0, 0, 0, 3, 0, 0, 0];

/// The server's packets and the client's answers in the order in which they come, as the sides with and without TLS
/// count them.
fn ids(client_tls: bool, server_tls: bool) -> Vec<(u8, u8)> {
    let mut login = Login::new(Capabilities::PROTOCOL_41, client_tls, server_tls);
    let mut client_id = 1 + u8::from(client_tls);
    let mut server_id = 1 + u8::from(server_tls);
    let mut seen = Vec::new();
    let switch = b"\xFEmysql_native_password\0";
    for reply in [&switch[..], b"\x01\x04", OK] {
        let mut answer = packet(client_id, b"answer");
        login.client(&mut answer).unwrap();
        assert_eq!(answer[3], server_id);
        seen.push((client_id, answer[3]));
        let mut bytes = packet(server_id.wrapping_add(1), reply);
        assert_eq!(login.error_sequence(), client_id.wrapping_add(1));
        login.server(&mut bytes).unwrap();
        assert_eq!(bytes[4..], *reply, "the header alone is touched");
        assert_eq!(bytes[3], client_id.wrapping_add(1));
        seen.push((bytes[3], server_id.wrapping_add(1)));
        client_id = client_id.wrapping_add(2);
        server_id = server_id.wrapping_add(2);
    }
    assert!(login.is_over());
    seen
}

#[test]
fn each_side_counts_its_own_request_for_tls() {
    assert_eq!(ids(false, false)[..2], [(1, 1), (2, 2)]);
    assert_eq!(ids(true, true)[..2], [(2, 2), (3, 3)]);
    assert_eq!(ids(true, false)[..2], [(2, 1), (3, 2)]);
    assert_eq!(ids(false, true)[..2], [(1, 2), (2, 3)]);
}

#[test]
fn what_the_server_says_is_told_apart() {
    let factors = Capabilities::MULTI_FACTOR_AUTHENTICATION;
    let status = StatusFlags::AUTOCOMMIT | StatusFlags::IN_TRANS;
    for (capabilities, payload, said) in [
        (Capabilities::empty(), OK, LoginPacket::Ok { status }),
        (
            Capabilities::empty(),
            b"\xFF\x15\x04#28000no",
            LoginPacket::Err { code: 1045 },
        ),
        (factors, b"\xFE", LoginPacket::Switch),
        (factors, b"\x01\x03", LoginPacket::More),
        (factors, b"\x02plugin\0", LoginPacket::NextFactor),
        // A question of MariaDB's dialog.
        (Capabilities::empty(), b"\x02Password:", LoginPacket::More),
        (Capabilities::empty(), b"", LoginPacket::More),
    ] {
        let mut login = Login::new(capabilities, false, false);
        assert_eq!(login.server(&mut packet(2, payload)), Ok(said));
        let over = matches!(said, LoginPacket::Ok { .. } | LoginPacket::Err { .. });
        assert_eq!(login.is_over(), over);
    }
}

#[test]
fn a_hostile_login_is_not_followed() {
    let mut login = Login::new(Capabilities::PROTOCOL_41, false, false);
    let short = RelayError::BadLength { side: Side::Server };
    for mut bytes in [
        vec![],
        vec![1, 0, 0],
        vec![2, 0, 0, 2, 1],
        vec![0, 0, 0, 2, 1],
    ] {
        assert_eq!(login.server(&mut bytes), Err(short));
        let side = Side::Client;
        assert_eq!(
            login.client(&mut bytes),
            Err(RelayError::BadLength { side })
        );
    }
    let cut = login.server(&mut packet(2, &OK[..4]));
    assert!(matches!(cut, Err(RelayError::Decode { .. })), "{cut:?}");
    let mut endless = (0..=255).map(|_| login.server(&mut packet(2, b"\x01x")));
    let last = endless.find(Result::is_err);
    assert_eq!(last, Some(Err(RelayError::EndlessLogin)));
}
