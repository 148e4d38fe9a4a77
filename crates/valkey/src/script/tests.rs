use super::*;
use crate::testing::{text, with_reply};

#[test]
fn a_digest_is_that_of_sha1sum() {
    // printf 'return 1' | sha1sum
    let script = Script::new("return 1");
    assert_eq!(script.sha1(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    // The digest of nothing, from FIPS 180.
    let empty = Script::new("");
    assert_eq!(empty.sha1(), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

#[test]
fn a_call_has_keys_before_arguments() {
    let script = Script::new("return 1");
    let call = script.call().keys(["a", "b"]).args(7);
    let digest = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    assert_eq!(
        text(&call),
        format!("*6 $7 EVALSHA $40 {digest} $1 2 $1 a $1 b $1 7")
    );
    assert_eq!(
        text(&call.with_code()),
        "*6 $4 EVAL $8 return 1 $1 2 $1 a $1 b $1 7"
    );
    let call = script.call().read_only();
    assert_eq!(text(&call), format!("*3 $10 EVALSHA_RO $40 {digest} $1 0"));
    assert_eq!(text(&call.with_code()), "*3 $7 EVAL_RO $8 return 1 $1 0");
    assert_eq!(text(&call.load()), "*3 $6 SCRIPT $4 LOAD $8 return 1");
    let mut keys = Vec::new();
    let call = script.call().keys(["a", "b"]);
    call.with_code()
        .each_key(&mut |key| keys.push(key.to_vec()));
    assert_eq!(keys, [b"a", b"b"]);
}

#[test]
fn the_code_is_sent_with_the_first_call_of_each_script() {
    let (one, two) = (Script::new("return 1"), Script::new("return 2"));
    let mut sent = Sent::none();
    for script in [&one, &two] {
        assert!(sent.is_first(&script.call()));
        sent.add(&script.call());
        assert!(!sent.is_first(&script.call().keys("k")));
    }
}

#[test]
fn a_library_is_named_in_its_first_line() {
    for (code, name) in [
        ("#!lua name=lib\nreturn", Some("lib")),
        ("#!lua  engine=x name=lib", Some("lib")),
        ("#!lua\nname=lib", None),
        ("lua name=lib\n", None),
        ("#!lua name=\n", None),
        ("", None),
        ("#!\u{FFFD} name=\u{e9}\r\n", Some("\u{e9}")),
    ] {
        let library = Library::new(code);
        assert_eq!(library.as_ref().ok().map(Library::name), name, "{code:?}");
        assert_eq!(name_of(code.as_bytes()), name);
    }
    assert_eq!(name_of(b"#!lua name=\xff\n"), None);
}

#[test]
fn a_library_is_there_if_name_and_code_are_the_same() {
    let library = Library::new("#!lua name=a\n").unwrap();
    let reply = |name: &str, code: &str| {
        format!(
            "*1\r\n%2\r\n+library_name\r\n+{name}\r\n+library_code\r\n${}\r\n{code}\r\n",
            code.len()
        )
    };
    let is_in = |bytes: &str| with_reply(bytes.as_bytes(), |reply| library.is_in(reply));
    assert!(is_in(&reply("a", "#!lua name=a\n")));
    assert!(!is_in(&reply("b", "#!lua name=a\n")));
    assert!(!is_in(&reply("a", "#!lua name=a\nmore")));
    for odd in [
        "*0\r\n",
        "_\r\n",
        "+x\r\n",
        "*1\r\n*1\r\n+library_name\r\n",
        "*1\r\n:1\r\n",
    ] {
        assert!(!is_in(odd), "{odd:?}");
    }
}
