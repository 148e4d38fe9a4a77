//! Commands as they go over the wire, written by hand from the commands' documentation; CR LF is a space.

mod modules;

use super::word::*;
use super::{
    Blocking, Command, Flags, bitmap, cluster, connection, generic, geo, hash, list, pubsub,
    scripting, sentinel, server, sorted_set, stream, string, transactions,
};
use crate::testing::text;

#[test]
fn commands_of_a_fixed_number_of_words() {
    assert_eq!(text(&connection::ping()), "*1 $4 PING");
    assert_eq!(text(&string::get("key")), "*2 $3 GET $3 key");
    assert_eq!(text(&hash::hget("h", "f")), "*3 $4 HGET $1 h $1 f");
    assert_eq!(
        text(&string::setex("k", -1, "v")),
        "*4 $5 SETEX $1 k $2 -1 $1 v"
    );
    assert_eq!(text(&list::lset("l", 0, "")), "*4 $4 LSET $1 l $1 0 $0");
    assert_eq!(text(&transactions::multi()), "*1 $5 MULTI");
    assert_eq!(text(&server::swapdb(0, 10)), "*3 $6 SWAPDB $1 0 $2 10");
    assert_eq!(
        text(&generic::scan(u64::MAX)),
        "*2 $4 SCAN $20 18446744073709551615"
    );
    assert_eq!(
        text(&sorted_set::zincrby("z", 0.25, "m")),
        "*4 $7 ZINCRBY $1 z $4 0.25 $1 m"
    );
    assert_eq!(
        text(&pubsub::publish("c", "hi")),
        "*3 $7 PUBLISH $1 c $2 hi"
    );
}

#[test]
fn names_of_two_words() {
    assert_eq!(text(&connection::client_id()), "*2 $6 CLIENT $2 ID");
    assert_eq!(
        text(&generic::object_freq("k")),
        "*3 $6 OBJECT $4 FREQ $1 k"
    );
    let no_evict = connection::client_no_evict(Switch::Off);
    assert_eq!(text(&no_evict), "*3 $6 CLIENT $8 NO-EVICT $3 OFF");
    let reports = cluster::cluster_count_failure_reports("id");
    assert_eq!(
        text(&reports),
        "*3 $7 CLUSTER $21 COUNT-FAILURE-REPORTS $2 id"
    );
    let config = server::config_set([("maxmemory", "1gb"), ("save", "")]);
    assert_eq!(
        text(&config),
        "*6 $6 CONFIG $3 SET $9 maxmemory $3 1gb $4 save $0"
    );
}

#[test]
fn options_go_in_the_order_of_the_documentation() {
    let all = string::set("k", "v").px(15).get().xx();
    assert_eq!(text(&all), "*7 $3 SET $1 k $1 v $2 XX $3 GET $2 PX $2 15");
    assert_eq!(
        text(&string::set("k", "v").keepttl()),
        "*4 $3 SET $1 k $1 v $7 KEEPTTL"
    );
    assert_eq!(
        text(&string::set("k", "v").nx().ex(1)),
        "*6 $3 SET $1 k $1 v $2 NX $2 EX $1 1"
    );
    assert_eq!(
        text(&string::getex("k").persist()),
        "*3 $5 GETEX $1 k $7 PERSIST"
    );
    assert_eq!(
        text(&string::getex("k").exat(9)),
        "*4 $5 GETEX $1 k $4 EXAT $1 9"
    );
    let restore = generic::restore("k", 0, b"\x00")
        .freq(3)
        .idletime(5)
        .replace();
    assert_eq!(
        text(&restore),
        "*9 $7 RESTORE $1 k $1 0 $1 \0 $7 REPLACE $8 IDLETIME $1 5 $4 FREQ $1 3"
    );
    let copy = generic::copy("a", "b").replace().db(2);
    assert_eq!(text(&copy), "*6 $4 COPY $1 a $1 b $2 DB $1 2 $7 REPLACE");
}

#[test]
fn of_two_choices_the_last_counts() {
    assert_eq!(
        text(&string::set("k", "v").nx().xx()),
        "*4 $3 SET $1 k $1 v $2 XX"
    );
    assert_eq!(
        text(&string::set("k", "v").ex(5).px(7)),
        "*5 $3 SET $1 k $1 v $2 PX $1 7"
    );
}

