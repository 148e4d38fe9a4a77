use std::time::Duration;

use super::raw;
use crate::command::{Blocking, Command, Flags};
use crate::testing::text;

#[test]
fn words_go_out_as_they_are() {
    let set = raw("SET").arg("k").arg("a b").arg("EX").arg(10);
    assert_eq!(text(&set), "*5 $3 SET $1 k $3 a b $2 EX $2 10");
    let many = raw("sadd").args(["s", "1"]).args(vec![2, 3]);
    assert_eq!(text(&many), "*5 $4 sadd $1 s $1 1 $1 2 $1 3");
}

#[test]
fn commands_that_break_the_order_of_replies_are_known_however_they_are_written() {
    for command in [
        raw("SUBSCRIBE").arg("c"),
        raw("psubscribe").arg("c"),
        raw("Ssubscribe").arg("c"),
        raw("unsubscribe"),
        raw("punsubscribe"),
        raw("sunsubscribe"),
        raw("MONITOR"),
        raw("sync"),
        raw("psync").args(["?", "-1"]),
        raw("client").args(["reply", "off"]),
        raw(b"CLIENT".to_vec()).args([b"Reply".to_vec()]),
        raw("script").args(["debug", "yes"]),
    ] {
        assert!(
            command.flags().contains(Flags::BREAKS_ORDER),
            "{}",
            text(&command)
        );
    }
    for command in [
        raw("CLIENT"),
        raw("client").arg("getname"),
        raw("publish").args(["c", "m"]),
    ] {
        assert!(
            !command.flags().contains(Flags::BREAKS_ORDER),
            "{}",
            text(&command)
        );
    }
}

#[test]
fn what_is_unknown_has_no_flags() {
    assert_eq!(raw("BF.EXISTS").arg("k").flags(), Flags::NONE);
    assert_eq!(raw("").flags(), Flags::NONE);
    assert_eq!(raw(17).flags(), Flags::NONE);
    assert_eq!(raw("CLIENT").arg("newer").entry().unwrap().name, "CLIENT");
    assert_eq!(raw("GET").arg("client").entry().unwrap().name, "GET");
}

#[test]
fn whether_it_blocks_is_read_from_its_arguments() {
    let at_most = |millis| Blocking::AtMost(Duration::from_millis(millis));
    for (command, expected) in [
        (raw("blpop").args(["a", "b", "1.5"]), at_most(1500)),
        (raw("BLPOP").arg("a").arg(0), Blocking::Forever),
        (raw("BLMPOP").args(["0.1", "1", "a", "LEFT"]), at_most(100)),
        (raw("bzmpop").args(["2", "1", "a", "MIN"]), at_most(2000)),
        (
            raw("blmove").args(["a", "b", "LEFT", "LEFT", "3"]),
            at_most(3000),
        ),
        (raw("WAIT").arg(1).arg(250), at_most(250)),
        (
            raw("xread").args(["block", "20", "STREAMS", "s", "$"]),
            at_most(20),
        ),
        (
            raw("XREADGROUP").args(["GROUP", "g", "c", "BLOCK", "0"]),
            Blocking::Forever,
        ),
        (raw("XREAD").args(["STREAMS", "s", "0"]), Blocking::No),
        (raw("blpop").args(["a", "soon"]), at_most(0)),
        (raw("lpop").arg("a"), Blocking::No),
    ] {
        assert_eq!(command.blocking(), expected, "{}", text(&command));
        let blocks = command.flags().contains(Flags::BLOCKING);
        assert_eq!(blocks, expected != Blocking::No, "{}", text(&command));
    }
}
