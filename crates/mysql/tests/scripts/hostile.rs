//! Hostile and broken servers behind the login: each test is one row of the table of what they do.
//!
//! Each script is played over both drivers, and what its greeting allows over TLS too: the client must see the same. A
//! server's certificate, and what is only about TLS, is in `hostile_tls`. Rows on compression and pools come with
//! these.
//!
//! | input | tests |
//! |-------|-------|
//! | ERR before the handshake, with and without SQLSTATE | `hostile_login::err_in_place_of_the_greeting`, `login::err_in_place_of_the_greeting_has_no_sqlstate` |
//! | greeting empty, truncated, overlong, of another protocol, without NUL, auth data length 0 or 255 | `hostile_login::greeting_empty`, `_truncated_at_any_byte`, `_overlong`, `_of_a_protocol_other_than_10`, `_without_a_nul`, `_with_auth_data_of_length_0_or_255` |
//! | nonce not 20 bytes, empty, all zero | `hostile_login::nonce_of_another_length`, `nonce_all_zero` |
//! | server drops CLIENT_SSL | `hostile_tls::a_server_that_drops_client_ssl_is_sent_not_one_byte_where_tls_is_demanded`, `_is_spoken_to_in_clear_text_where_tls_is_only_preferred` |
//! | bytes behind SSLRequest in clear text | `hostile_tls::bytes_in_clear_text_with_the_greeting_do_not_survive`, `bytes_in_clear_text_behind_the_request_are_not_tls`, `err_in_clear_text_in_answer_to_the_request` |
//! | no TLS, or one that never ends | `hostile_tls::the_server_closes_or_falls_silent_instead_of_tls`, `tls_1_1_only`, `a_record_of_the_maximum_size_and_one_over_it`, `a_certificate_chain_of_megabytes`, `thousands_of_session_tickets`, and those `_for_ever` |
//! | secrets in clear text | `hostile_tls::the_user_and_the_password_are_never_on_the_network_in_clear_text`, `login::caching_sha2_full_over_tls_that_is_not_verified_is_refused`, `_over_plain_tcp_is_refused` |
//! | switch to clear text or old password | `hostile_login::switch_to_clear_password_old_password_or_an_unknown_plugin` |
//! | switch loops | `hostile_login::switch_loops` |
//! | AuthMoreData empty, unknown, after native | `hostile_login::auth_more_data_empty_unknown_repeated_and_after_native` |
//! | a public key on clear text | `hostile_login::a_public_key_that_nobody_asked_for`, `hostile_auth::a_public_key_offered_on_clear_text_by_default`, `what_is_no_key_to_encrypt_under`, `a_key_of_more_than_64_kib` |
//! | 0xFB to any query | `a_request_for_a_file_is_refused_and_the_connection_closed`; what is allowed: `local_infile` |
//! | column count 2^63, 2^33, 0xFB, 0xFF, over the limit of definitions | `column_counts_that_no_result_has` |
//! | column definition cut short, too long; unknown type or charset | `column_definitions_cut_short_or_longer_than_they_say`, `an_unknown_type_or_charset_is_bytes` |
//! | row shorter or longer than its columns | `text_rows_that_do_not_fit_their_columns`, `binary_rows_that_do_not_fit_their_columns` |
//! | binary row: null bitmap, dates, times | `binary_rows_that_do_not_fit_their_columns`, `binary_dates_and_times_of_lengths_that_they_do_not_have` |
//! | sequence wrong, repeated; wraps | `sequence_wrong_or_repeated`, `hostile_login::sequence_wrong_in_the_login`, `session::sequence_ids_wrap_past_255` |
//! | 16 MiB header, then nothing | `a_header_of_16_mib_and_then_nothing_costs_no_memory_and_meets_the_deadline` |
//! | empty packet; empty tail | `an_empty_packet_as_a_reply`, `huge::rows_of_full_packets_borrowed` |
//! | endless continuation packets | `huge::endless_continuation_packets_meet_the_limit_of_a_row`, `a_reply_that_goes_on_in_further_packets_is_refused_by_its_header` |
//! | OK cut short, session track lengths lie | `ok_cut_short_and_session_track_lengths_that_lie`, `hostile_login::ok_of_the_login_cut_short` |
//! | ERR of one byte, without '#', not UTF-8 | `err_of_one_byte_without_a_marker_or_not_utf_8`, here and in `hostile_login` |
//! | MORE_RESULTS forever | `more_results_for_ever_can_be_left_between_two_of_them`, `fixed::results_for_ever_that_were_dropped_do_not_stretch_the_deadline_of_the_next_call`; a real server's: `results_without_an_end_are_cancelled_between_two_of_them` in `server/cancels.rs`, `_by_the_next_command` in `server/abandoned.rs` |
//! | unsolicited bytes on an idle connection | `session::unsolicited_bytes_behind_a_reply_close_the_connection`, `_behind_the_login_refuse_it`, `a_farewell_is_heard_although_the_command_can_not_be_written` |
//! | server version junk | `hostile_login::server_version_junk_is_kept_as_it_is` |

