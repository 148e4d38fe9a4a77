//! Servers that answer the reset of a pooled session wrongly: the connection is closed, and the next borrower has another one.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use onecopy_mysql::{Config, Endpoint, PoolStats, aio, blocking};

/// What the first connection's server does when it is asked for a reset. Other connections are honest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It refuses the reset.
    Refuses,
    /// It refuses what follows the reset.
    RefusesTheRest,
    /// It closes the connection between the replies.
    Leaves,
    /// It answers the reset, and nothing else.
    Hangs,
    /// It gives one reply more than it was asked for, in the same segment: later ones are the next command's, to anybody's eyes.
    SaysMore,
    /// It answers with a result.
    GivesRows,
    /// Its bytes are no packet in order.
    Babbles,
}

const FAULTS: [Fault; 7] = [
    Fault::Refuses,
    Fault::RefusesTheRest,
    Fault::Leaves,
    Fault::Hangs,
    Fault::SaysMore,
    Fault::GivesRows,
    Fault::Babbles,
];

#[test]
fn a_reset_that_is_answered_wrongly_costs_the_blocking_connection() {
    for fault in FAULTS {
        let pool = blocking::Pool::new(config(fault)).unwrap();
        let mut conn = pool.get().unwrap();
        let id = conn.connection_id();
        conn.ping().unwrap();
        drop(conn);
        let mut conn = pool.get().unwrap();
        assert_ne!(conn.connection_id(), id, "{fault:?}");
        conn.ping().unwrap();
        drop(conn);
        assert_one_lost(fault, pool.stats());
    }
}

#[tokio::test]
async fn a_reset_that_is_answered_wrongly_costs_the_connection() {
    for fault in FAULTS {
        let pool = aio::Pool::new(config(fault)).unwrap();
        let mut conn = pool.get().await.unwrap();
        let id = conn.connection_id();
        conn.ping().await.unwrap();
        drop(conn);
        let mut conn = pool.get().await.unwrap();
        assert_ne!(conn.connection_id(), id, "{fault:?}");
        conn.ping().await.unwrap();
        drop(conn);
        assert_one_lost(fault, pool.stats());
    }
}

fn assert_one_lost(fault: Fault, stats: PoolStats) {
    // What came too much may be seen by the reset, or by the next borrower.
    let lost = stats.closed.reset + stats.closed.unhealthy;
    assert_eq!((lost, stats.closed.total()), (1, 1), "{fault:?} {stats:?}");
    assert_eq!(stats.connects, 2, "{fault:?}");
}

fn config(fault: Fault) -> Config {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for (id, stream) in (1..).zip(listener.incoming().flatten()) {
            // An error is the client's end.
            let serve = move || serve(stream, id, (id == 1).then_some(fault));
            thread::spawn(serve);
        }
    });
    let mut config = Config::default();
    config.endpoint = Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    };
    config.user = "ada".into();
    config.database = Some("test".into());
    config.pool.max = 1;
    config.pool.reset_timeout = Duration::from_millis(200);
    config
}

const COM_INIT_DB: u8 = 0x02;
const COM_QUERY: u8 = 0x03;
const COM_RESET_CONNECTION: u8 = 0x1F;

/// OK: no rows, no id, autocommit, no warnings.
const OK: &[u8] = &[0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00];

fn serve(mut stream: TcpStream, id: u8, fault: Option<Fault>) -> io::Result<()> {
    send(&mut stream, 0, &greeting(id))?;
    receive(&mut stream)?;
    send(&mut stream, 2, OK)?;
    let mut is_resetting = false;
    loop {
        let command = receive(&mut stream)?;
        match (command.first(), fault) {
            // It has no roles.
            (Some(&COM_QUERY), _) if command.ends_with(b"CURRENT_ROLE()") => {
                send(&mut stream, 1, &err(1305))?;
            }
            (Some(&COM_RESET_CONNECTION), Some(Fault::Refuses)) => {
                send(&mut stream, 1, &err(1047))?;
            }
            (Some(&COM_RESET_CONNECTION), Some(Fault::GivesRows)) => {
                send(&mut stream, 1, &[1])?;
            }
            (Some(&COM_RESET_CONNECTION), Some(Fault::Babbles)) => {
                stream.write_all(&[0xAA; 64])?;
            }
            (Some(&COM_RESET_CONNECTION), _) => {
                is_resetting = true;
                send(&mut stream, 1, OK)?;
            }
            (Some(_), Some(Fault::RefusesTheRest)) if is_resetting => {
                send(&mut stream, 1, &err(1064))?;
            }
            (Some(_), Some(Fault::Leaves)) if is_resetting => return Ok(()),
            (Some(_), Some(Fault::Hangs)) if is_resetting => {}
            (Some(&COM_INIT_DB), Some(Fault::SaysMore)) => {
                let length = u8::try_from(OK.len()).unwrap();
                let one = [&[length, 0, 0, 1], OK].concat();
                stream.write_all(&one.repeat(2))?;
            }
            _ => send(&mut stream, 1, OK)?,
        }
    }
}

/// A server of version 8.0 that lets everybody in by `mysql_native_password`.
fn greeting(id: u8) -> Vec<u8> {
    let mut greeting = b"\x0A8.0.36\0".to_vec();
    greeting.extend_from_slice(&[id, 0, 0, 0]);
    greeting.extend_from_slice(b"12345678\0");
    // LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION
    greeting.extend_from_slice(&0xA209_u16.to_le_bytes());
    greeting.extend_from_slice(&[45, 0x02, 0x00]);
    // PLUGIN_AUTH
    greeting.extend_from_slice(&0x0008_u16.to_le_bytes());
    greeting.push(21);
    greeting.extend_from_slice(&[0; 10]);
    greeting.extend_from_slice(b"123456789012\0mysql_native_password\0");
    greeting
}

fn err(code: u16) -> Vec<u8> {
    let [low, high] = code.to_le_bytes();
    [&[0xFF, low, high], &b"#HY000no"[..]].concat()
}

fn send(stream: &mut TcpStream, sequence: u8, payload: &[u8]) -> io::Result<()> {
    let length = u8::try_from(payload.len()).unwrap();
    stream.write_all(&[&[length, 0, 0, sequence], payload].concat())
}

fn receive(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let [low, high, ..] = header;
    let mut payload = vec![0; usize::from(low) | usize::from(high) << 8];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}
