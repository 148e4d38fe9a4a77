//! One command and its reply, for every kind of command.

use super::*;

fn one(capabilities: Capabilities, payload: &[u8], reply: &[&[u8]]) -> Vec<Event> {
    let (seen, relay) = play(capabilities, &[c(payload), s(reply)]);
    assert!(relay.is_idle());
    assert_eq!((relay.commands(), relay.outstanding()), (1, 0));
    seen
}

#[test]
fn ok_and_err_end_commands_of_every_kind() {
    let no_such = [0x00, 0x05, 0x06, 0x7F, 0xE0];
    let known = [
        0x02, 0x03, 0x07, 0x0A, 0x0C, 0x0E, 0x15, 0x17, 0x1A, 0x1F, 0xFA,
    ];
    for byte in known.into_iter().chain(no_such) {
        for capabilities in [PLAIN, DEPRECATE] {
            let payload = [byte, 1, 0, 0, 0];
            assert_eq!(
                one(capabilities, &payload, &[OK]),
                [command(byte), done(byte)]
            );
            assert_eq!(
                one(capabilities, &payload, &[ERR]),
                [command(byte), failed(byte)]
            );
        }
    }
    // What has replies of its own may fail as well.
    for byte in [0x04, 0x11, 0x12, 0x16, 0x1C, 0x1E] {
        assert_eq!(one(PLAIN, &[byte], &[ERR]), [command(byte), failed(byte)]);
    }
}

#[test]
fn shutdown_debug_and_set_option_end_by_eof() {
    for byte in [0x08, 0x0D, 0x1B] {
        assert_eq!(
            one(PLAIN, &[byte, 0, 0], &[EOF]),
            [command(byte), done(byte)]
        );
        let seen = one(DEPRECATE, &[byte, 0, 0], &[OK_EOF]);
        assert_eq!(seen, [command(byte), done(byte)]);
        assert_eq!(one(DEPRECATE, &[byte], &[EOF]), [command(byte), done(byte)]);
    }
}

#[test]
fn long_numbers_texts_and_session_changes_of_an_ok_packet_are_passed_over() {
    let ok = [
        &[0, 0xFE, 1, 0, 0, 0, 1, 0, 0, 0, 0xFC, 7, 1][..],
        &[0x03, 0x40, 5, 0],
        // The info, and changes that need not be right.
        b"\x05hello\x06garble",
    ]
    .concat();
    let expected = Event::Done {
        command: CommandByte::QUERY,
        failed: false,
        status: StatusFlags(0x4003),
    };
    let (seen, relay) = play(
        PLAIN | Capabilities::SESSION_TRACK,
        &[c(b"\x03begin"), s(&[&ok])],
    );
    assert_eq!(seen, [command(3), expected]);
    assert!(relay.in_transaction());
}

#[test]
fn many_rows_of_one_length_end_as_few_do() {
    // As long as what ends them.
    let (row, other): (&[u8], &[u8]) = (b"\x04four", b"\x05fives");
    for count in [15, 16, 17, 40] {
        let mut rows = vec![row; count];
        // A run that is broken, and one that continues behind it.
        rows.push(other);
        rows.extend([row; 20]);
        for (end, expected) in [(EOF, done(3)), (ERR, failed(3))] {
            let reply = [&[&[1], COLUMN, EOF], &rows[..], &[end]].concat();
            assert_eq!(one(PLAIN, b"\x03select", &reply), [command(3), expected]);
        }
    }
}

#[test]
fn the_last_sequence_id_of_rows_is_known_also_where_one_was_left_out() {
    let mut followed = Followed::new(PLAIN);
    let query = packet(0, b"\x03select");
    followed.feed(Side::Client, &query, query.len()).unwrap();
    let mut reply = packets(1, &[&[1], COLUMN, EOF]);
    reply.extend(packets(4, &[&b"\x04four"[..]; 30]));
    assert_eq!(reply[reply.len() - 6], 33);
    followed.feed(Side::Server, &reply, reply.len()).unwrap();
    assert_eq!(followed.relay.error_sequence(), Some(34));
    let gap = packets(77, &[&b"\x04four"[..]; 30]);
    followed.feed(Side::Server, &gap, gap.len()).unwrap();
    assert!(followed.all_passed());
    assert_eq!(followed.relay.error_sequence(), Some(77 + 30));
}

