//! What changes while sessions continue: reloads, certificates, drains, places that become free.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_net::{ClientCertificates, Identity, Pem, TlsAcceptor, TlsServerOptions};
use onecopy_proxy::Proxy;
use onecopy_proxy::config::BackendConfig;
use onecopy_testkit::certificate::{Authority, Certificate};

use crate::common::{connect, listener, loopback, server_port, start, until, url};

/// Clients that run statements, one after the other, and now and then connect again.
struct Load {
    is_over: Arc<AtomicBool>,
    statements: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(proxy: &Proxy) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let statements = Arc::new(AtomicU64::new(0));
        let client = || {
            let (is_over, statements) = (Arc::clone(&is_over), Arc::clone(&statements));
            let url = url(proxy);
            std::thread::spawn(move || {
                while !is_over.load(SeqCst) {
                    let mut conn = Connection::connect(&url).unwrap();
                    for _ in 0..20 {
                        conn.run("DO 1").unwrap();
                        statements.fetch_add(1, SeqCst);
                    }
                    conn.close().unwrap();
                }
            })
        };
        let threads = (0..4).map(|_| client()).collect();
        Self {
            is_over,
            statements,
            threads,
        }
    }

    /// Waits for so many statements more.
    fn wait(&self, more: u64) {
        let enough = self.statements.load(SeqCst) + more;
        until("the statements", || self.statements.load(SeqCst) >= enough);
    }

    /// None of them has failed.
    fn end(self) {
        self.is_over.store(true, SeqCst);
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}

fn code(error: &onecopy_mysql::Error) -> Option<u16> {
    error.server().map(|error| error.code)
}

#[test]
fn no_statement_fails_while_all_is_reloaded() {
    let proxy = start(|_| {});
    let load = Load::start(&proxy);
    load.wait(100);
    for round in 0..10 {
        let mut config = proxy.config();
        config.listeners[0].backends[0].weight = round + 2;
        config.listeners[0].listen.push(loopback(0));
        config.memory += 1 << 20;
        let changes = proxy.reload(config).unwrap();
        assert!(changes.to_string().contains("weight"), "{changes}");
        load.wait(50);
    }
    assert!(proxy.reload(proxy.config()).unwrap().is_empty());
    load.end();
    until("the end of the sessions", || proxy.sessions() == 0);
}

#[test]
fn a_reload_that_fails_changes_nothing() {
    let proxy = start(|_| {});
    let load = Load::start(&proxy);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addresses = proxy.addresses();
    let mut config = proxy.config();
    let mut other = listener(config.listeners[0].backends.clone());
    other.name = "other".into();
    other.listen = vec![loopback(0), loopback(taken.local_addr().unwrap().port())];
    config.listeners[0].listen = Vec::new();
    config.listeners.push(other);
    let error = proxy.reload(config).unwrap_err().to_string();
    assert!(error.starts_with("can't listen on 127.0.0.1:"), "{error}");
    let mut config = proxy.config();
    config.workers = 7;
    let error = proxy.reload(config).unwrap_err().to_string();
    assert!(error.contains("`workers` needs a restart"), "{error}");
    assert_eq!(proxy.addresses(), addresses);
    load.wait(100);
    load.end();
}

#[test]
fn sessions_of_a_backend_that_is_gone_end_their_transactions() {
    let proxy = start(|config| config.drain.timeout = Duration::from_secs(600));
    let (mut idle, mut busy) = (connect(&proxy), connect(&proxy));
    idle.ping().unwrap();
    busy.run("BEGIN").unwrap();
    let mut config = proxy.config();
    // The same server by another name.
    let mut endpoint = BackendConfig::new(onecopy_net::Endpoint::Tcp {
        host: "localhost".into(),
        port: server_port(),
    });
    endpoint.name = "other".into();
    config.listeners[0].backends = vec![endpoint];
    let changes = proxy.reload(config).unwrap().to_string();
    assert!(changes.contains("was removed"), "{changes}");
    until("the end of the idle session", || proxy.sessions() == 1);
    assert_eq!(code(&idle.ping().unwrap_err()), Some(1053));
    busy.run("DO 1").unwrap();
    busy.run("COMMIT").unwrap();
    until("the end of the other one", || proxy.sessions() == 0);
    connect(&proxy).ping().unwrap();
    assert_eq!(proxy.servers()[0].0, "other");
}

