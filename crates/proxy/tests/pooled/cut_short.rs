//! A client that goes away in the middle of a command that is refused.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::{Mode, Rate};

use crate::common::{Pooled, loopback};
use crate::private::until;

/// The header of a packet, and the command's byte.
const BEGINNING: usize = 5;

#[test]
fn a_session_ends_with_its_client_also_in_a_refused_command() {
    let pooled = Pooled::start_with(Mode::Transaction, 1, |config| {
        config.listeners[0].accounts[0].statement_rate = Some(Rate {
            per_second: 1,
            burst: 2,
        });
    });
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut config = ClientConfig::from_url(&pooled.url()).unwrap();
    config.endpoint = loopback(listener.local_addr().unwrap().port());
    let is_cut = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let client = listener.accept().unwrap().0;
            let proxy = TcpStream::connect(pooled.proxy.tcp_address().unwrap()).unwrap();
            let (mut from, mut to) = (proxy.try_clone().unwrap(), client.try_clone().unwrap());
            scope.spawn(move || std::io::copy(&mut from, &mut to));
            pass_on(client, proxy, &is_cut);
        });
        let mut conn = Connection::connect_with(&config).unwrap();
        let code = loop {
            if let Err(error) = conn.run("DO 1") {
                break error.server().map(|error| error.code);
            }
        };
        assert_eq!(code, Some(1226));
        is_cut.store(true, SeqCst);
        conn.run("SELECT 'a statement of which only the beginning arrives'")
            .unwrap_err();
        until("the session's end", || pooled.proxy.sessions() == 0);
    });
}

/// Passes on what the client sends; once `is_cut` the beginning of it, and then the end.
fn pass_on(mut client: TcpStream, mut proxy: TcpStream, is_cut: &AtomicBool) {
    let mut bytes = [0; 1 << 12];
    loop {
        let n = client.read(&mut bytes).unwrap();
        if is_cut.load(SeqCst) {
            proxy.write_all(&bytes[..BEGINNING]).unwrap();
            proxy.shutdown(Shutdown::Write).unwrap();
            return;
        }
        proxy.write_all(&bytes[..n]).unwrap();
    }
}
