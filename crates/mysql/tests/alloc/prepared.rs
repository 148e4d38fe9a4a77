//! Prepared statements: many parameters and columns, large parameters, long data.

use onecopy_mysql::Param;
use onecopy_testkit::script::{Script, lenenc, noise};

use crate::conversation::Fate;
use crate::packets::{OK, ROWS_END, answered, borrowed, column, config, login};

/// What the server answers to a prepare.
fn prepared(parameters: u16, columns: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let [a, b] = u16::try_from(columns.len()).unwrap().to_le_bytes();
    let [c, d] = parameters.to_le_bytes();
    let mut reply = vec![vec![0, 1, 0, 0, 0, a, b, c, d, 0, 0, 0]];
    reply.extend(vec![column("?"); usize::from(parameters)]);
    reply.extend_from_slice(columns);
    reply
}

/// An execution with these values, all of them BLOBs.
fn execute(values: &[&[u8]]) -> Vec<u8> {
    let mut command = b"\x17\x01\0\0\0\0\x01\0\0\0".to_vec();
    command.extend(vec![0; values.len().div_ceil(8)]);
    command.push(1);
    for _ in values {
        command.extend([0xFB, 0]); // LONG_BLOB
    }
    for value in values {
        command.extend(lenenc(value.len()));
        command.extend_from_slice(value);
    }
    command
}

/// A row of the binary protocol without a NULL.
fn binary_row(values: &[&[u8]]) -> Vec<u8> {
    let mut row = vec![0; 1 + (values.len() + 9) / 8];
    for value in values {
        row.extend(lenenc(value.len()));
        row.extend_from_slice(value);
    }
    row
}

fn prepare(parameters: u16, columns: &[Vec<u8>]) -> Script {
    let reply = prepared(parameters, columns);
    login()
        .command(b"\x16SELECT")
        .server_packets(1, &borrowed(&reply))
}

#[test]
fn many_columns_owned_and_streamed() {
    let columns: Vec<_> = (0..4096).map(|n| column(&format!("c{n:020}"))).collect();
    let row = binary_row(&vec![noise(20); 4096]);
    let mut reply = vec![lenenc(4096)];
    reply.extend_from_slice(&columns);
    reply.extend([row.clone(), row.clone(), row, ROWS_END.to_vec()]);
    let script = prepare(0, &columns)
        .command(b"\x17\x01\0\0\0\0\x01\0\0\0")
        .server_packets(1, &borrowed(&reply));
    let talk = conversation!(config(), |conn, step, wait| {
        let statement = step!(|conn| { wait!(conn.prepare("SELECT")) }).unwrap();
        step!(|conn| {
            let mut rows = wait!(conn.execute(&statement, &[]))?;
            assert!(wait!(rows.next_streaming())?.is_some());
            let row = wait!(rows.next())?.unwrap();
            assert_eq!(row.bytes(4095)?, Some(noise(20)));
            let row = wait!(rows.next_owned())?.unwrap();
            assert_eq!(row.bytes(4095)?, Some(noise(20)));
            Ok(())
        });
        step!(|conn| { wait!(conn.ping()) });
    });
    let fates = [Fate::NotSent, Fate::Closed, Fate::Lost];
    talk.run(&answered(script), &fates);
}

/// Small ones are copied together, those from 16 KiB on are borrowed, each by an entry of a list.
const SIZES: [usize; 3] = [9, 8000, 16 << 10];

const PARAMETERS: u16 = 300;

fn values() -> Vec<&'static [u8]> {
    (0..usize::from(PARAMETERS))
        .map(|n| noise(SIZES[n % 3]))
        .collect()
}

#[test]
fn many_and_large_parameters() {
    let script = prepare(PARAMETERS, &[])
        .command(&execute(&values()))
        .server_packets(1, &[OK])
        .command(b"\x19\x01\0\0\0")
        .command(b"\x0e")
        .server_packets(1, &[OK]);
    let talk = conversation!(config(), |conn, step, wait| {
        let params: Vec<_> = values().into_iter().map(Param::Bytes).collect();
        let statement = step!(|conn| { wait!(conn.prepare("SELECT")) }).unwrap();
        step!(|conn| {
            let rows = wait!(conn.execute(&statement, &params))?;
            wait!(rows.finish())
        });
        // Closing leaves with the ping.
        step!(|conn| { wait!(conn.close_statement(statement.clone())) });
        step!(|conn| { wait!(conn.ping()) });
    });
    talk.run(&script, &[Fate::NotSent, Fate::Closed]);
}

#[test]
fn many_statements() {
    const STATEMENTS: usize = 100;
    let mut script = login();
    for number in 0..STATEMENTS {
        let mut reply = vec![0; 12];
        reply[1..5].copy_from_slice(&u32::try_from(number).unwrap().to_le_bytes());
        script = script
            .command(b"\x16SELECT")
            .server_packets(1, &[&reply])
            .server_packets(2, &[]);
    }
    let talk = conversation!(config(), |conn, step, wait| {
        let mut statements = Vec::new();
        for _ in 0..STATEMENTS {
            statements.extend(step!(|conn| { wait!(conn.prepare("SELECT")) }));
        }
        step!(|conn| { wait!(conn.ping()) });
    });
    talk.run(&answered(script), &[Fate::NotSent, Fate::Closed]);
}

#[test]
fn long_data() {
    const LEN: usize = 300_000;
    let mut script = prepare(1, &[]);
    for start in (0..LEN).step_by(128 << 10) {
        let end = LEN.min(start + (128 << 10));
        let piece = [&b"\x18\x01\0\0\0\0\0"[..], &noise(LEN)[start..end]].concat();
        script = script.command(&piece);
    }
    let script = script
        .command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfb\0")
        .server_packets(1, &[OK]);
    let talk = conversation!(config(), |conn, step, wait| {
        let statement = step!(|conn| { wait!(conn.prepare("SELECT")) }).unwrap();
        step!(|conn| { wait!(conn.send_long_data(&statement, 0, noise(LEN))) });
        step!(|conn| {
            let rows = wait!(conn.execute(&statement, &[Param::LongData]))?;
            wait!(rows.finish())
        });
        step!(|conn| { wait!(conn.ping()) });
    });
    talk.run(&answered(script), &[Fate::NotSent, Fate::Closed]);
}
