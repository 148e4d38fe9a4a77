//! Replies as types of the caller's, and values of these types as arguments.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashMap, HashSet};

use onecopy_testkit::valkey::test_server;
use onecopy_valkey::blocking::Connection;
use onecopy_valkey::command::{
    Command as _, Typed, generic, hash, list, set, sorted_set, stream, string,
};
use onecopy_valkey::{Executed, FromReply, Json, Raw, ToArg, ToPairs, aio, raw};

#[derive(Debug, Clone, PartialEq, FromReply, ToPairs)]
struct User {
    name: String,
    age: u16,
    email: Option<String>,
    #[onecopy(rename = "admin?")]
    is_admin: bool,
    state: State,
    id: UserId,
    #[onecopy(default)]
    visits: u64,
    #[onecopy(skip)]
    cached: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, FromReply, ToArg)]
#[onecopy(rename_all = "kebab-case")]
enum State {
    Active,
    LockedOut,
    #[onecopy(rename = "deleted!")]
    Deleted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, FromReply, ToArg)]
struct UserId(u64);

/// Borrowed from the reply.
#[derive(Debug, PartialEq, FromReply, ToPairs)]
#[onecopy(rename_all = "camelCase")]
struct Name<'r> {
    first_name: &'r str,
    raw_bytes: &'r [u8],
}

#[derive(Debug, PartialEq, FromReply)]
struct Position(f64, f64);

#[derive(Debug, PartialEq, FromReply, ToPairs)]
struct Versioned<T> {
    version: u32,
    value: T,
}

fn user() -> User {
    User {
        name: "Ann".into(),
        age: 42,
        email: None,
        is_admin: true,
        state: State::LockedOut,
        id: UserId(7),
        visits: 3,
        cached: Vec::new(),
    }
}

/// In RESP3 and RESP2, whose maps are arrays.
fn connections() -> [Connection; 2] {
    let url = test_server().url();
    let separator = if url.contains('?') { '&' } else { '?' };
    let resp2 = format!("{url}{separator}protocol=2");
    [&url, &resp2].map(|url| Connection::connect(url).unwrap())
}

#[test]
fn structs_are_hashes() {
    let key = "typed:struct";
    for mut conn in connections() {
        conn.run(&generic::del([key])).unwrap();
        let none = conn
            .run(&hash::hgetall(key).typed::<Option<User>>())
            .unwrap();
        assert_eq!(none, None, "no such key");
        assert_eq!(conn.run(&hash::hset(key, &user())).unwrap(), 6);
        let fields: BTreeMap<String, String> = conn.run(&hash::hgetall(key).typed()).unwrap();
        let expected = [
            ("admin?", "1"),
            ("age", "42"),
            ("id", "7"),
            ("name", "Ann"),
            ("state", "locked-out"),
            ("visits", "3"),
        ];
        let expected = expected.map(|(field, value)| (field.to_owned(), value.to_owned()));
        assert_eq!(fields, BTreeMap::from(expected));
        assert_eq!(
            conn.run(&hash::hgetall(key).typed::<User>()).unwrap(),
            user()
        );
        conn.run(&hash::hset(key, ("email", "ann@example.com")))
            .unwrap();
        conn.run(&hash::hset(key, ("unknown", "ignored"))).unwrap();
        conn.run(&hash::hdel(key, ["visits"])).unwrap();
        conn.run(&hash::hset(key, ("state", &State::Deleted)))
            .unwrap();
        let found = conn
            .run(&hash::hgetall(key).typed::<Option<User>>())
            .unwrap()
            .unwrap();
        assert_eq!(found.email.as_deref(), Some("ann@example.com"));
        assert_eq!((found.visits, found.state), (0, State::Deleted));
    }
}

