use super::{KNOWN, Large};
use crate::command::{Command, raw, string};

fn knows<C: Command>(large: &Large, command: &C) -> bool {
    large.knows(command, command.flags())
}

#[test]
fn a_command_is_known_by_its_name_and_its_first_key() {
    let large = Large::new(100);
    assert!(large.is_large(100) && !large.is_large(99));
    large.remember(&string::get("key"));
    assert!(knows(&large, &string::get(String::from("key"))));
    assert!(!knows(&large, &string::get("other")));
    assert!(!knows(&large, &string::strlen("key")));
    large.remember(&raw("lrange").arg("key").arg(0).arg(-1));
    assert!(knows(&large, &raw("LRANGE").arg("key").arg(0).arg(9)));
    assert!(!knows(&large, &raw("LRANGE").arg("ke").arg("y").arg(9)));
    large.remember(&raw("MEMORY").arg("usage").arg("key"));
    assert!(knows(&large, &raw("memory").arg("USAGE").arg("key")));
    assert!(!knows(&large, &raw("MEMORY").arg("USAGE").arg("other")));
    large.forget(&string::get("key"));
    assert!(!knows(&large, &string::get("key")));
}

#[test]
fn what_writes_or_is_not_known_is_never_remembered() {
    let large = Large::new(100);
    large.remember(&string::getdel("key"));
    large.remember(&string::getex("key"));
    large.remember(&string::set("key", "value").get());
    large.remember(&raw("GETEX").arg("key"));
    large.remember(&raw("SOME.MODULE").arg("key"));
    assert!(large.lock().is_empty());
    assert!(!knows(&large, &raw("GETEX").arg("key")));
}

#[test]
fn the_oldest_is_forgotten_where_there_are_too_many() {
    let large = Large::new(100);
    for number in 0..KNOWN {
        large.remember(&string::get(number.to_string()));
    }
    // Seen again: it is not the oldest any more.
    large.remember(&string::get("0"));
    for number in KNOWN..KNOWN + 10 {
        large.remember(&string::get(number.to_string()));
        assert_eq!(large.lock().len(), KNOWN);
    }
    let is_known = |number: usize| knows(&large, &string::get(number.to_string()));
    assert!(is_known(0) && is_known(11) && is_known(KNOWN + 9));
    assert!(!is_known(1) && !is_known(10));
    for number in 0..KNOWN + 10 {
        large.forget(&string::get(number.to_string()));
    }
    assert!(!large.is_any.load(std::sync::atomic::Ordering::Relaxed));
}
