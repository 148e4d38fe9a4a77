//! `KILL` where ids of two servers are the same numbers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::auth::Secret;
use onecopy_mysql_proto::packet::Greeting;
use onecopy_net::evented::Address;
use onecopy_proxy::config::{BackendConfig, HealthLogin};
use onecopy_proxy::{Killed, Proxy};
use onecopy_testkit::server::{Server, lacks};

use crate::common::{listener, loopback, start, until};

const PASSWORD: &str = "the same on both";

/// Of clients whose password the server's plugin wants encrypted at the first login.
const KEY: &str = "get-server-public-key=true";

/// A proxy in front of two servers, and clients of one on each.
struct Two {
    servers: [Server; 2],
    proxy: Proxy,
}

impl Two {
    fn new(has_credentials: bool) -> Self {
        let servers = [(), ()].map(|()| Server::builder().root_password(PASSWORD).start().unwrap());
        for server in &servers {
            let mut conn = Connection::connect(&server.url()).unwrap();
            conn.run("CREATE USER app@'127.0.0.1' IDENTIFIED BY 'a'")
                .unwrap();
            conn.run("CREATE USER other@'127.0.0.1' IDENTIFIED BY 'o'")
                .unwrap();
        }
        let backends = servers
            .each_ref()
            .map(|server| BackendConfig::new(loopback(server.port())));
        let proxy = start(|config| {
            config.health.interval = None;
            if has_credentials {
                config.health.login = Some(HealthLogin {
                    user: "root".into(),
                    password: Secret::new(PASSWORD),
                });
            }
            config.listeners = vec![listener(backends.to_vec())];
        });
        Self { servers, proxy }
    }

    fn connect(&self, login: &str) -> Connection {
        let port = self.proxy.tcp_address().unwrap().port();
        Connection::connect(&format!("mysql://{login}@127.0.0.1:{port}/?{KEY}")).unwrap()
    }

    /// Clients of the first and of the second server.
    fn pair(&self, logins: [&str; 2]) -> [Connection; 2] {
        let mut conns = logins.map(|login| self.connect(login));
        let mut port = |at: usize| -> u16 {
            let mut rows = conns[at].query("SELECT @@port").unwrap();
            let port = rows.next().unwrap().unwrap().get(0).unwrap();
            rows.finish().unwrap();
            port
        };
        let ports = [port(0), port(1)];
        assert_ne!(ports[0], ports[1], "each server got one");
        conns
    }

    /// A client of the server that `conn` is not on, past the proxy, with this thread id.
    fn bystander(&self, conn: &mut Connection, id: u32) -> Connection {
        let mut rows = conn.query("SELECT @@port").unwrap();
        let own: u16 = rows.next().unwrap().unwrap().get(0).unwrap();
        rows.finish().unwrap();
        let server = self
            .servers
            .iter()
            .find(|server| server.port() == own)
            .unwrap();
        loop {
            let bystander = Connection::connect(&server.url()).unwrap();
            let its = bystander.connection_id();
            if its == id {
                return bystander;
            }
            assert!(its < id, "the id is taken already");
        }
    }
}

/// Has the server of `conn` count its ids on, so that none of them comes again.
fn count_on(two: &Two, port: u16, to: u32) {
    let server = two
        .servers
        .iter()
        .find(|server| server.port() == port)
        .unwrap();
    while Connection::connect(&server.url()).unwrap().connection_id() < to {}
}

fn own_port(conn: &mut Connection) -> u16 {
    let mut rows = conn.query("SELECT @@port").unwrap();
    let port = rows.next().unwrap().unwrap().get(0).unwrap();
    rows.finish().unwrap();
    port
}

/// A login without a password, spoken by hand: commands can then be sent in any parts.
fn plain(two: &Two) -> TcpStream {
    for server in &two.servers {
        let mut conn = Connection::connect(&server.url()).unwrap();
        conn.run("CREATE USER plain@'127.0.0.1'").unwrap();
    }
    let address = two.proxy.tcp_address().unwrap();
    let mut raw = TcpStream::connect(address).unwrap();
    raw.set_nodelay(true).unwrap();
    let greeting = packet(&mut raw).1;
    let greeting = Greeting::decode(&greeting).unwrap();
    // PROTOCOL_41, SECURE_CONNECTION, LONG_PASSWORD, PLUGIN_AUTH; 16 MiB; utf8mb4; user; no password; the server's plugin.
    let mut login = vec![0x01, 0x82, 0x08, 0, 0, 0, 0, 1, 45];
    login.extend([0; 23]);
    login.extend(b"plain\0\0");
    login.extend(greeting.auth_plugin.unwrap());
    login.push(0);
    let mut bytes = vec![u8::try_from(login.len()).unwrap(), 0, 0, 1];
    bytes.extend(login);
    raw.write_all(&bytes).unwrap();
    assert_eq!(packet(&mut raw).1[0], 0, "OK");
    raw
}