use onecopy_testkit::script::{Fault, FaultKind, Place, Script, Talk, Trial, text_row};

use crate::large::{COLUMN, OK, ROWS_END};
use crate::login::{Style, login, login_multi};
use crate::talk::multi_statements;

/// Memory that a claim may cost: the first read's, and what is made ready ahead of the next.
const BOUND: u64 = (16 << 10) + (512 << 10);

/// Address space for a message of 16 MiB - 2 and its header, to a power of two.
const RESERVED: usize = 32 << 20;

/// A query, all of whose rows are dropped; then what it cost.
fn run_query() -> Talk {
    talk!(|conn, log, wait, face| {
        let result = wait!(conn.run("SELECT"));
        let meter = conn.meter();
        assert!(meter.bytes_zeroed <= BOUND, "{meter:#?}");
        log.done(result?);
        Ok(())
    })
}

/// A query, all of whose rows are borrowed.
fn lend_rows() -> Talk {
    talk!(|conn, log, wait, face| {
        let mut rows = wait!(conn.query("SELECT"))?;
        while let Some(row) = wait!(rows.next())? {
            log.row(&row)?;
        }
        Ok(())
    })
}

/// A query, all of whose rows are streamed.
fn stream_rows() -> Talk {
    talk!(|conn, log, wait, face| {
        let mut rows = wait!(conn.query("SELECT"))?;
        while let Some(mut row) = wait!(rows.next_streaming())? {
            while let Some(column) = wait!(row.next_column())? {
                log.bytes(&wait!(face::read(column, 64))?);
            }
        }
        Ok(())
    })
}

/// A statement, all of whose rows are borrowed.
fn execute() -> Talk {
    talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare("SELECT"))?;
        let mut rows = wait!(conn.execute(&statement, &[]))?;
        while let Some(row) = wait!(rows.next())? {
            log.row(&row)?;
        }
        Ok(())
    })
}

fn reply(payloads: &[&[u8]]) -> Script {
    login(Style::DeprecateEof)
        .command(b"\x03SELECT")
        .server_packets(1, payloads)
}

fn reply_bytes(bytes: &str) -> Script {
    login(Style::DeprecateEof)
        .command(b"\x03SELECT")
        .then(&Script::parse(bytes))
}

/// A result of one column and these rows, behind a statement or not.
fn rows(rows: &[&[u8]]) -> Script {
    let mut payloads: Vec<&[u8]> = vec![&[1], COLUMN];
    payloads.extend(rows);
    reply(&payloads)
}

