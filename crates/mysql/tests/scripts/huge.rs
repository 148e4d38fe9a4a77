//! Rows and commands of several packets.

use onecopy_mysql::{Config, params};
use onecopy_testkit::script::{Fault, FaultKind, Place, Script, Trial, lenenc, noise, text_row};

use crate::large::{COLUMN, OK, ROWS_END, binary_row};
use crate::login::{Style, login};

/// Lengths of a value whose row, as a payload, is a full packet and an empty one, one byte more, and two full packets. The
/// last row starts with 0xFE, as the end of rows does.
const FULL: [(usize, &str); 3] = [
    (0xFF_FFFF - 4, "noise(16777211)"),
    (0xFF_FFFF - 3, "noise(16777212)"),
    (2 * 0xFF_FFFF - 9, "noise(33554421)"),
];

/// A row of that value between two small ones, then a ping.
fn huge(len: usize) -> Script {
    let row = text_row(&[Some(noise(len))]);
    let small = text_row(&[Some(b"small")]);
    login(Style::DeprecateEof)
        .command(b"\x03SELECT")
        .server_packets(1, &[&[1], COLUMN, &small, &row, &small, ROWS_END])
        .command(b"\x0e")
        .server_packets(1, &[OK])
}

#[test]
fn rows_of_full_packets_borrowed() {
    let talk = talk!(|conn, log, wait, face| {
        {
            let mut rows = wait!(conn.query("SELECT"))?;
            while let Some(row) = wait!(rows.next())? {
                log.row(&row)?;
            }
        }
        wait!(conn.ping())?;
        let meter = conn.meter();
        assert!(meter.bytes_copied_to_homes <= 64 << 10, "{meter:#?}");
        assert!(
            meter.bytes_moved + meter.bytes_copied_by_growth <= 64 << 10,
            "{meter:#?}"
        );
        assert!(
            meter.peak_capacity <= 2 * 0xFF_FFFF + (1 << 20),
            "{meter:#?}"
        );
        assert!(meter.capacity_now <= 256 << 10, "{meter:#?}");
        Ok(())
    });
    for (len, shown) in FULL {
        Trial::new(&huge(len), talk, &["small", shown, "small"]).run();
    }
}

#[test]
fn rows_of_full_packets_owned_into_streamed_and_dropped() {
    let owned = talk!(|conn, log, wait, face| {
        let mut rows = wait!(conn.query("SELECT"))?;
        for row in wait!(rows.collect_owned())? {
            log.owned_row(&row)?;
        }
        wait!(conn.ping())
    });
    let into = talk!(|conn, log, wait, face| {
        let mut value = Vec::new();
        let mut rows = wait!(conn.query("SELECT"))?;
        while wait!(rows.next_into(0, &mut value))?.is_some() {
            log.bytes(&value);
        }
        wait!(conn.ping())
    });
    let streamed = talk!(|conn, log, wait, face| {
        {
            let mut rows = wait!(conn.query("SELECT"))?;
            while let Some(mut row) = wait!(rows.next_streaming())? {
                let column = wait!(row.next_column())?.unwrap();
                log.bytes(&wait!(face::read(column, 64 << 10))?);
                assert!(wait!(row.next_column())?.is_none());
            }
        }
        let meter = conn.meter();
        assert!(meter.peak_capacity <= 1 << 20, "{meter:#?}");
        wait!(conn.ping())
    });
    let dropped = talk!(|conn, log, wait, face| {
        {
            let mut rows = wait!(conn.query("SELECT"))?;
            log.row(&wait!(rows.next())?.unwrap())?;
            let mut row = wait!(rows.next_streaming())?.unwrap();
            let column = wait!(row.next_column())?.unwrap();
            assert!(wait!(face::read_some(column, 20 << 10))? > 0);
        }
        let meter = conn.meter();
        assert!(meter.peak_capacity <= 1 << 20, "{meter:#?}");
        wait!(conn.ping())
    });
    for (len, shown) in FULL {
        let script = huge(len);
        for talk in [owned, into, streamed] {
            Trial::new(&script, talk, &["small", shown, "small"]).whole();
        }
        Trial::new(&script, dropped, &["small"]).whole();
    }
}

