use std::time::Instant;

use onecopy_valkey::command::list;
use onecopy_valkey::command::word::{Place, Side};

use super::session::{Session, text, texts};

pub(crate) fn run(s: &mut Session) {
    ends(s);
    inside(s);
    moves(s);
    blocking(s);
}

fn ends(s: &mut Session) {
    assert_eq!(s.run(&list::rpush("l", ["a", "b", "c", "d"])), 4);
    assert_eq!(s.run(&list::lpush("l", "z")), 5);
    assert_eq!(s.run(&list::lpushx("nothing", "z")), 0);
    assert_eq!(s.run(&list::rpushx("l", "e")), 6);
    assert_eq!(s.run(&list::llen("l")), 6);
    assert_eq!(
        texts(s.run(&list::lrange("l", 0, -1))),
        ["z", "a", "b", "c", "d", "e"]
    );
    assert_eq!(s.run(&list::lpop("l")), Some(&b"z"[..]));
    assert_eq!(s.run(&list::rpop("l")), Some(&b"e"[..]));
    assert_eq!(texts(s.run(&list::lpop("l").count(2)).unwrap()), ["a", "b"]);
    assert_eq!(texts(s.run(&list::rpop("l").count(9)).unwrap()), ["d", "c"]);
    assert_eq!(s.run(&list::lpop("l")), None);
    assert!(s.run(&list::lpop("l").count(1)).is_none());
    assert!(s.run(&list::rpop("l").count(1)).is_none());
}

fn inside(s: &mut Session) {
    s.run(&list::rpush("l", ["a", "b", "a", "c"]));
    assert_eq!(s.run(&list::lindex("l", 1)), Some(&b"b"[..]));
    assert_eq!(s.run(&list::lindex("l", 9)), None);
    assert_eq!(s.run(&list::linsert("l", Place::Before, "b", "x")), 5);
    assert_eq!(s.run(&list::linsert("l", Place::After, "nothing", "x")), -1);
    assert_eq!(s.run(&list::lpos("l", "a")), Some(0));
    assert_eq!(s.run(&list::lpos("l", "nothing")), None);
    assert_eq!(s.run(&list::lpos("l", "a").rank(2).maxlen(10)), Some(3));
    let places = s.run(&list::lpos("l", "a").count(0));
    assert_eq!(places.iter().collect::<Vec<_>>(), [0, 3]);
    s.run(&list::lset("l", 0, "y"));
    assert_eq!(s.run(&list::lrem("l", 0, "a")), 1);
    s.run(&list::ltrim("l", 0, 1));
    assert_eq!(texts(s.run(&list::lrange("l", 0, -1))), ["y", "x"]);
}

fn moves(s: &mut Session) {
    assert_eq!(
        s.run(&list::lmove("l", "m", Side::Left, Side::Right)),
        Some(&b"y"[..])
    );
    assert_eq!(
        s.run(&list::lmove("nothing", "m", Side::Left, Side::Right)),
        None
    );
    assert_eq!(s.run(&list::rpoplpush("m", "l")), Some(&b"y"[..]));
    assert_eq!(s.run(&list::rpoplpush("nothing", "l")), None);
    let (key, elements) = s
        .run(&list::lmpop(["nothing", "l"], Side::Left).count(9))
        .unwrap();
    assert_eq!(
        (text(key), texts(elements)),
        ("l".to_owned(), vec!["y".to_owned(), "x".to_owned()])
    );
    assert!(s.run(&list::lmpop("l", Side::Right)).is_none());
}

fn blocking(s: &mut Session) {
    s.run(&list::rpush("q", ["1", "2", "3", "4", "5"]));
    assert_eq!(
        s.run(&list::blpop(["nothing", "q"], 1.0)),
        Some((&b"q"[..], &b"1"[..]))
    );
    assert_eq!(s.run(&list::brpop("q", 1.0)), Some((&b"q"[..], &b"5"[..])));
    assert_eq!(
        s.run(&list::blmove("q", "p", Side::Left, Side::Left, 1.0)),
        Some(&b"2"[..])
    );
    assert_eq!(s.run(&list::brpoplpush("q", "p", 1.0)), Some(&b"4"[..]));
    let (key, elements) = s.run(&list::blmpop(1.0, "q", Side::Left).count(2)).unwrap();
    assert_eq!(
        (text(key), texts(elements)),
        ("q".to_owned(), vec!["3".to_owned()])
    );
    let start = Instant::now();
    assert_eq!(s.run(&list::blpop("q", 0.05)), None);
    assert_eq!(
        s.run(&list::blmove("q", "p", Side::Left, Side::Left, 0.05)),
        None
    );
    assert_eq!(s.run(&list::brpoplpush("q", "p", 0.05)), None);
    assert!(s.run(&list::blmpop(0.05, "q", Side::Left)).is_none());
    assert!(start.elapsed().as_millis() >= 200, "they have waited");
}
