//! Orders to cancel: what they end, and what they never hit.

use std::net::ToSocketAddrs as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use onecopy_mysql::{Cancelled, Config, Endpoint, Error};
use onecopy_testkit::LeavesOut;

use super::Connection;
use crate::common::{
    Random, Users, assert_nothing_runs, assert_runs, clear_tcp_url, count, seed, url, urls,
};
use crate::relay::{Orders, Relay};

/// What is cancelled ends within this time, on a machine that is busy too.
const SOON: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_statement_ends_and_the_following_ones_do_not_notice() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        for round in 0..3 {
            let token = conn.cancel_token();
            let work = spawn!({
                // From another thread, as soon as there is something to cancel.
                while wait!(token.clone().cancel()).unwrap() == Cancelled::Nothing {
                    pause!(Duration::from_millis(1));
                }
            });
            let start = Instant::now();
            assert!(is_cut_short(&mut conn, "SELECT SLEEP(600)").await);
            assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
            join!(work);
            assert_eq!(own_result(&mut conn, round).await, Ok(()));
        }
    }
}

/// A server takes an order only from the user whose statement it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_change_of_user_orders_are_the_new_users() {
    let Some(mut accounts) = Users::open() else {
        return;
    };
    let password = "Cancels. 1 of 2";
    let users = [(); 2].map(|()| {
        let identified = format!("IDENTIFIED BY '{password}'");
        accounts.make(&identified).unwrap()
    });
    let mut config = Config::from_url(&url()).unwrap();
    config.database = None;
    config.user.clone_from(&users[0]);
    config.password = password.into();
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    // One that was made before the change, too.
    let token = conn.cancel_token();
    wait!(conn.change_user(&users[1], password, None)).unwrap();
    let work = spawn!({
        while wait!(token.clone().cancel()).unwrap() == Cancelled::Nothing {
            pause!(Duration::from_millis(1));
        }
    });
    assert!(is_cut_short(&mut conn, "SELECT SLEEP(60)").await);
    join!(work);
    assert_eq!(own_result(&mut conn, 1).await, Ok(()));
}

#[tokio::test]
async fn where_nothing_is_under_way_nothing_is_cancelled() {
    let Some(url) = clear_tcp_url() else {
        return;
    };
    let relay = Relay::to(&url);
    let mut conn = wait!(Connection::connect_with(&relay.config(&url))).unwrap();
    let token = conn.cancel_token();
    macro_rules! assert_nothing {
        () => {
            assert_eq!(wait!(token.cancel()).unwrap(), Cancelled::Nothing)
        };
    }
    assert_nothing!();
    wait!(conn.run("SELECT 1 UNION SELECT 2")).unwrap();
    assert_nothing!();
    wait!(conn.run("SELEKT")).unwrap_err();
    assert_nothing!();
    let statement = wait!(conn.prepare("SELECT ?")).unwrap();
    assert_nothing!();
    wait!(conn.send_long_data(&statement, 0, &b"long"[..])).unwrap();
    assert_nothing!();
    wait!(conn.close_statement(statement)).unwrap();
    assert_nothing!();
    {
        let mut rows = wait!(conn.query("SELECT 1")).unwrap();
        while wait!(rows.next()).unwrap().is_some() {}
        assert_nothing!();
    }
    for command in [wait!(conn.ping()), wait!(conn.reset())] {
        command.unwrap();
        assert_nothing!();
    }
    wait!(conn.close()).unwrap();
    assert_nothing!();
    assert_eq!(relay.accepted(), 1, "a second connection was made");
}