#[test]
fn a_drain_ends_at_its_deadline() {
    let proxy = start(|config| {
        config.drain.wait = Duration::from_millis(300);
        config.drain.timeout = Duration::from_millis(300);
    });
    let mut busy = connect(&proxy);
    busy.run("BEGIN").unwrap();
    proxy.drain();
    assert!(proxy.is_draining());
    until("the drain", || proxy.is_drained());
    assert_eq!(code(&busy.run("COMMIT").unwrap_err()), Some(1053));
    assert!(TcpStream::connect(proxy.tcp_address().unwrap()).is_err());
    assert!(proxy.reload(proxy.config()).is_err());
}

#[test]
fn clients_wait_for_a_place_in_the_order_in_which_they_came() {
    for in_all in [true, false] {
        let proxy = start(|config| {
            config.queue_timeout = Duration::from_secs(600);
            match in_all {
                true => config.max_connections = 1,
                false => config.listeners[0].backends[0].max_connections = Some(1),
            }
        });
        let held = connect(&proxy);
        let url = url(&proxy);
        let waiting = std::thread::spawn(move || Connection::connect(&url).unwrap());
        std::thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished());
        held.close().unwrap();
        waiting.join().unwrap().ping().unwrap();
        let load = Load::start(&proxy);
        load.wait(400);
        load.end();
    }
}

#[test]
fn who_waits_too_long_is_told_so() {
    for in_all in [true, false] {
        let proxy = start(|config| {
            config.queue_timeout = Duration::from_millis(300);
            match in_all {
                true => config.max_connections = 1,
                false => config.listeners[0].backends[0].max_connections = Some(1),
            }
        });
        let _held = connect(&proxy);
        let error = Connection::connect(&url(&proxy)).unwrap_err();
        assert_eq!(code(&error), Some(1040), "{error}");
    }
}

#[test]
fn a_certificate_that_changes_is_shown_to_new_clients() {
    let folder = std::env::temp_dir().join(format!("onecopy-changes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name);
    let put = |certificate: &Certificate| {
        std::fs::write(path("key"), &certificate.key).unwrap();
        std::fs::write(path("cert"), &certificate.certificate).unwrap();
    };
    let authorities = ["the first", "the second authority"].map(Authority::new);
    put(&authorities[0].server(&["127.0.0.1"]));
    for (number, authority) in authorities.iter().enumerate() {
        std::fs::write(path(&format!("ca{number}")), authority.certificate()).unwrap();
    }
    let options = TlsServerOptions {
        identity: Identity {
            certificate: Pem::File(path("cert")),
            key: Pem::File(path("key")),
        },
        clients: ClientCertificates::Off,
    };
    let proxy = start(|config| {
        config.certificate_interval = Some(Duration::from_millis(50));
        config.listeners[0].tls = Some(TlsAcceptor::new(&options).unwrap());
    });
    let load = Load::start(&proxy);
    let separator = if url(&proxy).contains('?') { '&' } else { '?' };
    let trusting = |number: usize| {
        let ca = path(&format!("ca{number}"));
        format!(
            "{}{separator}ssl-mode=verify-full&ssl-ca={}",
            url(&proxy),
            ca.display()
        )
    };
    let mut old = Connection::connect(&trusting(0)).unwrap();
    assert!(Connection::connect(&trusting(1)).is_err());
    put(&authorities[1].server(&["127.0.0.1"]));
    until("the new certificate", || {
        Connection::connect(&trusting(1)).is_ok()
    });
    assert!(Connection::connect(&trusting(0)).is_err());
    old.ping().unwrap();
    load.end();
    std::fs::remove_dir_all(folder).unwrap();
}
