use onecopy_valkey::command::{generic, string};

use super::session::{Session, text, texts};

pub(crate) fn run(s: &mut Session) {
    values(s);
    options(s);
    numbers(s);
    ranges(s);
    several(s);
}

fn values(s: &mut Session) {
    assert_eq!(s.run(&string::get("a")), None);
    assert_eq!(s.run(&string::set("a", "1")), Some(&b"OK"[..]));
    assert_eq!(s.run(&string::get("a")), Some(&b"1"[..]));
    assert_eq!(s.run(&string::getset("a", "2")), Some(&b"1"[..]));
    assert_eq!(s.run(&string::append("a", "34")), 3);
    assert_eq!(s.run(&string::strlen("a")), 3);
    assert_eq!(s.run(&string::getdel("a")), Some(&b"234"[..]));
    assert!(s.run(&string::setnx("a", "1")));
    assert!(!s.run(&string::setnx("a", "1")));
    s.run(&string::setex("b", 100, "v"));
    s.run(&string::psetex("b", 100_000, "v"));
    let large = vec![b'x'; 100_000];
    s.run(&string::set("large", &large));
    assert_eq!(s.run(&string::get("large")).map(<[u8]>::len), Some(100_000));
}

fn options(s: &mut Session) {
    assert_eq!(s.run(&string::set("o", "1").nx().ex(100)), Some(&b"OK"[..]));
    assert_eq!(s.run(&string::set("o", "2").nx()), None);
    assert_eq!(
        s.run(&string::set("o", "2").xx().get().px(50_000)),
        Some(&b"1"[..])
    );
    assert_eq!(
        s.run(&string::set("o", "3").get().keepttl()),
        Some(&b"2"[..])
    );
    assert!(s.run(&generic::pttl("o")) > 0);
    s.run(&string::set("o", "3").exat(4_000_000_000));
    s.run(&string::set("o", "3").pxat(4_000_000_000_000));
    assert_eq!(s.run(&generic::expiretime("o")), 4_000_000_000);
    assert_eq!(s.run(&string::getex("o").persist()), Some(&b"3"[..]));
    assert_eq!(s.run(&generic::ttl("o")), -1);
    s.run(&string::getex("o").ex(10));
    s.run(&string::getex("o").px(10_000));
    s.run(&string::getex("o").exat(4_000_000_000));
    s.run(&string::getex("o").pxat(4_000_000_000_000));
    assert_eq!(s.run(&string::getex("nothing")), None);
    // IFEQ came with COMMANDLOG, in 8.1.
    if s.has("COMMANDLOG LEN") {
        assert_eq!(s.run(&string::set("o", "4").ifeq("3")), Some(&b"OK"[..]));
        assert_eq!(s.run(&string::set("o", "5").ifeq("3").ex(100)), None);
        assert_eq!(
            s.run(&string::set("o", "5").ifeq("4").get()),
            Some(&b"4"[..])
        );
        assert_eq!(s.run(&string::get("o")), Some(&b"5"[..]));
    }
}

fn numbers(s: &mut Session) {
    assert_eq!(s.run(&string::incr("n")), 1);
    assert_eq!(s.run(&string::incrby("n", 41)), 42);
    assert_eq!(s.run(&string::decr("n")), 41);
    assert_eq!(s.run(&string::decrby("n", 1)), 40);
    assert_eq!(s.run(&string::incrby("n", i64::MIN + 40)), i64::MIN + 80);
    assert_eq!(s.run(&string::incrbyfloat("f", 1.5)), 1.5);
    assert_eq!(
        s.run(&string::incrbyfloat("f", 1e20)),
        100_000_000_000_000_000_000.0
    );
}

fn ranges(s: &mut Session) {
    s.run(&string::set("r", "Hello World"));
    assert_eq!(s.run(&string::getrange("r", 0, 4)), b"Hello");
    assert_eq!(s.run(&string::substr("r", -5, -1)), b"World");
    assert_eq!(s.run(&string::setrange("r", 6, "there")), 11);
    s.run(&string::set("x", "ohmytext"));
    s.run(&string::set("y", "mynewtext"));
    assert_eq!(s.run(&string::lcs("x", "y")), b"mytext");
    assert_eq!(s.run(&string::lcs("x", "y").len()), 6);
    let matches = string::lcs("x", "y").idx().minmatchlen(4).withmatchlen();
    let found = s.run(&matches);
    assert_eq!(found.get("len").unwrap().as_i64(), Some(6));
    assert_eq!(found.get("matches").unwrap().len(), 1);
}

fn several(s: &mut Session) {
    s.run(&string::mset([("m1", "1"), ("m2", "2")]));
    assert!(!s.run(&string::msetnx([("m2", 3), ("m3", 3)])));
    assert!(s.run(&string::msetnx(("m3", 3))));
    let values = s.run(&string::mget(["m1", "m2", "nothing", "m3"]));
    let values: Vec<_> = values.iter().map(|value| value.map(text)).collect();
    assert_eq!(
        values,
        [Some("1"), Some("2"), None, Some("3")].map(|value| value.map(str::to_owned))
    );
    let names = ["m1".to_owned(), "m2".to_owned()];
    assert_eq!(s.run(&generic::del(&names)), 2);
    assert_eq!(texts(s.run(&generic::keys("m*"))), ["m3"]);
}
