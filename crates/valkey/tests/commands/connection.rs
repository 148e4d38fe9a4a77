//! Connections, transactions and channels.

use onecopy_valkey::command::word::{Answer, ClientKillType, ClientType, Switch};
use onecopy_valkey::command::{connection, pubsub, server, string, transactions};

use super::session::{Session, text, texts};

pub(crate) fn run(s: &mut Session) {
    assert_eq!(s.run(&connection::ping()), b"PONG");
    assert_eq!(s.run(&connection::ping().message("hello")), b"hello");
    assert_eq!(s.run(&connection::echo("hello")), b"hello");
    s.run(&connection::select(1));
    s.run(&connection::select(0));
    s.run(&connection::auth("any").username("default"));
    clients(s);
    transaction(s);
    channels(s);
}

fn clients(s: &mut Session) {
    s.run(&connection::client_setname("shop"));
    assert_eq!(s.run(&connection::client_getname()), Some(&b"shop"[..]));
    let id = s.run(&connection::client_id());
    assert!(text(s.run(&connection::client_info())).contains("name=shop"));
    let listed = text(s.run(&connection::client_list().id([id])));
    assert!(listed.starts_with(&format!("id={id} ")), "{listed}");
    let normal = connection::client_list().type_(ClientType::Normal);
    assert!(text(s.run(&normal)).contains("name=shop"));
    assert_eq!(s.run(&connection::client_getredir()), -1);
    s.run(&connection::client_no_evict(Switch::On));
    s.run(&connection::client_no_evict(Switch::Off));
    if s.has("CLIENT NO-TOUCH") {
        s.run(&connection::client_no_touch(Switch::Off));
        s.run(&connection::client_setinfo().lib_name("onecopy"));
        s.run(&connection::client_setinfo().lib_ver("1"));
    }
    filtered(s, id);
    if s.has("CLIENT IMPORT-SOURCE") {
        s.run(&server::config_set([("import-mode", "yes")]));
        s.run(&connection::client_import_source(Switch::On));
        s.run(&connection::client_import_source(Switch::Off));
        s.run(&server::config_set([("import-mode", "no")]));
    }
    s.run(&connection::client_pause(1).write());
    s.run(&connection::client_unpause());
    assert!(!s.run(&connection::client_unblock(id).error()));
    assert!(!s.run(&connection::client_help()).is_empty());
    let tracking = s.run(&connection::client_trackinginfo());
    assert_eq!(tracking.get("redirect").unwrap().as_i64(), Some(-1));
    let mut other = s.another();
    let other_id = other.run(&connection::client_id()).unwrap();
    let kill = connection::client_kill()
        .id(other_id)
        .type_(ClientKillType::Normal)
        .skipme(Answer::Yes);
    assert_eq!(s.run(&kill).as_i64(), Some(1));
    assert!(other.run(&connection::ping()).unwrap_err().is_closed());
}

/// The filters came with COMMANDLOG, in 8.1.
fn filtered(s: &mut Session, id: i64) {
    if !s.has("COMMANDLOG LEN") {
        return;
    }
    let all = text(s.run(&connection::client_list().id([id]))).to_owned();
    let field = |name: &str| {
        let start = all.find(name).unwrap() + name.len();
        all[start..].split(' ').next().unwrap().to_owned()
    };
    let (address, own_address) = (field(" addr="), field(" laddr="));
    let mine = connection::client_list()
        .user("default")
        .addr(address)
        .laddr(own_address)
        .skipme(Answer::No);
    assert!(text(s.run(&mine)).contains("name=shop"));
    for none in [
        connection::client_list().addr("127.0.0.1:1"),
        connection::client_list().maxage(1_000_000),
        connection::client_list().id([id]).skipme(Answer::Yes),
    ] {
        assert!(!text(s.run(&none)).contains("name=shop"), "{none:?}");
    }
}

fn transaction(s: &mut Session) {
    s.run(&transactions::watch(["t", "u"]));
    s.run(&transactions::unwatch());
    s.run(&transactions::multi());
    s.run(&transactions::discard());
    s.run(&transactions::multi());
    let empty = s.run(&transactions::exec()).unwrap();
    assert!(empty.is_empty());
    s.run(&transactions::watch("t"));
    s.another().run(&string::set("t", 1)).unwrap();
    s.run(&transactions::multi());
    assert!(
        s.run(&transactions::exec()).is_none(),
        "another has set what was watched"
    );
}

fn channels(s: &mut Session) {
    assert_eq!(s.run(&pubsub::publish("c", "hello")), 0);
    assert_eq!(s.run(&pubsub::spublish("c", "hello")), 0);
    assert!(texts(s.run(&pubsub::pubsub_channels().pattern("*"))).is_empty());
    assert!(texts(s.run(&pubsub::pubsub_shardchannels())).is_empty());
    assert_eq!(s.run(&pubsub::pubsub_numpat()), 0);
    assert_eq!(s.run(&pubsub::pubsub_numsub(["a", "b"])).get("b"), Some(0));
    assert_eq!(s.run(&pubsub::pubsub_shardnumsub("a")).get("a"), Some(0));
    assert!(!s.run(&pubsub::pubsub_help()).is_empty());
}