#[test]
fn rows_end_in_both_styles() {
    let row: &[u8] = b"\x03one\x03two";
    let head: [&[u8]; 3] = [&[2], COLUMN, COLUMN];
    let plain: Vec<&[u8]> = [&head[..], &[EOF, row, row, b"\xFB\xFB", EOF]].concat();
    assert_eq!(one(PLAIN, b"\x03select", &plain), [command(3), done(3)]);
    let deprecate: Vec<&[u8]> = [&head[..], &[row, row, b"\xFB\xFB", OK_EOF]].concat();
    assert_eq!(
        one(DEPRECATE, b"\x03select", &deprecate),
        [command(3), done(3)]
    );
    // Without rows, and with an error instead of the rest.
    let none: Vec<&[u8]> = [&head[..], &[EOF, EOF]].concat();
    assert_eq!(one(PLAIN, b"\x03select", &none), [command(3), done(3)]);
    for count in 1..plain.len() {
        let broken: Vec<&[u8]> = [&plain[..count], &[ERR]].concat();
        assert_eq!(one(PLAIN, b"\x03select", &broken), [command(3), failed(3)]);
    }
}

#[test]
fn a_binary_row_and_a_short_row_of_nulls_end_nothing() {
    let reply: [&[u8]; 6] = [&[1], COLUMN, EOF, &[0, 0, 5], &[0xFB], EOF];
    assert_eq!(
        one(PLAIN, b"\x17\x01\0\0\0\0\x01\0\0\0", &reply),
        [command(0x17), done(0x17)]
    );
}

#[test]
fn results_follow_one_another() {
    let more: &[u8] = &[0xFE, 0, 0, 0x0A, 0];
    let ok_more: &[u8] = &[0, 1, 0, 0x0A, 0, 0, 0];
    let reply = [
        &[1][..],
        COLUMN,
        EOF,
        b"\x01x",
        more,
        ok_more,
        &[1],
        COLUMN,
        EOF,
        more,
    ];
    for (last, end) in [(OK, done(3)), (ERR, failed(3))] {
        let reply: Vec<&[u8]> = [&reply[..], &[last]].concat();
        let (seen, _) = play(PLAIN, &[c(b"\x03call p()"), s(&reply)]);
        let end = match end {
            Event::Done {
                command,
                failed: true,
                ..
            } => Event::Done {
                command,
                failed: true,
                status: StatusFlags(0x0A),
            },
            end => end,
        };
        assert_eq!(seen, [command(3), end]);
    }
}

#[test]
fn definitions_may_be_left_out_where_that_is_agreed() {
    for capability in [
        Capabilities::MARIADB_CACHE_METADATA,
        Capabilities::OPTIONAL_RESULTSET_METADATA,
    ] {
        let plain = PLAIN | capability;
        let seen = one(plain, b"\x17\x01", &[&[2, 0], EOF, b"\0\0ab", EOF]);
        assert_eq!(seen, [command(0x17), done(0x17)]);
        let seen = one(plain, b"\x17\x01", &[&[1, 1], COLUMN, EOF, b"\0\0a", EOF]);
        assert_eq!(seen, [command(0x17), done(0x17)]);
        let seen = one(
            DEPRECATE | capability,
            b"\x17\x01",
            &[&[2, 0], b"\0\0ab", OK_EOF],
        );
        assert_eq!(seen, [command(0x17), done(0x17)]);
    }
}

#[test]
fn a_prepare_lists_parameters_and_columns() {
    // Statement 7; columns, parameters.
    let ok = |columns: u8, parameters: u8| [0, 7, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0];
    for (columns, parameters) in [(0, 0), (2, 0), (0, 1), (1, 2)] {
        for capabilities in [PLAIN, DEPRECATE] {
            let ok = ok(columns, parameters);
            let mut reply: Vec<&[u8]> = vec![&ok];
            for count in [parameters, columns] {
                reply.extend(vec![COLUMN; usize::from(count)]);
                if count > 0 && capabilities == PLAIN {
                    reply.push(EOF);
                }
            }
            let (seen, relay) = play(capabilities, &[c(b"\x16select"), s(&reply)]);
            assert_eq!(seen, [command(0x16), done(0x16)]);
            assert_eq!(relay.statements(), 1);
        }
    }
    let capabilities = PLAIN | Capabilities::OPTIONAL_RESULTSET_METADATA;
    let without = [&ok(2, 1)[..], &[0]].concat();
    let seen = one(capabilities, b"\x16select", &[&without]);
    assert_eq!(seen, [command(0x16), done(0x16)]);
    let with = [&ok(1, 0)[..], &[1]].concat();
    let seen = one(capabilities, b"\x16select", &[&with, COLUMN, EOF]);
    assert_eq!(seen, [command(0x16), done(0x16)]);
}