#[tokio::test]
async fn rows_that_are_not_read_are_under_way() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let token = conn.cancel_token();
    let mut rows = wait!(conn.query("SELECT seq FROM seq_1_to_1000000000")).unwrap();
    wait!(rows.next()).unwrap().unwrap();
    assert_eq!(wait!(token.cancel()).unwrap(), Cancelled::Delivered);
    let error = loop {
        match wait!(rows.next()) {
            Ok(row) => assert!(row.is_some(), "it went on to its end"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.server().unwrap().code, 1317);
    drop(rows);
    assert_eq!(wait!(token.cancel()).unwrap(), Cancelled::Nothing);
    assert_eq!(own_result(&mut conn, 1).await, Ok(()));
}

#[tokio::test]
async fn results_without_an_end_are_cancelled_between_two_of_them() {
    let name = face_name!("cancelled_results_for_ever");
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        wait!(conn.run(format!("DROP PROCEDURE IF EXISTS {name}"))).unwrap();
        let create = format!("CREATE PROCEDURE {name}() BEGIN WHILE 1 DO SELECT 1; END WHILE; END");
        wait!(conn.run(&create)).unwrap();
        let token = conn.cancel_token();
        let mut rows = wait!(conn.query(format!("CALL {name}()"))).unwrap();
        for _ in 0..3 {
            while wait!(rows.next()).unwrap().is_some() {}
            assert!(wait!(rows.next_result()).unwrap());
        }
        let start = Instant::now();
        let mut next_order = start;
        let error = loop {
            // Nobody reads meanwhile, so all repeats meet the server in one place, which may be where it loses them.
            if Instant::now() >= next_order {
                assert_eq!(wait!(token.cancel()).unwrap(), Cancelled::Delivered);
                next_order = Instant::now() + Duration::from_secs(1);
            }
            match wait!(rows.next_result()) {
                Ok(is_there) => assert!(is_there, "it came to its end"),
                Err(error) => break error,
            }
            assert!(start.elapsed() < SOON, "it continues");
        };
        assert_eq!(error.server().unwrap().code, 1317);
        drop(rows);
        assert_eq!(own_result(&mut conn, 1).await, Ok(()));
        wait!(conn.run(format!("DROP PROCEDURE {name}"))).unwrap();
    }
}

/// Orders that are given around a statement's end, and a statement behind it that begins before, while and after the order
/// is sent. A relay shows that the order has been begun, so that it can only be for the first statement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_never_hits_the_following_statement() {
    let Some(url) = clear_tcp_url() else {
        return;
    };
    let mut random = Random::new(seed());
    let relay = Arc::new(Relay::to(&url));
    let mut conn = wait!(Connection::connect_with(&relay.config(&url))).unwrap();
    let tag = format!("raced by {}.", conn.connection_id());
    let (mut delivered, mut nothing, mut hit) = (0, 0, 0);
    // Follows the machine's pace, so that about half of the orders come in time.
    let mut span = 4_000;
    let rounds = count(1_000, 20_000);
    for round in 0..rounds as u64 {
        let token = conn.cancel_token();
        let before = relay.accepted();
        let delay = Duration::from_micros(random.below(3_000));
        let work = spawn!({
            pause!(delay);
            wait!(token.cancel()).unwrap()
        });
        let micros = random.below(span);
        let sql = format!("SELECT SLEEP({micros}e-6), '{tag}'");
        hit += usize::from(is_cut_short(&mut conn, &sql).await);
        while relay.accepted() == before && !work.is_finished() {
            pause!(Duration::from_micros(50));
        }
        pause!(Duration::from_micros(random.below(2_000)));
        if let Err(error) = own_result(&mut conn, round).await {
            panic!("round {round}: the following statement was hit: {error}");
        }
        match join!(work) {
            Cancelled::Delivered => {
                delivered += 1;
                span = (span - span / 16).max(1_000);
            }
            Cancelled::Nothing => {
                nothing += 1;
                span = (span + span / 16).min(100_000);
            }
        }
    }
    println!("{rounds} orders: {delivered} delivered, {nothing} too late, {hit} statements hit");
    assert!(delivered > rounds / 10 && nothing > rounds / 10 && hit > 0);
    assert_nothing_runs(&tag);
}

