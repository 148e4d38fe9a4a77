use onecopy_valkey::command::{connection, generic, list, set, string};

use super::session::{Session, flush, sorted, text, texts};

pub(crate) fn run(s: &mut Session) {
    keys(s);
    times(s);
    copies(s);
    objects(s);
    sorts(s);
    flush(s);
    assert_eq!(s.run(&generic::randomkey()), None);
    assert_eq!(s.run(&generic::wait(0, 10)), 0);
    assert_eq!(s.run(&generic::wait(1, 10)), 0);
}

fn keys(s: &mut Session) {
    s.run(&string::mset([("a", "1"), ("b", "2"), ("c", "3")]));
    assert_eq!(s.run(&generic::exists(["a", "a", "nothing"])), 2);
    assert_eq!(s.run(&generic::touch(["a", "b"])), 2);
    assert_eq!(sorted(s.run(&generic::keys("*"))), ["a", "b", "c"]);
    assert_eq!(s.run(&generic::randomkey()).map(<[u8]>::len), Some(1));
    assert_eq!(s.run(&generic::type_("a")), Some(&b"string"[..]));
    s.run(&generic::rename("a", "d"));
    assert!(!s.run(&generic::renamenx("d", "b")));
    assert_eq!(s.run(&generic::unlink("d")), 1);
    assert_eq!(s.run(&generic::del(["b", "nothing"])), 1);
    let (mut cursor, mut found) = (0, Vec::new());
    loop {
        let step = s.run(&generic::scan(cursor).match_("*").count(1).type_("string"));
        found.extend(texts(step.elements));
        cursor = step.cursor;
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(found, ["c"]);
}

fn times(s: &mut Session) {
    assert_eq!(
        (s.run(&generic::ttl("c")), s.run(&generic::ttl("nothing"))),
        (-1, -2)
    );
    assert!(s.run(&generic::expire("c", 100)));
    assert!(!s.run(&generic::expire("c", 10).nx()));
    assert!(s.run(&generic::expire("c", 200).gt()));
    assert!(s.run(&generic::expire("c", 100).lt()));
    assert!(s.run(&generic::pexpire("c", 100_000).xx()));
    assert!(s.run(&generic::expireat("c", 4_000_000_000)));
    assert!(s.run(&generic::pexpireat("c", 4_000_000_000_000).xx()));
    assert_eq!(s.run(&generic::expiretime("c")), 4_000_000_000);
    assert_eq!(s.run(&generic::pexpiretime("c")), 4_000_000_000_000);
    assert!(s.run(&generic::pttl("c")) > 0);
    assert!(s.run(&generic::persist("c")));
    assert!(!s.run(&generic::persist("c")));
}

fn copies(s: &mut Session) {
    assert!(s.run(&generic::copy("c", "d")));
    assert!(!s.run(&generic::copy("c", "d")));
    assert!(s.run(&generic::copy("c", "d").db(0).replace()));
    let dumped = s.run(&generic::dump("c")).unwrap().to_vec();
    assert_eq!(s.run(&generic::dump("nothing")), None);
    s.run(&generic::restore("e", 0, &dumped));
    s.run(
        &generic::restore("e", 4_000_000_000_000, dumped)
            .replace()
            .absttl()
            .idletime(5),
    );
    assert_eq!(s.run(&string::get("e")), Some(&b"3"[..]));
    assert!(s.run(&generic::move_("e", 1)));
    s.run(&connection::select(1));
    assert_eq!(s.run(&generic::exists("e")), 1);
    s.run(&connection::select(0));
}

fn objects(s: &mut Session) {
    assert_eq!(s.run(&generic::object_encoding("c")), Some(&b"int"[..]));
    assert_eq!(s.run(&generic::object_encoding("nothing")), None);
    assert!(s.run(&generic::object_idletime("c")).is_some());
    assert_eq!(s.run(&generic::object_idletime("nothing")), None);
    assert!(s.run(&generic::object_refcount("c")).is_some());
    assert!(!s.run(&generic::object_help()).is_empty());
}

fn sorts(s: &mut Session) {
    s.run(&list::rpush("l", [3, 1, 2]));
    s.run(&string::mset([("w_1", 9), ("w_2", 8), ("w_3", 7)]));
    let all = |s: &mut Session, sort: &generic::Sort<'_>| {
        let elements = s.run(sort);
        elements
            .iter()
            .map(|element| element.map(text))
            .collect::<Vec<_>>()
    };
    let some = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| Some((*text).to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(all(s, &generic::sort("l")), some(&["1", "2", "3"]));
    assert_eq!(
        all(s, &generic::sort("l").desc().alpha().limit(0, 2)),
        some(&["3", "2"])
    );
    assert_eq!(
        all(s, &generic::sort("l").by("w_*")),
        some(&["3", "2", "1"])
    );
    let pairs = generic::sort("l")
        .get("#")
        .get("w_*")
        .get("nothing_*")
        .limit(0, 1);
    assert_eq!(
        all(s, &pairs),
        [Some("1".to_owned()), Some("9".to_owned()), None]
    );
    assert_eq!(s.run(&generic::sort("l").asc().store("sorted")), 3);
    let read = s.run(
        &generic::sort_ro("l")
            .by("w_*")
            .get("#")
            .desc()
            .alpha()
            .limit(0, 1),
    );
    assert_eq!(read.iter().next(), Some(Some(&b"1"[..])));
    s.run(&set::sadd("s", "m"));
}
