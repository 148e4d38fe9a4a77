//! All commands or none.

use onecopy_valkey::command::{connection, generic, list, string, transactions};
use onecopy_valkey::{Executed, raw};

use super::Connection;
use crate::common::{sample, url, urls};

#[tokio::test]
async fn a_transaction_gives_each_commands_reply() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let key = format!("transactions:done:{}", face_name!("k"));
        wait!(conn.run(&generic::del(&key))).unwrap();
        let value = sample(100_000);
        let set = string::set(&key, &value);
        let mut transaction = conn.transaction().unwrap();
        assert!(transaction.is_empty());
        transaction.push_borrowed(&set).unwrap();
        assert!(!transaction.is_empty());
        transaction.push(&list::lpush(&key, "not a list")).unwrap();
        transaction
            .push(&string::append(&key, vec![b'x'; 50_000]))
            .unwrap();
        transaction.push(&string::get(&key)).unwrap();
        assert_eq!(transaction.len(), 4);
        let mut results = wait!(transaction.exec()).unwrap().done().unwrap();
        assert_eq!(results.len(), 4);
        assert_eq!(results.next_reply().unwrap().bytes(), b"OK");
        let error = results.next::<list::Lpush>().unwrap_err();
        assert_eq!(error.server().unwrap().code(), "WRONGTYPE");
        assert_eq!(results.next::<string::Append>().unwrap(), Some(150_000));
        let all = results.next::<string::Get>().unwrap().unwrap().unwrap();
        assert!(all[..100_000] == value && all[100_000..].iter().all(|byte| *byte == b'x'));
        assert!(results.next_reply().is_none());
        let empty = wait!(conn.transaction().unwrap().exec()).unwrap();
        assert!(empty.done().unwrap().is_empty());
        assert_eq!(wait!(conn.run(&generic::del(&key))).unwrap(), 1);
    }
}

#[tokio::test]
async fn a_watched_key_that_was_changed_aborts_it() {
    for url in urls() {
        let key = format!("transactions:watch:{}", face_name!("k"));
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let mut other = wait!(Connection::connect(&url)).unwrap();
        wait!(conn.run(&string::set(&key, "1"))).unwrap();
        for is_changed in [true, false] {
            wait!(conn.run(&transactions::watch(&key))).unwrap();
            if is_changed {
                wait!(other.run(&string::append(&key, "2"))).unwrap();
            }
            let mut transaction = conn.transaction().unwrap();
            transaction.push(&string::set(&key, "mine")).unwrap();
            let executed = wait!(transaction.exec()).unwrap();
            assert_eq!(matches!(executed, Executed::Aborted), is_changed, "{url}");
        }
        assert_eq!(
            wait!(other.run(&string::get(&key))).unwrap(),
            Some(&b"mine"[..])
        );
    }
}

#[tokio::test]
async fn a_refused_command_is_named_and_nothing_is_executed() {
    for url in urls() {
        let key = format!("transactions:refused:{}", face_name!("k"));
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        wait!(conn.run(&generic::del(&key))).unwrap();
        let mut transaction = conn.transaction().unwrap();
        transaction.push(&string::set(&key, "never")).unwrap();
        transaction.push(&raw("NO.SUCH").arg("command")).unwrap();
        transaction.push(&raw("GET")).unwrap();
        let error = wait!(transaction.exec()).unwrap_err();
        assert_eq!(error.command_index(), Some(1), "{error}");
        assert!(
            error.to_string().contains("command 1 of the transaction"),
            "{error}"
        );
        assert!(!error.maybe_executed() && !error.is_closed());
        assert_eq!(wait!(conn.run(&string::get(&key))).unwrap(), None);
    }
}

#[tokio::test]
async fn a_transaction_that_is_dropped_sent_nothing() {
    let key = format!("transactions:dropped:{}", face_name!("k"));
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let mut transaction = conn.transaction().unwrap();
    transaction.push(&string::set(&key, "never")).unwrap();
    drop(transaction);
    assert_eq!(wait!(conn.run(&string::get(&key))).unwrap(), None);
}

#[tokio::test]
async fn a_transaction_inside_another_is_an_error() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.run(&raw("MULTI"))).unwrap();
    let error = wait!(conn.transaction().unwrap().exec()).unwrap_err();
    assert!(
        error.server().is_some() && error.command_index().is_none(),
        "{error}"
    );
    wait!(conn.run(&raw("PING"))).unwrap();
}

