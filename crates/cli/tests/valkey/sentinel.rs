//! A primary that sentinels watch: the command line finds it by its name, and finds another one after a failover.

use std::process::Output;

use onecopy_testkit::valkey::Sentinels;

use crate::terminal::Terminal;
use crate::{onecopy, stderr};

fn run(url: &str, arguments: &[&str]) -> Output {
    onecopy().arg(url).args(arguments).output().unwrap()
}

#[test]
fn commands_go_to_the_primary_before_and_after_a_failover() {
    let mut group = Sentinels::start(1, 1).unwrap();
    let url = group.url();
    let port = |group: &Sentinels, at: usize| group.server(at).port().to_string();
    let asked = run(&url, &["-f", "raw", "CONFIG", "GET", "port"]);
    let answer = String::from_utf8_lossy(&asked.stdout);
    assert!(
        answer.contains(&port(&group, 0)),
        "{answer}{}",
        stderr(&asked)
    );
    // What connects to servers by itself does so to the primary.
    let keys = run(&url, &["--scan"]);
    assert_eq!(keys.status.code(), Some(0), "{}", stderr(&keys));
    let mut terminal = Terminal::start(onecopy().arg(&url));
    terminal.shows("sentinel main> ");
    terminal.type_keys("select 1\r");
    terminal.shows("sentinel main[1]> ");
    group.server_mut(0).kill();
    terminal.type_keys("ping\r");
    terminal.shows("error: ");
    while group.primary().unwrap() != 1 {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    group.wait_until_stable().unwrap();
    terminal.type_keys("config get port\r");
    terminal.shows(&port(&group, 1));
    terminal.shows("sentinel main[1]> ");
    terminal.type_keys("\x04");
    terminal.ends();
}

#[test]
fn what_sentinels_do_not_know_is_said() {
    let group = Sentinels::start(0, 1).unwrap();
    let url = group.url().replace("/main", "/other");
    let failed = run(&url, &["PING"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).contains("other"), "{}", stderr(&failed));
    let both = run(&group.url(), &["-c", "PING"]);
    assert!(stderr(&both).contains("leave out -c"), "{}", stderr(&both));
}
