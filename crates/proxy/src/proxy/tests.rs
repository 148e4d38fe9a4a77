//! What can only be seen or done from inside.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use onecopy_net::Endpoint;
use onecopy_testkit::ClosedPort;
use rustix::io::Errno;

use super::*;
use crate::backend::Doubt;
use crate::config::{BackendConfig, ListenerConfig};
use crate::mailbox::Order;

/// HandshakeV10 of a server without TLS, of `mysql_native_password`.
const GREETING: &[u8] = b"\x49\0\0\0\x0A8.0.0\0\x2A\0\0\0twenty b\0\x08\x82\x2D\x02\0\x0A\0\x15\0\0\0\0\0\0\0\0\0\0ytes, a salt\0\
    mysql_native_password\0";

/// Of a login that is refused.
const REFUSAL: &[u8] = b"\x0F\0\0\x02\xFF\x15\x04#28000go away";

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn loopback(port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    }
}

/// A server that greets everybody and refuses all logins.
fn serve(listener: TcpListener) -> Address {
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (id, client) in (1..).zip(listener.incoming()) {
            let Ok(mut client) = client else { return };
            let mut greeting = GREETING.to_vec();
            // Behind header, protocol and version.
            greeting[11] = id;
            std::thread::spawn(move || {
                let _ = client.write_all(&greeting);
                if client.read(&mut [0; 1000]).is_ok_and(|n| n > 0) {
                    let _ = client.write_all(REFUSAL);
                }
            });
        }
    });
    Address::Tcp(address)
}

/// A server, one that lets clients in and says nothing, and one that is not there.
struct Three {
    fine: Address,
    silent: Address,
    closed: Address,
    port: ClosedPort,
    _silent: TcpListener,
}

impl Three {
    fn new() -> Self {
        let listen = || TcpListener::bind("127.0.0.1:0").unwrap();
        let silent = listen();
        let port = ClosedPort::new();
        Self {
            fine: serve(listen()),
            silent: Address::Tcp(silent.local_addr().unwrap()),
            closed: Address::Tcp(port.address()),
            port,
            _silent: silent,
        }
    }
}

/// A proxy whose backend is at these addresses.
fn start(addresses: &[&Address], change: impl FnOnce(&mut Config)) -> (Proxy, Arc<Backend>) {
    let backend = BackendConfig {
        connect_timeout: Duration::from_secs(1),
        ..BackendConfig::new(loopback(1))
    };
    let mut config = Config {
        workers: 1,
        listeners: vec![ListenerConfig {
            listen: vec![loopback(0)],
            backends: vec![backend],
            ..ListenerConfig::default()
        }],
        ..Config::default()
    };
    config.health.interval = None;
    change(&mut config);
    let proxy = Proxy::start(config).unwrap();
    let listeners = proxy.running.in_force().listeners.clone();
    let backend = Arc::clone(&listeners[0].backends.all()[0]);
    let addresses: Vec<_> = addresses.iter().map(|&address| address.clone()).collect();
    backend.move_to(&addresses);
    (proxy, backend)
}

/// The first byte of what a client hears first: 10 of a greeting, 255 of an error.
fn hear(proxy: &Proxy) -> u8 {
    let mut client = TcpStream::connect(proxy.tcp_address().unwrap()).unwrap();
    let patience = Some(Duration::from_secs(30));
    client.set_read_timeout(patience).unwrap();
    let mut said = [0; 5];
    client.read_exact(&mut said).unwrap();
    said[4]
}

#[test]
fn a_connect_goes_on_to_the_next_address_and_comes_back_seldom() {
    let three = Three::new();
    for dead in [&three.silent, &three.closed] {
        for addresses in [[dead, &three.fine], [&three.fine, dead]] {
            let (proxy, backend) = start(&addresses, |_| {});
            for client in 0..12 {
                assert_eq!(hear(&proxy), 10, "client {client}");
            }
            let failed = backend.failed_connects();
            assert!((1..=3).contains(&failed), "{failed}");
        }
    }
}

#[test]
fn each_address_is_tried_before_a_client_is_refused() {
    let three = Three::new();
    let (proxy, backend) = start(&[&three.silent, &three.closed], |_| {});
    for clients in 1..=2 {
        assert_eq!(hear(&proxy), 0xFF);
        assert_eq!(backend.failed_connects(), 2 * clients);
    }
}

#[test]
fn checks_find_out_which_addresses_answer() {
    let three = Three::new();
    let (_proxy, backend) = start(&[&three.fine, &three.closed], |config| {
        config.health.interval = Some(Duration::from_millis(50));
        config.health.timeout = Duration::from_secs(10);
    });
    backend.does_not_answer(&three.fine);
    backend.does_not_answer(&three.closed);
    until("the one that is there", || {
        backend.addresses_by_health() == (vec![three.fine.clone()], vec![three.closed.clone()])
    });
    assert!(backend.is_up());
    serve(three.port.listen());
    until("the other one", || backend.doubt() == Doubt::None);
}