/// What the barrier is for: the raw order on either side of a statement's end, and the same with `DO 0` behind it.
#[test]
fn a_mark_that_came_late_is_taken_by_the_barrier() {
    use onecopy_mysql::blocking::Connection;

    let mut random = Random::new(seed());
    let mut conn = Connection::connect(&url()).unwrap();
    let mut killer = Connection::connect(&url()).unwrap();
    let sql = format!("KILL QUERY {}", conn.connection_id());
    for round in 0..count(300, 10_000) {
        std::thread::scope(|scope| {
            let delay = Duration::from_micros(random.below(600));
            let (killer, sql) = (&mut killer, &sql);
            let order = scope.spawn(move || {
                std::thread::sleep(delay);
                killer.run(sql).unwrap();
            });
            let short = format!("SELECT SLEEP({}e-6)", random.below(600));
            if let Err(error) = conn.run(&short) {
                assert_eq!(error.server().unwrap().code, 1317);
            }
            order.join().unwrap();
        });
        let _ = conn.run("DO 0");
        let mut rows = conn.query("SELECT SLEEP(0.001)").unwrap();
        let slept: i64 = rows.next().unwrap().unwrap().get(0).unwrap();
        assert_eq!(slept, 0, "round {round}");
        rows.finish().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_tokens_may_cancel_the_same_statement() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    for round in 0..count(5, 100) as u64 {
        let mut work = Vec::new();
        let is_over = Arc::new(AtomicBool::new(false));
        for _ in 0..4 {
            let (token, is_over) = (conn.cancel_token(), Arc::clone(&is_over));
            work.push(spawn!({
                let mut cancelled = Cancelled::Nothing;
                while cancelled == Cancelled::Nothing && !is_over.load(Ordering::SeqCst) {
                    pause!(Duration::from_millis(1));
                    cancelled = wait!(token.cancel()).unwrap();
                }
                cancelled
            }));
        }
        let start = Instant::now();
        assert!(is_cut_short(&mut conn, "SELECT SLEEP(600)").await);
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        is_over.store(true, Ordering::SeqCst);
        let mut delivered = 0;
        for work in work {
            delivered += usize::from(join!(work) == Cancelled::Delivered);
        }
        assert!(delivered > 0);
        assert_eq!(own_result(&mut conn, round).await, Ok(()));
    }
}

#[tokio::test]
async fn what_a_dropped_connection_left_running_can_be_cancelled() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let token = conn.cancel_token();
        conn.set_call_timeout(Some(Duration::from_millis(250)));
        let tag = format!("left running by {}.", conn.connection_id());
        let sql = format!("SELECT SLEEP(600), '{tag}'");
        assert!(wait!(conn.query(&sql)).unwrap_err().is_timeout());
        assert_runs(&tag);
        drop(conn);
        let cancelled = wait!(token.cancel()).unwrap();
        assert_eq!(cancelled, Cancelled::Delivered);
        assert_nothing_runs(&tag);
        // The number is soon unknown to the server.
        let start = Instant::now();
        while wait!(token.cancel()).unwrap() != Cancelled::Nothing {
            assert!(start.elapsed() < SOON, "it is still cancelled");
            pause!(Duration::from_millis(10));
        }
    }
}

