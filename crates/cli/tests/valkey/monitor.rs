//! MONITOR live.

use std::io::{BufRead, BufReader};
use std::process::Command;

use onecopy_testkit::valkey::Server;
use serde_json::Value;

use crate::{onecopy, stderr};

/// What MONITOR in this format writes for a command of somebody else's.
fn monitored(server: &Server, format: &str) -> String {
    let mut child = onecopy()
        .args([&server.url(), "-f", format, "MONITOR"])
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("Ctrl-C ends it"), "{line}");
    let other = onecopy()
        .args([&server.url(), "SET", "monitor:key", "a, b\n"])
        .output()
        .unwrap();
    assert_eq!(other.status.code(), Some(0));
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let seen = loop {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        if line.contains("monitor:key") {
            break line;
        }
    };
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
    seen
}

#[test]
fn commands_are_written_as_the_server_executes_them() {
    let server = Server::start().unwrap();
    for format in ["raw", "readable"] {
        let line = monitored(&server, format);
        assert!(
            line.ends_with("] \"SET\" \"monitor:key\" \"a, b\\n\"\n"),
            "{line}"
        );
    }
    let object: Value = serde_json::from_str(&monitored(&server, "json")).unwrap();
    assert_eq!(object["command"][2], "a, b\n");
    assert_eq!(object["database"], 0);
    assert!(object["time"].as_f64().unwrap() > 1.6e9);
    assert!(object["client"].as_str().unwrap().starts_with("127.0.0.1:"));
    let csv = monitored(&server, "csv");
    assert!(
        csv.contains(",0,127.0.0.1:") && csv.contains(",SET,monitor:key,\"a, b\n"),
        "{csv}"
    );
}

#[test]
fn the_loss_of_the_server_is_an_error() {
    let mut server = Server::start().unwrap();
    let mut child = onecopy().args([&server.url(), "monitor"]).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    server.kill();
    line.clear();
    said.read_line(&mut line).unwrap();
    assert!(line.starts_with("error: "), "{line}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn monitor_with_an_argument_is_the_servers_to_refuse() {
    let server = Server::start().unwrap();
    let output = onecopy()
        .args([&server.url(), "MONITOR", "x"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}