#[test]
fn an_execution_with_a_cursor_is_over_before_its_rows() {
    let cursor = StatusFlags::AUTOCOMMIT | StatusFlags::CURSOR_EXISTS;
    let last = StatusFlags::AUTOCOMMIT | StatusFlags::LAST_ROW_SENT;
    let end = |byte, status| Event::Done {
        command: CommandByte(byte),
        failed: false,
        status,
    };
    let expected = [
        command(0x17),
        end(0x17, cursor),
        command(0x1C),
        end(0x1C, cursor),
        command(0x1C),
        end(0x1C, last),
    ];
    let execute = b"\x17\x01\0\0\0\x01\x01\0\0\0";
    let fetch = b"\x1C\x01\0\0\0\x02\0\0\0";
    let row: &[u8] = b"\0\0a";
    for (capabilities, open, end) in [
        (
            PLAIN,
            &[0xFE, 0, 0, 0x42, 0][..],
            &[0xFE, 0, 0, 0x82, 0][..],
        ),
        (
            DEPRECATE,
            &[0xFE, 0, 0, 0x42, 0, 0, 0],
            &[0xFE, 0, 0, 0x82, 0, 0, 0],
        ),
    ] {
        let steps = [
            c(execute),
            s(&[&[1], COLUMN, open]),
            c(fetch),
            s(&[row, row, open]),
            c(fetch),
            s(&[row, end]),
        ];
        let (seen, relay) = play(capabilities, &steps);
        assert_eq!(seen, expected);
        assert!(relay.is_idle());
    }
}

#[test]
fn statistics_is_one_packet_of_any_kind() {
    for text in [&b"Uptime: 5"[..], b"", b"\xFE", b"\x01"] {
        assert_eq!(one(PLAIN, b"\x09", &[text]), [command(9), done(9)]);
    }
}

#[test]
fn a_list_of_fields_ends_by_eof() {
    let reply: [&[u8]; 3] = [COLUMN, COLUMN, EOF];
    assert_eq!(one(PLAIN, b"\x04t\0%", &reply), [command(4), done(4)]);
    assert_eq!(one(DEPRECATE, b"\x04t\0%", &reply), [command(4), done(4)]);
}

#[test]
fn progress_reports_end_nothing() {
    let capabilities = PLAIN | Capabilities::MARIADB_PROGRESS;
    let report: &[u8] = b"\xFF\xFF\xFF\x01\x01\x02\x10\x27\x00\x05alter";
    let reply = [report, report, OK];
    assert_eq!(
        one(capabilities, b"\x03alter", &reply),
        [command(3), done(3)]
    );
    let rows = [report, &[1], COLUMN, EOF, report, b"\x01x", report, EOF];
    assert_eq!(
        one(capabilities, b"\x03select", &rows),
        [command(3), done(3)]
    );
    // Without the capability it is an error like any other, as is one that is too short.
    assert_eq!(one(PLAIN, b"\x03x", &[report]), [command(3), failed(3)]);
    assert_eq!(
        one(capabilities, b"\x03x", &[b"\xFF"]),
        [command(3), failed(3)]
    );
}

#[test]
fn a_binary_log_is_followed_to_its_end_and_acknowledged() {
    let event: &[u8] = b"\x00\xEF\x01event";
    for byte in [0x12, 0x1E] {
        for capabilities in [PLAIN, DEPRECATE] {
            let steps = [
                c(&[byte, 4, 0, 0, 0]),
                s(&[event, event]),
                (Side::Client, packet(0, b"\xEFposition")),
                (Side::Server, packets(3, &[event, EOF])),
                c(b"\x0e"),
                s(&[OK]),
            ];
            let (seen, relay) = play(capabilities, &steps);
            let acknowledged = Event::Acknowledgement { at: 0 };
            let log = [command(byte), acknowledged, done(byte)];
            assert_eq!(seen, [&log[..], &[command(0x0E), done(0x0E)]].concat());
            assert_eq!(relay.commands(), 2);
        }
    }
}

