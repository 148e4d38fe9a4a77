use onecopy_valkey::command::sorted_set as zset;
use onecopy_valkey::command::word::{Aggregate, Extreme};

use super::session::{Session, scores, text, texts};

pub(crate) fn run(s: &mut Session) {
    add(s);
    ranges(s);
    older_ranges(s);
    several(s);
    stores(s);
    pops(s);
    removes(s);
}

fn add(s: &mut Session) {
    assert_eq!(
        s.run(&zset::zadd("z", [(1.0, "a"), (2.0, "b"), (3.5, "c")])),
        3
    );
    assert_eq!(s.run(&zset::zadd("z", (9.0, "a")).gt().ch()), 1);
    assert_eq!(s.run(&zset::zadd("z", (1.0, "a")).lt().xx()), 0);
    assert_eq!(s.run(&zset::zadd("z", (5.0, "a")).nx().incr()), None);
    assert_eq!(s.run(&zset::zadd("z", (0.5, "a")).incr()), Some(1.5));
    assert_eq!(s.run(&zset::zincrby("z", -0.5, "a")), 1.0);
    assert_eq!(s.run(&zset::zcard("z")), 3);
    assert_eq!(s.run(&zset::zscore("z", "c")), Some(3.5));
    assert_eq!(s.run(&zset::zscore("z", "nothing")), None);
    let found = s.run(&zset::zmscore("z", ["a", "nothing"]));
    assert_eq!(found.iter().collect::<Vec<_>>(), [Some(1.0), None]);
    assert_eq!(s.run(&zset::zadd("infinite", (f64::NEG_INFINITY, "m"))), 1);
    assert_eq!(
        s.run(&zset::zscore("infinite", "m")),
        Some(f64::NEG_INFINITY)
    );
    assert_eq!(s.run(&zset::zcount("z", "(1", "+inf")), 2);
    assert_eq!(s.run(&zset::zcount("z", 1, 2)), 2);
    assert_eq!(s.run(&zset::zlexcount("z", "-", "+")), 3);
    assert_eq!(s.run(&zset::zrank("z", "b")), Some(1));
    assert_eq!(s.run(&zset::zrevrank("z", "c")), Some(0));
    assert_eq!(s.run(&zset::zrank("z", "nothing")), None);
    if s.has("CLIENT NO-TOUCH") {
        // As old as WITHSCORE.
        assert_eq!(s.run(&zset::zrank("z", "b").withscore()), Some((1, 2.0)));
        assert_eq!(s.run(&zset::zrevrank("z", "b").withscore()), Some((1, 2.0)));
    }
}

fn ranges(s: &mut Session) {
    assert_eq!(texts(s.run(&zset::zrange("z", 0, -1))), ["a", "b", "c"]);
    assert_eq!(texts(s.run(&zset::zrange("z", 0, 1).rev())), ["c", "b"]);
    assert_eq!(
        scores(s.run(&zset::zrange("z", 0, -1).withscores())),
        ["a=1", "b=2", "c=3.5"]
    );
    let by_score = zset::zrange("z", "(1", "inf").byscore().limit(1, 5);
    assert_eq!(texts(s.run(&by_score)), ["c"]);
    let by_lex = zset::zrange("z", "[b", "+").bylex();
    assert_eq!(texts(s.run(&by_lex)), ["b", "c"]);
    assert!(
        s.run(&zset::zrange("nothing", 0, -1).withscores())
            .is_empty()
    );
    let step = s.run(&zset::zscan("z", 0).match_("c").count(100));
    assert_eq!(
        (step.cursor, texts(step.elements)),
        (0, vec!["c".to_owned(), "3.5".to_owned()])
    );
    assert_eq!(s.run(&zset::zrandmember("z")).map(<[u8]>::len), Some(1));
    assert_eq!(s.run(&zset::zrandmember("nothing")), None);
    assert_eq!(s.run(&zset::zrandmember("z").count(9)).len(), 3);
    assert_eq!(
        s.run(&zset::zrandmember("z").count(-9).withscores()).len(),
        9
    );
}

fn older_ranges(s: &mut Session) {
    assert_eq!(
        texts(s.run(&zset::zrangebyscore("z", "-inf", 2).limit(0, 9))),
        ["a", "b"]
    );
    assert_eq!(
        scores(s.run(&zset::zrangebyscore("z", 2, 3).withscores())),
        ["b=2"]
    );
    assert_eq!(texts(s.run(&zset::zrevrangebyscore("z", 2, 1))), ["b", "a"]);
    assert_eq!(
        scores(s.run(&zset::zrevrangebyscore("z", 9, 3).withscores())),
        ["c=3.5"]
    );
    assert_eq!(texts(s.run(&zset::zrevrange("z", 0, 0))), ["c"]);
    assert_eq!(
        scores(s.run(&zset::zrevrange("z", 0, 0).withscores())),
        ["c=3.5"]
    );
    assert_eq!(
        texts(s.run(&zset::zrangebylex("z", "-", "[a").limit(0, 1))),
        ["a"]
    );
    assert_eq!(texts(s.run(&zset::zrevrangebylex("z", "[a", "-"))), ["a"]);
}

