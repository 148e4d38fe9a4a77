//! Rows that count as large under small limits, in all ways they can be read.

use onecopy_testkit::script::{Script, Talk, Trial, lenenc, noise, text_row};

use crate::login::{Style, login};
use crate::talk::small_limits;

/// A BLOB named `v`, without a table.
pub(crate) const COLUMN: &[u8] = &[
    3, b'd', b'e', b'f', 0, 0, 0, 1, b'v', 0, // catalog, schema, tables, name, original name
    0x0C, 63, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFC, 0x90, 0, 0, 0, 0, // binary, 4 GiB, BLOB
];

/// An OK packet in the place of an EOF.
pub(crate) const ROWS_END: &[u8] = &[0xFE, 0, 0, 2, 0, 0, 0];

pub(crate) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// One value, and how it shows.
pub(crate) type Cell = (Option<&'static [u8]>, &'static str);

/// Small, large and NULL values, for limits of 64 and 24 bytes.
fn cells() -> [Cell; 7] {
    [
        (Some(b"small"), "small"),
        (Some(noise(300)), "noise(300)"),
        (None, "NULL"),
        (Some(noise(41)), "noise(41)"),
        (Some(b""), ""),
        (Some(b"23 bytes, not yet large"), "23 bytes, not yet large"),
        (Some(noise(600)), "noise(600)"),
    ]
}

fn shown(cells: &[Cell]) -> String {
    cells
        .iter()
        .map(|cell| cell.1)
        .collect::<Vec<_>>()
        .join(" | ")
}

pub(crate) fn binary_row(cells: &[Cell]) -> Vec<u8> {
    let mut bitmap = vec![0; (cells.len() + 9) / 8];
    let mut values = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        match cell.0 {
            None => bitmap[(index + 2) / 8] |= 1 << ((index + 2) % 8),
            Some(value) => {
                values.extend(lenenc(value.len()));
                values.extend_from_slice(value);
            }
        }
    }
    [&[0][..], &bitmap, &values].concat()
}

/// A result of two rows in the opposite order of one another, then a ping.
fn script(binary: bool) -> Script {
    let cells = cells();
    let mut back = cells;
    back.reverse();
    let row = |cells: &[Cell]| {
        if binary {
            binary_row(cells)
        } else {
            text_row(&cells.iter().map(|cell| cell.0).collect::<Vec<_>>())
        }
    };
    let rows = [row(&cells), row(&back)];
    let columns: Vec<&[u8]> = vec![COLUMN; cells.len()];
    let mut prepared = vec![0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0];
    let count = [7];
    let mut result: Vec<&[u8]> = vec![&count];
    result.extend(&columns);
    result.extend([&rows[0][..], &rows[1], ROWS_END]);
    let login = login(Style::DeprecateEof);
    let script = if binary {
        let mut reply: Vec<&[u8]> = vec![&prepared];
        reply.extend(&columns);
        login
            .command(b"\x16SELECT")
            .server_packets(1, &reply)
            .preamble()
            .command(b"\x17\x01\0\0\0\0\x01\0\0\0")
    } else {
        prepared.clear();
        login.command(b"\x03SELECT")
    };
    script
        .server_packets(1, &result)
        .command(b"\x0e")
        .server_packets(1, &[OK])
}

/// A talk in which `$rows` are those of the script, by either protocol.
macro_rules! rows_talks {
    (|$rows:ident, $log:ident, $wait:ident, $face:ident| $body:block) => {
        [
            talk!(small_limits(), |conn, $log, $wait, $face| {
                {
                    let mut $rows = $wait!(conn.query("SELECT"))?;
                    $body
                }
                $wait!(conn.ping())
            }),
            talk!(small_limits(), |conn, $log, $wait, $face| {
                let statement = $wait!(conn.prepare("SELECT"))?;
                {
                    let mut $rows = $wait!(conn.execute(&statement, &[]))?;
                    $body
                }
                $wait!(conn.ping())
            }),
        ]
    };
}

fn run(talks: [Talk; 2], seen: &[&str]) {
    for (binary, talk) in [false, true].into_iter().zip(talks) {
        Trial::new(&script(binary), talk, seen).run();
    }
}

/// Both rows as they show.
fn both() -> [String; 2] {
    let cells = cells();
    let mut back = cells;
    back.reverse();
    [shown(&cells), shown(&back)]
}

#[test]
fn large_rows_borrowed() {
    let talks = rows_talks!(|rows, log, wait, face| {
        while let Some(row) = wait!(rows.next())? {
            log.row(&row)?;
        }
    });
    let [first, second] = both();
    run(talks, &[&first, &second]);
}