/// Whether a transaction is open behind an error in place of a reply's header, or of its first row.
fn is_open_after(code: u16, in_rows: bool, capabilities: Capabilities) -> bool {
    let capabilities = capabilities | Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF;
    let status = StatusFlags::AUTOCOMMIT | StatusFlags::IN_TRANS;
    let mut relay = Relay::new(capabilities).with_status(status);
    relay.client(&[2, 0, 0, 0, 3, b'Q']).unwrap();
    if in_rows {
        // One column, and its definition, of which nothing is read.
        let head = [1, 0, 0, 1, 1, 1, 0, 0, 2, 3];
        let passed = relay.server(&head).unwrap().pass;
        assert_eq!(passed, head.len());
    }
    let [low, high] = code.to_le_bytes();
    let err = [
        9, 0, 0, 1, 0xFF, low, high, b'#', b'4', b'0', b'0', b'0', b'1',
    ];
    let event = relay.server(&err).unwrap().event;
    assert!(
        matches!(event, Some(Event::Done { failed: true, .. })),
        "{event:?}"
    );
    relay.in_transaction()
}

#[test]
fn a_deadlock_ends_the_transaction_where_that_is_certain() {
    let mysql = Capabilities::LONG_PASSWORD;
    let mariadb = Capabilities::default();
    for in_rows in [false, true] {
        assert!(!is_open_after(1213, in_rows, mysql));
        // Named locks have the same number there.
        assert_eq!(is_open_after(1213, in_rows, mariadb), in_rows);
        for code in [1205, 1062, 3058] {
            assert!(is_open_after(code, in_rows, mysql), "{code}");
            assert!(is_open_after(code, in_rows, mariadb), "{code}");
        }
    }
}

#[test]
fn a_procedure_with_a_cursor_of_its_own_sends_rows() {
    // Captured from MariaDB 10.11.19: `BEGIN NOT ATOMIC ... OPEN cur; FETCH cur INTO a; SELECT a; CLOSE cur; END`, executed as a
    // prepared statement. The status is AUTOCOMMIT, MORE_RESULTS_EXISTS, NO_INDEX_USED and CURSOR_EXISTS.
    let definition = b"\x03def\0\0\0\x01a\x01a\x0c?\0\x0b\0\0\0\x03\0\0\0\0\0";
    let (row, ok): (&[u8], &[u8]) = (&[0, 0, 1, 0, 0, 0], &[0, 0, 0, 0x22, 0, 0, 0]);
    let eof: &[u8] = &[0xFE, 0, 0, 0x6A, 0];
    let end: &[u8] = &[0xFE, 0, 0, 0x6A, 0, 0, 0];
    let done = Event::Done {
        command: CommandByte::STMT_EXECUTE,
        failed: false,
        status: StatusFlags(0x22),
    };
    for flags in [0, 1] {
        let execute = [0x17, 1, 0, 0, 0, flags, 1, 0, 0, 0];
        let plain: [&[u8]; 6] = [&[1], definition, eof, row, eof, ok];
        assert_eq!(one(PLAIN, &execute, &plain), [command(0x17), done]);
        // Two results, and no row in the second.
        let two = [&plain[..5], &[&[1], definition, eof, eof, ok]].concat();
        assert_eq!(one(PLAIN, &execute, &two), [command(0x17), done]);
        let deprecate: [&[u8]; 5] = [&[1], definition, row, end, ok];
        assert_eq!(one(DEPRECATE, &execute, &deprecate), [command(0x17), done]);
    }
}

#[test]
fn an_ok_follows_a_row_of_out_parameters_in_any_case() {
    // Captured from MySQL 9.7.4: `CALL outs(?)`, whose procedure sets its OUT parameter to 5. The first EOF packet has AUTOCOMMIT,
    // MORE_RESULTS_EXISTS and PS_OUT_PARAMS, the second one AUTOCOMMIT alone.
    let definition = b"\x03def\x03one\x04outs\x04outs\x01x\x01x\x0c?\0\x0b\0\0\0\x03\0\0\0\0\0";
    let row: &[u8] = &[0, 0, 5, 0, 0, 0];
    let (before, behind): (&[u8], &[u8]) = (&[0xFE, 0, 0, 0x0A, 0x10], &[0xFE, 0, 0, 2, 0]);
    let ok: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
    let execute = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0];
    let seen = one(
        PLAIN,
        &execute,
        &[&[1], definition, before, row, behind, ok],
    );
    let done = Event::Done {
        command: CommandByte::STMT_EXECUTE,
        failed: false,
        status: StatusFlags(2),
    };
    assert_eq!(seen, [command(0x17), done]);
}

