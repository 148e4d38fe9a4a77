use std::env;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;

use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};

use super::*;

/// Set for the program that panics: this test itself, on a terminal of its own.
const IN_CHILD: &str = "ONECOPY_TOP_TEST_PANICS";

#[test]
fn a_panic_gives_the_terminal_back_before_its_message() {
    if let Some(place) = env::var_os(IN_CHILD) {
        let _taken = Taken::take().unwrap();
        if place == "thread" {
            let _ = thread::spawn(|| panic!("this is a test")).join();
            // As the loop does when it hears of it.
            return;
        }
        panic!("this is a test");
    }
    for place in ["main", "thread"] {
        let (shown, is_plain) = panicking(place);
        let at = |text: &str| {
            shown
                .find(text)
                .unwrap_or_else(|| panic!("{text} in {shown:?}"))
        };
        assert!(at("\x1b[?1049h") < at("\x1b[?1049l"), "{shown:?}");
        assert!(at("\x1b[?1049l") < at("this is a test"), "{shown:?}");
        assert!(at("\x1b[?25h") < at("this is a test"), "{shown:?}");
        assert_eq!(shown.matches("\x1b[?1049l").count(), 1, "{shown:?}");
        assert!(is_plain, "{place}");
    }
}

/// What is shown, and whether the terminal is as before.
fn panicking(place: &str) -> (String, bool) {
    let size = Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(&size, None).unwrap();
    let end = || Stdio::from(pty.slave.try_clone().unwrap());
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("top::terminal::tests::a_panic_gives_the_terminal_back_before_its_message")
        .env(IN_CHILD, place)
        .env("TERM", "xterm")
        .stdin(end())
        .stdout(end())
        .stderr(end())
        .spawn()
        .unwrap();
    let mut screen = std::fs::File::from(pty.master.try_clone().unwrap());
    let reader = thread::spawn(move || {
        let (mut shown, mut piece) = (Vec::new(), [0; 4096]);
        // An error at the end: the other end is closed.
        while let Ok(n @ 1..) = screen.read(&mut piece) {
            shown.extend_from_slice(&piece[..n]);
        }
        shown
    });
    child.wait().unwrap();
    let flags = tcgetattr(&pty.slave).unwrap().local_flags;
    drop(pty.slave);
    let shown = reader.join().unwrap();
    let is_plain = flags.contains(LocalFlags::ICANON | LocalFlags::ECHO);
    (String::from_utf8_lossy(&shown).into_owned(), is_plain)
}
