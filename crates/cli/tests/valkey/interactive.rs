//! Commands typed on a terminal: a real one, whose other end the test holds.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use onecopy_testkit::valkey::Server;

use crate::terminal::Terminal;
use crate::{onecopy, url};

/// `onecopy valkey` on a terminal, with a folder of its own for its history.
struct Session {
    terminal: Terminal,
    state: PathBuf,
}

impl Session {
    fn start(name: &str, url: &str) -> Self {
        let state =
            std::env::temp_dir().join(format!("onecopy-valkey-{name}-{}", std::process::id()));
        let terminal = Terminal::start(onecopy().arg(url).env("XDG_STATE_HOME", &state));
        Self { terminal, state }
    }

    /// The same on the terminal that controls it, as the one of a shell does: a password is read there, and Ctrl-C is a signal.
    fn start_controlled(name: &str, url: &str) -> Self {
        let state =
            std::env::temp_dir().join(format!("onecopy-valkey-{name}-{}", std::process::id()));
        let mut program = std::process::Command::new("setsid");
        program
            .args(["--ctty", env!("CARGO_BIN_EXE_onecopy"), "valkey", url])
            .env_remove("ONECOPY_VALKEY_URL")
            .env_remove("ONECOPY_VALKEY_PASSWORD")
            .env("XDG_STATE_HOME", &state);
        let terminal = Terminal::start(&mut program);
        Self { terminal, state }
    }

    fn type_keys(&mut self, keys: &str) {
        self.terminal.type_keys(keys);
    }

    fn shows(&mut self, text: &str) {
        self.terminal.shows(text);
    }

    fn history(&self) -> String {
        fs::read_to_string(self.state.join("onecopy/valkey_history")).unwrap()
    }

    /// Ctrl-D. The prompt is there: before, it would be taken for an end of the line.
    fn leave(mut self) {
        self.type_keys("\x04");
        self.ends();
    }

    fn ends(&mut self) {
        self.terminal.ends();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.state);
    }
}

#[test]
fn commands_are_answered_and_errors_do_not_end_it() {
    let mut terminal = Session::start("answers", url());
    terminal.shows("help lists the commands");
    terminal.shows("> ");
    terminal.type_keys("set interactive:a \"b c\"\r");
    terminal.shows("\nOK\r\n");
    terminal.type_keys("get interactive:a\r");
    terminal.shows("\n\"b c\"\r\n");
    terminal.type_keys("incr interactive:a\r");
    terminal.shows("error ERR: value is not an integer");
    terminal.type_keys("get \"open\r");
    terminal.shows("a quote has no end");
    terminal.type_keys("strlen interactive:a\r");
    terminal.shows("(integer) 3\r\n");
    terminal.type_keys("select 2\r");
    terminal.shows("[2]> ");
    terminal.type_keys("select 99999\r");
    terminal.shows("error ERR: DB index is out of range");
    terminal.shows("[2]> ");
    terminal.leave();
}

#[test]
fn names_are_completed_and_help_explains_them() {
    let mut terminal = Session::start("completion", url());
    terminal.shows("> ");
    terminal.type_keys("hgeta\t interactive:none\r");
    terminal.shows("hgetall");
    terminal.shows("(empty map)");
    terminal.type_keys("help hgetall\r");
    terminal.shows("HGETALL key\r\n");
    terminal.shows("since      2.0.0\r\n");
    terminal.type_keys("quit\r");
    terminal.ends();
}

#[test]
fn lines_are_remembered_but_for_those_with_a_password() {
    let mut terminal = Session::start("history", url());
    terminal.shows("> ");
    terminal.type_keys("auth nobody my-secret\r");
    terminal.shows("error WRONGPASS");
    terminal.type_keys("echo remembered\r");
    terminal.shows("\n\"remembered\"");
    terminal.shows("> ");
    // Up, and again.
    terminal.type_keys("\x1b[A\r");
    terminal.shows("\n\"remembered\"");
    terminal.shows("> ");
    let history = terminal.history();
    assert!(
        history.contains("echo remembered") && !history.contains("secret"),
        "{history}"
    );
    let folder = fs::metadata(terminal.state.join("onecopy")).unwrap();
    assert_eq!(folder.permissions().mode() & 0o077, 0);
    terminal.leave();
}

#[test]
fn the_prompt_shows_that_a_transaction_is_open() {
    let mut terminal = Session::start("transaction", url());
    terminal.shows("> ");
    terminal.type_keys("select 1\r");
    terminal.shows("[1]> ");
    terminal.type_keys("multi\r");
    terminal.shows("[1](TX)> ");
    terminal.type_keys("ping\r");
    terminal.shows("\nQUEUED\r\n");
    terminal.shows("[1](TX)> ");
    terminal.type_keys("exec\r");
    terminal.shows("1) PONG\r\n");
    terminal.shows("[1]> ");
    terminal.type_keys("multi\r");
    terminal.shows("[1](TX)> ");
    terminal.type_keys("discard\r");
    terminal.shows("[1]> ");
    terminal.leave();
}

