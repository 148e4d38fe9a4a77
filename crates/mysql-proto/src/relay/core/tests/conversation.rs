//! Several commands, and exchanges in which both sides speak.

use super::*;
use crate::relay::pending::MAX_PENDING;

const PREPARED: &[u8] = &[0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const CLOSE: &[u8] = &[0x19, 7, 0, 0, 0];

#[test]
fn commands_without_reply_are_over_at_once() {
    let long_data = b"\x18\x07\0\0\0\0\0data";
    let steps = [
        c(b"\x16?"),
        s(&[PREPARED]),
        c(long_data),
        c(CLOSE),
        // Closed before, and cut short.
        c(CLOSE),
        c(b"\x19\x07"),
        c(b"\x01"),
    ];
    let (seen, relay) = play(PLAIN, &steps);
    let commands = [0x18, 0x19, 0x19, 0x19, 0x01].map(command);
    assert_eq!(seen, [&[command(0x16), done(0x16)], &commands[..]].concat());
    assert!(relay.is_idle());
    assert_eq!((relay.commands(), relay.statements()), (6, 0));
}

#[test]
fn statements_are_counted_until_they_are_closed_or_forgotten() {
    let mut followed = Followed::new(PLAIN);
    let mut prepare = |id: u8, count: usize| {
        let ok = [0, id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        followed.read(Side::Client, &packet(0, b"\x16?")).unwrap();
        followed.read(Side::Server, &packet(1, &ok)).unwrap();
        assert_eq!(followed.relay.statements(), count);
    };
    prepare(1, 1);
    prepare(9, 2);
    prepare(4, 3);
    prepare(4, 3);
    let mut close = |id: u32, count: usize| {
        let [a, b, c, d] = id.to_le_bytes();
        let bytes = packet(0, &[0x19, a, b, c, d]);
        followed.read(Side::Client, &bytes).unwrap();
        assert_eq!(followed.relay.statements(), count);
    };
    close(5, 3);
    close(9, 2);
    close(9, 2);
    // MariaDB: the last one prepared, once.
    close(u32::MAX, 1);
    close(u32::MAX, 1);
    let reset = packet(0, b"\x1F");
    followed.read(Side::Client, &reset).unwrap();
    followed.read(Side::Server, &packet(1, ERR)).unwrap();
    assert_eq!(
        followed.relay.statements(),
        1,
        "the server did not reset it"
    );
    followed.read(Side::Client, &reset).unwrap();
    followed.read(Side::Server, &packet(1, OK)).unwrap();
    assert_eq!(followed.relay.statements(), 0);
}

#[test]
fn commands_sent_ahead_are_answered_in_order() {
    let ahead = [
        packet(0, b"\x16?"),
        packet(0, b"\x17\xFF\xFF\xFF\xFF\0\x01\0\0\0"),
        packet(0, b"\x19\xFF\xFF\xFF\xFF"),
        packet(0, b"\x03select"),
        packet(0, b"\x0e"),
    ]
    .concat();
    let steps = [
        (Side::Client, ahead.clone()),
        s(&[PREPARED]),
        s(&[OK]),
        s(&[&[1], COLUMN, EOF, b"\x01x", EOF]),
        s(&[OK]),
    ];
    let (seen, relay) = play(PLAIN, &steps);
    assert_eq!(
        seen,
        [
            command(0x16),
            command(0x17),
            command(0x19),
            command(3),
            command(0x0E),
            done(0x16),
            done(0x17),
            done(3),
            done(0x0E)
        ]
    );
    assert!(relay.is_idle());
    assert_eq!((relay.commands(), relay.statements()), (5, 0));

    let mut relay = Relay::new(PLAIN);
    let mut at = 0;
    while at < ahead.len() {
        at += relay.client(&ahead[at..]).unwrap().pass;
    }
    assert_eq!(relay.outstanding(), 4, "all but the close");
    relay.server(&packet(1, PREPARED)).unwrap();
    assert_eq!((relay.outstanding(), relay.statements()), (3, 1));
    assert_eq!(relay.command(), Some(CommandByte::STMT_EXECUTE));
    assert_eq!(relay.error_sequence(), Some(1));
    relay.server(&packet(1, OK)).unwrap();
    assert_eq!(relay.statements(), 0, "closed in its turn");
}

#[test]
fn replies_that_come_together_are_told_one_by_one() {
    let replies = [packet(1, OK), packet(1, ERR), packet(1, OK)].concat();
    let pings = packet(0, b"\x0e").repeat(3);
    let (seen, _) = play(PLAIN, &[(Side::Client, pings), (Side::Server, replies)]);
    let ends = [done(0x0E), failed(0x0E), done(0x0E)];
    assert_eq!(seen, [&[command(0x0E); 3][..], &ends].concat());
}

#[test]
fn more_commands_than_are_kept_are_an_error() {
    let mut relay = Relay::new(PLAIN);
    let ping = packet(0, b"\x0e");
    for _ in 0..=MAX_PENDING {
        relay.client(&ping).unwrap();
    }
    assert_eq!(relay.outstanding(), MAX_PENDING + 1);
    let error = RelayError::TooManyOutstanding { max: MAX_PENDING };
    assert_eq!(relay.client(&ping), Err(error));
    assert_eq!(relay.server(&packet(1, OK)), Err(error), "it stays so");
}

#[test]
fn a_file_is_sent_up_to_an_empty_packet() {
    let ask = s(&[b"\xFB/tmp/t.csv"]);
    let file = [packet(2, b"1,2\n"), packet(3, b"\x01"), packet(4, b"")].concat();
    for (answer, end) in [(OK, done(3)), (ERR, failed(3))] {
        let steps = [
            c(b"\x03load data local"),
            ask.clone(),
            (Side::Client, file.clone()),
            (Side::Server, packet(5, answer)),
            c(b"\x0e"),
            s(&[OK]),
        ];
        let (seen, relay) = play(PLAIN, &steps);
        assert_eq!(seen, [command(3), end, command(0x0E), done(0x0E)]);
        assert!(relay.is_idle());
    }
}

#[test]
fn an_error_in_the_middle_of_a_file_does_not_end_the_file() {
    let steps = [
        c(b"\x03load data local"),
        s(&[b"\xFBt"]),
        (Side::Client, packet(2, b"1,2\n")),
        (Side::Server, packet(3, ERR)),
        (Side::Client, packet(3, b"\x0e,4\n")),
        (Side::Client, packet(4, b"")),
        c(b"\x0e"),
        s(&[OK]),
    ];
    let (seen, _) = play(PLAIN, &steps);
    assert_eq!(seen, [command(3), failed(3), command(0x0E), done(0x0E)]);

    let mut relay = Relay::new(PLAIN);
    relay.client(&packet(0, b"\x03load")).unwrap();
    relay.server(&packet(1, b"\xFBt")).unwrap();
    assert!(relay.in_file());
    relay.client(&packet(2, b"1,2\n")).unwrap();
    assert_eq!(relay.error_sequence(), Some(3));
    relay.server(&packet(3, ERR)).unwrap();
    assert!(relay.in_file() && !relay.is_idle());
    relay.client(&packet(3, b"")).unwrap();
    assert!(relay.is_idle());
}

#[test]
fn a_command_ahead_of_a_request_for_a_file_is_an_error() {
    let mut relay = Relay::new(PLAIN);
    relay.client(&packet(0, b"\x03load")).unwrap();
    relay.client(&packet(0, b"\x0e")).unwrap();
    assert_eq!(
        relay.server(&packet(1, b"\xFBt")),
        Err(RelayError::SentAhead)
    );
}

#[test]
fn a_change_of_user_asks_until_it_is_content() {
    let steps = [
        c(b"\x16?"),
        s(&[PREPARED]),
        c(b"\x11grace\0\0\0"),
        s(&[b"\xFEmysql_native_password\0nonce\0"]),
        (Side::Client, packet(2, b"\x03answer")),
        (Side::Server, packet(3, b"\x01\x04")),
        (Side::Client, packet(4, b"")),
        (Side::Server, packet(5, b"\x05data of a plugin")),
        (Side::Client, packet(6, b"\x0e")),
        (Side::Server, packet(7, OK)),
        c(b"\x0e"),
        s(&[OK]),
    ];
    let (seen, relay) = play(PLAIN, &steps);
    let prepared = [command(0x16), done(0x16)];
    let changed = [command(0x11), done(0x11), command(0x0E), done(0x0E)];
    assert_eq!(seen, [&prepared[..], &changed].concat());
    assert_eq!((relay.commands(), relay.statements()), (3, 0));
}

#[test]
fn what_follows_a_change_of_user_may_be_sent_ahead_where_nothing_is_asked() {
    let steps = [
        c(b"\x11grace\0\0\0"),
        c(b"\x03set names utf8mb4"),
        // caching_sha2_password knows the client.
        s(&[b"\x01\x03", OK]),
        s(&[OK]),
    ];
    let (seen, _) = play(PLAIN, &steps);
    assert_eq!(seen, [command(0x11), command(3), done(0x11), done(3)]);

    let mut relay = Relay::new(PLAIN);
    relay.client(&packet(0, b"\x11grace\0\0\0")).unwrap();
    relay.client(&packet(0, b"\x0e")).unwrap();
    let switch = packet(1, b"\xFEclient_ed25519\0");
    assert_eq!(relay.server(&switch), Err(RelayError::SentAhead));
}

#[test]
fn a_command_ahead_of_any_question_of_a_change_of_user_is_the_clients_error() {
    // A switch, a next factor, a request for the password, a plugin's data, and data without a byte.
    for question in [&b"\xFEx\0"[..], b"\x02x\0", b"\x01\x04", b"\x05data", b""] {
        let mut relay = Relay::new(PLAIN);
        relay.client(&packet(0, b"\x11grace\0\0\0")).unwrap();
        relay.client(&packet(0, b"\x0e")).unwrap();
        let error = relay.server(&packet(1, question)).unwrap_err();
        assert_eq!(error, RelayError::SentAhead);
        assert_eq!(error.side(), Some(Side::Client));
    }
}

#[test]
fn the_servers_last_error_is_known_until_the_next_command() {
    let mut relay = Relay::new(PLAIN);
    assert_eq!(relay.last_error(), None);
    relay.client(&packet(7, b"\x0e")).unwrap();
    // ER_NET_PACKETS_OUT_OF_ORDER, as MariaDB says it.
    let out_of_order = b"\xFF\x84\x04#08S01Got packets out of order";
    relay.server(&packet(0, out_of_order)).unwrap();
    assert_eq!(relay.last_error(), Some(1156));
    relay.client(&packet(0, b"\x0e")).unwrap();
    assert_eq!(relay.last_error(), None);
    relay.server(&packet(1, OK)).unwrap();
    // A farewell counts as well.
    let farewell = packet(0, b"\xFF\xBF\x0F#HY000The client was disconnected");
    relay.server(&farewell).unwrap();
    assert_eq!(relay.last_error(), Some(4031));
}

#[test]
fn the_number_and_state_of_the_last_error_stay_known_behind_the_next_command() {
    let mut relay = Relay::new(PLAIN);
    assert_eq!(relay.error_sent(), None);
    relay.client(&packet(0, b"\x0e")).unwrap();
    relay.server(&packet(1, ERR)).unwrap();
    relay.client(&packet(0, b"\x0e")).unwrap();
    assert_eq!(relay.last_error(), None);
    assert_eq!(relay.error_sent(), Some((1064, Some(*b"42000"))));
    // Without a state, as a server says it that knows of none.
    relay.server(&packet(1, b"\xFF\x29\x04no")).unwrap();
    assert_eq!(relay.error_sent(), Some((1065, None)));
}

#[test]
fn a_refused_user_keeps_the_statements() {
    let steps = [c(b"\x16?"), s(&[PREPARED]), c(b"\x11x\0\0\0"), s(&[ERR])];
    let (seen, relay) = play(PLAIN, &steps);
    assert_eq!(seen.last(), Some(&failed(0x11)));
    assert_eq!(relay.statements(), 1);
}

#[test]
fn an_error_that_nobody_asked_for_is_a_farewell() {
    // 4031 of MySQL, which closes behind it.
    let farewell = packet(0, b"\xFF\xBF\x0F#HY000The client was disconnected");
    let steps = [c(b"\x0e"), s(&[OK]), (Side::Server, farewell)];
    let (seen, relay) = play(PLAIN, &steps);
    let event = Event::Farewell { code: 4031 };
    assert_eq!(seen, [command(0x0E), done(0x0E), event]);
    assert!(relay.is_idle());
}
