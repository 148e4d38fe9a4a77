//! `--scan`, `--bigkeys`, `--memkeys` and `--hotkeys`, on a server of their own.

use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use onecopy_testkit::valkey::Server;
use serde_json::Value;

use crate::terminal::Terminal;
use crate::{onecopy, stderr};

/// Keys that hold strings: many pages of any COUNT here.
const STRINGS: usize = 2_000;

fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let server = Server::start().unwrap();
        let mut lines = String::new();
        for number in 0..STRINGS {
            lines += &format!(
                "SET keys:string:{number} \"{}\"\n",
                "x".repeat(number % 100)
            );
        }
        lines += "SET keys:string:large ";
        lines += &"x".repeat(5_000);
        lines += "\nRPUSH keys:list a b c\nRPUSH keys:other a\nSADD keys:set a b\nZADD keys:zset 1 a 2 b 3 c 4 d\n";
        lines += "HSET keys:hash a 1 b 2 c 3 d 4 e 5\nXADD keys:stream * a 1\n";
        lines += "SET \"keys:odd \\x1b[1m\\n\\xff\" 1\n";
        let loaded = with_input(&server, &["--pipe"], lines.as_bytes());
        assert_eq!(loaded.status.code(), Some(0), "{}", stderr(&loaded));
        server
    })
}

fn with_input(server: &Server, arguments: &[&str], input: &[u8]) -> Output {
    use std::io::Write;
    let mut child = onecopy()
        .arg(server.socket_url())
        .args(arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn run(arguments: &[&str]) -> Output {
    let output = onecopy()
        .arg(server().socket_url())
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(0), ""),
        "{arguments:?}"
    );
    output
}

fn text(arguments: &[&str]) -> String {
    String::from_utf8(run(arguments).stdout).unwrap()
}

#[test]
fn every_key_is_listed_once_and_as_its_bytes() {
    for count in ["1", "7", "100000"] {
        let listed = run(&["--scan", "--count", count]).stdout;
        let mut keys: Vec<&[u8]> = listed.split(|&byte| byte == b'\n').collect();
        assert_eq!(keys.pop(), Some(&b""[..]));
        // The odd one has a line feed, and is two.
        assert_eq!(keys.len(), STRINGS + 9);
        assert!(keys.contains(&&b"keys:odd \x1b[1m"[..]) && keys.contains(&&b"\xff"[..]));
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), STRINGS + 9);
    }
}

#[test]
fn patterns_and_types_choose_keys_and_formats_keep_them_apart() {
    let hashes = text(&["--scan", "--type", "hash"]);
    assert_eq!(hashes, "keys:hash\n");
    assert_eq!(
        text(&["--scan", "--match", "keys:string:100*"])
            .lines()
            .count(),
        11
    );
    // redis-cli's name of the option.
    assert_eq!(text(&["--scan", "--pattern", "keys:s?t"]), "keys:set\n");
    let odd = ["--scan", "--match", "keys:odd*"];
    let of = |format: &str| text(&[&odd[..], &["-f", format]].concat());
    assert_eq!(of("readable"), "\"keys:odd \\x1b[1m\\n\\xff\"\n");
    assert_eq!(of("json"), "{\"base64\":\"a2V5czpvZGQgG1sxbQr/\"}\n");
    let csv = run(&[&odd[..], &["--csv"]].concat()).stdout;
    assert_eq!(csv, b"\"keys:odd \x1b[1m\n\xff\"\r\n");
}

#[test]
fn keys_are_printed_safely_on_a_terminal() {
    let mut terminal = Terminal::start(onecopy().arg(server().socket_url()).args([
        "--scan",
        "--match",
        "keys:odd*",
    ]));
    terminal.shows("\"keys:odd \\x1b[1m\\n\\xff\"\r\n");
    terminal.ends();
}

#[test]
fn the_largest_keys_of_each_type_are_found() {
    let found: Value = serde_json::from_str(&text(&["--bigkeys", "--top", "2", "--json"])).unwrap();
    assert_eq!(found["complete"], true);
    assert_eq!(found["keys"], STRINGS + 8);
    let of = |kind: &str| {
        let types = found["types"].as_array().unwrap();
        types.iter().find(|found| found["type"] == kind).unwrap()
    };
    assert_eq!(of("string")["keys"], STRINGS + 2);
    // 20 times 0 to 99, and the other two.
    assert_eq!(of("string")["total"], 20 * 4_950 + 5_000 + 1);
    assert_eq!(of("string")["unit"], "bytes");
    assert_eq!(of("string")["largest"][0]["key"], "keys:string:large");
    assert_eq!(of("string")["largest"][0]["size"], 5_000);
    assert_eq!(of("string")["largest"][1]["size"], 99);
    assert_eq!(of("string")["largest"].as_array().unwrap().len(), 2);
    assert_eq!(of("list")["keys"], 2);
    for (kind, key, size, unit) in [
        ("list", "keys:list", 3, "items"),
        ("set", "keys:set", 2, "members"),
        ("zset", "keys:zset", 4, "members"),
        ("hash", "keys:hash", 5, "fields"),
        ("stream", "keys:stream", 1, "entries"),
    ] {
        let found = of(kind);
        assert_eq!(found["largest"][0]["key"], key);
        assert_eq!(
            (&found["largest"][0]["size"], &found["unit"]),
            (&size.into(), &unit.into())
        );
    }
    // The first type is the one with the most keys.
    assert_eq!(found["types"][0]["type"], "string");
}