/// A packet's number and payload.
fn packet(raw: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut header = [0; 4];
    raw.read_exact(&mut header).unwrap();
    let mut payload = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8];
    raw.read_exact(&mut payload).unwrap();
    (header[3], payload)
}

#[test]
fn a_kill_hits_the_session_on_the_other_server_and_nobody_on_the_own() {
    let two = Two::new(true);
    // The target's server is some ids ahead, so that a bystander can have the same number on the killer's server.
    let [mut first, second] = two.pair(["app:a", "app:a"]);
    let ahead = own_port(&mut first);
    drop((first, second));
    count_on(&two, ahead, 60);
    until("both ends", || two.proxy.sessions() == 0);
    let [mut a, b] = two.pair(["app:a", "app:a"]);
    let (mut target, mut killer) = if own_port(&mut a) == ahead {
        (a, b)
    } else {
        (b, a)
    };
    let mut bystander = two.bystander(&mut killer, target.connection_id());
    for (before, after) in [("KILL ", ""), ("/* x */ kill\nconnection ", " ;")] {
        let id = target.connection_id();
        killer.run(format!("{before}{id}{after}")).unwrap();
        until("the target's end", || target.ping().is_err());
        bystander.ping().unwrap();
        killer.run("DO 1").unwrap();
        // A new one on the same server for the next round.
        target = two.connect("app:a");
        assert_eq!(own_port(&mut target), ahead);
        bystander = two.bystander(&mut killer, target.connection_id());
    }
    // A query alone: the session continues.
    let id = target.connection_id();
    let sleeper = std::thread::spawn(move || {
        let outcome = target.run("DO SLEEP(600)").map(drop);
        (target, outcome)
    });
    until("the query's end", || {
        killer.run(format!("KILL QUERY {id}")).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        sleeper.is_finished()
    });
    let (mut target, _) = sleeper.join().unwrap();
    target.run("DO 1").unwrap();
    bystander.ping().unwrap();
}

#[test]
fn a_kill_without_credentials_is_refused_and_hits_nobody() {
    let two = Two::new(false);
    let [mut killer, mut target] = two.pair(["app:a", "app:a"]);
    let error = killer
        .run(format!("KILL {}", target.connection_id()))
        .unwrap_err();
    let server = error.server().unwrap();
    assert_eq!(server.code, 1094);
    assert!(server.message.contains("health.user"), "{error}");
    target.ping().unwrap();
    // Those on the same server, and of nobody, are the server's business.
    let id = killer.connection_id();
    let error = killer.run("KILL 4000000000").unwrap_err();
    assert_eq!(
        error.server().unwrap().message,
        "Unknown thread id: 4000000000"
    );
    let error = killer.run(format!("KILL QUERY {id}")).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1317, "{error}");
}

#[test]
fn a_kill_that_each_server_would_take_for_another_is_refused() {
    let two = Two::new(true);
    let [mut killer, mut target] = two.pair(["app:a", "app:a"]);
    let id = target.connection_id();
    for sql in [
        format!("KILL {id} + 0"),
        format!("KILL QUERY ({id})"),
        "KILL @id".to_owned(),
    ] {
        let error = killer.run(&sql).unwrap_err();
        assert_eq!(error.server().unwrap().code, 1235, "{sql}: {error}");
    }
    let text = format!("KILL {id}");
    for sql in ["KILL ?", "kill query ?", &text] {
        let error = killer.prepare(sql).unwrap_err();
        assert_eq!(error.server().unwrap().code, 1295, "{sql}: {error}");
        killer.run("DO 1").unwrap();
    }
    target.ping().unwrap();
    // What has nothing to do with it continues.
    let plus = killer.prepare("SELECT ? + 1").unwrap();
    let mut rows = killer.execute(&plus, &[41.into()]).unwrap();
    assert_eq!(rows.next().unwrap().unwrap().get::<i64>(0).unwrap(), 42);
}

