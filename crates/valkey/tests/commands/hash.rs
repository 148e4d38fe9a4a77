use onecopy_valkey::command::hash;

use super::session::{Session, sorted, text};

pub(crate) fn run(s: &mut Session) {
    assert_eq!(s.run(&hash::hset("h", [("f1", "v1"), ("f2", "v2")])), 2);
    assert_eq!(s.run(&hash::hset("h", ("n", 5))), 1);
    assert!(s.run(&hash::hsetnx("h", "f3", "v3")));
    assert!(!s.run(&hash::hsetnx("h", "f3", "v3")));
    assert_eq!(s.run(&hash::hget("h", "f1")), Some(&b"v1"[..]));
    assert_eq!(s.run(&hash::hget("h", "nothing")), None);
    assert!(s.run(&hash::hexists("h", "f1")));
    assert_eq!(s.run(&hash::hlen("h")), 4);
    assert_eq!(s.run(&hash::hstrlen("h", "f1")), 2);
    assert_eq!(s.run(&hash::hincrby("h", "n", -7)), -2);
    assert_eq!(s.run(&hash::hincrbyfloat("h", "n", 0.5)), -1.5);
    let values = s.run(&hash::hmget("h", ["f1", "nothing", "f2"]));
    let values: Vec<_> = values.iter().map(|value| value.map(text)).collect();
    assert_eq!(values, [Some("v1".to_owned()), None, Some("v2".to_owned())]);
    assert_eq!(s.run(&hash::hdel("h", ["n", "f3", "nothing"])), 2);
    assert_eq!(sorted(s.run(&hash::hkeys("h"))), ["f1", "f2"]);
    assert_eq!(sorted(s.run(&hash::hvals("h"))), ["v1", "v2"]);
    let all = s.run(&hash::hgetall("h"));
    assert_eq!((all.len(), all.get("f2")), (2, Some(&b"v2"[..])));
    assert!(s.run(&hash::hgetall("nothing")).is_empty());
    s.run(&hash::hmset("h", [("f1", "v1"), ("f2", "v2")]));
    random(s);
    scan(s);
}

fn random(s: &mut Session) {
    assert_eq!(s.run(&hash::hrandfield("h")).map(<[u8]>::len), Some(2));
    assert_eq!(s.run(&hash::hrandfield("nothing")), None);
    assert_eq!(sorted(s.run(&hash::hrandfield("h").count(5))), ["f1", "f2"]);
    let pairs = s.run(&hash::hrandfield("h").count(-3).withvalues());
    assert_eq!(pairs.len(), 3);
    for (field, value) in pairs {
        assert_eq!(text(field).replace('f', "v"), text(value));
    }
}

fn scan(s: &mut Session) {
    let step = s.run(&hash::hscan("h", 0).match_("f1").count(100));
    assert_eq!(step.cursor, 0);
    assert_eq!(sorted(step.elements), ["f1", "v1"]);
}
