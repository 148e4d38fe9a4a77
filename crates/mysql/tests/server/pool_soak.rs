//! A pool under everything at once: hundreds of tasks on ten connections, futures dropped anywhere, connections killed by the server,
//! outages, idle timeouts of the server, and a server that is full.
//!
//! After each borrow: no answer of another's, and nothing of another's session. At the end: no connection left, on either side.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use onecopy_mysql::aio::{Connection, Pool, PooledConnection};
use onecopy_mysql::{Config, Endpoint, Error, PoolError, blocking, params};
use onecopy_testkit::server::Server;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::common::{Random, count, make_sequences, seed, soak, takes};

/// The pool's maximum.
const MAX: usize = 10;

const USER: &str = "pool_soak";
const PASSWORD: &str = "Po0l. soak";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_mixed_up_whatever_happens() {
    let stage = Stage::set(2).await;
    let pool = stage.pool(Duration::from_secs(60));
    let seed = seed();
    let ends = Instant::now() + Duration::from_secs(count(4, 60) as u64);
    let done = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (1..=count(200, 1000) as u64)
        .map(|number| {
            let (pool, done) = (pool.clone(), Arc::clone(&done));
            let random = Random::new(seed.wrapping_mul(0x9E37_79B9).wrapping_add(number * 7919));
            tokio::spawn(borrow_until(ends, pool, random, number, done))
        })
        .collect();
    let disturbed = stage.disturb(ends, &pool, Random::new(seed)).await;
    let mut waits = Vec::new();
    for task in tasks {
        waits.extend(task.await.unwrap());
    }
    let (median, p99) = median_and_p99(waits);
    println!("waits: median {median:?}, p99 {p99:?}");
    // On a busy machine the tail is the machine's.
    if soak() {
        assert!(p99 <= 5 * median, "median {median:?}, p99 {p99:?}");
        assert!(
            disturbed.outages > 0 && disturbed.refused > 0,
            "{disturbed:?}"
        );
    }
    // What is idle now the server ends by its wait_timeout, and the next borrowers do not notice.
    stage.wait_until_no_session_is_left().await;
    let before = pool.stats().closed;
    let borrowed: Vec<_> = (0..MAX).map(|_| pool.get()).collect();
    for conn in borrowed {
        conn.await.unwrap().ping().await.unwrap();
    }
    let ended = pool.stats().closed.total() - before.total();
    println!("{disturbed:?}, {ended} idle connections ended by the server");
    pool.close().await;
    let stats = pool.stats();
    println!("{} borrows, {stats:?}", done.load(Ordering::Relaxed));
    assert_eq!((stats.size, stats.waiting), (0, 0));
    assert_eq!(stats.connects, stats.closed.total());
    assert!(done.load(Ordering::Relaxed) > 100);
    stage.wait_until_no_session_is_left().await;
}

/// What was done to a pool.
#[derive(Debug, Default)]
struct Disturbed {
    outages: u32,
    full: u32,
    killed: u64,
    /// Connections that the server refused because it was full.
    refused: u64,
}

fn median_and_p99(mut waits: Vec<Duration>) -> (Duration, Duration) {
    waits.sort_unstable();
    (waits[waits.len() / 2], waits[waits.len() * 99 / 100])
}