/// The same by the binary protocol, of columns of these types.
fn binary_rows(types: &[u8], row: &[u8]) -> Script {
    let columns: Vec<_> = types.iter().map(|ty| column_of(*ty)).collect();
    let count = u8::try_from(types.len()).unwrap();
    let prepared = [0, 1, 0, 0, 0, count, 0, 0, 0, 0, 0, 0];
    let mut first: Vec<&[u8]> = vec![&prepared];
    first.extend(columns.iter().map(|column| &column[..]));
    let count = [count];
    let mut second: Vec<&[u8]> = vec![&count];
    second.extend(columns.iter().map(|column| &column[..]));
    second.extend([row, ROWS_END]);
    login(Style::DeprecateEof)
        .command(b"\x16SELECT")
        .server_packets(1, &first)
        .preamble()
        .command(b"\x17\x01\0\0\0\0\x01\0\0\0")
        .server_packets(1, &second)
}

fn column_of(ty: u8) -> Vec<u8> {
    let mut column = COLUMN.to_vec();
    column[17] = ty;
    column
}

/// The last line of what the client saw; the others are rows.
fn last(script: &Script, talk: Talk) -> String {
    Trial::see(script, talk).pop().unwrap()
}

#[test]
fn a_request_for_a_file_is_refused_and_the_connection_closed() {
    assert_eq!(
        last(&reply(&[b"\xfb/etc/passwd"]), run_query()),
        "LocalInfileRefused"
    );
    assert_eq!(last(&reply(&[b"\xfb"]), run_query()), "LocalInfileRefused");
}

#[test]
fn column_counts_that_no_result_has() {
    for (count, columns) in [
        ("fe 00 00 00 00 00 00 00 80", 1_u64 << 63),
        ("fe 00 00 00 00 02 00 00 00", 1 << 33),
        ("fe ff ff ff ff ff ff ff ff", u64::MAX),
        ("fd ff ff ff", 0xFF_FFFF),
        // 64 MiB hold 699,050 definitions of no bytes.
        ("fd ab aa 0a", 699_051),
        ("fc 00 00", 0),
    ] {
        let bytes = count.split(' ').count();
        let script = reply_bytes(&format!("S {bytes:02x} 00 00 01 {count}"));
        assert_eq!(
            last(&script, run_query()),
            format!("TooManyColumns {{ columns: {columns}, max: 699050 }}")
        );
    }
    let cut = last(&reply_bytes("S 02 00 00 01 fc 01"), run_query());
    assert!(
        cut.starts_with("Decode") && cut.contains("column count"),
        "{cut}"
    );
    assert_eq!(
        last(&reply_bytes("S 01 00 00 01 ff"), run_query()),
        "server error 0: "
    );
}

