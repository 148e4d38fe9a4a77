//! One command, given as arguments.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use crate::{onecopy, stderr, stdout, url, valkey, valkey_input};

#[test]
fn a_string_is_written_as_it_is_and_other_replies_end_their_line() {
    assert_eq!(stdout(&["SET", "commands:a", "hello"]), "OK\n");
    assert_eq!(stdout(&["GET", "commands:a"]), "hello");
    assert_eq!(stdout(&["get", "commands:none"]), "\n");
    assert_eq!(stdout(&["STRLEN", "commands:a"]), "5\n");
    assert_eq!(
        stdout(&["ECHO", "of no length that is streamed"]),
        "of no length that is streamed"
    );
}

#[test]
fn arguments_are_bytes_and_may_begin_with_a_hyphen() {
    let output = onecopy()
        .arg(url())
        .args(["SET", "commands:bytes"])
        .arg(OsStr::from_bytes(b"\xFF\n\x80"))
        .output()
        .unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(valkey(&["GET", "commands:bytes"]).stdout, b"\xFF\n\x80");

    stdout(&["DEL", "commands:list"]);
    stdout(&["RPUSH", "commands:list", "-x", "--pipe", "-f"]);
    assert_eq!(
        stdout(&["LRANGE", "commands:list", "0", "-1"]),
        "-x\n--pipe\n-f\n"
    );
}

#[test]
fn options_stand_before_the_command_on_either_side_of_the_url() {
    let json = "[\"a\",null]\n";
    stdout(&["SET", "commands:option", "a"]);
    let words = ["MGET", "commands:option", "commands:none"];
    assert_eq!(stdout(&[&["-f", "json"], &words[..]].concat()), json);
    let output = onecopy()
        .args(["--format", "json", url()])
        .args(words)
        .output()
        .unwrap();
    assert_eq!(output.stdout, json.as_bytes());
}

#[test]
fn the_last_argument_may_come_from_standard_input() {
    let value = b"any bytes\r\n\x00\xFF";
    let output = valkey_input(&["-x", "SET", "commands:x"], value);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(output.stdout, b"OK\n");
    assert_eq!(valkey(&["GET", "commands:x"]).stdout, value);

    let output = valkey_input(&["-x", "SET", "commands:empty"], b"");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(stdout(&["STRLEN", "commands:empty"]), "0\n");
    assert_eq!(stdout(&["EXISTS", "commands:empty"]), "1\n");
}

#[test]
fn a_file_on_standard_input_is_sent_from_where_it_is_read() {
    use std::io::{Seek, SeekFrom, Write};
    let path = std::env::temp_dir().join(format!("onecopy-valkey-seek-{}", std::process::id()));
    let mut file = std::fs::File::options()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    file.write_all(b"passed over, and this").unwrap();
    file.seek(SeekFrom::Start(13)).unwrap();
    std::fs::remove_file(&path).unwrap();
    let output = onecopy()
        .args([url(), "-x", "SET", "commands:seek"])
        .stdin(Stdio::from(file))
        .output()
        .unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(stdout(&["GET", "commands:seek"]), "and this");
}

#[test]
fn x_without_a_command_says_what_is_missing() {
    let output = valkey_input(&["-x"], b"value");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("there is no command"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_meter_says_what_the_bytes_cost() {
    let output = valkey(&["--meter", "SET", "commands:meter", "value"]);
    assert!(stderr(&output).starts_with("meter "), "{}", stderr(&output));
    let output = valkey(&["--meter", "json", "GET", "commands:meter"]);
    assert_eq!(output.stdout, b"value");
    let meter: serde_json::Value = serde_json::from_str(stderr(&output)).unwrap();
    assert_eq!(meter["bytes_read"], b"$5\r\nvalue\r\n".len());
    assert_eq!(meter["writes"], 1);
}

#[test]
fn who_has_seen_enough_ends_the_run_without_an_error() {
    let list: Vec<String> = (0..100_000)
        .map(|number| format!("element {number}"))
        .collect();
    let push = format!(
        "DEL commands:long\nRPUSH commands:long '{}'",
        list.join("' '")
    );
    let output = valkey_input(&[], push.as_bytes());
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let mut child = onecopy()
        .args([url(), "LRANGE", "commands:long", "0", "-1"])
        .spawn()
        .unwrap();
    let head = Command::new("head")
        .args(["-n", "2"])
        .stdin(child.stdout.take().unwrap())
        .output()
        .unwrap();
    assert_eq!(head.stdout, b"element 0\nelement 1\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn help_teaches_with_examples() {
    let output = onecopy().arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    for part in [
        "-x SET photo < photo.jpg",
        "--pipe < commands.txt",
        "redis+unix://",
        "Exit status:",
    ] {
        assert!(help.contains(part), "{part}");
    }
    assert!(
        help.lines().all(|line| line.chars().count() <= 100),
        "{help}"
    );
}