#[test]
fn a_name_that_has_moved_is_found_again() {
    let Address::Tcp(server) = serve(TcpListener::bind("127.0.0.1:0").unwrap()) else {
        panic!("it is of TCP");
    };
    let notices = Arc::new(Mutex::new(Vec::new()));
    let proxy = Proxy::start(Config {
        workers: 1,
        dns_interval: Some(Duration::from_millis(200)),
        listeners: vec![ListenerConfig {
            listen: vec![loopback(0)],
            backends: vec![BackendConfig::new(Endpoint::Tcp {
                host: "localhost".into(),
                port: server.port(),
            })],
            ..ListenerConfig::default()
        }],
        ..Config::default()
    })
    .unwrap();
    let told = Arc::clone(&notices);
    proxy.on_notice(move |notice| told.lock().unwrap().push(notice.to_owned()));
    let backend = Arc::clone(&proxy.running.in_force().listeners[0].backends.all()[0]);
    // As if it had been there when it was looked up first.
    let elsewhere = Address::Tcp(SocketAddr::new([127, 0, 0, 9].into(), server.port()));
    backend.move_to(&[elsewhere]).unwrap();
    until("the next look-up", || {
        backend.addresses().contains(&Address::Tcp(server))
    });
    until("its line", || !notices.lock().unwrap().is_empty());
    let line = notices.lock().unwrap().remove(0);
    let moved = format!(" moved from 127.0.0.9:{} to ", server.port());
    assert!(
        line.starts_with("backend 'localhost:") && line.contains(&moved),
        "{line}"
    );
    let mut client = TcpStream::connect(proxy.tcp_address().unwrap()).unwrap();
    assert_ne!(client.read(&mut [0; 1000]).unwrap(), 0, "its greeting");
}

/// What a request for the path gets.
fn get(proxy: &Proxy, path: &str) -> String {
    let Some(Address::Tcp(address)) = proxy.metrics_address() else {
        panic!("it is of TCP");
    };
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_worker_that_dies_is_noticed_and_nobody_is_sent_to_it() {
    let three = Three::new();
    let (proxy, _) = start(&[&three.fine], |config| {
        config.workers = 2;
        config.metrics.listen = Some(loopback(0));
    });
    let mut clients: Vec<_> = (0..2)
        .map(|_| TcpStream::connect(proxy.tcp_address().unwrap()).unwrap())
        .collect();
    until("both clients", || proxy.sessions() == 2);
    assert_eq!(proxy.failure(), None);
    let (told, tells) = std::sync::mpsc::channel();
    proxy.on_failure(move |why| told.send(why.to_owned()).unwrap());
    proxy.running.workers.0[1].order(Order::Panic);
    let why = tells.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(why, "thread worker-1 has died: as it was told");
    assert_eq!(proxy.failure(), Some(why));
    until("the end of its session alone", || proxy.sessions() == 1);
    for _ in 0..4 {
        assert_eq!(hear(&proxy), 10);
    }
    for page in ["/live", "/health"] {
        let answer = get(&proxy, page);
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    }
    let metrics = get(&proxy, "/metrics");
    assert!(metrics.contains("\nonecopy_workers 1\n"), "{metrics}");
    clients.clear();
    proxy.drain();
    until("the drain", || proxy.is_drained());
    // One that asks later is told at once.
    let (told, tells) = std::sync::mpsc::channel();
    proxy.on_failure(move |why| told.send(why.to_owned()).unwrap());
    assert!(tells.try_recv().is_ok());
}

#[test]
fn each_worker_has_its_share_of_the_sessions() {
    let three = Three::new();
    let (proxy, _) = start(&[&three.fine], |config| {
        let listener = &mut config.listeners[0];
        // A loaded machine greets late.
        listener.handshake_timeout = Duration::from_secs(300);
        listener.backends[0].connect_timeout = Duration::from_secs(300);
        config.workers = 3;
    });
    let address = proxy.tcp_address().unwrap();
    let mut clients = Vec::new();
    for count in 1..=60 {
        clients.push(TcpStream::connect(address).unwrap());
        if count % 20 == 0 {
            until("all of them", || proxy.sessions() == count);
            let workers = &proxy.running.workers.0;
            let loads = workers.iter().map(|worker| worker.sessions.load(SeqCst));
            let (least, most) = (loads.clone().min().unwrap(), loads.clone().max().unwrap());
            // One more than an eighth, and those that came in the meantime.
            assert!(
                most <= least + least / 8 + 3,
                "{:?}",
                loads.collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn where_no_worker_is_left_clients_are_closed_and_do_not_wait() {
    let three = Three::new();
    let (proxy, _) = start(&[&three.fine], |_| {});
    assert_eq!(hear(&proxy), 10);
    proxy.running.workers.0[0].order(Order::Panic);
    until("its end", || proxy.failure().is_some());
    let mut client = TcpStream::connect(proxy.tcp_address().unwrap()).unwrap();
    let patience = Some(Duration::from_secs(30));
    client.set_read_timeout(patience).unwrap();
    let heard = client.read(&mut [0; 1]);
    let is_closed = match &heard {
        Ok(n) => *n == 0,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    };
    assert!(is_closed, "{heard:?}");
}

#[test]
fn a_thread_that_cannot_be_had_is_not_an_address_that_cannot() {
    let of = |errno: Errno| Error::start("metrics")(errno.into()).to_string();
    assert!(of(Errno::AGAIN).starts_with("can't start the thread 'metrics': "));
    assert!(
        of(Errno::AGAIN)
            .ends_with("; raise the limit of processes and threads (ulimit -u, TasksMax=)")
    );
    assert!(
        of(Errno::MFILE).ends_with("; raise the limit of open files (ulimit -n, LimitNOFILE=)")
    );
}