#[test]
fn a_function_with_a_cursor_of_its_own_does_not_keep_rows_back() {
    // Captured from MySQL 9.7.4: `SELECT 1 FROM (SELECT 1) AS t WHERE f() = 1`, executed without a cursor, where `f` has one.
    let definition = b"\x03def\0\0\0\x011\0\x0c?\0\x02\0\0\0\x08\x81\0\0\0\0";
    let row: &[u8] = &[0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let eof: &[u8] = &[0xFE, 0, 0, 0x62, 0];
    let done = Event::Done {
        command: CommandByte::STMT_EXECUTE,
        failed: false,
        status: StatusFlags(0x62),
    };
    let execute = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0];
    let seen = one(PLAIN, &execute, &[&[1], definition, eof, row, eof]);
    assert_eq!(seen, [command(0x17), done]);
    // With a cursor for the client the same EOF packet ends the reply.
    let execute = [0x17, 1, 0, 0, 0, 1, 1, 0, 0, 0];
    let seen = one(PLAIN, &execute, &[&[1], definition, eof]);
    assert_eq!(seen, [command(0x17), done]);
}

/// The same of a reply that is too long to be cut everywhere: whole, and in small reads.
fn one_long(capabilities: Capabilities, payload: &[u8], reply: &[&[u8]]) {
    let byte = payload[0];
    for most in [usize::MAX, 1000] {
        let mut followed = Followed::new(capabilities);
        let request = packet(0, payload);
        followed.feed(Side::Client, &request, most).unwrap();
        followed
            .feed(Side::Server, &packets(1, reply), most)
            .unwrap();
        assert!(followed.all_passed() && followed.relay.is_idle());
        let seen: Vec<Event> = followed.seen.iter().map(|&(_, event)| event).collect();
        assert_eq!(seen, [command(byte), done(byte)]);
    }
}

#[test]
fn a_result_may_have_more_columns_than_a_table() {
    // The counts are captured from MariaDB 10.11.19.
    for (count, columns) in [
        (&[0xFC, 0x01, 0x10][..], 4097),
        (&[0xFC, 0xFF, 0xFF], 65_535),
        (&[0xFD, 0x70, 0x11, 0x01], 70_000),
    ] {
        let definitions = vec![COLUMN; columns];
        for (capabilities, ends) in [(PLAIN, &[EOF, EOF][..]), (DEPRECATE, &[OK_EOF])] {
            let reply = [&[count], &definitions[..], ends].concat();
            one_long(capabilities, b"\x03select", &reply);
        }
    }
}

#[test]
fn a_prepared_statement_may_have_as_many_columns_and_parameters_as_16_bits_count() {
    let most = vec![COLUMN; 65_535];
    let ok = [0, 1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0];
    let plain = [&[&ok[..]], &most[..], &[EOF], &most, &[EOF]].concat();
    one_long(PLAIN, b"\x16select", &plain);
    let deprecate = [&[&ok[..]], &most[..], &most].concat();
    one_long(DEPRECATE, b"\x16select", &deprecate);
}

#[test]
fn more_columns_of_a_prepared_statement_than_its_reply_can_tell_pass_up_to_the_eof_packet() {
    // Captured from MariaDB 10.11.19: 4,464 columns in place of 70,000.
    let ok = [0, 1, 0, 0, 0, 0x70, 0x11, 0, 0, 0, 0, 0];
    let reply = [&[&ok[..]], &vec![COLUMN; 70_000][..], &[EOF]].concat();
    one_long(PLAIN, b"\x16select", &reply);
    // What is no definition does not pass for one.
    let mut followed = Followed::new(PLAIN);
    let prepare = packet(0, b"\x16select");
    followed
        .feed(Side::Client, &prepare, prepare.len())
        .unwrap();
    let ok = [0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let reply = packets(1, &[&ok, COLUMN, b"\x04four"]);
    let error = followed.feed(Side::Server, &reply, 1).unwrap_err();
    assert!(
        matches!(error, RelayError::Unexpected { byte: 4, .. }),
        "{error}"
    );
}