/// As MariaDB's own client library does it: prepared and executed in one go, by the id that means the last statement.
#[test]
fn the_execution_of_a_refused_kill_does_not_run_the_statement_before() {
    let two = Two::new(true);
    let mut raw = plain(&two);
    let packets = |bodies: &[&[u8]]| {
        let mut all = Vec::new();
        for body in bodies {
            all.extend([u8::try_from(body.len()).unwrap(), 0, 0, 0]);
            all.extend(*body);
        }
        all
    };
    let execute: &[u8] = b"\x17\xFF\xFF\xFF\xFF\0\x01\0\0\0";
    let count: &[u8] = b"\x16SET @ran = IFNULL(@ran, 0) + 1";
    let told = |raw: &mut TcpStream| packet(raw).1;
    raw.write_all(&packets(&[b"\x16DO 1", execute])).unwrap();
    assert_eq!(told(&mut raw)[0], 0, "prepared");
    if told(&mut raw)[0] != 0 {
        return lacks("the id of the last prepared statement", "error 1243");
    }
    raw.write_all(&packets(&[count, execute, b"\x16KILL 7", execute]))
        .unwrap();
    assert_eq!(told(&mut raw)[0], 0, "prepared");
    assert_eq!(told(&mut raw)[0], 0, "executed");
    assert_eq!(told(&mut raw)[..3], [0xFF, 0x0F, 0x05], "1295");
    assert_eq!(told(&mut raw)[..3], [0xFF, 0xDB, 0x04], "1243");
    // In parts, and again.
    for byte in packets(&[execute]) {
        raw.write_all(&[byte]).unwrap();
    }
    assert_eq!(told(&mut raw)[..3], [0xFF, 0xDB, 0x04]);
    // A KILL that is refused for something else does not make it forgotten.
    raw.write_all(&packets(&[b"\x03KILL @id", execute]))
        .unwrap();
    assert_eq!(told(&mut raw)[..3], [0xFF, 0xD3, 0x04], "1235");
    assert_eq!(told(&mut raw)[..3], [0xFF, 0xDB, 0x04], "1243");
    raw.write_all(&packets(&[count, execute, b"\x03SELECT @ran"]))
        .unwrap();
    assert_eq!(told(&mut raw)[0], 0, "prepared");
    assert_eq!(told(&mut raw)[0], 0, "executed");
    let row = std::iter::repeat_with(|| told(&mut raw)).take(5).nth(3);
    assert_eq!(row.unwrap(), b"\x012", "twice, not more");
}

#[test]
fn nobody_kills_anothers_session() {
    let two = Two::new(true);
    let [mut killer, mut target] = two.pair(["other:o", "app:a"]);
    let error = killer
        .run(format!("KILL {}", target.connection_id()))
        .unwrap_err();
    assert_eq!(error.server().unwrap().code, 1095);
    target.ping().unwrap();
    killer.ping().unwrap();
    // Who it is after a change of user is not known here, so it is nobody's.
    let [mut killer, mut target] = two.pair(["app:a", "app:a"]);
    target.change_user("other", "o", None).unwrap();
    let error = killer
        .run(format!("KILL {}", target.connection_id()))
        .unwrap_err();
    assert_eq!(error.server().unwrap().code, 1095);
    target.ping().unwrap();
}

#[test]
fn a_kill_in_parts_and_among_others_is_answered_in_its_turn() {
    let two = Two::new(false);
    let [mut a, mut b] = two.pair(["app:a", "app:a"]);
    let mut raw = plain(&two);
    let mut rows = Connection::connect(&two.servers[0].url()).unwrap();
    let mut here = rows
        .query("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'plain'")
        .unwrap();
    let is_on_first = here.next().unwrap().is_some();
    here.finish().unwrap();
    let first = two.servers[0].port();
    let other = if (own_port(&mut a) == first) == is_on_first {
        &mut b
    } else {
        &mut a
    };
    let query = |sql: &str| {
        let mut bytes = vec![u8::try_from(sql.len() + 1).unwrap(), 0, 0, 0, 3];
        bytes.extend(sql.as_bytes());
        bytes
    };
    let kill = query(&format!("/* in parts */ KILL {}", other.connection_id()));
    for cut in 1..kill.len() {
        raw.write_all(&kill[..cut]).unwrap();
        if cut % 8 == 0 {
            // Long enough for the proxy to see the part alone, most of the time.
            std::thread::sleep(Duration::from_millis(2));
        }
        raw.write_all(&kill[cut..]).unwrap();
        let (sequence, payload) = packet(&mut raw);
        assert_eq!(
            (sequence, &payload[..3]),
            (1, &[0xFF, 0x47, 0x04][..]),
            "1095, cut at {cut}"
        );
    }
    // The command of its own, COM_PROCESS_KILL.
    let mut process_kill = vec![5, 0, 0, 0, 0x0C];
    process_kill.extend(other.connection_id().to_le_bytes());
    raw.write_all(&process_kill).unwrap();
    assert_eq!(packet(&mut raw).1[..3], [0xFF, 0x47, 0x04]);
    // Sent ahead, between others, and one behind the other.
    let mut all = query("DO SLEEP(0.1)");
    for bytes in [&kill, &kill, &query("DO 2"), &kill, &query("nonsense")] {
        all.extend(bytes);
    }
    raw.write_all(&all).unwrap();
    let kinds: Vec<_> = (0..6)
        .map(|_| {
            let (sequence, payload) = packet(&mut raw);
            assert_eq!(sequence, 1);
            (payload[0], payload.get(1..3).unwrap().to_vec())
        })
        .collect();
    let firsts: Vec<_> = kinds.iter().map(|kind| kind.0).collect();
    assert_eq!(firsts, [0, 0xFF, 0xFF, 0, 0xFF, 0xFF]);
    assert_eq!(kinds[5].1, [0x28, 0x04], "1064, the server's own");
    other.ping().unwrap();
}

