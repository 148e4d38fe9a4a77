use onecopy_valkey::command::set;

use super::session::{Session, sorted};

pub(crate) fn run(s: &mut Session) {
    assert_eq!(s.run(&set::sadd("a", ["1", "2", "3"])), 3);
    assert_eq!(s.run(&set::sadd("b", [2, 3, 4])), 3);
    assert_eq!(s.run(&set::scard("a")), 3);
    assert!(s.run(&set::sismember("a", 1)));
    let are = s.run(&set::smismember("a", ["1", "9"]));
    assert_eq!(are.iter().collect::<Vec<_>>(), [true, false]);
    assert_eq!(sorted(s.run(&set::smembers("a"))), ["1", "2", "3"]);
    assert_eq!(sorted(s.run(&set::sdiff(["a", "b"]))), ["1"]);
    assert_eq!(sorted(s.run(&set::sinter(["a", "b"]))), ["2", "3"]);
    assert_eq!(
        sorted(s.run(&set::sunion(["a", "b"]))),
        ["1", "2", "3", "4"]
    );
    assert_eq!(s.run(&set::sintercard(["a", "b"])), 2);
    assert_eq!(s.run(&set::sintercard(["a", "b"]).limit(1)), 1);
    assert_eq!(s.run(&set::sdiffstore("d", ["a", "b"])), 1);
    assert_eq!(s.run(&set::sinterstore("d", ["a", "b"])), 2);
    assert_eq!(s.run(&set::sunionstore("d", ["a", "b"])), 4);
    assert!(s.run(&set::smove("a", "b", 1)));
    assert_eq!(s.run(&set::srem("b", [1, 9])), 1);
    let step = s.run(&set::sscan("a", 0).match_("*").count(100));
    assert_eq!(
        (step.cursor, sorted(step.elements)),
        (0, vec!["2".to_owned(), "3".to_owned()])
    );
    assert_eq!(s.run(&set::srandmember("a")).map(<[u8]>::len), Some(1));
    assert_eq!(s.run(&set::srandmember("nothing")), None);
    assert_eq!(s.run(&set::srandmember("a").count(-5)).len(), 5);
    assert!(s.run(&set::srandmember("nothing").count(5)).is_empty());
    assert_eq!(s.run(&set::spop("a")).map(<[u8]>::len), Some(1));
    assert_eq!(s.run(&set::spop("a").count(5)).len(), 1);
    assert_eq!(s.run(&set::spop("a")), None);
    assert!(s.run(&set::spop("a").count(5)).is_empty());
}
