//! Who gets a connection, and what it says if there is none.

use std::error::Error as _;
use std::time::Duration;

use onecopy_testkit::closed_port;
use onecopy_testkit::valkey::Server;
use onecopy_valkey::command::{connection, server, string};
use onecopy_valkey::{Config, PoolError, Refusal, raw};

use super::{Connection, Pool, id, one};
use crate::common::{url, with_option};

#[tokio::test]
async fn a_full_pool_makes_its_callers_wait_and_says_what_they_waited_for() {
    let pool = one(&with_option(&url(), "pool-acquire-timeout=0.05"));
    // On a busy machine the first connect may take longer.
    let held = loop {
        if let Ok(held) = wait!(pool.get()) {
            break held;
        }
    };
    let before = pool.stats().timed_out;
    let error = wait!(pool.get()).unwrap_err();
    assert!(
        error.is_timeout() && !error.is_closed() && error.is_retryable(),
        "{error}"
    );
    assert_eq!(error.pool(), Some(PoolError::Timeout));
    assert!(error.source().is_none());
    let text = error.to_string();
    assert!(
        text.contains("1 of at most 1 connections are in use"),
        "{text}"
    );
    drop(held);
    drop(wait!(pool.get()).unwrap());
    let stats = pool.stats();
    assert_eq!(
        (stats.timed_out - before, stats.waiting, stats.size),
        (1, 0, 1)
    );
}

#[tokio::test]
async fn waiting_callers_are_served_in_their_order() {
    let pool = one(&url());
    let mut held = wait!(pool.get()).unwrap();
    let key = face_name!("pool:order");
    wait!(held.run(&onecopy_valkey::command::generic::del([key]))).unwrap();
    let mut waiting = Vec::new();
    for number in 0..5 {
        let waiter = pool.clone();
        waiting.push(spawn!({
            let mut conn = wait!(waiter.get()).unwrap();
            let append = string::append(key, number);
            wait!(conn.run(&append)).unwrap();
        }));
        while pool.stats().waiting <= number {
            pause!(Duration::from_millis(1));
        }
    }
    drop(held);
    for waiter in waiting {
        join!(waiter);
    }
    let mut conn = wait!(pool.get()).unwrap();
    let order = wait!(conn.run(&string::get(key))).unwrap();
    assert_eq!(order, Some(&b"01234"[..]));
}

#[tokio::test]
async fn a_timeout_carries_the_last_error_of_connecting() {
    let port = closed_port();
    let url = format!("redis://127.0.0.1:{port}/?pool-acquire-timeout=0.3");
    let pool = Pool::from_url(&url).unwrap();
    let error = wait!(pool.get()).unwrap_err();
    assert_eq!(error.pool(), Some(PoolError::Timeout));
    let last = error.source().unwrap().to_string();
    assert!(last.contains("127.0.0.1"), "{last}");
    assert!(error.to_string().ends_with(&last), "{error}");
    assert!(pool.stats().connect_failures > 0);
}

#[tokio::test]
async fn a_refused_login_is_reported_at_once() {
    let server = Server::builder().password("right").start().unwrap();
    let mut config = Config::from_url(&server.url()).unwrap();
    config.password = "wrong".into();
    config.pool.acquire_timeout = None;
    let pool = Pool::new(config).unwrap();
    let error = wait!(pool.get()).unwrap_err();
    assert_eq!(error.pool(), Some(PoolError::Refused));
    assert!(!error.is_timeout() && !error.is_retryable());
    assert_eq!(error.server().unwrap().code(), "WRONGPASS", "{error}");
}