#[test]
fn a_kill_of_an_id_that_two_listeners_have_ends_neither() {
    let mut two = Two::new(false);
    let backends = two.servers.each_ref();
    let backends = backends.map(|server| BackendConfig::new(loopback(server.port())));
    let [front, back] = backends.map(|backend| listener(vec![backend]));
    two.proxy = start(|config| {
        config.listeners = vec![front, back];
        config.listeners[0].name = "front".into();
        config.listeners[1].name = "back : 2".into();
        config.admin.listen = Some(loopback(0));
        config.admin.password = Secret::new("let me in");
    });
    let urls: Vec<_> = two.proxy.addresses().into_iter().map(url).collect();
    let at = |number: usize| {
        let url = urls[number].replace("LOGIN", "app:a");
        Connection::connect(&format!("{url}?{KEY}")).unwrap()
    };
    let (mut a, mut b) = (at(0), at(1));
    while a.connection_id() != b.connection_id() {
        match a.connection_id() < b.connection_id() {
            true => a = at(0),
            false => b = at(1),
        }
    }
    let id = a.connection_id();
    until("the end of all others", || two.proxy.sessions() == 2);
    let several = Killed::Several(vec!["back : 2".into(), "front".into()]);
    assert_eq!(two.proxy.kill(None, id), several);
    let admin = url(two.proxy.admin_address().unwrap().clone());
    let mut admin = Connection::connect(&admin.replace("LOGIN", "admin:let%20me%20in")).unwrap();
    let error = admin.run(format!("KILL {id}")).unwrap_err();
    let said = &error.server().unwrap().message;
    assert!(
        said.ends_with(&format!("say KILL back : 2:{id} or KILL front:{id}")),
        "{said}"
    );
    a.ping().unwrap();
    b.ping().unwrap();
    let error = admin.run(format!("KILL nowhere:{id}")).unwrap_err();
    assert_eq!(error.server().unwrap().code, 1094);
    admin.run(format!("KILL back : 2:{id}")).unwrap();
    until("its end", || b.ping().is_err());
    a.ping().unwrap();
    assert_eq!(two.proxy.kill(Some("back : 2"), id), Killed::No);
    assert_eq!(two.proxy.kill(None, id), Killed::Yes, "only one has it now");
    until("the end of the other one", || a.ping().is_err());
}

fn url(address: Address) -> String {
    let Address::Tcp(address) = address else {
        panic!("it is of TCP");
    };
    format!("mysql://LOGIN@127.0.0.1:{}/", address.port())
}

#[test]
fn sessions_from_before_a_reload_watch_for_kills_of_sessions_on_servers_that_are_new() {
    let mut two = Two::new(false);
    let first = BackendConfig::new(loopback(two.servers[0].port()));
    let second = BackendConfig::new(loopback(two.servers[1].port()));
    two.proxy = start(|config| config.listeners = vec![listener(vec![first])]);
    let mut killer = two.connect("app:a");
    killer.ping().unwrap();
    let mut config = two.proxy.config();
    config.listeners[0].backends.push(second);
    two.proxy.reload(config).unwrap();
    let mut target = two.connect("app:a");
    assert_eq!(own_port(&mut target), two.servers[1].port());
    // A thread of that number on the own server would be hit.
    let error = killer
        .run(format!("KILL {}", target.connection_id()))
        .unwrap_err();
    assert!(
        error.server().unwrap().message.contains("health.user"),
        "{error}"
    );
    target.ping().unwrap();
}