#[test]
fn sorted_sets() {
    let add = sorted_set::zadd("z", (1, "m")).ch().gt().xx();
    assert_eq!(text(&add), "*7 $4 ZADD $1 z $2 XX $2 GT $2 CH $1 1 $1 m");
    let range = sorted_set::zrange("z", "(1", "+inf")
        .byscore()
        .rev()
        .limit(0, -1)
        .withscores();
    assert_eq!(
        text(&range),
        "*10 $6 ZRANGE $1 z $2 (1 $4 +inf $7 BYSCORE $3 REV $5 LIMIT $1 0 $2 -1 $10 WITHSCORES"
    );
    let inter = sorted_set::zinter(["a", "b"])
        .weights([1.5, 2.0])
        .aggregate(Aggregate::Max);
    assert_eq!(
        text(&inter),
        "*9 $6 ZINTER $1 2 $1 a $1 b $7 WEIGHTS $3 1.5 $1 2 $9 AGGREGATE $3 MAX"
    );
    let pop = sorted_set::bzmpop(0.5, ["a", "b"], Extreme::Min).count(3);
    assert_eq!(
        text(&pop),
        "*8 $6 BZMPOP $3 0.5 $1 2 $1 a $1 b $3 MIN $5 COUNT $1 3"
    );
}

#[test]
fn lists() {
    let insert = list::linsert("l", Place::After, "p", "e");
    assert_eq!(text(&insert), "*5 $7 LINSERT $1 l $5 AFTER $1 p $1 e");
    let position = list::lpos("l", "e").maxlen(9).count(0).rank(-1);
    assert_eq!(
        text(&position),
        "*9 $4 LPOS $1 l $1 e $4 RANK $2 -1 $5 COUNT $1 0 $6 MAXLEN $1 9"
    );
    let moved = list::blmove("a", "b", Side::Left, Side::Right, 0.0);
    assert_eq!(text(&moved), "*6 $6 BLMOVE $1 a $1 b $4 LEFT $5 RIGHT $1 0");
    assert_eq!(
        text(&list::blpop(["a", "b"], 1.5)),
        "*4 $5 BLPOP $1 a $1 b $3 1.5"
    );
}

#[test]
fn streams() {
    let add = stream::xadd("s", "*", ("f", "v"))
        .trim(Trim::Maxlen, 100)
        .approximately()
        .limit(5)
        .nomkstream();
    assert_eq!(
        text(&add),
        "*11 $4 XADD $1 s $10 NOMKSTREAM $6 MAXLEN $1 ~ $3 100 $5 LIMIT $1 5 $1 * $1 f $1 v"
    );
    let read = stream::xread(["a", "b"], ["0", "$"]).block(10).count(2);
    assert_eq!(
        text(&read),
        "*10 $5 XREAD $5 COUNT $1 2 $5 BLOCK $2 10 $7 STREAMS $1 a $1 b $1 0 $1 $"
    );
    let read = stream::xreadgroup("g", "c", "s", ">").noack();
    assert_eq!(
        text(&read),
        "*8 $10 XREADGROUP $5 GROUP $1 g $1 c $5 NOACK $7 STREAMS $1 s $1 >"
    );
    let pending = stream::xpending("s", "g")
        .idle(9)
        .range("-", "+", 10)
        .consumer("c");
    assert_eq!(
        text(&pending),
        "*9 $8 XPENDING $1 s $1 g $4 IDLE $1 9 $1 - $1 + $2 10 $1 c"
    );
    let create = stream::xgroup_create("s", "g", "$")
        .mkstream()
        .entriesread(5);
    assert_eq!(
        text(&create),
        "*8 $6 XGROUP $6 CREATE $1 s $1 g $1 $ $8 MKSTREAM $11 ENTRIESREAD $1 5"
    );
}