#[test]
fn a_lost_connection_is_made_again() {
    let mut server = Server::start().unwrap();
    let mut terminal = Session::start("lost", &server.url());
    terminal.shows("> ");
    server.kill();
    terminal.type_keys("ping\r");
    terminal.shows("error: ");
    terminal.shows("(not connected)> ");
    terminal.type_keys("ping\r");
    terminal.shows("Connection refused");
    server.restart().unwrap();
    terminal.type_keys("ping\r");
    terminal.shows("\nPONG\r\n");
    terminal.shows("> ");
    terminal.leave();
}

#[test]
fn a_lost_connection_that_commands_had_changed_is_made_again_and_runs_nothing_unasked() {
    let mut server = Server::start().unwrap();
    let mut terminal = Session::start("changed", &server.url());
    terminal.shows("> ");
    terminal.type_keys("select 2\r");
    terminal.shows("[2]> ");
    terminal.type_keys("multi\r");
    terminal.shows("\nOK\r\n");
    server.kill();
    terminal.type_keys("ping\r");
    terminal.shows("error: ");
    terminal.shows("(not connected)> ");
    server.restart().unwrap();
    // Outside of its transaction it must not be executed.
    terminal.type_keys("set interactive:lost 1\r");
    terminal.shows("this command was not run");
    terminal.shows("[2]> ");
    terminal.type_keys("exists interactive:lost\r");
    terminal.shows("(integer) 0\r\n");
    terminal.type_keys("reset\r");
    terminal.shows("RESET\r\n");
    terminal.shows(&format!("{}> ", server.url().replace("redis://", "")));
    terminal.leave();
}

#[test]
fn a_password_is_covered_while_it_is_typed_and_asked_for_without_a_trace() {
    let server = Server::builder().password("first-secret").start().unwrap();
    server
        .ask("ACL SETUSER ada on >second-secret ~* +@all")
        .unwrap();
    let mut terminal = Session::start_controlled("covered", &server.url());
    terminal.shows("> ");
    terminal.type_keys("auth ada second-secret\r");
    let typed = terminal.terminal.shows("\nOK\r\n");
    assert!(
        typed.contains("*************") && !typed.contains("second"),
        "{typed}"
    );
    terminal.shows("> ");
    terminal.type_keys("acl whoami\r");
    terminal.shows("\n\"ada\"\r\n");
    terminal.shows("> ");
    // The user of the last login is asked for.
    terminal.type_keys("auth\r");
    terminal.shows("Password for ada at ");
    terminal.shows(": ");
    terminal.terminal.hides_keys();
    terminal.type_keys("second-secret\r");
    let shown = terminal.terminal.shows("OK\r\n");
    assert!(!shown.contains("secret"), "{shown}");
    terminal.shows("> ");
    assert!(!terminal.history().contains("secret"));
    terminal.leave();
}

#[test]
fn an_interrupt_ends_what_is_live_and_not_the_session() {
    let server = Server::start().unwrap();
    let mut terminal = Session::start_controlled("live", &server.url());
    terminal.shows("> ");
    for (command, told) in [
        ("subscribe live:a", "subscribed to 1 name"),
        ("monitor", "Ctrl-C ends it"),
    ] {
        terminal.type_keys(&format!("{command}\r"));
        terminal.shows(told);
        if command == "monitor" {
            server.ask("ECHO live").unwrap();
            terminal.shows("\"live\"\r\n");
        } else {
            server.ask("PUBLISH live:a hello").unwrap();
            terminal.shows("live:a: \"hello\"\r\n");
        }
        terminal.type_keys("\x03");
        terminal.shows("> ");
        terminal.type_keys("ping\r");
        terminal.shows("\nPONG\r\n");
        terminal.shows("> ");
    }
    terminal.leave();
}

#[test]
fn an_interrupt_ends_the_program_while_a_command_waits() {
    let server = Server::start().unwrap();
    let mut terminal = Session::start_controlled("waits", &server.url());
    terminal.shows("> ");
    terminal.type_keys("blpop waits:a 0\r");
    let blocked = || {
        let info = server.ask("INFO clients").unwrap();
        info.contains("blocked_clients:1")
    };
    while !blocked() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    terminal.type_keys("\x03");
    assert_eq!(terminal.terminal.exit_code(), None, "it ends by the signal");
}
