//! Progress reports: captured, in every place where one may come, malformed, and where nobody asked for them.

use std::cell::RefCell;

use onecopy_mysql::{Config, ProgressReports};
use onecopy_testkit::script::{Script, Trial};

use crate::large::OK;
use crate::login::{Style, login, login_progress};
use crate::talk::config;

thread_local! {
    static TOLD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn listening() -> Config {
    TOLD.take();
    let mut config = config();
    config.progress = Some(ProgressReports::new(|progress| {
        assert_eq!(progress.connection_id, 3);
        let (stage, stages) = (progress.stage, progress.stages);
        let percent = progress.fraction * 100.0;
        let line = format!("{stage}/{stages} {percent:.3} % {}", progress.description);
        TOLD.with_borrow_mut(|told| told.push(line));
    }));
    config
}

/// 1.691 % of the first of two stages.
const REPORT: &[u8] = b"\xff\xff\xff\x01\x01\x02\x9b\x06\x00\x04copy";
const COLUMN: &[u8] = b"\x03def\0\0\0\x01n\0\x0c\x2d\0\x04\0\0\0\xfd\0\0\0\0\0";
const END: &[u8] = &[0xFE, 0, 0, 2, 0, 0, 0];

#[test]
fn reports_in_front_of_a_reply_and_between_rows_are_told_in_order() {
    let talk = talk!(listening(), |conn, log, wait, face| {
        log.done(wait!(conn.run("alter table big force, algorithm=copy"))?);
        let mut rows = wait!(conn.query("check table a1, a2 extended"))?;
        while let Some(row) = wait!(rows.next())? {
            TOLD.take().into_iter().for_each(|line| log.line(line));
            log.row(&row)?;
        }
        Ok(())
    });
    let script = login_progress().then(&Script::parse(include_str!("data/progress.txt")));
    let seen = [
        "done: 2000 rows, id 0, 0 warnings",
        "2/2 0.000 % Enabling keys",
        "2/3 0.000 % Checking keys",
        "3/3 0.000 % Checking data",
        "test.a1 | check | status | OK",
        "2/3 0.000 % Checking keys",
        "3/3 0.000 % Checking data",
        "test.a2 | check | status | OK",
    ];
    Trial::new(&script, talk, &seen).run();
}

#[test]
fn a_report_is_taken_in_front_of_every_packet_of_a_reply() {
    let talk = talk!(listening(), |conn, log, wait, face| {
        log.server(wait!(conn.run("FAILS")))?;
        let statement = wait!(conn.prepare("SELECT"))?;
        let mut rows = wait!(conn.execute(&statement, &[]))?;
        log.row(&wait!(rows.next())?.unwrap())?;
        let mut row = wait!(rows.next_streaming())?.unwrap();
        let column = wait!(row.next_column())?.unwrap();
        log.bytes(&wait!(face::read(column, 8))?);
        drop(row);
        assert!(wait!(rows.next())?.is_none());
        TOLD.take().into_iter().for_each(|line| log.line(line));
        // Skipped rows are not reported.
        wait!(conn.run("SKIPPED"))?;
        assert!(TOLD.take().is_empty());
        log.server(wait!(wait!(conn.query("ENDS"))?.next()))
    });
    let script = login_progress()
        .command(b"\x03FAILS")
        .server_packets(1, &[REPORT, REPORT, b"\xff\x1e\x04#42S22none"])
        .command(b"\x16SELECT")
        .server_packets(1, &[REPORT, b"\0\x07\0\0\0\x01\0\0\0\0\0\0", COLUMN])
        .command(b"\x17\x07\0\0\0\0\x01\0\0\0")
        .server_packets(
            1,
            &[
                REPORT,
                b"\x01",
                COLUMN,
                REPORT,
                b"\0\0\x01a",
                REPORT,
                REPORT,
                b"\0\0\x01b",
                REPORT,
                END,
            ],
        )
        .command(b"\x03SKIPPED")
        .server_packets(
            1,
            &[b"\x01", COLUMN, REPORT, b"\x01a", REPORT, b"\x01b", END],
        )
        .command(b"\x03ENDS")
        .server_packets(1, &[b"\x01", COLUMN, REPORT, b"\xff\x1e\x04#42S22none"]);
    let error = "server error 1054 (42S22): none";
    let mut seen = vec![error, "a", "b"];
    seen.extend(["1/2 1.691 % copy"; 8]);
    seen.push(error);
    Trial::new(&script, talk, &seen).run();
}

#[test]
fn a_malformed_report_ends_the_conversation() {
    let talk = talk!(listening(), |conn, _log, wait, face| {
        wait!(conn.run("ALTER")).map(drop)
    });
    let malformed = [
        &b"\xff\xff\xff"[..],
        b"\xff\xff\xff\x01\x01\x02\x9b\x06",
        b"\xff\xff\xff\x01\x01\x02\x9b\x06\x00\x05copy",
        b"\xff\xff\xff\x01\x01\x02\x9b\x06\x00\x04copy!",
        // A length of 16 MiB.
        b"\xff\xff\xff\x01\x01\x02\x9b\x06\x00\xfd\xff\xff\xffcopy",
    ];
    for report in malformed {
        let script = login_progress()
            .command(b"\x03ALTER")
            .server_packets(1, &[report]);
        let seen = Trial::see(&script, talk).pop().unwrap();
        assert!(seen.contains("progress report"), "{seen}");
    }
}

#[test]
fn a_report_that_nobody_asked_for_ends_the_conversation() {
    let talk = talk!(|conn, _log, wait, face| { wait!(conn.run("ALTER")).map(drop) });
    for replies in [&[REPORT][..], &[b"\x01", COLUMN, REPORT]] {
        let script = login(Style::DeprecateEof)
            .command(b"\x03ALTER")
            .server_packets(1, replies);
        Trial::new(&script, talk, &["ProgressUnasked"])
            .capped()
            .run();
    }
}

#[test]
fn any_number_of_reports_is_taken_without_a_deeper_stack() {
    let talk = talk!(listening(), |conn, log, wait, face| {
        let mut rows = wait!(conn.query("CHECK"))?;
        log.row(&wait!(rows.next())?.unwrap())?;
        drop(rows);
        log.line(format!("{} reports", TOLD.take().len()));
        wait!(conn.ping())
    });
    let mut check = vec![&b"\x01"[..], COLUMN];
    check.extend(std::iter::repeat_n(REPORT, 30_000));
    check.push(b"\x01a");
    // Skipped from here on.
    check.extend([REPORT, b"\x01b"].repeat(15_000));
    check.push(END);
    let script = login_progress()
        .command(b"\x03CHECK")
        .server_packets(1, &check)
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    Trial::new(&script, talk, &["a", "30000 reports"]).whole();
}
