//! The server itself, as far as it does not end by it.

use onecopy_valkey::command::word::CommandLog;
use onecopy_valkey::command::{server, string};

use super::session::{Session, text, texts};

pub(crate) fn run(s: &mut Session) {
    assert_eq!(s.run(&server::dbsize()), 0);
    assert!(text(s.run(&server::info().sections(["server", "memory"]))).contains("used_memory"));
    let (seconds, microseconds) = s.run(&server::time());
    assert!(seconds > 1_700_000_000 && microseconds < 1_000_000);
    assert!(s.run(&server::lastsave()) > 1_700_000_000);
    assert_eq!(
        s.run(&server::role()).children().next().unwrap().bytes(),
        b"master"
    );
    assert!(!s.run(&server::lolwut().version(5)).is_empty());
    s.run(&server::swapdb(0, 1));
    s.run(&server::flushdb().sync());
    s.run(&server::flushall().async_());
    configuration(s);
    commands(s);
    users(s);
    watching(s);
}

fn configuration(s: &mut Session) {
    s.run(&server::config_set([
        ("maxmemory-samples", 7),
        ("slowlog-max-len", 100),
    ]));
    let found = s.run(&server::config_get(["maxmemory-samples", "slowlog-max*"]));
    assert_eq!(found.get("maxmemory-samples"), Some(&b"7"[..]));
    assert_eq!(found.get("slowlog-max-len"), Some(&b"100"[..]));
    s.run(&server::config_resetstat());
    assert!(!s.run(&server::config_help()).is_empty());
}

fn commands(s: &mut Session) {
    assert!(s.run(&server::command_count()) > 200);
    assert_eq!(
        texts(s.run(&server::command_getkeys("SET", ["a", "b"]))),
        ["a"]
    );
    assert_eq!(
        s.run(&server::command_getkeysandflags("SET", ["a", "b"]))
            .len(),
        1
    );
    assert_eq!(
        texts(s.run(&server::command_list().pattern("getra*"))),
        ["getrange"]
    );
    assert_eq!(
        s.run(&server::command_info().command_names(["get", "nothing"]))
            .len(),
        2
    );
    let docs = s.run(&server::command_docs().command_names("get"));
    assert!(docs.get("get").is_some());
    assert!(!s.run(&server::command_help()).is_empty());
}

fn users(s: &mut Session) {
    s.run(&server::acl_setuser(
        "someone",
        ["on", ">secret", "~*", "+get"],
    ));
    assert_eq!(s.run(&server::acl_whoami()), b"default");
    assert!(texts(s.run(&server::acl_users())).contains(&"someone".to_owned()));
    assert!(s.run(&server::acl_list()).len() >= 2);
    assert!(s.run(&server::acl_getuser("someone")).is_some());
    assert_eq!(s.run(&server::acl_dryrun("someone", "GET", "k")), b"OK");
    assert!(texts(s.run(&server::acl_cat())).contains(&"geo".to_owned()));
    assert!(texts(s.run(&server::acl_cat().category("geo"))).contains(&"geoadd".to_owned()));
    assert_eq!(s.run(&server::acl_genpass().bits(32)).len(), 8);
    s.run(&server::acl_log().count("RESET"));
    s.run(&server::acl_log().count(1));
    assert_eq!(s.run(&server::acl_deluser("someone")), 1);
    assert!(!s.run(&server::acl_help()).is_empty());
}

fn watching(s: &mut Session) {
    s.run(&string::set("k", "v"));
    assert!(s.run(&server::memory_usage("k").samples(5)).is_some());
    assert_eq!(s.run(&server::memory_usage("nothing")), None);
    assert!(
        s.run(&server::memory_stats())
            .get("peak.allocated")
            .is_some()
    );
    s.run(&server::memory_doctor());
    s.run(&server::memory_purge());
    assert!(!s.run(&server::memory_malloc_stats()).is_empty());
    assert!(!s.run(&server::memory_help()).is_empty());
    // On a busy machine any command is slow: none is to be noted.
    s.run(&server::config_set([("slowlog-log-slower-than", -1)]));
    s.run(&server::slowlog_reset());
    assert_eq!(s.run(&server::slowlog_get().count(5)).len(), 0);
    assert_eq!(s.run(&server::slowlog_len()), 0);
    assert!(!s.run(&server::slowlog_help()).is_empty());
    if s.has("COMMANDLOG LEN") {
        command_log(s);
    }
    assert!(!s.run(&server::latency_doctor()).is_empty());
    assert!(s.run(&server::latency_latest()).is_empty());
    assert!(s.run(&server::latency_history("command")).is_empty());
    assert!(
        s.run(&server::latency_histogram().commands("set"))
            .get("set")
            .is_some()
    );
    assert_eq!(s.run(&server::latency_reset()), 0);
    assert!(!s.run(&server::latency_help()).is_empty());
    // Some servers come with modules.
    s.run(&server::module_list());
    assert!(!s.run(&server::module_help()).is_empty());
}

fn command_log(s: &mut Session) {
    s.run(&server::config_set([(
        "commandlog-reply-larger-than",
        1000,
    )]));
    s.run(&string::set("long", "x".repeat(2000)));
    s.run(&string::get("long"));
    assert_eq!(s.run(&server::commandlog_len(CommandLog::LargeReply)), 1);
    assert_eq!(s.run(&server::commandlog_len(CommandLog::Slow)), 0);
    let entries = s.run(&server::commandlog_get(5, CommandLog::LargeReply));
    let entry = entries.iter().next().unwrap();
    let words = entry.children().nth(3).unwrap();
    let words: Vec<_> = words
        .children()
        .map(|word| word.as_str().unwrap().to_owned())
        .collect();
    assert_eq!(words, ["GET", "long"]);
    s.run(&server::config_set([("commandlog-reply-larger-than", -1)]));
    for log in [
        CommandLog::LargeReply,
        CommandLog::LargeRequest,
        CommandLog::Slow,
    ] {
        s.run(&server::commandlog_reset(log));
        assert_eq!(s.run(&server::commandlog_len(log)), 0);
    }
    assert!(!s.run(&server::commandlog_help()).is_empty());
}