#[test]
fn errors_name_the_field() {
    let key = "typed:errors";
    for mut conn in connections() {
        conn.run(&generic::del([key])).unwrap();
        let typed = hash::hgetall(key).typed::<User>();
        let missing = conn.run(&typed).unwrap_err();
        assert!(missing.decode().is_some() && !missing.is_closed());
        assert!(
            missing.to_string().contains("a map with a field `name`"),
            "{missing}"
        );
        conn.run(&hash::hset(key, &user())).unwrap();
        for (field, value, expected) in [
            ("age", "65536", "field `age` is of type u16"),
            ("admin?", "x", "field `admin?` is of type bool"),
            ("state", "unknown", "field `state` is of type State"),
            ("id", "", "field `id` is of type UserId"),
        ] {
            let good = conn.run(&hash::hget(key, field).typed::<String>()).unwrap();
            conn.run(&hash::hset(key, (field, value))).unwrap();
            let wrong = conn.run(&typed).unwrap_err().to_string();
            assert!(wrong.contains(expected), "{wrong}");
            conn.run(&hash::hset(key, (field, good))).unwrap();
        }
        let state = conn
            .run(&hash::hget(key, "age").typed::<State>())
            .unwrap_err();
        assert!(
            state
                .to_string()
                .contains("one of active, locked-out, deleted!"),
            "{state}"
        );
        assert_eq!(conn.run(&typed).unwrap(), user());
    }
}

