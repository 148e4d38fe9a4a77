//! `onecopy proxy`, the real binary: files that are right and wrong, reload and end, and its memory.
#![allow(clippy::unwrap_used)] // helpers of tests

mod large;
mod open_files;
mod service;
mod unread_stderr;
mod upgrade;

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::shared;

fn onecopy(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onecopy"));
    command.arg("proxy").args(arguments).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str]) -> Output {
    onecopy(arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    let status = Command::new("kill").args([name, &id]).status().unwrap();
    assert!(status.success());
}

/// What follows `text` in the first line that has it.
fn after(lines: &mut Lines<BufReader<ChildStderr>>, text: &str) -> String {
    let mut lines = lines.map(Result::unwrap);
    let line = lines.find(|line| line.contains(text)).unwrap();
    line.split(text).nth(1).unwrap().to_owned()
}

#[test]
fn the_printed_file_is_right_and_a_wrong_one_is_told_of() {
    let printed = run(&["--print-config"]);
    assert!(printed.status.success());
    let path = std::env::temp_dir().join(format!("onecopy-cli-{}.toml", std::process::id()));
    fs::write(&path, &printed.stdout).unwrap();
    let file = path.to_str().unwrap();
    let checked = run(&["--config", file, "--check"]);
    assert!(checked.status.success());
    let said = stderr(&checked);
    assert!(
        said.contains("mysql 'mysql': 127.0.0.1:3307 -> 127.0.0.1:3306"),
        "{said}"
    );
    fs::write(&path, "\nlisten = 1\n").unwrap();
    let refused = run(&["--config", file]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains(".toml:2:1: unknown key `listen`"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(run(&[]).status.code(), Some(2));
    fs::remove_file(path).unwrap();
}

#[test]
fn a_configuration_that_can_serve_nobody_is_refused_by_check_and_start() {
    let (listen, server) = ("127.0.0.1:3307", "127.0.0.1:3306");
    for (way, flags, said) in [
        (
            format!("{listen}={listen}"),
            &[][..],
            "where the listener itself listens",
        ),
        (
            "0.0.0.0:3307=localhost:3307".to_owned(),
            &[],
            "where the listener itself listens",
        ),
        (
            format!("{listen}={server}"),
            &["--max-connections", "0"],
            "`max-connections` can't be 0",
        ),
        (
            "3307=3306".to_owned(),
            &[],
            "`3307` has no host; write HOST:PORT, e.g. 127.0.0.1:3307",
        ),
    ] {
        for check in [&["--check"][..], &[]] {
            let arguments = [&["--mysql", &way][..], flags, check].concat();
            let output = run(&arguments);
            assert!(!output.status.success(), "{arguments:?}");
            let said_now = stderr(&output);
            assert!(said_now.contains(said), "{arguments:?}: {said_now}");
        }
    }
}

#[test]
fn a_thread_that_cannot_be_had_is_named() {
    let mut command = Command::new("sh");
    let limited = command
        .args([
            "-c",
            "ulimit -n 10; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_onecopy"),
        ])
        .args([
            "proxy",
            "--workers",
            "8",
            "--mysql",
            "127.0.0.1:0=127.0.0.1:1",
        ]);
    let output = limited.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("can't start the thread '") && said.contains("raise the limit of open files"),
        "{said}"
    );
}

#[test]
fn signals_reload_and_stop() {
    let path = std::env::temp_dir().join(format!("onecopy-reload-{}.toml", std::process::id()));
    let put = |weight: &str| {
        let text = format!(
            "[[mysql]]\nlisten = \"127.0.0.1:0\"\n[[mysql.backend]]\nserver = \"127.0.0.1:{}\"\n{weight}",
            shared().port()
        );
        fs::write(&path, text).unwrap();
    };
    put("");
    let mut child = onecopy(&["--config", path.to_str().unwrap()])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let port = after(&mut lines, "listening on 127.0.0.1:");
    let url = shared()
        .url()
        .replace(&format!(":{}", shared().port()), &format!(":{port}"));
    let mut conn = Connection::connect(&url).unwrap();
    put("weight = 3");
    signal(&child, "-HUP");
    assert_eq!(after(&mut lines, "weight: "), "1 -> 3");
    put("wait = 3");
    signal(&child, "-HUP");
    assert!(after(&mut lines, "not reloaded, nothing has changed").contains("unknown key `wait`"));
    conn.run("BEGIN").unwrap();
    signal(&child, "-TERM");
    after(&mut lines, "shutting down: ");
    // The transaction has its time.
    for _ in 0..20 {
        conn.run("SELECT 1").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    conn.run("COMMIT").unwrap();
    assert!(child.wait().unwrap().success());
    fs::remove_file(path).unwrap();
}

#[test]
fn every_line_is_one_of_json_where_the_log_is() {
    let path = std::env::temp_dir().join(format!("onecopy-json-{}.toml", std::process::id()));
    let listen =
        "[[mysql]]\nlisten = \"127.0.0.1:0\"\n[[mysql.backend]]\nserver = \"127.0.0.1:1\"\n";
    let put = |more: &str| {
        fs::write(&path, format!("{more}\n[log]\nformat = \"json\"\n{listen}")).unwrap();
    };
    put("");
    let file = path.to_str().unwrap();
    let mut child = onecopy(&["--config", file]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let mut said = Vec::new();
    let mut until = |text: &str| {
        let mut is_it = |line: &String| {
            said.push(line.clone());
            line.contains(text)
        };
        assert!(lines.any(|line| is_it(&line)), "{text}: {said:?}");
    };
    until("listening on 127.0.0.1:");
    put("max-connections = 7");
    signal(&child, "-HUP");
    until("max-connections: 100000 -> 7");
    put("wait = 3");
    signal(&child, "-HUP");
    until("unknown key");
    signal(&child, "-TERM");
    until("\"event\":\"stopped\"");
    said.extend(lines);
    assert!(child.wait().unwrap().success());
    // Also the line that says why nothing was started.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let other = listen.replace(
        ":0\"",
        &format!(":{}\"", taken.local_addr().unwrap().port()),
    );
    fs::write(&path, format!("[log]\nformat = \"json\"\n{other}")).unwrap();
    let refused = run(&["--config", file]);
    assert_eq!(refused.status.code(), Some(1));
    let last = stderr(&refused);
    assert!(last.contains("can't listen on"), "{last}");
    said.extend(last.lines().map(str::to_owned));
    for line in &said {
        assert!(
            line.starts_with("{\"time\":\"") && line.ends_with('}'),
            "{line}"
        );
    }
    fs::remove_file(path).unwrap();
}
