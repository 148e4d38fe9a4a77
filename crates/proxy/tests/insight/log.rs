//! Lines of the log.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{AccountConfig, BackendConfig, Config, LogFormat, Mode, Secret};
use onecopy_testkit::server::{ENDLESS, shared};

use crate::common::{connect, listener, loopback, server_port, until, url};

/// What was written so far.
#[derive(Clone, Default)]
pub(crate) struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Page {
    /// Those of one kind.
    pub(crate) fn lines(&self, event: &str) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let event = format!("\"event\":\"{event}\"");
        let lines = text.lines().filter(|line| line.contains(&event));
        lines.map(str::to_owned).collect()
    }
}

pub(crate) fn start(page: &Page, change: impl FnOnce(&mut Config)) -> Proxy {
    let mut config = Config {
        workers: 1,
        listeners: vec![listener(vec![BackendConfig::new(loopback(server_port()))])],
        ..Config::default()
    };
    config.log.format = LogFormat::Json;
    change(&mut config);
    Proxy::start_logging(config, page.clone()).unwrap()
}

/// The URL of a login that the server refuses. Where its plugin encrypts passwords, the client asks for the key, and does not give up itself.
pub(crate) fn stranger(proxy: &Proxy) -> String {
    let url = url(proxy).replacen("root:", "nobody_here:", 1);
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}get-server-public-key=true")
}

#[test]
fn an_end_by_failure_is_told_with_all_that_belongs_to_it() {
    let page = Page::default();
    let proxy = start(&page, |_| {});
    let (mut watcher, mut conn) = (connect(&proxy), connect(&proxy));
    let id = conn.connection_id();
    conn.run("DO 'a secret of the client'").unwrap();
    watcher.run(format!("KILL {id}")).unwrap();
    until("the line", || !page.lines("session_failed").is_empty());
    let line = page.lines("session_failed").remove(0);
    for field in [
        "\"level\":\"".to_owned(),
        "\"user\":\"root\"".into(),
        "\"listener\":\"mysql\"".into(),
        format!("\"backend\":\"127.0.0.1:{}\"", server_port()),
        "\"client\":\"127.0.0.1:".into(),
        format!("\"connection\":{id}"),
        "\"side\":\"backend\"".into(),
    ] {
        assert!(line.contains(&field), "{field} is missing in {line}");
    }
    let wrong = stranger(&proxy);
    Connection::connect(&wrong).unwrap_err();
    until("the other line", || {
        !page.lines("session_refused").is_empty()
    });
    let line = page.lines("session_refused").remove(0);
    for field in ["\"user\":\"nobody_here\"", "\"reason\":\"refused\""] {
        assert!(line.contains(field), "{field} is missing in {line}");
    }
    watcher.close().unwrap();
    until("the end of the sessions", || proxy.sessions() == 0);
    proxy.drain();
    proxy.stop();
    assert_eq!(page.lines("started").len(), 1);
    assert_eq!(page.lines("draining").len(), 1);
    assert_eq!(page.lines("stopped").len(), 1);
    let all = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    assert!(!all.contains("secret"), "{all}");
    assert!(
        !all.contains(onecopy_testkit::server::shared().root_password()),
        "{all}"
    );
    assert_eq!(
        page.lines("session_failed").len(),
        1,
        "a normal disconnect is not logged: {all}"
    );
}

#[test]
fn the_client_is_who_the_balancer_says_it_is() {
    let page = Page::default();
    let proxy = start(&page, |config| {
        config.listeners[0].expects_proxy_header = true;
    });
    let mut stream = TcpStream::connect(proxy.tcp_address().unwrap()).unwrap();
    stream
        .write_all(b"PROXY TCP4 192.0.2.7 192.0.2.1 5555 3306\r\n")
        .unwrap();
    assert_ne!(stream.read(&mut [0; 1000]).unwrap(), 0, "the greeting");
    // Nothing is no login.
    stream.write_all(b"\0\0\0\x01").unwrap();
    until("the line", || !page.lines("session_refused").is_empty());
    let line = page.lines("session_refused").remove(0);
    for field in [
        "\"client\":\"192.0.2.7:5555\"",
        "\"reason\":\"client_protocol\"",
    ] {
        assert!(line.contains(field), "{field} is missing in {line}");
    }
}

#[test]
fn a_statement_that_could_not_be_interrupted_is_told_of_and_interrupted_later() {
    let mut direct = Connection::connect(&shared().url()).unwrap();
    for sql in [
        "DROP USER IF EXISTS log_limited@'%'",
        // The KILL has no connection beside the statement's.
        "CREATE USER log_limited@'%' IDENTIFIED BY 'secret' WITH MAX_USER_CONNECTIONS 1",
        "GRANT SELECT ON *.* TO log_limited@'%'",
    ] {
        direct.run(sql).unwrap();
    }
    let page = Page::default();
    let proxy = start(&page, |config| {
        let listener = &mut config.listeners[0];
        listener.mode = Mode::Transaction;
        let secret = Secret::new(b"secret".to_vec());
        listener.accounts = vec![AccountConfig::new("log_limited", secret)];
        listener.query_timeout = Some(Duration::from_millis(100));
        listener.reencrypt_passwords = true;
    });
    let mut config = ClientConfig::from_url(&url(&proxy)).unwrap();
    (config.user, config.password) = ("log_limited".into(), "secret".into());
    (config.database, config.get_server_public_key) = (None, true);
    let mut conn = Connection::connect_with(&config).unwrap();
    // The proxy has asked the server what it is like, by a connection that ends.
    until("the only connection", || conn.run("DO 1").is_ok());
    let client = std::thread::spawn(move || {
        let mut rows = conn.query(ENDLESS)?;
        while rows.next()?.is_some() {}
        rows.finish()
    });
    until("a line of the log", || {
        !page.lines("query_timeout_failed").is_empty()
    });
    let line = page.lines("query_timeout_failed").swap_remove(0);
    for part in [
        "\"level\":\"warn\"",
        "\"user\":\"log_limited\"",
        "max_user_connections",
    ] {
        assert!(line.contains(part), "{line}");
    }
    direct
        .run("ALTER USER log_limited@'%' WITH MAX_USER_CONNECTIONS 0")
        .unwrap();
    let error = client.join().unwrap().unwrap_err();
    assert_eq!(error.server().unwrap().code, 3024, "{error}");
}
