//! Connections that end at any byte, on either side of the proxy and in either direction. No answer is wrong, what was committed is known or said to be
//! unknown, and nothing is left behind for the next client of the only connection. `ONECOPY_SOAK=1` cuts at each byte.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config as ClientConfig, Error};
use onecopy_proxy::config::PoolConfig;

use crate::common::{loopback, text};
use crate::private::{Front, until};

/// Which bytes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Of the one that has connected.
    Forth,
    Back,
}

/// Passes on what two sides send, and closes both of a connection once so many bytes have passed one way.
struct Relay {
    address: SocketAddr,
    /// Of all connections; none is cut at [`NEVER`].
    cut_at: Arc<[AtomicU64; 2]>,
    passed: Arc<[AtomicU64; 2]>,
}

const NEVER: u64 = u64::MAX;

impl Relay {
    fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Self {
            address: listener.local_addr().unwrap(),
            cut_at: Arc::new([AtomicU64::new(NEVER), AtomicU64::new(NEVER)]),
            passed: Arc::default(),
        };
        let (cut_at, passed) = (Arc::clone(&relay.cut_at), Arc::clone(&relay.passed));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(to) else {
                    continue;
                };
                for end in [&client, &server] {
                    end.set_nodelay(true).unwrap();
                }
                for way in [Way::Forth, Way::Back] {
                    let ends = [client.try_clone().unwrap(), server.try_clone().unwrap()];
                    let (cut_at, passed) = (Arc::clone(&cut_at), Arc::clone(&passed));
                    thread::spawn(move || pass_on(ends, way, &cut_at, &passed));
                }
            }
        });
        relay
    }

    /// From now on.
    fn cut(&self, way: Way, at: u64) {
        self.passed
            .iter()
            .for_each(|passed| passed.store(0, SeqCst));
        self.cut_at[way as usize].store(at, SeqCst);
    }

    /// How many bytes have passed since.
    fn passed(&self, way: Way) -> u64 {
        self.passed[way as usize].load(SeqCst)
    }
}

fn pass_on(ends: [TcpStream; 2], way: Way, cut_at: &[AtomicU64; 2], passed: &[AtomicU64; 2]) {
    let (mut from, mut to) = match way {
        Way::Forth => (&ends[0], &ends[1]),
        Way::Back => (&ends[1], &ends[0]),
    };
    let mut bytes = vec![0; 1 << 14];
    loop {
        let Ok(n @ 1..) = from.read(&mut bytes) else {
            let _ = to.shutdown(Shutdown::Write);
            return;
        };
        let before = passed[way as usize].fetch_add(n as u64, SeqCst);
        let left = cut_at[way as usize].load(SeqCst).saturating_sub(before);
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(n);
        if to.write_all(&bytes[..now]).is_err() || now < n {
            // Once: who comes next is not cut.
            cut_at[way as usize].store(NEVER, SeqCst);
            let _ = ends.each_ref().map(|end| end.shutdown(Shutdown::Both));
            return;
        }
    }
}

/// What a client did.
#[derive(Default)]
struct Did {
    /// It has sent a COMMIT, and got its OK.
    asked: bool,
    committed: bool,
}

/// All kinds of state, with a transaction of two rows. Each answer that comes is right.
fn work(config: &ClientConfig, did: &mut Did) -> Result<(), Error> {
    let mut conn = Connection::connect_with(config)?;
    conn.run("SET SESSION lock_wait_timeout = 77")?;
    let insert = conn.prepare("INSERT INTO test.pairs VALUES (?)")?;
    let large = "l".repeat(20_000);
    let length = conn.query_one::<(u64,)>(&format!("SELECT LENGTH('{large}')"))?;
    assert_eq!(length, (20_000,));
    conn.run("BEGIN")?;
    conn.execute(&insert, &[1.into()])?.finish()?;
    let many = conn.query_one::<(String,)>("SELECT REPEAT('r', 5000)")?;
    assert_eq!(many.0, "r".repeat(5_000));
    conn.execute(&insert, &[2.into()])?.finish()?;
    did.asked = true;
    conn.run("COMMIT")?;
    did.committed = true;
    let (own,) = conn.query_one::<(u64,)>("SELECT @@lock_wait_timeout")?;
    assert_eq!(own, 77);
    conn.run("SET @left = 'behind'")?;
    let (left,) = conn.query_one::<(Option<String>,)>("SELECT @left")?;
    assert_eq!(left.as_deref(), Some("behind"));
    let (lock,) = conn.query_one::<(u64,)>("SELECT GET_LOCK('left', 0)")?;
    assert_eq!(lock, 1);
    conn.run("CREATE TEMPORARY TABLE test.left_table (a INT)")?;
    conn.run("BEGIN")?;
    conn.execute(&insert, &[3.into()])?.finish()?;
    conn.close()
}