#[test]
fn places() {
    let search = geo::geosearch("g")
        .fromlonlat(15.0, -37.5)
        .bybox(1.0, 2.0, Unit::Mi)
        .desc()
        .count(3)
        .any()
        .withdist();
    assert_eq!(
        text(&search),
        "*14 $9 GEOSEARCH $1 g $10 FROMLONLAT $2 15 $5 -37.5 $5 BYBOX $1 1 $1 2 $2 mi $4 DESC $5 COUNT $1 3 $3 ANY \
         $8 WITHDIST"
    );
    let radius = geo::georadiusbymember("g", "m", 5.0, Unit::Ft).store("t");
    assert_eq!(
        text(&radius),
        "*7 $17 GEORADIUSBYMEMBER $1 g $1 m $1 5 $2 ft $5 STORE $1 t"
    );
}

#[test]
fn what_can_be_said_several_times() {
    let fields = bitmap::bitfield("b")
        .overflow(Overflow::Sat)
        .incrby("u2", "#1", 1)
        .get("i8", 0);
    assert_eq!(
        text(&fields),
        "*11 $8 BITFIELD $1 b $8 OVERFLOW $3 SAT $6 INCRBY $2 u2 $2 #1 $1 1 $3 GET $2 i8 $1 0"
    );
    let sort = generic::sort("l")
        .by("w_*")
        .get("#")
        .get("d_*")
        .limit(0, 5)
        .alpha();
    assert_eq!(
        text(&sort),
        "*12 $4 SORT $1 l $2 BY $3 w_* $5 LIMIT $1 0 $1 5 $3 GET $1 # $3 GET $3 d_* $5 ALPHA"
    );
    let kill = connection::client_kill().id(7).user("u").skipme(Answer::No);
    assert_eq!(
        text(&kill),
        "*8 $6 CLIENT $4 KILL $2 ID $1 7 $4 USER $1 u $6 SKIPME $2 NO"
    );
    let load = server::module_loadex("m.so")
        .config("a", "1")
        .config("b", "2")
        .args(["x", "y"]);
    assert_eq!(
        text(&load),
        "*12 $6 MODULE $6 LOADEX $4 m.so $6 CONFIG $1 a $1 1 $6 CONFIG $1 b $1 2 $4 ARGS $1 x $1 y"
    );
    let tracking = connection::client_tracking(Switch::On)
        .prefix("a:")
        .prefix("b:")
        .bcast();
    assert_eq!(
        text(&tracking),
        "*8 $6 CLIENT $8 TRACKING $2 ON $6 PREFIX $2 a: $6 PREFIX $2 b: $5 BCAST"
    );
}

#[test]
fn what_looks_after_servers() {
    let hello = connection::hello().protover(3).auth("u", "p").setname("n");
    assert_eq!(
        text(&hello),
        "*7 $5 HELLO $1 3 $4 AUTH $1 u $1 p $7 SETNAME $1 n"
    );
    assert_eq!(text(&connection::auth("p")), "*2 $4 AUTH $1 p");
    assert_eq!(
        text(&connection::auth("p").username("u")),
        "*3 $4 AUTH $1 u $1 p"
    );
    let migrate = generic::migrate("h", 1, "", 0, 50)
        .replace()
        .auth2("u", "p")
        .keys(["a", "b"]);
    assert_eq!(
        text(&migrate),
        "*13 $7 MIGRATE $1 h $1 1 $0  $1 0 $2 50 $7 REPLACE $5 AUTH2 $1 u $1 p $4 KEYS $1 a $1 b"
    );
    let failover = server::failover().to("h", 1).force().timeout(9);
    assert_eq!(
        text(&failover),
        "*7 $8 FAILOVER $2 TO $1 h $1 1 $5 FORCE $7 TIMEOUT $1 9"
    );
    assert_eq!(
        text(&server::shutdown().nosave().now()),
        "*3 $8 SHUTDOWN $6 NOSAVE $3 NOW"
    );
    assert_eq!(text(&server::shutdown().abort()), "*2 $8 SHUTDOWN $5 ABORT");
    assert_eq!(
        text(&server::replicaof("NO", "ONE")),
        "*3 $9 REPLICAOF $2 NO $3 ONE"
    );
    let list = server::command_list().aclcat("geo");
    assert_eq!(
        text(&list),
        "*5 $7 COMMAND $4 LIST $8 FILTERBY $6 ACLCAT $3 geo"
    );
    let slot = cluster::cluster_setslot(5).node("id").timeout(9);
    assert_eq!(
        text(&slot),
        "*7 $7 CLUSTER $7 SETSLOT $1 5 $4 NODE $2 id $7 TIMEOUT $1 9"
    );
    let statistics = cluster::cluster_slot_stats()
        .orderby("key-count")
        .limit(3)
        .desc();
    assert_eq!(
        text(&statistics),
        "*7 $7 CLUSTER $10 SLOT-STATS $7 ORDERBY $9 key-count $5 LIMIT $1 3 $4 DESC"
    );
    let slots = cluster::cluster_addslotsrange([(0, 5), (10, 15)]);
    assert_eq!(
        text(&slots),
        "*6 $7 CLUSTER $13 ADDSLOTSRANGE $1 0 $1 5 $2 10 $2 15"
    );
    let info = connection::client_setinfo().lib_name("onecopy");
    assert_eq!(
        text(&info),
        "*4 $6 CLIENT $7 SETINFO $8 lib-name $7 onecopy"
    );
    let config = sentinel::sentinel_config("GET", ["a", "b"]);
    assert_eq!(text(&config), "*5 $8 SENTINEL $6 CONFIG $3 GET $1 a $1 b");
}

