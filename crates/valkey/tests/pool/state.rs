//! What the next borrower sees of the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onecopy_testkit::server::lacks;
use onecopy_testkit::valkey::Server;
use onecopy_valkey::command::{connection, generic, list, string};
use onecopy_valkey::{Protocol, raw};

use super::{Connection, id, info, one};
use crate::common::{sample, url, urls, with_option};

#[tokio::test]
async fn nothing_of_a_borrower_is_visible_to_the_next_one() {
    let key = face_name!("pool:visible");
    for url in urls() {
        let pool = one(&url);
        let mut conn = wait!(pool.get()).unwrap();
        let (own, protocol) = (id(&mut conn).await, conn.protocol());
        let pushes = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&pushes);
        conn.on_push(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        conn.set_command_timeout(Some(Duration::from_secs(3600)));
        if protocol == Protocol::Resp3 {
            wait!(conn.run(&raw("CLIENT").args(["TRACKING", "ON"]))).unwrap();
        }
        wait!(conn.run(&raw("CLIENT").args(["SETNAME", "borrower"]))).unwrap();
        wait!(conn.select(3)).unwrap();
        wait!(conn.run(&connection::select(5))).unwrap();
        wait!(conn.run(&string::get(key))).unwrap();
        wait!(conn.run(&raw("WATCH").arg(key))).unwrap();
        wait!(conn.run(&raw("MULTI"))).unwrap();
        wait!(conn.run(&raw("SET").args([key, "queued"]))).unwrap();
        drop(conn);

        let mut conn = wait!(pool.get()).unwrap();
        assert_eq!(id(&mut conn).await, own, "it is the same connection");
        assert_eq!(conn.protocol(), protocol);
        assert!(!conn.has_transaction());
        let info = info(&mut conn).await;
        for field in [" name= ", " db=0 ", " multi=-1 ", " user=default "] {
            // Valkey 8 counts no commands of a transaction as 0.
            let is_there =
                info.contains(field) || field == " multi=-1 " && info.contains(" multi=0 ");
            assert!(is_there, "{field} in {info}");
        }
        let mut tracked = wait!(conn.run_owned(&raw("CLIENT").arg("TRACKINGINFO"))).unwrap();
        let shown = format!("{:?}", tracked.reply());
        assert!(shown.contains("off"), "{shown}");
        tracked = wait!(conn.run_owned(&generic::exists([key]))).unwrap();
        assert_eq!(tracked.reply().as_i64(), Some(0), "nothing was executed");
        assert_eq!(pushes.load(Ordering::Relaxed), 0);
        drop(conn);
        let stats = pool.stats();
        assert_eq!((stats.connects, stats.closed.total()), (1, 0), "{url}");
        wait!(pool.close());
    }
}

#[tokio::test]
async fn a_reconnect_does_not_hide_what_was_changed() {
    let pool = one(&url());
    let mut conn = wait!(pool.get()).unwrap();
    wait!(conn.select(4)).unwrap();
    wait!(conn.reconnect()).unwrap();
    assert!(info(&mut conn).await.contains(" db=4 "));
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    assert!(info(&mut conn).await.contains(" db=0 "));
    wait!(conn.reconnect()).unwrap();
    assert!(info(&mut conn).await.contains(" db=0 "));
    drop(conn);
    assert_eq!(pool.stats().connects, 1);
}

#[tokio::test]
async fn the_next_borrower_is_the_pools_own_user() {
    let server = Server::builder().password("own").start().unwrap();
    let pool = one(&server.url());
    let mut conn = wait!(pool.get()).unwrap();
    let own = id(&mut conn).await;
    wait!(conn.auth(Some(server.user()), server.user_password())).unwrap();
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    assert!(info(&mut conn).await.contains(" user=default "));
    assert_eq!(id(&mut conn).await, own);
    // Logged out, and with a user that may do nothing.
    wait!(conn.run(&raw("ACL").args(["SETUSER", "nobody", "on", "nopass"]))).unwrap();
    wait!(conn.auth(Some("nobody"), "x")).unwrap();
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    assert!(info(&mut conn).await.contains(" user=default "));
    assert_eq!(id(&mut conn).await, own);
}

/// RESET leaves them: NO-EVICT on Redis 7.0, CAPA on Valkey 8.1.
#[tokio::test]
async fn what_cannot_be_undone_ends_with_the_connection() {
    for words in [
        ["NO-EVICT", "ON"],
        ["NO-TOUCH", "ON"],
        ["CAPA", "redirect"],
        ["SETINFO", "LIB-NAME other"],
    ] {
        let pool = one(&url());
        let mut conn = wait!(pool.get()).unwrap();
        let words = words.iter().flat_map(|word| word.split(' '));
        let command = raw("CLIENT").args(words);
        if let Err(error) = wait!(conn.run(&command)) {
            lacks(&format!("{command:?}"), &error.to_string());
            continue;
        }
        drop(conn);
        let mut conn = wait!(pool.get()).unwrap();
        let info = info(&mut conn).await;
        let is_plain = info.contains(" flags=N ") || info.contains(" flags=U ");
        assert!(
            is_plain && !info.contains("capa=r") && !info.contains("other"),
            "{info}"
        );
    }
}