#[tokio::test]
async fn a_full_server_is_waited_for() {
    let server = Server::start().unwrap();
    let mut first = wait!(Connection::connect(&server.url())).unwrap();
    // Not from the start: the connection that saw the server answer may still count.
    let full = server::config_set([("maxclients", "1")]);
    wait!(first.run(&full)).unwrap();
    let url = with_option(&server.url(), "pool-acquire-timeout=0.3");
    let pool = Pool::from_url(&url).unwrap();
    let error = wait!(pool.get()).unwrap_err();
    assert_eq!(error.pool(), Some(PoolError::Timeout), "{error}");
    let refused = Refusal::MaxClients.to_string();
    assert!(error.to_string().contains(&refused), "{error}");
    let patient = Pool::from_url(&server.url()).unwrap();
    let waiting = patient.clone();
    let waiting = spawn!(wait!(waiting.get()).map(drop));
    first.close();
    join!(waiting).unwrap();
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_noticed_and_replaced() {
    let url = url();
    let pool = one(&url);
    let mut admin = wait!(Connection::connect(&url)).unwrap();
    let own = id(&mut wait!(pool.get()).unwrap()).await;
    assert_eq!(kill(&mut admin, own).await, 1);
    let mut conn = wait!(pool.get()).unwrap();
    assert_ne!(id(&mut conn).await, own);
    drop(conn);
    assert_eq!(pool.stats().closed.unhealthy, 1);
    // In its borrower's hands.
    let mut conn = wait!(pool.get()).unwrap();
    let own = id(&mut conn).await;
    assert_eq!(kill(&mut admin, own).await, 1);
    let error = wait!(conn.run(&connection::ping())).map(drop).unwrap_err();
    assert!(error.is_closed());
    drop(conn);
    assert_eq!(pool.stats().closed.broken, 1);
    let mut conn = wait!(pool.get()).unwrap();
    assert_ne!(id(&mut conn).await, own);
}

#[tokio::test]
async fn a_connection_that_was_idle_for_long_is_pinged() {
    let pool = one(&with_option(&url(), "pool-ping-after=0"));
    let mut conn = wait!(pool.get()).unwrap();
    let (own, sent) = (id(&mut conn).await, conn.meter().bytes_written);
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    // PING, and nothing else.
    assert_eq!(conn.meter().bytes_written - sent, 14);
    assert_eq!(id(&mut conn).await, own);
}

#[tokio::test]
async fn closing_waits_for_borrowers() {
    let pool = Pool::from_url(&with_option(&url(), "pool-min=2")).unwrap();
    let mut conn = wait!(pool.get()).unwrap();
    let closing = pool.clone();
    let closed = spawn!({
        wait!(closing.close());
        closing.stats()
    });
    while !pool.is_closed() {
        pause!(Duration::from_millis(1));
    }
    let error = wait!(pool.get()).unwrap_err();
    assert_eq!(error.pool(), Some(PoolError::Closed));
    // The borrower continues.
    wait!(conn.run(&connection::ping())).unwrap();
    drop(conn);
    assert_eq!(join!(closed).size, 0);
    wait!(pool.close());
}

#[tokio::test]
async fn the_minimum_is_kept_open_and_the_rest_is_closed_after_a_while() {
    let options = "pool-min=3&pool-idle-timeout=0.05";
    let pool = Pool::from_url(&with_option(&url(), options)).unwrap();
    assert_eq!(pool.stats().size, 0, "nothing is done before the first use");
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(wait!(pool.get()).unwrap());
    }
    held.clear();
    while pool.stats().size > 3 {
        pause!(Duration::from_millis(5));
    }
    assert_eq!(pool.stats().closed.idle, pool.stats().connects - 3);
}

#[tokio::test]
async fn the_last_clone_closes_the_pool() {
    let pool = Pool::from_url(&url()).unwrap();
    let conn = wait!(pool.get()).unwrap();
    let name = conn.session().connection_id.unwrap();
    drop((pool.clone(), pool));
    drop(conn);
    let mut admin = wait!(Connection::connect(&url())).unwrap();
    while kill(&mut admin, name).await > 0 {
        pause!(Duration::from_millis(1));
    }
}

#[tokio::test]
async fn one_url_serves_a_connection_and_a_pool() {
    let url = with_option(&url(), "pool-max=3");
    wait!(Connection::connect(&url)).unwrap().close();
    let pool = Pool::from_url(&url).unwrap();
    assert_eq!(pool.config().pool.max, 3);
    let mut config = Config::default();
    config.pool.max = 0;
    let error = Pool::new(config).unwrap_err();
    assert!(error.to_string().contains("pool-max is 0"), "{error}");
}

/// Closes the connection of that number; gives how many there were.
async fn kill(admin: &mut Connection, number: i64) -> i64 {
    let kill = raw("CLIENT").args(["KILL", "ID"]).arg(number);
    wait!(admin.run(&kill)).unwrap().as_i64().unwrap()
}
