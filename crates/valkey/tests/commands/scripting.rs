use onecopy_valkey::command::scripting as script;

use super::session::{Session, texts};

const LIBRARY: &str = "#!lua name=lib\n\
    redis.register_function{function_name='give', callback=function(keys, args) return args[1] end, flags={'no-writes'}}";

pub(crate) fn run(s: &mut Session) {
    let both = "return {KEYS[1], ARGV[1], ARGV[2]}";
    let reply = s.run(&script::eval(both).keys("k").args(["a", "b"]));
    let words: Vec<_> = reply.children().map(|word| word.bytes()).collect();
    assert_eq!(words, [b"k", b"a", b"b"]);
    assert_eq!(s.run(&script::eval_ro("return 17")).as_i64(), Some(17));
    let sha = s.run(&script::script_load("return ARGV[1]")).to_vec();
    assert_eq!(s.run(&script::evalsha(&sha).args("x")).bytes(), b"x");
    assert_eq!(
        s.run(&script::evalsha_ro(&sha).keys(["k", "l"]).args(5))
            .bytes(),
        b"5"
    );
    let known = s.run(&script::script_exists([sha.as_slice(), b"0000"]));
    assert_eq!(known.iter().collect::<Vec<_>>(), [true, false]);
    if s.has("SCRIPT SHOW") {
        assert_eq!(s.run(&script::script_show(&sha)), b"return ARGV[1]");
    }
    s.run(&script::script_flush().sync());
    s.run(&script::script_flush().async_());
    assert!(!s.run(&script::script_help()).is_empty());
    functions(s);
}

fn functions(s: &mut Session) {
    assert_eq!(s.run(&script::function_load(LIBRARY)), b"lib");
    assert_eq!(s.run(&script::function_load(LIBRARY).replace()), b"lib");
    assert_eq!(s.run(&script::fcall("give").args("x")).bytes(), b"x");
    assert_eq!(
        s.run(&script::fcall_ro("give").keys("k").args("y")).bytes(),
        b"y"
    );
    let list = s.run(&script::function_list().libraryname("l*").withcode());
    let library = list.iter().next().unwrap();
    assert_eq!(library.get("library_name").unwrap().bytes(), b"lib");
    assert_eq!(
        library.get("library_code").unwrap().bytes(),
        LIBRARY.as_bytes()
    );
    let stats = s.run(&script::function_stats());
    assert!(stats.get("running_script").unwrap().is_null());
    let dumped = s.run(&script::function_dump()).to_vec();
    s.run(&script::function_flush().sync());
    s.run(&script::function_restore(dumped).append());
    s.run(&script::function_delete("lib"));
    assert!(s.run(&script::function_list()).is_empty());
    assert!(texts(s.run(&script::function_help())).len() > 3);
}