/// One task: it borrows, checks, does something, and often drops it half way. Gives how long it waited each time that it did not give up.
async fn borrow_until(
    ends: Instant,
    pool: Pool,
    mut random: Random,
    number: u64,
    done: Arc<AtomicU64>,
) -> Vec<Duration> {
    let mut waits = Vec::new();
    while Instant::now() < ends {
        let patience = Duration::from_micros(random.below(200_000));
        let start = Instant::now();
        let got = if random.below(3) == 0 {
            match timeout(patience, pool.get()).await {
                Err(_) => continue, // its turn goes to the next one
                Ok(got) => got,
            }
        } else {
            let got = pool.get().await;
            waits.push(start.elapsed());
            got
        };
        let mut conn = got.unwrap_or_else(|error| panic!("{error}"));
        let stats = pool.stats();
        assert!(stats.size <= MAX, "{stats:?}");
        let cut = Duration::from_micros(random.below(5000));
        let work = use_it(&mut conn, &mut random, number);
        let result = if number.is_multiple_of(2) {
            timeout(cut, work).await
        } else {
            Ok(work.await)
        };
        if let Ok(Err(error)) = result {
            assert!(is_expected(&error), "{error:?}");
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
    waits
}

/// The server or the relay ended it. Any other error is one of the pool.
fn is_expected(error: &Error) -> bool {
    const QUERY_INTERRUPTED: u16 = 1317;
    let server = error.server();
    error.is_closed() || server.is_some_and(|server| server.code == QUERY_INTERRUPTED)
}

async fn use_it(
    conn: &mut PooledConnection,
    random: &mut Random,
    number: u64,
) -> Result<(), Error> {
    let mut rows = conn.query("SELECT @v IS NULL, DATABASE()").await?;
    if let Some(row) = rows.next().await? {
        assert_eq!(row.get::<u64>(0)?, 1, "a variable of another borrower's");
        assert_eq!(row.get::<&str>(1)?, "test");
    }
    rows.finish().await?;
    assert!(!conn.status().contains(onecopy_mysql::StatusFlags::IN_TRANS));
    conn.run(format!("SET @v = {number}")).await?;
    match random.below(8) {
        0 => {
            conn.run("START TRANSACTION").await?;
            conn.run("CREATE TEMPORARY TABLE soak (a INT)").await?;
        }
        1 => {
            let mut rows = conn.query("SELECT seq FROM seq_1_to_5000").await?;
            for _ in 0..random.below(100) {
                rows.next().await?;
            }
        }
        2 => {
            conn.run("SELECT BENCHMARK(500000, 1)").await?;
        }
        3 => {
            let statement = conn.prepare("SELECT ? + 1").await?;
            let mut rows = conn.execute(&statement, &params![number]).await?;
            if let Some(row) = rows.next().await? {
                assert_eq!(row.get::<u64>(0)?, number + 1);
            }
        }
        4 => conn.use_database("information_schema").await?,
        5 => {
            let id = conn.connection_id();
            let _ = conn.run(format!("KILL CONNECTION {id}")).await;
        }
        _ => {
            let mut rows = conn.query(format!("SELECT {number}")).await?;
            if let Some(row) = rows.next().await? {
                assert_eq!(row.get::<u64>(0)?, number);
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_is_named_by_those_who_waited_in_vain() {
    let stage = Stage::set(600).await;
    let pool = stage.pool(Duration::from_secs(1));
    let first = loop {
        if let Ok(conn) = pool.get().await {
            break conn;
        }
    };
    drop(first);
    stage.relay.fail();
    let outage = std::time::Instant::now();
    let mut errors = Vec::new();
    for _ in 0..3 {
        match pool.get().await {
            // The first one may have been handed out while the relay was ending it.
            Ok(mut conn) => assert!(conn.ping().await.unwrap_err().is_closed()),
            Err(error) => errors.push(error),
        }
    }
    for error in &errors {
        assert_eq!(error.pool(), Some(PoolError::Timeout));
        assert!(error.source().is_some(), "{error}");
    }
    assert!(errors.len() >= 2);
    // One attempt at a time, and after each a pause of at least half of the shortest backoff, 100 ms: however long it took.
    let stats = pool.stats();
    let most = outage.elapsed().as_millis() / 50 + 2;
    assert!(u128::from(stats.connect_failures) <= most, "{stats:?}");
    stage.relay.recover();
    let pool_again = stage.pool(Duration::from_secs(60));
    pool_again.get().await.unwrap().ping().await.unwrap();
    let mut conn = loop {
        if let Ok(conn) = pool.get().await {
            break conn;
        }
    };
    conn.ping().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_are_even() {
    let stage = Stage::set(600).await;
    let pool = stage.pool(Duration::from_secs(60));
    let mut tasks = Vec::new();
    for number in 0..count(100, 1000) {
        let pool = pool.clone();
        tasks.push(tokio::spawn(async move {
            let mut waits = Vec::new();
            for _ in 0..count(10, 100) {
                let start = Instant::now();
                let mut conn = pool.get().await.unwrap();
                waits.push(start.elapsed());
                conn.run(format!("SELECT {number}")).await.unwrap();
            }
            waits
        }));
    }
    let mut waits = Vec::new();
    for task in tasks {
        waits.extend(task.await.unwrap());
    }
    let (median, p99) = median_and_p99(waits);
    println!("waits: median {median:?}, p99 {p99:?}, {:?}", pool.stats());
    // On a busy machine the tail is the machine's.
    if soak() {
        assert!(p99 <= 5 * median, "median {median:?}, p99 {p99:?}");
    }
    assert_eq!(pool.stats().connects, MAX as u64);
}

#[test]
fn the_end_of_its_runtime_is_named_by_a_pool_that_is_used_in_another_one() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let pool = Pool::from_url(&crate::common::url()).unwrap();
    let first = runtime();
    first.block_on(async { pool.get().await.unwrap().ping().await.unwrap() });
    drop(first);
    let error = runtime().block_on(async {
        loop {
            match pool.get().await {
                // Its socket belongs to the runtime that has ended.
                Ok(mut conn) => assert!(conn.ping().await.is_err()),
                Err(error) => break error,
            }
        }
    });
    assert_eq!(error.pool(), Some(PoolError::Refused));
    assert!(
        error.to_string().contains("create a pool in each runtime"),
        "{error}"
    );
}

/// Names the process that is to run [`one_process`].
const CASE: &str = "ONECOPY_POOL_MEMORY";

#[test]
fn resident_memory_is_returned_after_large_rows_on_a_hundred_connections() {
    if !takes(count(64, 128) << 20) {
        return;
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["pool_soak::one_process", "--exact", "--nocapture"])
        .env(CASE, crate::common::url())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    println!(
        "{}",
        text.lines().find(|line| line.contains("KiB")).unwrap()
    );
}

/// Runs only as a process of its own.
#[test]
fn one_process() {
    let Ok(url) = std::env::var(CASE) else { return };
    let mut config = Config::from_url(&url).unwrap();
    config.pool.max = 100;
    let pool = blocking::Pool::new(config).unwrap();
    let all = || -> Vec<_> { (0..100).map(|_| pool.get().unwrap()).collect() };
    let mut conns = all();
    let start = resident();
    // In a test run some of them; in a soak each.
    for (index, conn) in conns.iter_mut().enumerate() {
        if index % count(25, 1) == 0 {
            let sql = format!("SELECT REPEAT('x', {})", count(64, 128) << 20);
            conn.run(sql).unwrap();
        }
        for small in 0..10 {
            conn.run(format!("SELECT {small}, REPEAT('x', 100)"))
                .unwrap();
        }
    }
    drop(conns);
    while pool.stats().idle < 100 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let end = resident();
    println!("\n{} KiB more than at the start", end.saturating_sub(start));
    assert!(end <= start + (8 << 10), "{start} KiB, then {end}");
}

/// Of this process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.trim().parse().unwrap()
}

#[test]
fn threads_are_served_whatever_happens() {
    let server = Server::builder()
        .argument("--wait-timeout=2")
        .start()
        .unwrap();
    make_sequences(&server.url()).unwrap();
    let mut config = Config::from_url(&server.url()).unwrap();
    config.pool.max = 4;
    let pool = blocking::Pool::new(config).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let borrowers: Vec<_> = (1..=count(20, 100) as u64)
        .map(|number| {
            let (pool, is_over) = (pool.clone(), Arc::clone(&is_over));
            std::thread::spawn(move || {
                let mut random = Random::new(number * 7919);
                let mut done = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let mut conn = pool.get().unwrap();
                    assert!(pool.stats().size <= 4);
                    if let Err(error) = block_on_it(&mut conn, &mut random, number) {
                        assert!(is_expected(&error) || error.is_timeout(), "{error:?}");
                    }
                    done += 1;
                }
                done
            })
        })
        .collect();
    let mut admin = blocking::Connection::connect(&server.url()).unwrap();
    let ends = Instant::now() + Duration::from_secs(count(2, 30) as u64);
    while Instant::now() < ends {
        std::thread::sleep(Duration::from_millis(20));
        let sql = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() ORDER BY RAND() LIMIT 1";
        let mut rows = admin.query(sql).unwrap();
        let id = rows.next().unwrap().map(|row| row.get::<u64>(0).unwrap());
        rows.finish().unwrap();
        if let Some(id) = id {
            let _ = admin.run(format!("KILL CONNECTION {id}"));
        }
    }
    is_over.store(true, Ordering::Relaxed);
    let done: u64 = borrowers.into_iter().map(|one| one.join().unwrap()).sum();
    pool.close();
    let stats = pool.stats();
    println!("{done} borrows, {stats:?}");
    assert!(done > 10);
    assert_eq!((stats.size, stats.waiting), (0, 0));
    assert_eq!(stats.connects, stats.closed.total());
}

fn block_on_it(
    conn: &mut blocking::Connection,
    random: &mut Random,
    number: u64,
) -> Result<(), Error> {
    let mut rows = conn.query("SELECT @v IS NULL")?;
    if let Some(row) = rows.next()? {
        assert_eq!(row.get::<u64>(0)?, 1, "a variable of another borrower's");
    }
    rows.finish()?;
    conn.run(format!("SET @v = {number}"))?;
    match random.below(3) {
        0 => {
            let mut rows = conn.query("SELECT seq FROM seq_1_to_5000")?;
            rows.next()?;
        }
        1 => {
            conn.set_call_timeout(Some(Duration::from_millis(1)));
            // No SLEEP: where MariaDB kills one, it can stop for two seconds as a whole.
            conn.run("SELECT BENCHMARK(2000000, 1)")?;
        }
        _ => {
            let mut rows = conn.query(format!("SELECT {number}"))?;
            if let Some(row) = rows.next()? {
                assert_eq!(row.get::<u64>(0)?, number);
            }
        }
    }
    Ok(())
}

/// A server of its own behind a relay that can fail.
struct Stage {
    server: Server,
    relay: Relay,
}

impl Stage {
    async fn set(wait_timeout: u32) -> Self {
        let server = Server::builder()
            .argument(format!("--wait-timeout={wait_timeout}"))
            .argument("--max-connections=200")
            .start()
            .unwrap();
        make_sequences(&server.socket_url()).unwrap();
        let mut admin = Connection::connect(&server.socket_url()).await.unwrap();
        admin
            .run(format!("CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'"))
            .await
            .unwrap();
        admin
            .run(format!("GRANT ALL ON *.* TO {USER}@'%'"))
            .await
            .unwrap();
        let relay = Relay::to(server.port()).await;
        Self { server, relay }
    }

    fn pool(&self, acquire_timeout: Duration) -> Pool {
        let mut config = Config::from_url(&self.server.url()).unwrap();
        config.endpoint = Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port: self.relay.port,
        };
        config.user = USER.into();
        config.password = PASSWORD.into();
        config.get_server_public_key = true;
        config.pool.max = MAX;
        config.pool.acquire_timeout = Some(acquire_timeout);
        // Outages of this test are short.
        config.pool.backoff_max = Duration::from_millis(200);
        Pool::new(config).unwrap()
    }

    /// Until the end: kills, outages, a full server.
    async fn disturb(&self, ends: Instant, pool: &Pool, mut random: Random) -> Disturbed {
        let mut disturbed = Disturbed::default();
        while Instant::now() < ends {
            sleep(Duration::from_millis(50 + random.below(100))).await;
            let stats = pool.stats();
            assert!(stats.size <= MAX, "{stats:?}");
            match random.below(6) {
                0 => {
                    disturbed.outages += 1;
                    self.relay.fail();
                    sleep(Duration::from_millis(random.below(300))).await;
                    self.relay.recover();
                }
                1 => {
                    disturbed.full += 1;
                    let mut admin = self.admin().await;
                    admin.run("SET GLOBAL max_connections = 10").await.unwrap();
                    disturbed.killed += self.kill(&mut admin, 5).await;
                    sleep(Duration::from_millis(200)).await;
                    admin.run("SET GLOBAL max_connections = 200").await.unwrap();
                }
                _ => {
                    let mut admin = self.admin().await;
                    disturbed.killed += self.kill(&mut admin, 1 + random.below(3)).await;
                }
            }
        }
        let sql = "SHOW GLOBAL STATUS LIKE 'Connection_errors_max_connections'";
        let (_, refused): (String, String) = self.admin().await.query_one(sql).await.unwrap();
        disturbed.refused = refused.parse().unwrap();
        disturbed
    }

    async fn admin(&self) -> Connection {
        Connection::connect(&self.server.socket_url())
            .await
            .unwrap()
    }

    /// Kills so many sessions at most; gives how many it killed.
    async fn kill(&self, admin: &mut Connection, most: u64) -> u64 {
        let sql = format!(
            "SELECT id FROM information_schema.processlist WHERE user = '{USER}' ORDER BY RAND() LIMIT {most}"
        );
        let mut rows = admin.query(sql).await.unwrap();
        let rows = rows.collect_owned().await.unwrap();
        let mut killed = 0;
        for row in rows {
            // It may be gone meanwhile.
            let id: u64 = row.get(0).unwrap();
            let result = admin.run(format!("KILL CONNECTION {id}")).await;
            killed += u64::from(result.is_ok());
        }
        killed
    }

    /// Soon the server has no session of the pool's user any more.
    async fn wait_until_no_session_is_left(&self) {
        let mut admin = self.admin().await;
        let sql =
            format!("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{USER}'");
        let start = Instant::now();
        loop {
            let mut rows = admin.query(&sql).await.unwrap();
            let left: u64 = rows.next().await.unwrap().unwrap().get(0).unwrap();
            rows.finish().await.unwrap();
            if left == 0 {
                return;
            }
            assert!(
                start.elapsed() < Duration::from_secs(10),
                "{left} sessions are left"
            );
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Forwards connections while it is well; otherwise it ends all of them, and new ones too.
struct Relay {
    port: u16,
    is_well: watch::Sender<bool>,
}

impl Relay {
    async fn to(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (is_well, state) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut state = state.clone();
                tokio::spawn(async move {
                    if !*state.borrow_and_update() {
                        return;
                    }
                    let Ok(mut server) = TcpStream::connect(("127.0.0.1", server)).await else {
                        return;
                    };
                    client.set_nodelay(true).unwrap();
                    server.set_nodelay(true).unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                        _ = state.changed() => {}
                    }
                });
            }
        });
        Self { port, is_well }
    }

    fn fail(&self) {
        self.is_well.send_replace(false);
    }

    fn recover(&self) {
        self.is_well.send_replace(true);
    }
}
