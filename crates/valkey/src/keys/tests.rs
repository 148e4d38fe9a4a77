use super::{Words, each};

struct Text<'t>(Vec<&'t str>);

impl Words for Text<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn show(&self, position: usize, visit: &mut dyn FnMut(&[u8])) {
        if let Some(word) = self.0.get(position) {
            visit(word.as_bytes());
        }
    }
}

fn keys(command: &str) -> String {
    let words = Text(command.split(' ').collect());
    let mut keys = Vec::new();
    each(&words, &mut |key| {
        keys.push(String::from_utf8(key.to_vec()).unwrap())
    });
    keys.join(" ")
}

/// As `COMMAND GETKEYS` of Redis 7.0 gives them; the test of the same list against a server is in `tests/cluster`.
#[test]
fn keys_are_found_at_their_positions() {
    for (command, expected) in [
        ("get a", "a"),
        ("SET a b EX 1", "a"),
        ("MGET a b c", "a b c"),
        ("MSET a 1 b 2", "a b"),
        ("DEL a b", "a b"),
        ("BLPOP a b 0", "a b"),
        ("BITOP AND d a b", "d a b"),
        ("COPY a b DB 1", "a b"),
        ("LMOVE a b LEFT RIGHT", "a b"),
        ("EVAL return 2 a b c", "a b"),
        ("EVALSHA 0 0 c", ""),
        ("FCALL f 1 a b", "a"),
        ("ZUNIONSTORE d 2 a b WEIGHTS 1 2", "d a b"),
        ("ZINTER 2 a b WITHSCORES", "a b"),
        ("LMPOP 1 a LEFT", "a"),
        ("BZMPOP 0 2 a b MIN", "a b"),
        ("XREAD COUNT 2 STREAMS a b 0 0", "a b"),
        ("XREADGROUP GROUP streams1 c STREAMS a >", "a"),
        ("SORT a BY w LIMIT 0 1 STORE d", "a d"),
        ("SORT a", "a"),
        ("GEORADIUS a 1 2 3 m STORE d", "a d"),
        ("GEORADIUSBYMEMBER a m 3 m STOREDIST d", "a d"),
        ("GEORADIUS_RO a 1 2 3 m", "a"),
        ("MIGRATE h 1 a 0 10", "a"),
        ("MIGRATE h 1 b 0 10 KEYS b c", "b"),
        ("OBJECT ENCODING a", "a"),
        ("MEMORY USAGE a", "a"),
        ("XGROUP CREATE a g $", "a"),
        ("XINFO STREAM a", "a"),
        ("SPUBLISH c m", "c"),
        ("PUBLISH c m", ""),
        ("PING", ""),
        ("INFO server", ""),
        ("CONFIG GET a", ""),
        ("CLIENT x", ""),
        ("BF.ADD a b", "a"),
        ("JSON.SET a $ 1 NX", "a"),
        ("JSON.GET a $.x $.y", "a"),
        ("JSON.MGET a b $.x", "a b"),
        ("json.mget a $", "a"),
        ("JSON.MSET a $ 1 b $.x 2", "a b"),
        ("JSON.DEBUG MEMORY a $", "a"),
        ("JSON.DEBUG HELP", ""),
        ("VADD a VALUES 1 0.5 e", "a"),
        ("VSIM a ELE e COUNT 3", "a"),
    ] {
        assert_eq!(keys(command), expected, "{command}");
    }
}

#[test]
fn broken_commands_have_the_keys_that_are_there() {
    for (command, expected) in [
        ("GET", ""),
        ("EVAL return", ""),
        ("EVAL return x a", ""),
        ("EVAL return -1 a", ""),
        ("EVAL return 18446744073709551615 a b", "a b"),
        ("XREAD STREAMS", ""),
        ("XREAD COUNT 1", ""),
        ("XREAD STREAMS a b c", "a"),
        ("BLPOP", ""),
        ("SORT", ""),
        ("SORT a STORE", "a"),
        ("MIGRATE", ""),
        ("BITOP", ""),
        ("OBJECT", ""),
        ("", ""),
    ] {
        assert_eq!(keys(command), expected, "{command}");
    }
}