#[tokio::test]
async fn an_order_whose_reply_is_lost_closes_the_connection() {
    let Some(url) = clear_tcp_url() else {
        return;
    };
    for orders in [Orders::CutBefore, Orders::CutAfter] {
        let relay = Relay::to(&url);
        relay.set_orders(orders);
        let mut conn = wait!(Connection::connect_with(&relay.config(&url))).unwrap();
        let token = conn.cancel_token();
        conn.set_call_timeout(Some(Duration::from_millis(250)));
        assert!(wait!(conn.query("DO SLEEP(1)")).unwrap_err().is_timeout());
        let error = wait!(token.cancel()).unwrap_err();
        assert!(!error.is_closed(), "{error}");
        conn.set_call_timeout(None);
        for _ in 0..2 {
            let error = wait!(conn.ping()).unwrap_err();
            assert!(error.is_closed() && conn.is_closed(), "{error}");
            assert!(error.to_string().contains("was lost"), "{error}");
        }
        assert_eq!(wait!(token.cancel()).unwrap(), Cancelled::Nothing);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_waits_within_its_deadline_for_an_order_on_its_way() {
    let Some(url) = clear_tcp_url() else {
        return;
    };
    let relay = Relay::to(&url);
    relay.set_orders(Orders::Hold(Duration::from_secs(1)));
    let mut conn = wait!(Connection::connect_with(&relay.config(&url))).unwrap();
    let token = conn.cancel_token();
    conn.set_call_timeout(Some(Duration::from_millis(250)));
    assert!(wait!(conn.run("DO SLEEP(0.6)")).unwrap_err().is_timeout());
    let work = spawn!(wait!(token.cancel()));
    let start = Instant::now();
    while relay.orders() == 0 {
        assert!(start.elapsed() < SOON, "no order came");
        pause!(Duration::from_millis(1));
    }
    // The statement will be over long before the order is there.
    let start = Instant::now();
    let error = wait!(conn.ping()).unwrap_err();
    assert!(error.is_timeout() && !conn.is_closed(), "{error}");
    conn.set_call_timeout(None);
    assert_eq!(own_result(&mut conn, 1).await, Ok(()));
    assert!(
        start.elapsed() >= Duration::from_millis(500),
        "it did not wait"
    );
    assert_eq!(join!(work).unwrap(), Cancelled::Delivered);
}

#[tokio::test]
async fn no_order_goes_to_another_server() {
    let Some(url) = clear_tcp_url() else {
        return;
    };
    let relay = Relay::to(&url);
    let mut conn = wait!(Connection::connect_with(&relay.config(&url))).unwrap();
    relay.change_version();
    let token = conn.cancel_token();
    conn.set_call_timeout(Some(Duration::from_millis(250)));
    let error = wait!(conn.query("SELECT SLEEP(1)")).unwrap_err();
    assert!(error.is_timeout());
    let error = wait!(token.cancel()).unwrap_err();
    assert!(error.to_string().contains("another server"), "{error}");
    conn.set_call_timeout(None);
    assert_eq!(own_result(&mut conn, 1).await, Ok(()));
}

#[tokio::test]
async fn on_a_stream_of_the_callers_own_a_token_says_that_it_can_not() {
    let Some(url) = clear_tcp_url() else {
        return;
    };
    let config = Config::from_url(&url).unwrap();
    let Endpoint::Tcp { host, port } = &config.endpoint else {
        unreachable!("{url}");
    };
    let stream = std::net::TcpStream::connect((host.as_str(), *port)).unwrap();
    let mut conn = wait!(Connection::from_stream(&config, stream_of!(stream))).unwrap();
    let token = conn.cancel_token();
    assert_eq!(wait!(token.cancel()).unwrap(), Cancelled::Nothing);
    conn.set_call_timeout(Some(Duration::from_millis(250)));
    assert!(wait!(conn.run("DO SLEEP(1)")).unwrap_err().is_timeout());
    let error = wait!(token.cancel()).unwrap_err();
    assert!(error.to_string().contains("no address"), "{error}");
    conn.set_call_timeout(None);
    assert_eq!(own_result(&mut conn, 1).await, Ok(()));
}

/// Runs a sleep, and says whether it was cancelled: MariaDB ends it with an error, MySQL with a value.
async fn is_cut_short(conn: &mut Connection, sql: &str) -> bool {
    let slept = async {
        let mut rows = wait!(conn.query(sql))?;
        let slept = wait!(rows.next())?.unwrap().get::<i64>(0)?;
        wait!(rows.finish())?;
        Ok::<_, Error>(slept != 0)
    };
    slept.await.unwrap_or_else(|error| {
        assert_eq!(error.server().unwrap().code, 1317, "{error}");
        true
    })
}

/// A statement that takes a moment and says whether it was cut short.
async fn own_result(conn: &mut Connection, number: u64) -> Result<(), String> {
    let told = |error: Error| error.to_string();
    let sql = format!("SELECT SLEEP(0.002), {number}, 'own'");
    let mut rows = wait!(conn.query(&sql)).map_err(told)?;
    let row = wait!(rows.next()).map_err(told)?.ok_or("no row")?;
    let got = (row.get::<i64>(0), row.get::<u64>(1), row.get::<&str>(2));
    if !matches!(got, (Ok(0), Ok(own), Ok("own")) if own == number) {
        return Err(format!("{got:?}"));
    }
    wait!(rows.finish()).map_err(told)?;
    Ok(())
}

/// A server that is told to stop between two statements of one command announces a result that never comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_is_left_out_ends_the_reply_with_the_error() {
    let Some((_server, config)) = leaves_out() else {
        return;
    };
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    for round in 0..3 {
        let token = conn.cancel_token();
        let mut rows = wait!(conn.query("DO 1; DO 'left out'; DO 3")).unwrap();
        let work = spawn!(wait!(token.cancel()));
        let start = Instant::now();
        let error = wait!(rows.next_result()).unwrap_err();
        assert_eq!(
            error.server().map(|error| error.code),
            Some(1317),
            "{error}"
        );
        assert!(!wait!(rows.next_result()).unwrap());
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        drop(rows);
        assert_eq!(join!(work).unwrap(), Cancelled::Delivered);
        assert_eq!(own_result(&mut conn, round).await, Ok(()));
    }
}

#[tokio::test]
async fn a_result_that_is_left_out_is_not_waited_for_by_the_next_command() {
    let Some((_server, config)) = leaves_out() else {
        return;
    };
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    for round in 0..3 {
        let start = Instant::now();
        drop(wait!(conn.query("DO 1; DO 'left out'; DO 3")).unwrap());
        assert_eq!(own_result(&mut conn, round).await, Ok(()));
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    }
}

/// Some of the requests come just between two statements.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_statements_that_are_cancelled_at_any_moment_come_to_an_end() {
    let mut config = Config::from_url(&url()).unwrap();
    config.multi_statements = true;
    config.call_timeout = Some(SOON);
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    let mut random = Random::new(seed());
    let sql = "SELECT 1;".repeat(1000);
    let mut cancelled = 0;
    for round in 0..count(20, 3000) as u64 {
        let token = conn.cancel_token();
        let mut rows = wait!(conn.query(&sql)).unwrap();
        let pause = Duration::from_micros(random.below(20_000));
        let work = spawn!({
            pause!(pause);
            wait!(token.cancel())
        });
        let error = loop {
            match wait!(rows.next_result()) {
                Ok(true) => {}
                Ok(false) => break None,
                Err(error) => break Some(error),
            }
        };
        drop(rows);
        if let Some(error) = error {
            let code = error.server().map(|error| error.code);
            assert_eq!(code, Some(1317), "{error}");
            cancelled += 1;
        }
        join!(work).unwrap();
        assert_eq!(own_result(&mut conn, round).await, Ok(()));
    }
    println!("{cancelled} were cancelled");
}

fn leaves_out() -> Option<(LeavesOut, Config)> {
    let mut config = Config::from_url(&clear_tcp_url()?).unwrap();
    config.multi_statements = true;
    let Endpoint::Tcp { host, port } = &config.endpoint else {
        return None;
    };
    let address = (host.as_str(), *port).to_socket_addrs().unwrap().next()?;
    let server = LeavesOut::to(address);
    config.endpoint = Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port: server.address().port(),
    };
    Some((server, config))
}
