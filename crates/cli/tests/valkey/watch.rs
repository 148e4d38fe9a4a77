//! `--latency` and `--stat`.

use std::io::{BufRead, BufReader};
use std::process::Command;

use onecopy_testkit::valkey::Server;
use serde_json::Value;

use crate::terminal::Terminal;
use crate::{onecopy, stderr, url, valkey};

fn rows(arguments: &[&str]) -> Vec<Value> {
    let output = valkey(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn latency_has_a_line_an_interval_and_its_figures_are_in_order() {
    let rows = rows(&["--latency", "-i", "0.1", "-r", "2", "--json"]);
    assert_eq!(rows.len(), 2);
    for row in &rows {
        let figures = ["min_ms", "p50_ms", "p99_ms", "p99_9_ms", "max_ms"];
        let times = figures.map(|name| row[name].as_f64().unwrap());
        assert!(times.is_sorted(), "{row}");
        assert!(times[0] > 0.0, "{row}");
        let average = row["avg_ms"].as_f64().unwrap();
        assert!(times[0] <= average && average <= times[4], "{row}");
        assert!(row["samples"].as_u64().unwrap() >= 1, "{row}");
    }
}

#[test]
fn latency_on_a_terminal_ends_with_a_summary_when_interrupted() {
    let mut terminal = Terminal::start(onecopy().arg(url()).args(["--latency", "-i", "0.1"]));
    terminal
        .shows(" samples     min ms     avg ms     p50 ms     p99 ms   p99.9 ms     max ms\r\n");
    terminal.shows("\r\n");
    terminal.interrupt();
    terminal.shows(" samples, min ");
    assert_eq!(terminal.exit_code(), Some(0));
}

#[test]
fn stat_counts_keys_and_requests_from_line_to_line() {
    let server = Server::start().unwrap();
    for number in 0..7 {
        server.ask(&format!("SET stat:{number} x")).unwrap();
    }
    let mut child = onecopy()
        .args([&server.url(), "--stat", "--json", "-i", "0.05"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let first = next();
    assert_eq!(first["keys"], 7);
    assert_eq!(first["clients"], 1);
    assert!(first["memory_bytes"].as_u64().unwrap() > 100_000);
    assert_eq!(first["hit_percent"], Value::Null);
    server.ask("GET stat:1").unwrap();
    server.ask("DEL stat:2").unwrap();
    // The line in which both are.
    let later = loop {
        let row = next();
        if row["keys"] == 6 {
            break row;
        }
    };
    assert!(later["requests"].as_u64() > first["requests"].as_u64());
    assert!(later["requests_per_second"].as_f64().unwrap() > 0.0);
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn stat_has_a_header_for_people_and_one_in_csv() {
    let output = valkey(&["--stat", "-r", "2", "-i", "0.01"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
    assert!(
        lines[0].contains("keys      memory  clients  blocked  requests/s  hits %"),
        "{text}"
    );
    let output = valkey(&["--stat", "-r", "1", "--csv"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("keys,memory_bytes,clients,"), "{text}");
    assert_eq!(text.matches("\r\n").count(), 2, "{text}");
}

#[test]
fn a_server_that_goes_away_ends_both_with_an_error() {
    for option in ["--latency", "--stat"] {
        let mut server = Server::start().unwrap();
        let mut child = onecopy()
            .args([&server.url(), option, "-i", "0.05"])
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        server.kill();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{option}");
        assert!(
            stderr(&output).starts_with("error: "),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn numbers_that_are_none_are_refused() {
    for arguments in [
        ["--stat", "-i", "0"],
        ["--stat", "-i", "x"],
        ["--latency", "-r", "0"],
        ["--latency", "-r", "-2"],
    ] {
        let output = valkey(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