/// A pool of one connection, so that the next client gets what the one before had, if that is still there.
fn front(change: impl FnOnce(&mut onecopy_proxy::config::ListenerConfig)) -> Front {
    let front = Front::start(|listener| {
        listener.pool = PoolConfig {
            max: 1,
            connect_rate: None,
            wait_timeout: Duration::from_secs(60),
            failover_timeout: Duration::from_secs(60),
            ..PoolConfig::default()
        };
        change(listener);
    });
    let mut direct = front.direct();
    for sql in [
        "CREATE TABLE test.pairs (a INT)",
        "GRANT ALL ON test.* TO app@'%'",
    ] {
        direct.run(sql).unwrap();
    }
    front
}

/// Cuts at some bytes, or at all of them. `is_first` has each cut come into a server connection that is new.
fn cut_everywhere(front: &Front, relay: &Relay, config: &ClientConfig, is_first: bool) {
    let is_soak = std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1");
    let mut direct = front.direct();
    let mut witness = front.connect();
    let mut committed = 0;
    for way in [Way::Forth, Way::Back] {
        // Nobody is cut.
        if is_first {
            front.end_connections();
        }
        relay.cut(way, NEVER);
        work(config, &mut Did::default()).unwrap();
        committed += 1;
        let all = relay.passed(way);
        // What is new comes in the first bytes; most of the others are a large value's.
        let stride = |at: u64| if is_soak { 1 } else { 7 + at / 40 };
        let mut at = 1;
        let (mut cuts, mut failed) = (0, 0);
        while at < all {
            let what = format!("{way:?} {at} of {all}");
            until(&what, || front.proxy.sessions() == 1);
            if is_first {
                front.end_connections();
            }
            relay.cut(way, at);
            let mut did = Did::default();
            let outcome = work(config, &mut did);
            relay.cut(way, NEVER);
            until(&what, || front.proxy.sessions() == 1);
            let rows: u64 = text(&mut direct, "SELECT COUNT(*) FROM test.pairs")
                .parse()
                .unwrap();
            let more = rows - 2 * committed;
            match (did.committed, did.asked) {
                (true, _) => assert_eq!(more, 2, "{what}: {outcome:?}"),
                // Nobody knows.
                (false, true) => assert!(more == 0 || more == 2, "{what}: {outcome:?}"),
                (false, false) => assert_eq!(more, 0, "{what}: {outcome:?}"),
            }
            committed = rows / 2;
            // The server releases a lock when it notices that its connection has ended.
            let is_free = "SELECT IS_FREE_LOCK('left')";
            until(&what, || text(&mut direct, is_free) == "1");
            let left = "SELECT CONCAT(@left IS NULL, @@lock_wait_timeout <> 77)";
            assert_eq!(text(&mut witness, left), "11", "{what}: {outcome:?}");
            witness.run("SELECT * FROM test.left_table").unwrap_err();
            witness.reset().unwrap();
            (cuts, failed) = (cuts + 1, failed + u64::from(outcome.is_err()));
            at += stride(at);
        }
        let connections = front.proxy.snapshot(false).pools[0].connections;
        assert!(connections <= 1, "{connections}");
        println!("{way:?}: {all} bytes, {cuts} cuts, of which the client saw {failed}");
        assert!(failed > 0);
    }
}

#[test]
fn clients_that_are_cut_off_at_any_byte_leave_nothing_to_others() {
    let front = front(|_| {});
    let relay = Relay::start(front.proxy.tcp_address().unwrap());
    let mut config = front.client();
    config.endpoint = loopback(relay.address.port());
    cut_everywhere(&front, &relay, &config, false);
}

#[test]
fn connections_that_the_server_loses_at_any_byte_give_no_wrong_answer() {
    let relay = std::cell::OnceCell::new();
    let front = front(|listener| {
        let onecopy_net::Endpoint::Tcp { port, .. } = &listener.backends[0].endpoint else {
            panic!("a port");
        };
        let to = SocketAddr::from(([127, 0, 0, 1], *port));
        let relay = relay.get_or_init(|| Relay::start(to));
        listener.backends[0].endpoint = loopback(relay.address.port());
    });
    let config = front.client();
    cut_everywhere(&front, relay.get().unwrap(), &config, true);
}
