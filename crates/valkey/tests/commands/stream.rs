use onecopy_valkey::command::stream;
use onecopy_valkey::command::word::Trim;
use onecopy_valkey::command::{Array, Entry};

use super::session::{Session, text, texts};

pub(crate) fn run(s: &mut Session) {
    entries(s);
    trims(s);
    reads(s);
    groups(s);
    claims(s);
    infos(s);
}

/// IDs and fields: `1-0 f=1`.
fn shown(entries: Array<'_, Entry<'_>>) -> Vec<String> {
    let show = |entry: Entry<'_>| {
        let fields = entry.fields.iter().flat_map(|fields| fields.iter());
        let fields = fields.map(|(field, value)| format!(" {}={}", text(field), text(value)));
        text(entry.id) + &fields.collect::<String>()
    };
    entries.iter().map(show).collect()
}

fn entries(s: &mut Session) {
    assert_eq!(
        s.run(&stream::xadd("s", "1-0", ("f", "1"))),
        Some(&b"1-0"[..])
    );
    s.run(&stream::xadd("s", "2-0", [("f", "2"), ("g", "3")]));
    assert_eq!(
        s.run(&stream::xadd("nothing", "*", ("f", "1")).nomkstream()),
        None
    );
    assert!(s.run(&stream::xadd("s", "*", ("f", "4"))).is_some());
    assert_eq!(s.run(&stream::xlen("s")), 3);
    assert_eq!(
        shown(s.run(&stream::xrange("s", "-", "2"))),
        ["1-0 f=1", "2-0 f=2 g=3"]
    );
    assert_eq!(
        shown(s.run(&stream::xrange("s", "-", "+").count(1))),
        ["1-0 f=1"]
    );
    assert_eq!(
        shown(s.run(&stream::xrevrange("s", "2", "-").count(1))),
        ["2-0 f=2 g=3"]
    );
}

fn trims(s: &mut Session) {
    for n in 1..=6 {
        s.run(&stream::xadd("t", format!("{n}-0"), ("n", n)));
    }
    s.run(&stream::xadd("t", "7-0", ("n", 7)).trim(Trim::Maxlen, 6));
    assert_eq!(s.run(&stream::xlen("t")), 6);
    s.run(
        &stream::xadd("t", "8-0", ("n", 8))
            .trim(Trim::Minid, "3-0")
            .approximately()
            .limit(10),
    );
    assert_eq!(s.run(&stream::xtrim("t", Trim::Minid, "5-0").equal()), 3);
    assert_eq!(
        s.run(
            &stream::xtrim("t", Trim::Maxlen, 1000)
                .approximately()
                .limit(1)
        ),
        0
    );
    assert_eq!(s.run(&stream::xdel("t", ["5-0", "9-0"])), 1);
    s.run(
        &stream::xsetid("t", "20-0")
            .entriesadded(100)
            .maxdeletedid("9-0"),
    );
    s.run(&stream::xsetid("t", "21-0"));
}

fn reads(s: &mut Session) {
    let streams = s
        .run(&stream::xread(["s", "t"], ["1-0", "7-0"]).count(1))
        .unwrap();
    let streams: Vec<_> = streams
        .iter()
        .map(|(name, entries)| (text(name), shown(entries)))
        .collect();
    let expected = [("s", "2-0 f=2 g=3"), ("t", "8-0 n=8")];
    assert_eq!(
        streams,
        expected.map(|(name, entry)| (name.to_owned(), vec![entry.to_owned()]))
    );
    assert!(s.run(&stream::xread("s", "$")).is_none());
    assert!(s.run(&stream::xread("s", "$").block(20)).is_none());
}

fn groups(s: &mut Session) {
    s.run(&stream::xgroup_create("s", "g", "0").entriesread(0));
    s.run(&stream::xgroup_create("made", "g", "$").mkstream());
    assert!(s.run(&stream::xgroup_createconsumer("s", "g", "c")));
    assert!(!s.run(&stream::xgroup_createconsumer("s", "g", "c")));
    let read = stream::xreadgroup("g", "c", "s", ">").count(2).block(1000);
    let (name, entries) = s.run(&read).unwrap().iter().next().unwrap();
    assert_eq!((text(name), shown(entries).len()), ("s".to_owned(), 2));
    let taken = s.run(&stream::xreadgroup("g", "d", "s", ">").noack());
    assert_eq!(taken.unwrap().len(), 1);
    assert!(s.run(&stream::xreadgroup("g", "c", "s", ">")).is_none());
    pending(s);
    s.run(&stream::xgroup_setid("s", "g", "$").entriesread(3));
    assert_eq!(s.run(&stream::xack("s", "g", ["1-0", "9-0"])), 1);
}