#[test]
fn large_rows_owned() {
    let talks = rows_talks!(|rows, log, wait, face| {
        for row in wait!(rows.collect_owned())? {
            log.owned_row(&row)?;
        }
    });
    let [first, second] = both();
    run(talks, &[&first, &second]);
}

#[test]
fn large_values_taken_out_of_a_borrowed_row() {
    let talks = rows_talks!(|rows, log, wait, face| {
        wait!(rows.next())?.unwrap();
        log.bytes(&rows.take(1)?.unwrap());
        assert_eq!(rows.take(2)?, None);
        log.bytes(&rows.take(0)?.unwrap());
        assert!(rows.take(1).is_err(), "taken twice");
        log.row(&wait!(rows.next())?.unwrap())?;
    });
    let [_, second] = both();
    run(talks, &["noise(300)", "small", &second]);
}

#[test]
fn large_values_into_a_vector_that_is_used_again() {
    let talks = rows_talks!(|rows, log, wait, face| {
        let mut value = Vec::with_capacity(1024);
        let memory = value.as_ptr();
        for _ in 0..2 {
            let row = wait!(rows.next_into(1, &mut value))?.unwrap();
            log.bytes(row.bytes(6)?.unwrap());
            log.bytes(&value);
        }
        assert!(wait!(rows.next_into(1, &mut value))?.is_none());
        assert_eq!(value.as_ptr(), memory, "used again");
    });
    let short = "23 bytes, not yet large";
    run(talks, &["noise(600)", "noise(300)", "small", short]);
}

#[test]
fn large_rows_streamed() {
    const STEPS: [usize; 3] = [7, 200, 16 << 10];
    let talks = rows_talks!(|rows, log, wait, face| {
        for step in STEPS {
            let Some(mut row) = wait!(rows.next_streaming())? else {
                break;
            };
            while let Some(column) = wait!(row.next_column())? {
                match column.len() {
                    None => log.line("NULL"),
                    Some(len) => {
                        let value = wait!(face::read(column, step))?;
                        assert_eq!(value.len() as u64, len);
                        log.bytes(&value);
                    }
                }
            }
        }
    });
    let cells = cells();
    let seen: Vec<_> = cells
        .iter()
        .chain(cells.iter().rev())
        .map(|cell| cell.1)
        .collect();
    run(talks, &seen);
}

#[test]
fn large_values_read_straight_from_the_stream() {
    let talks = rows_talks!(|rows, log, wait, face| {
        while let Some(mut row) = wait!(rows.next_streaming())? {
            while let Some(column) = wait!(row.next_column())? {
                if column.len() == Some(600) {
                    log.bytes(&wait!(face::read(column, 16 << 10))?);
                }
            }
        }
    });
    run(talks, &["noise(600)", "noise(600)"]);
}

#[test]
fn streamed_values_and_rows_dropped_in_the_middle() {
    let talks = rows_talks!(|rows, log, wait, face| {
        {
            let mut row = wait!(rows.next_streaming())?.unwrap();
            wait!(row.next_column())?.unwrap();
            let column = wait!(row.next_column())?.unwrap();
            assert!(wait!(face::read_some(column, 11))? > 0);
            assert!(wait!(row.next_column())?.unwrap().is_null());
            let column = wait!(row.next_column())?.unwrap();
            log.bytes(&wait!(face::read(column, 50))?);
        }
        log.row(&wait!(rows.next())?.unwrap())?;
    });
    let [_, second] = both();
    run(talks, &["noise(41)", &second]);
}

#[test]
fn rows_dropped_before_their_first_after_one_and_in_the_middle_of_a_value() {
    let talks = rows_talks!(|rows, log, wait, face| {
        log.line("dropped");
        let _ = &mut rows;
    });
    run(talks, &["dropped"]);
    let talks = rows_talks!(|rows, log, wait, face| {
        log.row(&wait!(rows.next())?.unwrap())?;
    });
    let [first, _] = both();
    run(talks, &[&first]);
    let talks = rows_talks!(|rows, log, wait, face| {
        let mut row = wait!(rows.next_streaming())?.unwrap();
        wait!(row.next_column())?.unwrap();
        let column = wait!(row.next_column())?.unwrap();
        log.line(format!("{:?}", column.len()));
        assert!(wait!(face::read_some(column, 11))? > 0);
    });
    run(talks, &["Some(300)"]);
}