#[test]
fn column_definitions_cut_short_or_longer_than_they_say() {
    for len in 1..COLUMN.len() {
        let script = reply(&[&[1], &COLUMN[..len]]);
        let fault = Fault {
            place: Place::Client(usize::MAX),
            kind: FaultKind::Pipe,
        };
        let seen = Trial::see_fault(&script, run_query(), fault).concat();
        assert!(
            seen.starts_with("Decode(DecodeError { packet: \"ColumnDefinition41\""),
            "{seen}"
        );
    }
    let trailing = last(&reply(&[&[1], &[COLUMN, b"x"].concat()]), run_query());
    assert!(trailing.contains("Trailing"), "{trailing}");
    let mut beyond = COLUMN.to_vec();
    beyond[7] = 0xFA;
    let beyond = last(&reply(&[&[1], &beyond]), run_query());
    assert!(beyond.contains("field: \"name\""), "{beyond}");
    let mut huge = COLUMN[..7].to_vec();
    huge.extend([0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
    let huge = last(&reply(&[&[1], &huge]), run_query());
    assert!(huge.contains("field: \"name\""), "{huge}");
    let err = last(&reply(&[&[1], b"\xff\x15\x04#HY000no"]), run_query());
    assert_eq!(
        err,
        "Unexpected { during: \"column definitions\", byte: 255 }"
    );
}

#[test]
fn an_unknown_type_or_charset_is_bytes() {
    let mut column = column_of(0xF2);
    column[11..13].copy_from_slice(&[0xFF, 0xFF]);
    let row = text_row(&[Some(b"\x00\x01as it came")]);
    let script = reply(&[&[1], &column, &row, ROWS_END]);
    Trial::new(&script, lend_rows(), &["\\x00\\x01as it came"])
        .capped()
        .run();
    let script = binary_rows(&[0xF2], b"\0\0\x04\xde\xad\xbe\xef");
    Trial::new(&script, execute(), &["\\xde\\xad\\xbe\\xef"])
        .capped()
        .run();
}

#[test]
fn text_rows_that_do_not_fit_their_columns() {
    for (row, kind) in [
        (&b"\x05four"[..], "Truncated"),
        (b"\x04fourmore", "Trailing"),
        (b"\xfb\x00", "Trailing"),
        (b"\xfc\xff\xffshort", "BadLength"),
        (b"\xfd\xff\xff\xffshort", "BadLength"),
        (b"\xfe\xff\xff\xff\xff\xff\xff\xff\xffshort", "BadLength"),
        (b"\xfc\x01", "Truncated"),
    ] {
        // The one with 0xFE is below 16 MiB: for the text protocol it is the end of the rows, and malformed as such.
        let seen = last(&rows(&[row, ROWS_END]), lend_rows());
        assert!(seen.starts_with("Decode"), "{row:?}: {seen}");
        assert!(seen.contains(kind) || row[0] == 0xFE, "{row:?}: {seen}");
        let seen = last(&rows(&[row, ROWS_END]), stream_rows());
        assert!(seen.starts_with("Decode"), "{row:?}: {seen}");
    }
    let two = text_row(&[Some(b"a"), Some(b"b")]);
    let seen = last(&rows(&[&two, ROWS_END]), lend_rows());
    assert!(
        seen.contains("packet: \"text row\"") && seen.contains("Trailing"),
        "{seen}"
    );
    let short = reply(&[&[2], COLUMN, COLUMN, b"\x01a", ROWS_END]);
    for talk in [lend_rows(), stream_rows()] {
        assert!(last(&short, talk).starts_with("Decode"));
    }
}

#[test]
fn binary_rows_that_do_not_fit_their_columns() {
    const BLOB: u8 = 0xFC;
    const LONG: u8 = 0x03;
    for (types, row) in [
        (&[BLOB][..], &b"\0"[..]),
        (&[BLOB; 9], b"\0\0"),
        (&[BLOB], b"\x01\0\x01a"),
        (&[BLOB], b"\0\0\x05four"),
        (&[BLOB], b"\0\0\x04fourmore"),
        (&[BLOB], b"\0\0\xfb"),
        (&[BLOB], b"\0\0\xff"),
        (&[BLOB], b"\0\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff"),
        (&[LONG], b"\0\0\x01\x02\x03"),
        (&[LONG], b"\0\x04\x01"),
    ] {
        let seen = last(&binary_rows(types, row), execute());
        assert!(
            seen.starts_with("Decode(DecodeError { packet: \"binary row\""),
            "{row:?}: {seen}"
        );
    }
}

#[test]
fn binary_dates_and_times_of_lengths_that_they_do_not_have() {
    const TIME: u8 = 0x0B;
    const DATETIME: u8 = 0x0C;
    const DATE: u8 = 0x0A;
    for (ty, length) in [
        (DATE, 5),
        (DATETIME, 5),
        (DATETIME, 9),
        (TIME, 1),
        (TIME, 9),
        (DATE, 250),
    ] {
        let mut row = vec![0, 0, length];
        row.resize(3 + usize::from(length), 1);
        let seen = last(&binary_rows(&[ty], &row), execute());
        assert!(seen.starts_with("column 0 (v): "), "{ty} {length}: {seen}");
    }
    let seen = last(&binary_rows(&[DATE], b"\0\0\xff"), execute());
    assert!(seen.starts_with("Decode"), "255: {seen}");
}

#[test]
fn sequence_wrong_or_repeated() {
    for (bytes, expected, found) in [
        ("S 07 00 00 00 00 00 00 02 00 00 00", 1, 0),
        ("S 07 00 00 02 00 00 00 02 00 00 00", 1, 2),
        ("S 01 00 00 01 01 01 00 00 01 01", 2, 1),
    ] {
        assert_eq!(
            last(&reply_bytes(bytes), run_query()),
            format!("Frame(Sequence {{ expected: {expected}, found: {found} }})")
        );
    }
    let row = "02 00 00 03 01 61 02 00 00 03 01 61";
    let column: Vec<_> = COLUMN.iter().map(|byte| format!("{byte:02x}")).collect();
    let script = reply_bytes(&format!(
        "S 01 00 00 01 01 {:02x} 00 00 02 {} {row}",
        COLUMN.len(),
        column.join(" ")
    ));
    for talk in [run_query(), lend_rows(), stream_rows()] {
        assert_eq!(
            last(&script, talk),
            "Frame(Sequence { expected: 4, found: 3 })"
        );
    }
}

#[test]
fn a_header_of_16_mib_and_then_nothing_costs_no_memory_and_meets_the_deadline() {
    // An OK, a column definition, and a row of two kinds: 16 MiB - 2 bytes of which four come.
    let claims: [(&[&[u8]], &[u8]); 4] = [
        (&[], b"\x00\x00\x00\x02"),
        (&[&[1]], b"\x03def"),
        (&[&[1], COLUMN], b"\xfd\xf0\xff\xff"),
        (&[&[1], COLUMN], b"\x04four"),
    ];
    for (before, start) in claims {
        let script = reply(before);
        let at = script.server_bytes().len();
        let sequence = u8::try_from(1 + before.len()).unwrap();
        let claim = [&[0xFE, 0xFF, 0xFF, sequence], start].concat();
        let fault = Fault {
            place: Place::Server(at + claim.len()),
            kind: FaultKind::Silence,
        };
        let script = script.server(&claim);
        let talk = talk!(|conn, _log, wait, face| {
            let mut result = Ok(());
            match wait!(conn.query("SELECT")) {
                Err(error) => result = Err(error),
                Ok(mut rows) => match wait!(rows.next()) {
                    Err(error) => result = Err(error),
                    Ok(row) => assert!(row.is_none(), "there is no row"),
                },
            }
            let meter = conn.meter();
            assert!(meter.bytes_zeroed <= BOUND, "{meter:#?}");
            result
        });
        let seen = Trial::see_claim(&script, talk, fault, RESERVED);
        // The small value that the row starts with leaves 16 MiB behind its last column.
        let good = seen == ["timeout"] || start == b"\x04four" && seen[0].starts_with("Decode");
        assert!(good, "{seen:?}");
    }
}

#[test]
fn an_empty_packet_as_a_reply() {
    assert_eq!(last(&reply(&[b""]), run_query()), "Frame(Empty)");
    assert_eq!(last(&reply(&[&[1], b""]), run_query()), "Frame(Empty)");
    for talk in [run_query(), lend_rows(), stream_rows()] {
        assert_eq!(last(&rows(&[b"\x01a", b""]), talk), "Frame(Empty)");
    }
}

#[test]
fn a_reply_that_goes_on_in_further_packets_is_refused_by_its_header() {
    let script = reply_bytes("S ff ff ff 01 00");
    assert_eq!(
        last(&script, run_query()),
        "Wire(LimitExceeded { needed: 16777215, max: 16777214 })"
    );
}

#[test]
fn ok_cut_short_and_session_track_lengths_that_lie() {
    for payload in [
        &b"\x00"[..],
        b"\x00\x00\x00\x02",
        b"\x00\xfc\x00",
        b"\x00\x00\x00\x02\x00\x00\x00\x09short",
        b"\x00\x00\x00\x02\x40\x00\x00\x00\x09short",
        b"\x00\x00\x00\x02\x40\x00\x00\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x00\x00\x00\x02\x00\x00\x00\x00trailing",
    ] {
        let seen = last(&reply(&[payload]), run_query());
        assert!(
            seen.starts_with("Decode(DecodeError { packet: \"OK\""),
            "{payload:?}: {seen}"
        );
    }
    // The whole has its length; the change in it claims more.
    let talk = talk!(|conn, log, wait, face| {
        wait!(conn.run("SELECT"))?;
        for change in conn.session_changes() {
            log.line(format!("{:?}", change.unwrap_err().kind));
        }
        wait!(conn.ping())
    });
    for change in [
        &b"\x01\x7fdb"[..],
        b"\x01\x03\x7fdb",
        b"\x01",
        b"\x00\x02\x01a",
    ] {
        let mut payload = b"\x00\x00\x00\x02\x40\x00\x00\x00".to_vec();
        payload.push(u8::try_from(change.len()).unwrap());
        payload.extend(change);
        let script = reply(&[&payload]).command(b"\x0e").server_packets(1, &[OK]);
        let seen = Trial::see(&script, talk);
        assert_eq!(seen.len(), 1, "{change:?}");
    }
}

#[test]
fn err_of_one_byte_without_a_marker_or_not_utf_8() {
    let talk = talk!(|conn, log, wait, face| {
        log.server(wait!(conn.run("SELECT")))?;
        wait!(conn.ping())
    });
    for (payload, seen) in [
        (&b"\xff"[..], "server error 0: "),
        (b"\xff\x28\x04bare", "server error 1064: bare"),
        (
            b"\xff\x28\x04#42000\xe9t\xe9",
            "server error 1064 (42000): \u{fffd}t\u{fffd}",
        ),
    ] {
        let script = reply(&[payload]).command(b"\x0e").server_packets(1, &[OK]);
        Trial::new(&script, talk, &[seen]).capped().run();
    }
}

#[test]
fn more_results_for_ever_can_be_left_between_two_of_them() {
    const MORE: &[u8] = &[0, 1, 0, 0x0A, 0, 0, 0];
    let talk = talk!(multi_statements(), |conn, log, wait, face| {
        let mut rows = wait!(conn.query("SELECT"))?;
        for _ in 0..3 {
            assert!(wait!(rows.next_result())?);
            log.done(rows.done());
        }
        wait!(conn.ping())
    });
    let mut results = vec![MORE; 100];
    results.push(OK);
    let script = login_multi(Style::DeprecateEof)
        .command(b"\x03SELECT")
        .server_packets(1, &results)
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    let done = "done: 1 rows, id 0, 0 warnings";
    Trial::new(&script, talk, &[done; 3]).capped().run();
}

#[test]
fn metadata_left_out_that_was_never_sent() {
    let script = login(Style::CachedMetadata)
        .command(b"\x03SELECT")
        .server_packets(1, &[&[1, 0], b"\x01a"]);
    assert_eq!(last(&script, run_query()), "MetadataMissing");
}

#[test]
fn metadata_left_out_of_a_text_result_is_not_that_of_another_statement() {
    const NAME: &[u8] = b"\x03def\0\0\0\x01n\0\x0c\x2d\0\x04\0\0\0\xfd\0\0\0\0\0";
    const END: &[u8] = &[0xFE, 0, 0, 2, 0, 0, 0];
    let talk = talk!(|conn, log, wait, face| {
        wait!(conn.run("FIRST"))?;
        log.line("one result");
        wait!(conn.run("OTHER")).map(drop)
    });
    let script = login(Style::CachedMetadata)
        .command(b"\x03FIRST")
        .server_packets(1, &[&[1, 1], NAME, b"\x01a", END])
        .command(b"\x03OTHER")
        .server_packets(1, &[&[1, 0]]);
    Trial::new(&script, talk, &["one result", "MetadataMissing"])
        .capped()
        .run();
}