#[test]
fn the_report_is_readable_and_its_keys_are_escaped() {
    let report = text(&["--bigkeys", "--match", "keys:[lo]*"]);
    let lines: Vec<&str> = report.lines().collect();
    assert!(lines[0].starts_with("3 keys in "), "{report}");
    assert!(
        report.contains("list                2   66.7 %                   4 items           2.0\n"),
        "{report}"
    );
    assert!(
        report.contains(
            "\nlist, most items first\n  3 items  \"keys:list\"\n  1 items  \"keys:other\"\n"
        ),
        "{report}"
    );
    assert!(
        report.contains("  1 bytes  \"keys:odd \\x1b[1m\\n\\xff\"\n"),
        "{report}"
    );
    let csv = text(&["--bigkeys", "--type", "zset", "--csv"]);
    assert_eq!(csv, "type,size,unit,key\r\nzset,4,members,keys:zset\r\n");
    let none = text(&["--bigkeys", "--match", "keys:none"]);
    assert!(
        none.starts_with("0 keys in ") && none.lines().count() == 1,
        "{none}"
    );
}

#[test]
fn the_keys_with_the_most_memory_are_found() {
    let found = text(&["--memkeys", "--top", "1", "--samples", "0", "--json"]);
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["keys"], STRINGS + 8);
    let strings = &found["types"][0];
    assert_eq!(strings["largest"][0]["key"], "keys:string:large");
    assert!(strings["largest"][0]["size"].as_u64().unwrap() > 5_000);
    assert_eq!(strings["unit"], "bytes");
    assert!(strings["total"].as_u64().unwrap() > 100_000);
}

/// A server that counts how often keys are used, with a key that is used all the time.
fn hot() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let server = Server::start().unwrap();
        server
            .ask("CONFIG SET maxmemory-policy allkeys-lfu")
            .unwrap();
        // Every access counts, and nothing is forgotten meanwhile.
        server.ask("CONFIG SET lfu-log-factor 0").unwrap();
        server.ask("CONFIG SET lfu-decay-time 0").unwrap();
        let mut lines: String = (0..STRINGS)
            .map(|number| format!("SET hot:{number} x\n"))
            .collect();
        lines += "RPUSH hot:list a\nSET \"hot:odd \\x1b\\n\" x\n";
        lines += &"LLEN hot:list\n".repeat(50);
        lines += &"GET hot:7\n".repeat(30);
        lines += &"GET \"hot:odd \\x1b\\n\"\n".repeat(10);
        let loaded = with_input(&server, &["--pipe"], lines.as_bytes());
        assert_eq!(loaded.status.code(), Some(0), "{}", stderr(&loaded));
        server
    })
}