fn pending(s: &mut Session) {
    let (count, first, last, consumers) = s.run(&stream::xpending("s", "g"));
    assert_eq!(
        (count, first, last),
        (2, Some(&b"1-0"[..]), Some(&b"2-0"[..]))
    );
    assert_eq!(consumers.unwrap().get("c"), Some(2));
    let (count, first, _, consumers) = s.run(&stream::xpending("made", "g"));
    assert_eq!((count, first, consumers.is_none()), (0, None, true));
    let rows = s.run(
        &stream::xpending("s", "g")
            .idle(0)
            .range("-", "+", 1)
            .consumer("c"),
    );
    let (id, consumer, idle, delivered) = rows.iter().next().unwrap();
    assert_eq!((id, consumer, delivered), (&b"1-0"[..], &b"c"[..], 1));
    assert!(idle >= 0);
    // An entry that was deleted while a consumer had it has no fields.
    s.run(&stream::xdel("s", "2-0"));
    let (_, entries) = s
        .run(&stream::xreadgroup("g", "c", "s", "0"))
        .unwrap()
        .iter()
        .next()
        .unwrap();
    let fields: Vec<_> = entries
        .iter()
        .map(|entry| (text(entry.id), entry.fields.is_some()))
        .collect();
    assert_eq!(
        fields,
        [("1-0".to_owned(), true), ("2-0".to_owned(), false)]
    );
}

fn claims(s: &mut Session) {
    s.run(&stream::xadd("c", "1-0", ("f", "1")));
    s.run(&stream::xgroup_create("c", "g", "0"));
    s.run(&stream::xreadgroup("g", "one", "c", ">"));
    assert_eq!(
        shown(s.run(&stream::xclaim("c", "g", "two", 0, "1-0"))),
        ["1-0 f=1"]
    );
    let ids = stream::xclaim("c", "g", "one", 0, ["1-0"])
        .idle(10)
        .retrycount(3)
        .force()
        .justid();
    assert_eq!(texts(s.run(&ids)), ["1-0"]);
    s.run(
        &stream::xclaim("c", "g", "one", 0, "1-0")
            .time(1_000)
            .lastid("1-0"),
    );
    let (next, claimed, deleted) = s.run(&stream::xautoclaim("c", "g", "two", 0, "0-0").count(5));
    assert_eq!(
        (next, shown(claimed), deleted.len()),
        (&b"0-0"[..], vec!["1-0 f=1".to_owned()], 0)
    );
    let (_, ids, _) = s.run(&stream::xautoclaim("c", "g", "one", 0, "0-0").justid());
    assert_eq!(texts(ids), ["1-0"]);
}

fn infos(s: &mut Session) {
    let info = s.run(&stream::xinfo_stream("c"));
    assert_eq!(info.get("length").unwrap().as_i64(), Some(1));
    let full = s.run(&stream::xinfo_stream("c").full().count(1));
    assert_eq!(full.get("groups").unwrap().len(), 1);
    let groups = s.run(&stream::xinfo_groups("c"));
    assert_eq!(
        groups.iter().next().unwrap().get("name").unwrap().bytes(),
        b"g"
    );
    let consumers = s.run(&stream::xinfo_consumers("c", "g"));
    let pending = consumers
        .iter()
        .map(|consumer| consumer.get("pending").unwrap().as_i64());
    assert_eq!(pending.flatten().sum::<i64>(), 1);
    assert!(!s.run(&stream::xinfo_help()).is_empty());
    assert!(!s.run(&stream::xgroup_help()).is_empty());
    assert_eq!(s.run(&stream::xgroup_delconsumer("c", "g", "one")), 1);
    assert!(s.run(&stream::xgroup_destroy("c", "g")));
    assert!(!s.run(&stream::xgroup_destroy("c", "g")));
}