#[test]
fn scripts_count_their_keys() {
    assert_eq!(
        text(&scripting::eval("return 1")),
        "*3 $4 EVAL $8 return 1 $1 0"
    );
    let sha = scripting::evalsha("abc").keys(["k", "l"]).args([1, 2, 3]);
    assert_eq!(
        text(&sha),
        "*8 $7 EVALSHA $3 abc $1 2 $1 k $1 l $1 1 $1 2 $1 3"
    );
}

#[test]
fn more_than_nine_words_have_a_longer_count() {
    let keys: Vec<String> = (0..100).map(|n| format!("{n:02}")).collect();
    let text = text(&generic::del(&keys));
    assert!(text.starts_with("*101 $3 DEL $2 00 $2 01 "), "{text}");
    assert!(text.ends_with(" $2 99"), "{text}");
}

#[test]
fn whether_a_typed_command_blocks_hangs_on_its_arguments() {
    assert_eq!(stream::xread("s", "$").blocking(), Blocking::No);
    assert!(!stream::xread("s", "$").flags().contains(Flags::BLOCKING));
    assert_eq!(
        stream::xread("s", "$").block(0).blocking(),
        Blocking::Forever
    );
    assert!(
        stream::xread("s", "$")
            .block(0)
            .flags()
            .contains(Flags::BLOCKING)
    );
    assert_eq!(list::blpop("l", 0.0).blocking(), Blocking::Forever);
    assert!(list::blpop("l", 0.5).flags().contains(Flags::BLOCKING));
    assert_eq!(generic::wait(1, 0).blocking(), Blocking::Forever);
    assert_eq!(list::lpop("l").blocking(), Blocking::No);
}

#[test]
fn keys_are_shown_wherever_they_are() {
    assert_eq!(keys(&string::set(17, "v")), ["17"]);
    assert_eq!(
        keys(&scripting::eval("s").keys(["a", "b"]).args("c")),
        ["a", "b"]
    );
    assert_eq!(keys(&generic::sort("l").by("w_*").store("d")), ["l", "d"]);
    let radius = geo::georadiusbymember("g", "m", 1.0, Unit::M);
    assert_eq!(keys(&radius.storedist("d")), ["g", "d"]);
    assert_eq!(keys(&stream::xread(["a", "b"], ["0", "0"])), ["a", "b"]);
    assert_eq!(keys(&connection::ping().message("m")), [""; 0]);
}

fn keys(command: &impl Command) -> Vec<String> {
    let mut keys = Vec::new();
    command.each_key(&mut |key| keys.push(String::from_utf8(key.to_vec()).unwrap()));
    keys
}

#[test]
fn debug_shows_no_key_and_no_password() {
    let shown = format!(
        "{:?} {:?}",
        connection::auth("secret").username("me"),
        string::mset([("secret", "me")])
    );
    assert!(
        !shown.contains("secret") && !shown.contains("me\""),
        "{shown}"
    );
}