#[tokio::test]
async fn what_has_ended_is_in_no_reconnects_way() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let watch = raw("WATCH").arg("transactions:ended");
        for [begin, end] in [
            ["WATCH", "EXEC"],
            ["WATCH", "DISCARD"],
            ["WATCH", "UNWATCH"],
            ["MULTI", "EXEC"],
            ["MULTI", "DISCARD"],
        ] {
            if begin == "WATCH" {
                wait!(conn.run(&watch)).unwrap();
            }
            assert_eq!(
                wait!(conn.reconnect()).is_err(),
                begin == "WATCH",
                "{begin} {url}"
            );
            if end != "UNWATCH" {
                wait!(conn.run(&raw("MULTI"))).unwrap();
                assert!(wait!(conn.reconnect()).unwrap_err().is_misuse());
            }
            wait!(conn.run(&raw(end))).unwrap();
            let before = conn.meter();
            wait!(conn.reconnect()).unwrap();
            // The meter continues.
            assert!(conn.meter().since(&before).bytes_written > 0);
        }
        wait!(conn.run(&watch)).unwrap();
        let transaction = conn.transaction().unwrap();
        assert!(wait!(transaction.exec()).unwrap().done().is_some());
        wait!(conn.reconnect()).unwrap();
        wait!(conn.run(&watch)).unwrap();
        let mut transaction = conn.transaction().unwrap();
        transaction.push(&raw("NO.SUCH")).unwrap();
        assert!(wait!(transaction.exec()).unwrap_err().server().is_some());
        wait!(conn.reconnect()).unwrap();
    }
}

#[tokio::test]
async fn what_has_not_ended_is_in_a_reconnects_way() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    wait!(conn.run(&transactions::watch("transactions:open"))).unwrap();
    // Without MULTI it ends nothing.
    wait!(conn.run(&transactions::exec())).unwrap_err();
    assert!(wait!(conn.reconnect()).unwrap_err().is_misuse());
    wait!(conn.run(&transactions::multi())).unwrap();
    // Inside of MULTI it is queued.
    let queued = wait!(conn.run(&raw("UNWATCH"))).unwrap();
    assert_eq!(queued.bytes(), b"QUEUED");
    let error = wait!(conn.reconnect()).unwrap_err();
    assert!(
        error.is_misuse() && error.to_string().contains("UNWATCH"),
        "{error}"
    );
    wait!(conn.run(&transactions::exec())).unwrap();
    wait!(conn.reconnect()).unwrap();
}

#[tokio::test]
async fn what_was_lost_is_in_no_reconnects_way() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let mut other = wait!(Connection::connect(&url)).unwrap();
        for begin in [raw("WATCH").arg("transactions:lost"), raw("MULTI")] {
            let id = wait!(conn.run(&connection::client_id())).unwrap();
            assert!(!conn.has_transaction());
            wait!(conn.run(&begin)).unwrap();
            assert!(conn.has_transaction());
            let kill = raw("CLIENT").arg("KILL").arg("ID").arg(id);
            wait!(other.run(&kill)).unwrap();
            let set = string::set("transactions:lost", "of it");
            let error = wait!(conn.run(&set)).unwrap_err();
            assert!(error.is_closed() && conn.is_closed(), "{error}");
            assert!(conn.has_transaction(), "known until the reconnect");
            wait!(conn.reconnect()).unwrap();
            assert!(!conn.has_transaction());
            let reply = wait!(conn.run(&raw("SET").arg("transactions:lost").arg("by itself")));
            assert_eq!(reply.unwrap().bytes(), b"OK", "it is not queued");
            wait!(conn.reconnect()).unwrap();
        }
    }
}

#[tokio::test]
async fn what_was_withdrawn_has_begun_and_ended_nothing() {
    let mut conn = wait!(Connection::connect(&url())).unwrap();
    let watch = transactions::watch("transactions:withdrawn");
    for was_watching in [false, true] {
        if was_watching {
            wait!(conn.run(&watch)).unwrap();
        }
        let mut pipeline = conn.pipeline().unwrap();
        if was_watching {
            pipeline.push(&transactions::unwatch()).unwrap();
        } else {
            pipeline.push(&watch).unwrap();
        }
        drop(pipeline);
        wait!(conn.run(&connection::ping())).unwrap();
        assert_eq!(wait!(conn.reconnect()).is_err(), was_watching);
    }
    // What the keys are watched for still comes to its end.
    wait!(conn.run(&transactions::unwatch())).unwrap();
    wait!(conn.reconnect()).unwrap();
}