fn hot_keys(arguments: &[&str]) -> String {
    let output = onecopy()
        .arg(hot().socket_url())
        .arg("--hotkeys")
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_keys_that_are_used_most_are_found_whatever_their_type() {
    let report = hot_keys(&["--top", "3"]);
    assert!(report.starts_with("2,002 keys in "), "{report}");
    let lines: Vec<&str> = report.lines().skip(1).collect();
    assert_eq!(
        (lines[0], lines[1]),
        ("", "frequency (0 to 255, logarithmic), highest first")
    );
    let of = |line: &str| {
        let (frequency, key) = line.trim_start().split_once("  ").unwrap();
        (frequency.parse::<u64>().unwrap(), key.to_owned())
    };
    let found: Vec<_> = lines[2..].iter().map(|line| of(line)).collect();
    let keys: Vec<&str> = found.iter().map(|(_, key)| key.as_str()).collect();
    assert_eq!(
        keys,
        ["\"hot:list\"", "\"hot:7\"", "\"hot:odd \\x1b\\n\""],
        "{report}"
    );
    assert!(
        found[0].0 >= 50 && found[1].0 >= 30 && found[1].0 < 50,
        "{report}"
    );
    // Asking does not count as use.
    assert_eq!(hot_keys(&["--top", "3"]).lines().nth(3), Some(lines[2]));
}

#[test]
fn keys_that_are_used_most_are_told_to_programs_and_chosen_as_others_are() {
    let found: Value = serde_json::from_str(&hot_keys(&["--json", "--top", "1"])).unwrap();
    assert_eq!(
        (&found["complete"], &found["keys"]),
        (&true.into(), &2_002.into())
    );
    assert_eq!(found["hottest"][0]["key"], "hot:list");
    assert!(found["hottest"][0]["frequency"].as_u64().unwrap() >= 50);
    assert_eq!(found["hottest"].as_array().unwrap().len(), 1);
    let csv = hot_keys(&["--csv", "--top", "1", "--type", "string"]);
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(lines[0], "frequency,key");
    assert!(lines[1].ends_with(",hot:7") && lines[2].is_empty(), "{csv}");
    let none = hot_keys(&["--match", "none"]);
    assert!(none.starts_with("0 keys in ") && none.lines().count() == 1);
    let none: Value = serde_json::from_str(&hot_keys(&["--json", "--match", "none"])).unwrap();
    assert_eq!(none["hottest"].as_array().unwrap().len(), 0);
}

#[test]
fn a_server_that_does_not_count_accesses_is_an_error_that_says_what_to_set() {
    let output = onecopy()
        .args([server().socket_url().as_str(), "--hotkeys"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty(), "{output:?}");
    for expected in [
        "its maxmemory-policy is not LFU",
        "CONFIG SET maxmemory-policy allkeys-lfu",
        "volatile-lfu",
    ] {
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn an_interrupted_search_for_keys_that_are_used_most_shows_them_so_far() {
    let mut terminal = Terminal::start(onecopy().arg(hot().socket_url()).args([
        "--hotkeys",
        "--count",
        "10",
        "-i",
        "0.1",
    ]));
    terminal.shows("% of all scanned");
    terminal.interrupt();
    terminal.shows(" of about 2,002 keys in ");
    terminal.shows("highest first");
    terminal.shows("ended early");
    assert_eq!(terminal.exit_code(), Some(130));
}

#[test]
fn an_interrupt_shows_what_was_found_so_far() {
    for (option, expected) in [
        ("--bigkeys", "most bytes first"),
        ("--memkeys", "most memory first"),
    ] {
        let mut terminal = Terminal::start(
            onecopy()
                .arg(server().socket_url())
                .args([option, "--count", "10", "-i", "0.1"]),
        );
        // Two hundred pages would take 20 seconds: the progress shows that it runs.
        terminal.shows("% of all scanned");
        terminal.interrupt();
        terminal.shows(" of about 2,008 keys in ");
        terminal.shows(expected);
        terminal.shows("ended early");
        assert_eq!(terminal.exit_code(), Some(130));
    }
}

#[test]
fn an_interrupted_list_ends_early_with_its_status() {
    let mut child = onecopy()
        .arg(server().socket_url())
        .args(["--scan", "--count", "10", "-i", "0.2"])
        .spawn()
        .unwrap();
    // The first keys are there before the others.
    let mut out = child.stdout.take().unwrap();
    let mut some = [0; 5];
    out.read_exact(&mut some).unwrap();
    assert_eq!(&some, b"keys:");
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    assert!(
        stderr(&output).starts_with("ended early, with "),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_server_is_asked_for_a_page_at_a_time_and_together() {
    let own = Server::start().unwrap();
    let lines: String = (0..100)
        .map(|number| format!("SET measured:{number} x\n"))
        .collect();
    with_input(&own, &["--pipe"], lines.as_bytes());
    let output = onecopy()
        .arg(own.socket_url())
        .args(["--bigkeys", "--count", "1000"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let stats = own.ask("INFO commandstats").unwrap();
    for count in [
        "cmdstat_scan:calls=1,",
        "cmdstat_type:calls=100,",
        "cmdstat_strlen:calls=100,",
    ] {
        assert!(stats.contains(count), "{stats}");
    }
}

#[test]
fn what_does_not_belong_together_is_refused() {
    for (arguments, code, expected) in [
        (&["--scan", "--bigkeys"][..], 2, "cannot be used with"),
        (&["--match", "a*"], 2, "required"),
        (&["--scan", "--samples", "3"], 2, "cannot be used with"),
        (&["--hotkeys", "--samples", "3"], 2, "cannot be used with"),
        (&["--hotkeys", "--memkeys"], 2, "cannot be used with"),
        (
            &["--hotkeys", "a*"],
            1,
            "--hotkeys takes its pattern from --match",
        ),
        (&["--scan", "-r", "3"], 2, "cannot be used with"),
        (&["--bigkeys", "--meter"], 2, "cannot be used with"),
        (&["--scan", "--count", "0"], 2, "--count"),
        (
            &["--scan", "a*"],
            1,
            "--scan takes its pattern from --match",
        ),
        (
            &["--bigkeys", "a*"],
            1,
            "--bigkeys takes its pattern from --match",
        ),
    ] {
        let output = onecopy()
            .arg(server().socket_url())
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn a_user_without_the_permission_is_told() {
    let own = Server::start().unwrap();
    own.ask("SET refused x").unwrap();
    own.ask("ACL SETUSER keys on nopass ~* +@all -type")
        .unwrap();
    let url = own.url().replace("redis://", "redis://keys:x@");
    let output = onecopy().args([&url, "--bigkeys"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("NOPERM"), "{}", stderr(&output));
}