fn several(s: &mut Session) {
    s.run(&zset::zadd("y", [(10.0, "b"), (20.0, "d")]));
    assert_eq!(texts(s.run(&zset::zdiff(["z", "y"]))), ["a", "c"]);
    assert_eq!(
        scores(s.run(&zset::zdiff(["z", "y"]).withscores())),
        ["a=1", "c=3.5"]
    );
    assert_eq!(texts(s.run(&zset::zinter(["z", "y"]))), ["b"]);
    let weighed = zset::zinter(["z", "y"])
        .weights([1.5, 2.0])
        .aggregate(Aggregate::Max)
        .withscores();
    assert_eq!(scores(s.run(&weighed)), ["b=20"]);
    assert_eq!(s.run(&zset::zintercard(["z", "y"]).limit(5)), 1);
    assert_eq!(
        texts(s.run(&zset::zunion(["z", "y"]))),
        ["a", "c", "b", "d"]
    );
    let least = zset::zunion(["z", "y"])
        .weights([1.0, 1.0])
        .aggregate(Aggregate::Min)
        .withscores();
    assert_eq!(scores(s.run(&least)), ["a=1", "b=2", "c=3.5", "d=20"]);
}

fn stores(s: &mut Session) {
    assert_eq!(s.run(&zset::zdiffstore("t", ["z", "y"])), 2);
    assert_eq!(
        s.run(&zset::zinterstore("t", ["z", "y"]).weights([1, 2])),
        1
    );
    assert_eq!(
        s.run(&zset::zunionstore("t", ["z", "y"]).aggregate(Aggregate::Sum)),
        4
    );
    assert_eq!(s.run(&zset::zrangestore("t", "z", 0, 1).rev()), 2);
    assert_eq!(
        s.run(&zset::zrangestore("t", "z", 1, 9).byscore().limit(0, 1)),
        1
    );
}

fn pops(s: &mut Session) {
    let members = (0..12)
        .map(|n| (f64::from(n), format!("m{n}")))
        .collect::<Vec<_>>();
    assert_eq!(s.run(&zset::zadd("p", &members)), 12);
    assert_eq!(scores(s.run(&zset::zpopmin("p"))), ["m0=0"]);
    assert_eq!(scores(s.run(&zset::zpopmax("p"))), ["m11=11"]);
    assert_eq!(
        scores(s.run(&zset::zpopmin("p").count(2))),
        ["m1=1", "m2=2"]
    );
    assert_eq!(
        scores(s.run(&zset::zpopmax("p").count(2))),
        ["m10=10", "m9=9"]
    );
    let (key, popped) = s
        .run(&zset::zmpop(["nothing", "p"], Extreme::Min).count(2))
        .unwrap();
    assert_eq!(
        (text(key), scores(popped)),
        ("p".to_owned(), vec!["m3=3".to_owned(), "m4=4".to_owned()])
    );
    assert_eq!(
        s.run(&zset::bzpopmin("p", 1.0)),
        Some((&b"p"[..], &b"m5"[..], 5.0))
    );
    assert_eq!(
        s.run(&zset::bzpopmax("p", 1.0)),
        Some((&b"p"[..], &b"m8"[..], 8.0))
    );
    let (_, popped) = s
        .run(&zset::bzmpop(1.0, "p", Extreme::Max).count(9))
        .unwrap();
    assert_eq!(scores(popped), ["m7=7", "m6=6"]);
    assert!(s.run(&zset::zpopmin("p")).is_empty());
    assert!(s.run(&zset::zpopmax("p").count(3)).is_empty());
    assert!(s.run(&zset::zmpop("p", Extreme::Max)).is_none());
    assert_eq!(s.run(&zset::bzpopmin("p", 0.01)), None);
    assert!(s.run(&zset::bzmpop(0.01, "p", Extreme::Max)).is_none());
}

fn removes(s: &mut Session) {
    assert_eq!(s.run(&zset::zrem("z", ["a", "nothing"])), 1);
    assert_eq!(s.run(&zset::zremrangebyscore("z", "(2", 3)), 0);
    assert_eq!(s.run(&zset::zremrangebyrank("z", 0, 0)), 1);
    assert_eq!(s.run(&zset::zremrangebylex("z", "-", "+")), 1);
}
