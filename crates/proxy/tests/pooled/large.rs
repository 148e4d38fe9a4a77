//! Large rows on shared connections: no byte of them is moved more often than by the relay.

use onecopy_mysql::params;
use onecopy_proxy::config::Mode;

use crate::common::Pooled;

/// Rows of 90,000 bytes, as many as make 90 MB.
const ROWS: usize = 1_000;

/// Bytes that the proxy has moved or copied and bytes that it has received while one client read large rows and sent large values.
fn moved_and_carried(mode: Mode) -> (u64, u64) {
    let pooled = Pooled::start(mode, 2);
    let mut conn = pooled.connect();
    let before = pooled.proxy.snapshot(false).meter;
    let digits = "(SELECT 0 UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 \
                  UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)";
    let sql = format!("SELECT REPEAT('r', 90000) FROM {digits} a, {digits} b, {digits} c");
    let mut rows = conn.query(&sql).unwrap();
    let mut count = 0;
    while let Some(row) = rows.next().unwrap() {
        assert_eq!(row.get::<&[u8]>(0).unwrap().len(), 90_000);
        count += 1;
    }
    assert_eq!(count, ROWS);
    let value = vec![b'v'; 40 << 20];
    let mut rows = conn.exec("SELECT LENGTH(?)", &params![&value[..]]).unwrap();
    let length: u64 = rows.next().unwrap().unwrap().get(0).unwrap();
    assert_eq!(length, 40 << 20);
    rows.finish().unwrap();
    let meter = pooled.proxy.snapshot(false).meter.since(&before);
    (meter.copied(), meter.bytes_read)
}

#[test]
fn large_rows_and_values_are_moved_no_more_than_by_a_listener_that_passes_on() {
    for mode in [Mode::Pass, Mode::Session, Mode::Transaction] {
        let (moved, carried) = moved_and_carried(mode);
        assert!(carried > 130_000_000, "{mode}: {carried} bytes carried");
        // The relay's own limit: the beginnings of packets that a full buffer moves to its front.
        assert!(moved < 64 << 10, "{mode}: {moved} of {carried} bytes moved");
    }
}