/// A second packet is refused by its header where the row would be over the limit; streamed it has none.
#[test]
fn endless_continuation_packets_meet_the_limit_of_a_row() {
    fn limited() -> Config {
        let mut config = crate::talk::config();
        config.limits.max_row_bytes = 20 << 20;
        config
    }
    let len = 2 * 0xFF_FFFF - 9;
    let borrowed = talk!(limited(), |conn, log, wait, face| {
        let mut rows = wait!(conn.query("SELECT"))?;
        log.row(&wait!(rows.next())?.unwrap())?;
        wait!(rows.next()).map(|_| ())
    });
    let whole = huge(len);
    // Up to the second packet's header: row 1 is small, and nothing behind the header may be needed.
    let seen = Trial::see_fault(
        &whole,
        borrowed,
        Fault {
            place: Place::Server(whole.server_bytes().len() - 0xFF_FFFF),
            kind: FaultKind::Silence,
        },
    );
    // The value's own length is the first to be over it.
    assert_eq!(
        seen,
        [
            "small",
            "Wire(LimitExceeded { needed: 33554430, max: 20971520 })"
        ]
    );
    let streamed = talk!(limited(), |conn, log, wait, face| {
        let mut rows = wait!(conn.query("SELECT"))?;
        while let Some(mut row) = wait!(rows.next_streaming())? {
            let column = wait!(row.next_column())?.unwrap();
            log.bytes(&wait!(face::read(column, 64 << 10))?);
        }
        wait!(conn.ping())
    });
    Trial::new(&whole, streamed, &["small", "noise(33554421)", "small"]).whole();
}

#[test]
fn a_binary_row_of_a_full_packet() {
    let talk = talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare("SELECT"))?;
        {
            let mut rows = wait!(conn.execute(&statement, &[]))?;
            while let Some(row) = wait!(rows.next_owned())? {
                log.owned_row(&row)?;
            }
        }
        wait!(conn.ping())
    });
    // Its head has 2 bytes, the value's length 4.
    let row = binary_row(&[(Some(noise(0xFF_FFFF - 6)), "")]);
    let script = login(Style::DeprecateEof)
        .command(b"\x16SELECT")
        .server_packets(1, &[&[0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], COLUMN])
        .command(b"\x17\x01\0\0\0\0\x01\0\0\0")
        .server_packets(1, &[&[1], COLUMN, &row, &row, ROWS_END])
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    let seen = "noise(16777209)";
    Trial::new(&script, talk, &[seen, seen]).whole();
}

/// An execution's payload, its parameters being BLOBs.
fn execution(values: &[&[u8]]) -> Vec<u8> {
    let mut payload = b"\x17\x01\0\0\0\0\x01\0\0\0\x00\x01".to_vec();
    for _ in values {
        payload.extend([0xFB, 0x00]);
    }
    for value in values {
        payload.extend(lenenc(value.len()));
        payload.extend_from_slice(value);
    }
    payload
}

#[test]
fn commands_over_16_kib_and_over_a_packet_leave_in_order() {
    let sql = format!("SELECT '{}'", "x".repeat(40_000));
    let script = |values: &[&[u8]]| {
        login(Style::DeprecateEof)
            .command(&[b"\x03", sql.as_bytes()].concat())
            .server_packets(1, &[OK])
            .command(&[b"\x16", sql.as_bytes()].concat())
            .server_packets(
                1,
                &[
                    &[0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0],
                    COLUMN,
                    COLUMN,
                    COLUMN,
                ],
            )
            .command(&execution(values))
            // The reply continues where the command's packets end.
            .server_packets(
                u8::try_from(execution(values).len() / 0xFF_FFFF + 1).unwrap(),
                &[OK],
            )
    };
    let talk = talk!(|conn, log, wait, face| {
        let sql = format!("SELECT '{}'", "x".repeat(40_000));
        wait!(conn.run(&sql))?;
        let statement = wait!(conn.prepare(&sql))?;
        let params = params![noise(20_000), &b"small"[..], noise(70_000)];
        log.done(wait!(wait!(conn.execute(&statement, &params))?.finish())?);
        assert!(
            conn.meter().bytes_copied_to_output <= 2 << 10,
            "borrowed, not copied"
        );
        Ok(())
    });
    let done = "done: 0 rows, id 0, 0 warnings";
    let small = script(&[noise(20_000), b"small", noise(70_000)]);
    Trial::new(&small, talk, &[done]).run();

    let talk = talk!(|conn, log, wait, face| {
        let sql = format!("SELECT '{}'", "x".repeat(40_000));
        wait!(conn.run(&sql))?;
        let statement = wait!(conn.prepare(&sql))?;
        let params = params![noise(0x100_0000), &b"small"[..], noise(0xFF_0000)];
        log.done(wait!(wait!(conn.execute(&statement, &params))?.finish())?);
        Ok(())
    });
    let huge = script(&[noise(0x100_0000), b"small", noise(0xFF_0000)]);
    Trial::new(&huge, talk, &[done]).whole();
}
