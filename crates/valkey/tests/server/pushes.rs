//! What the server sends out of band.

use std::sync::{Arc, Mutex};

use onecopy_valkey::command::{generic, string};
use onecopy_valkey::{Kind, Protocol, raw};

use super::Connection;
use crate::common::urls;

#[tokio::test]
async fn keys_that_others_change_are_told_to_the_listener() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        if conn.protocol() == Protocol::Resp2 {
            continue; // has no pushes on this connection
        }
        let mut other = wait!(Connection::connect(&url)).unwrap();
        let key = format!("pushes:key:{}", face_name!("k"));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&heard);
        conn.on_push(move |push| {
            assert_eq!(push.kind(), Kind::Push);
            sink.lock().unwrap().push(format!("{push:?}"));
        });
        wait!(conn.run(&raw("CLIENT").args(["TRACKING", "ON"]))).unwrap();
        for round in 0..3 {
            wait!(conn.run(&string::get(&key))).unwrap();
            wait!(other.run(&string::set(&key, round))).unwrap();
            // The push is in flight before the other's reply; it is heard with a reply behind it.
            wait!(conn.run(&raw("PING"))).unwrap();
            wait!(conn.run(&raw("PING"))).unwrap();
        }
        let expected = format!("Push [BulkString(invalidate), Array [BulkString({key})]]");
        let heard = std::mem::take(&mut *heard.lock().unwrap());
        assert_eq!(
            heard,
            [expected.clone(), expected.clone(), expected],
            "{url}"
        );
        wait!(other.run(&generic::del(&key))).unwrap();
    }
}