#[tokio::test]
async fn commands_that_change_nothing_of_a_connection_cost_nothing_more() {
    let key = face_name!("pool:plain");
    let pool = one(&url());
    let before = wait!(pool.get()).unwrap().meter();
    for round in 0..50 {
        let mut conn = wait!(pool.get()).unwrap();
        wait!(conn.run(&string::set(key, round))).unwrap();
        drop(conn);
        let stats = pool.stats();
        assert_eq!((stats.idle, stats.restoring), (1, 0));
    }
    let after = wait!(pool.get()).unwrap().meter();
    assert_eq!(after.writes - before.writes, 50);
}

#[tokio::test]
async fn replies_that_nobody_read_are_discarded() {
    let key = face_name!("pool:unread");
    for url in urls() {
        let pool = one(&url);
        let mut conn = wait!(pool.get()).unwrap();
        wait!(conn.run(&string::set(key, &sample(3 << 20)[..]))).unwrap();
        let own = id(&mut conn).await;
        {
            let mut pipeline = conn.pipeline().unwrap();
            for _ in 0..20 {
                pipeline.push(&string::get(key)).unwrap();
            }
            let mut replies = pipeline.replies();
            let first = wait!(replies.next::<string::Get<'_>>()).unwrap();
            assert_eq!(first.unwrap().map(<[u8]>::len), Some(3 << 20));
        }
        drop(conn);
        let mut conn = wait!(pool.get()).unwrap();
        assert_eq!(id(&mut conn).await, own);
        let reader = wait!(conn.run_streaming(&string::get(key))).unwrap();
        drop(reader);
        drop(conn);
        let mut conn = wait!(pool.get()).unwrap();
        assert_eq!(id(&mut conn).await, own);
        // Queued and not sent.
        conn.pipeline().unwrap().push(&string::incr(key)).unwrap();
        drop(conn);
        let mut conn = wait!(pool.get()).unwrap();
        assert_eq!(id(&mut conn).await, own);
        drop(conn);
        assert_eq!(pool.stats().closed.total(), 0, "{url}");
    }
}

#[tokio::test]
async fn an_idle_connection_keeps_little() {
    let key = face_name!("pool:memory");
    for url in urls() {
        let pool = one(&with_option(&url, "pool-idle-keep=5000"));
        let mut conn = wait!(pool.get()).unwrap();
        wait!(conn.run(&string::set(key, &sample(100_000)[..]))).unwrap();
        wait!(conn.run(&string::get(key))).unwrap();
        drop(conn);
        let kept = wait!(pool.get()).unwrap().meter().capacity_now;
        assert!(kept <= 5000, "{kept} bytes");
    }
}

#[tokio::test]
async fn a_connection_that_takes_too_long_to_restore_is_closed() {
    let server = Server::start().unwrap();
    let pool = one(&with_option(&server.url(), "pool-reset-timeout=0.05"));
    let mut conn = wait!(pool.get()).unwrap();
    let own = id(&mut conn).await;
    conn.set_command_timeout(Some(Duration::from_millis(1)));
    let sleep = raw("DEBUG").args(["SLEEP", "0.5"]);
    assert!(wait!(conn.run(&sleep)).unwrap_err().is_timeout());
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    assert_ne!(id(&mut conn).await, own);
    assert_eq!(pool.stats().closed.reset, 1);
}

#[tokio::test]
async fn without_reset_state_is_kept_but_no_transaction() {
    let pool = one(&with_option(&url(), "pool-reset=false"));
    let mut conn = wait!(pool.get()).unwrap();
    wait!(conn.select(2)).unwrap();
    drop(conn);
    assert_eq!(pool.stats().restoring, 0, "nothing had to be sent");
    let mut conn = wait!(pool.get()).unwrap();
    assert!(info(&mut conn).await.contains(" db=2 "));
    wait!(conn.run(&raw("WATCH").arg("pool:none"))).unwrap();
    wait!(conn.run(&raw("MULTI"))).unwrap();
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    assert!(!conn.has_transaction());
    assert!(info(&mut conn).await.contains(" db=2 "));
    assert_eq!(pool.stats().closed.total(), 0);
}

#[tokio::test]
async fn a_detached_connection_leaves_the_pool() {
    let pool = one(&url());
    let conn = wait!(pool.get()).unwrap();
    let mut own = conn.detach();
    let mut other = wait!(pool.get()).unwrap();
    assert_ne!(id(&mut other).await, id(&mut own).await);
    assert_eq!(pool.stats().closed.detached, 1);
}

#[tokio::test]
async fn another_connection_in_its_place_is_not_taken_for_the_pools() {
    let pool = one(&url());
    let mut other = wait!(Connection::connect(&url())).unwrap();
    let mut conn = wait!(pool.get()).unwrap();
    std::mem::swap(&mut *conn, &mut other);
    let swapped = id(&mut conn).await;
    drop(conn);
    assert_eq!(pool.stats().closed.broken, 1);
    let mut conn = wait!(pool.get()).unwrap();
    assert_ne!(id(&mut conn).await, swapped);
}

/// SUBSCRIBE is refused on a connection, also under a borrower.
#[tokio::test]
async fn a_borrower_cannot_subscribe() {
    let pool = one(&url());
    let mut conn = wait!(pool.get()).unwrap();
    let error = wait!(conn.run(&raw("SUBSCRIBE").arg("news"))).unwrap_err();
    assert!(error.is_misuse(), "{error}");
    drop(conn);
    let mut conn = wait!(pool.get()).unwrap();
    let none = wait!(conn.run(&list::llen("pool:none"))).unwrap();
    assert_eq!(none, 0);
    assert_eq!(pool.stats().connects, 1);
}
