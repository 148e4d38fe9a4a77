//! Proxies that go away, and the end of the program.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use crate::ground::{Ground, Live, loopback};

#[test]
fn a_proxy_that_goes_away_is_said_and_found_again_while_others_go_on() {
    let (first, stays) = (Ground::start(|_| {}), Ground::start(|_| {}));
    let gone = first.admin();
    let port = gone.rsplit(':').next().unwrap().parse().unwrap();
    let mut top = Live::start(&mut first.top(&[&stays.admin(), "-d", "0.5"]));
    top.shows("2 of 2 proxies");
    first.proxy.stop();
    drop(first);
    top.shows("1 of 2 proxies");
    top.shows(&format!("{gone} is down: "));
    top.shows("next try in ");
    // The other one still answers.
    let _client = stays.client(1);
    top.shows("| 1 client |");
    let back = Ground::start(|config| config.admin.listen = Some(loopback(port)));
    top.shows("2 of 2 proxies");
    top.shows_no("is down");
    drop(back);
    top.type_keys("q");
    top.0.ends();
}

#[test]
fn the_terminal_is_given_back_at_every_end() {
    let ground = Ground::start(|_| {});
    for end in ["q", "\x03", "TERM"] {
        let mut top = Live::start(&mut ground.top(&[]));
        top.shows("commands/s");
        assert!(!top.0.is_plain());
        match end {
            "TERM" => {
                let status = top.0.terminate();
                assert_eq!((status.code(), status.signal()), (Some(143), None));
            }
            keys => {
                top.type_keys(keys);
                top.0.ends();
            }
        }
        assert!(top.0.is_plain(), "{end:?}");
        top.0.shows("\x1b[?1049l");
    }
}

#[test]
fn another_size_of_the_terminal_is_followed() {
    let ground = Ground::start(|_| {});
    let mut top = Live::start(&mut ground.top(&["-s", "buffers"]));
    top.shows("Meaning");
    top.shows("Enter details");
    let id = top.0.process();
    // What a terminal's window does. The program has no controlling terminal here, so the signal is sent by hand.
    let resize = format!("stty cols 40 rows 5 < /proc/{id}/fd/0 && kill -WINCH {id}");
    let status = Command::new("sh").args(["-c", &resize]).status().unwrap();
    assert!(status.success());
    top.shows("1 2 3 4 5 6 7 8 9Buffers");
    top.shows_no("Meaning");
    top.type_keys("q");
    top.0.ends();
}

#[test]
fn a_wrong_password_is_said_before_the_terminal_is_taken() {
    let ground = Ground::start(|_| {});
    let mut top = Live::start(ground.top(&[]).env("ONECOPY_PASSWORD", "wrong"));
    top.shows("Access denied");
    assert_eq!(top.0.exit_code(), Some(1));
    assert!(!top.0.all().contains("\x1b[?1049h"));
}
