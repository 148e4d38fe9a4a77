//! Bitmaps, and counts of distinct elements.

use onecopy_valkey::command::word::{BitOperation, Overflow};
use onecopy_valkey::command::{bitmap, hyperloglog, string};

use super::session::Session;

pub(crate) fn run(s: &mut Session) {
    assert!(!s.run(&bitmap::setbit("b", 7, 1)));
    assert!(s.run(&bitmap::setbit("b", 7, 1)));
    assert!(s.run(&bitmap::getbit("b", 7)));
    s.run(&string::set("c", "foobar"));
    assert_eq!(s.run(&bitmap::bitcount("c")), 26);
    assert_eq!(s.run(&bitmap::bitcount("c").start(0).end(0)), 4);
    assert_eq!(s.run(&bitmap::bitcount("c").start(5).end(30).bit()), 17);
    assert_eq!(s.run(&bitmap::bitpos("c", 1)), 1);
    assert_eq!(s.run(&bitmap::bitpos("c", 0).start(1).end(-1).byte()), 8);
    assert_eq!(s.run(&bitmap::bitop(BitOperation::And, "d", ["b", "c"])), 6);
    assert_eq!(s.run(&bitmap::bitop(BitOperation::Not, "d", "c")), 6);
    let fields = bitmap::bitfield("f")
        .set("u8", 0, 255)
        .incrby("u8", 0, 10)
        .get("u8", 0);
    assert_eq!(
        s.run(&fields).iter().collect::<Vec<_>>(),
        [Some(0), Some(9), Some(9)]
    );
    let fail = bitmap::bitfield("f")
        .overflow(Overflow::Fail)
        .incrby("u8", "#0", 255);
    assert_eq!(s.run(&fail).iter().collect::<Vec<_>>(), [None]);
    let read = bitmap::bitfield_ro("f").get("u8", 0).get("u4", 0);
    assert_eq!(s.run(&read).iter().collect::<Vec<_>>(), [9, 0]);
    counts(s);
}

fn counts(s: &mut Session) {
    assert!(s.run(&hyperloglog::pfadd("h1", ["a", "b", "c"])));
    assert!(!s.run(&hyperloglog::pfadd("h1", "a")));
    s.run(&hyperloglog::pfadd("h2", "d"));
    assert_eq!(s.run(&hyperloglog::pfcount("h1")), 3);
    assert_eq!(s.run(&hyperloglog::pfcount(["h1", "h2"])), 4);
    s.run(&hyperloglog::pfmerge("h3", ["h1", "h2"]));
    assert_eq!(s.run(&hyperloglog::pfcount("h3")), 4);
}
