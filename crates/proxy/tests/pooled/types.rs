//! Executions that leave out the types of their parameters, which are those of the client's last execution and not of the connection's.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Error, Param, Statement};
use onecopy_proxy::config::Mode;

use crate::common::Pooled;
use crate::rules::{rule, start};

/// The types of so many parameters are longer than what a listener waits for of an execution, 16 KiB.
const MANY: usize = 8_000;

const STMT_EXECUTE: u8 = 0x17;

/// What happens to the next execution of a client.
#[derive(Clone, Copy, Default)]
struct Change {
    /// Its parameters have no types.
    without_types: bool,
    /// So many bytes go on at once, the others a moment later.
    cut: usize,
}

/// A client and what is between it and the listener.
struct Client {
    conn: Connection,
    statement: Statement,
    change: Arc<Mutex<Change>>,
}

impl Client {
    fn connect(pooled: &Pooled, parameters: usize) -> Self {
        let port = pooled.proxy.tcp_address().unwrap().port();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let change = Arc::new(Mutex::new(Change::default()));
        let next = Arc::clone(&change);
        std::thread::spawn(move || {
            let client = listener.accept().unwrap().0;
            let proxy = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut from, mut to) = (proxy.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || io::copy(&mut from, &mut to));
            // Until one of them is gone.
            let _ = forward(client, &proxy, parameters, &next);
            let _ = proxy.shutdown(std::net::Shutdown::Both);
        });
        let url = pooled
            .url()
            .replace(&format!(":{port}"), &format!(":{own}"));
        let mut conn = Connection::connect(&url).unwrap();
        let sql = format!("SELECT CONCAT(?{})", ", ?".repeat(parameters - 1));
        Self {
            statement: conn.prepare(&sql).unwrap(),
            conn,
            change,
        }
    }

    fn execute(&mut self, change: Change, params: &[Param<'_>]) -> String {
        self.try_execute(change, params).unwrap()
    }

    fn try_execute(&mut self, change: Change, params: &[Param<'_>]) -> Result<String, Error> {
        *self.change.lock().unwrap() = change;
        let mut rows = self.conn.execute(&self.statement, params)?;
        Ok(rows.next()?.unwrap().get(0).unwrap())
    }
}

/// Where the types of parameters begin and end in their packet. Before them are header, command, id, flags, iterations, a bit for each
/// parameter, and whether there are types.
fn types_of(parameters: usize) -> [usize; 2] {
    let begin = 4 + 10 + parameters.div_ceil(8) + 1;
    [begin, begin + 2 * parameters]
}

fn forward(
    mut from: TcpStream,
    mut to: &TcpStream,
    parameters: usize,
    next: &Mutex<Change>,
) -> io::Result<()> {
    to.set_nodelay(true)?;
    loop {
        let mut packet = vec![0; 4];
        from.read_exact(&mut packet)?;
        let len = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]);
        (&mut from).take(len.into()).read_to_end(&mut packet)?;
        if packet.get(4) != Some(&STMT_EXECUTE) {
            to.write_all(&packet)?;
            continue;
        }
        let change = std::mem::take(&mut *next.lock().unwrap());
        if change.without_types {
            let [begin, end] = types_of(parameters);
            packet[begin - 1] = 0;
            packet.drain(begin..end);
            let len = packet.len() - 4;
            packet[..3].copy_from_slice(&len.to_le_bytes()[..3]);
        }
        let (first, rest) = packet.split_at(change.cut.min(packet.len()));
        to.write_all(first)?;
        if !first.is_empty() {
            std::thread::sleep(Duration::from_millis(3));
        }
        to.write_all(rest)?;
    }
}

/// So many numbers, and texts.
fn values(parameters: usize) -> [Vec<Param<'static>>; 2] {
    let numbers = (0..parameters).map(|n| Param::from(n as i64)).collect();
    [numbers, vec![Param::from("text"); parameters]]
}

/// Two clients have the same statement, parameters of other types, and one connection.
fn follow_each_other(parameters: usize, cuts: impl Iterator<Item = usize>) {
    let pooled = Pooled::start(Mode::Transaction, 1);
    let [mut one, mut other] = [(); 2].map(|()| Client::connect(&pooled, parameters));
    let [numbers, texts] = values(parameters);
    let joined: String = (0..parameters).map(|n| n.to_string()).collect();
    for cut in cuts {
        for without_types in [false, true, true] {
            let change = Change { without_types, cut };
            assert!(one.execute(change, &numbers) == joined, "cut at {cut}");
            let text = other.execute(change, &texts);
            assert!(text == "text".repeat(parameters), "cut at {cut}");
        }
    }
}

#[test]
fn types_that_are_left_out_are_those_of_the_same_client() {
    follow_each_other(9, 0..60);
}

#[test]
fn the_types_of_thousands_of_parameters_are_kept_wherever_they_are_cut() {
    let around = |at: usize| [at - 1, at, at + 1];
    let [begin, end] = types_of(MANY);
    let cuts = [[0, 4, 14], around(begin), around(16 << 10), around(end)];
    follow_each_other(MANY, cuts.into_iter().flatten());
}

/// Clients send them once, and not again where their first execution was refused.
fn follow_refused(parameters: usize, cuts: impl Iterator<Item = usize>) {
    let pooled = start(vec![rule("refused", |rule| {
        rule.digest = Some("CONCAT".into())
    })]);
    let refuse = |is_on: bool| {
        let mut config = pooled.proxy.config();
        config.listeners[0].rules[0].reject = is_on.then(|| "not now".into());
        pooled.proxy.reload(config).unwrap();
    };
    let mut client = Client::connect(&pooled, parameters);
    let [numbers, texts] = values(parameters);
    for cut in cuts {
        let [types, no_types] = [false, true].map(|without_types| Change { without_types, cut });
        refuse(false);
        client.execute(types, &numbers);
        refuse(true);
        let refused = client.try_execute(types, &texts).unwrap_err();
        assert_eq!(refused.server().unwrap().code, 3164, "cut at {cut}");
        refuse(false);
        let found = client.execute(no_types, &texts);
        assert!(found == "text".repeat(parameters), "cut at {cut}");
    }
}

#[test]
fn the_types_of_an_execution_that_is_refused_hold_for_the_next_one() {
    follow_refused(9, 0..60);
}

#[test]
fn the_types_of_thousands_of_parameters_are_kept_of_a_refused_execution_too() {
    let [begin, end] = types_of(MANY);
    follow_refused(MANY, [0, 4, 9, begin, 16 << 10, end - 1].into_iter());
}