#[test]
fn fields_may_borrow_and_types_may_have_parameters() {
    let key = "typed:borrowed";
    let name = Name {
        first_name: "J\u{f8}rgen",
        raw_bytes: b"\x00\xff",
    };
    for mut conn in connections() {
        conn.run(&generic::del([key])).unwrap();
        conn.run(&hash::hset(key, &name)).unwrap();
        let map = conn.run(&hash::hgetall(key)).unwrap();
        assert_eq!(map.get("firstName"), Some("J\u{f8}rgen".as_bytes()));
        assert_eq!(map.read::<Name<'_>>().unwrap(), name);
        let versioned = Versioned {
            version: 2,
            value: Some(State::Active),
        };
        conn.run(&hash::hset(key, &versioned)).unwrap();
        let read = conn.run(&hash::hgetall(key).typed::<Versioned<Option<State>>>());
        assert_eq!(read.unwrap(), versioned);
        let read = conn.run(&hash::hgetall(key).typed::<Versioned<by_hand::Text>>());
        assert_eq!(read.unwrap().value.0, "active");
    }
}

/// A type of another module, whose implementation is written by hand.
mod by_hand {
    use onecopy_valkey::{DecodeError, FromReply, Reply};

    #[derive(Debug)]
    pub(super) struct Text(pub(super) String);

    impl<'r> FromReply<'r> for Text {
        fn from_reply(reply: Reply<'r>) -> Result<Self, DecodeError> {
            String::from_reply(reply).map(Self)
        }
    }
}

#[test]
fn entries_of_streams_are_structs() {
    let key = "typed:stream";
    for mut conn in connections() {
        conn.run(&generic::del([key])).unwrap();
        conn.run(&stream::xadd(key, "1-1", &user())).unwrap();
        let entries = conn.run(&stream::xrange(key, "-", "+")).unwrap();
        let entry = entries.iter().next().unwrap();
        assert_eq!(entry.fields.unwrap().read::<User>().unwrap(), user());
    }
}

#[test]
fn tuples_and_collections_are_read() {
    let keys = ["typed:list", "typed:set", "typed:zset", "typed:hash"];
    for mut conn in connections() {
        conn.run(&generic::del(keys)).unwrap();
        conn.run(&list::rpush(keys[0], [1, 2, 3])).unwrap();
        let all: Vec<u32> = conn.run(&list::lrange(keys[0], 0, -1).typed()).unwrap();
        assert_eq!(all, [1, 2, 3]);
        let ids: Vec<UserId> = conn.run(&list::lrange(keys[0], 0, 1).typed()).unwrap();
        assert_eq!(ids, [UserId(1), UserId(2)]);
        let position = conn
            .run(&list::lrange(keys[0], 0, 1).typed::<Position>())
            .unwrap();
        assert_eq!(position, Position(1.0, 2.0));
        assert!(
            conn.run(&list::lrange(keys[0], 0, 2).typed::<Position>())
                .is_err()
        );
        conn.run(&set::sadd(keys[1], ["a", "b"])).unwrap();
        let members: HashSet<String> = conn.run(&set::smembers(keys[1]).typed()).unwrap();
        assert_eq!(members, HashSet::from(["a".to_owned(), "b".to_owned()]));
        conn.run(&sorted_set::zadd(keys[2], [(1.5, "x"), (2.5, "y")]))
            .unwrap();
        let scores = sorted_set::zrange(keys[2], 0, -1).withscores();
        let scores: HashMap<String, f64> = conn.run(&scores.typed()).unwrap();
        assert_eq!(
            scores,
            HashMap::from([("x".to_owned(), 1.5), ("y".to_owned(), 2.5)])
        );
        conn.run(&hash::hset(keys[3], [("name", "Ann"), ("age", "42")]))
            .unwrap();
        let fields = hash::hmget(keys[3], ["name", "age", "none"]);
        let fields: (String, derived::Age, Option<String>) = conn.run(&fields.typed()).unwrap();
        assert_eq!((fields.0.as_str(), fields.1.0, fields.2), ("Ann", 42, None));
    }
}

mod derived {
    #[derive(onecopy_valkey::FromReply)]
    pub(super) struct Age(pub(super) u16);
}

#[test]
fn json_is_a_value() {
    let key = "typed:json";
    for mut conn in connections() {
        let value = serde_json::json!({"sizes": [1, 2], "name": null});
        conn.run(&string::set(key, value.to_arg())).unwrap();
        let read = conn.run(&string::get(key).typed::<Option<serde_json::Value>>());
        assert_eq!(read.unwrap(), Some(value));
        let sizes = Json(vec![3, 4]);
        conn.run(&string::set(key, sizes.to_arg().unwrap()))
            .unwrap();
        let read = conn
            .run(&string::get(key).typed::<Json<Vec<u8>>>())
            .unwrap();
        assert_eq!(read.0, [3, 4]);
        let wrong = conn
            .run(&string::get(key).typed::<Json<String>>())
            .unwrap_err();
        assert!(wrong.decode().is_some());
        conn.run(&generic::del([key])).unwrap();
        let none = conn
            .run(&string::get(key).typed::<Option<Json<String>>>())
            .unwrap();
        assert_eq!(none, None);
    }
}

#[test]
fn typed_commands_go_wherever_commands_go() {
    let key = "typed:everywhere";
    for mut conn in connections() {
        conn.run(&string::set(key, 17)).unwrap();
        let get = string::get(key).typed::<u64>();
        let mut pipeline = conn.pipeline().unwrap();
        pipeline
            .push(&get)
            .unwrap()
            .push(&raw("GET").arg(key).typed::<String>())
            .unwrap();
        let mut replies = pipeline.replies();
        let number = replies.next::<Typed<string::Get<'_>, u64>>();
        assert_eq!(number.unwrap(), Some(17));
        let text = replies.next::<Typed<Raw<'_>, String>>();
        assert_eq!(text.unwrap().as_deref(), Some("17"));
        let mut transaction = conn.transaction().unwrap();
        transaction.push(&get).unwrap();
        let Executed::Done(mut results) = transaction.exec().unwrap() else {
            panic!("nothing is watched");
        };
        let number = results.next::<Typed<string::Get<'_>, u64>>();
        assert_eq!(number.unwrap(), Some(17));
    }
}

#[tokio::test]
async fn shared_handles_read_types() {
    let key = "typed:shared";
    let shared = aio::Shared::connect(&test_server().url()).await.unwrap();
    shared.run(&generic::del([key])).await.unwrap();
    shared.run(&hash::hset(key, &user())).await.unwrap();
    let response = shared
        .run(&hash::hgetall(key).typed::<User>())
        .await
        .unwrap();
    assert_eq!(response.get().unwrap(), user());
}
