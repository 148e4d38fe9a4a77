//! `--pipe`: many commands without waiting for each reply.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::terminal::Terminal;
use crate::{is_soak, onecopy, stderr, stdout, url, valkey_input};

fn assert_said(output: &Output, status: i32, start: &str) {
    assert_eq!(output.status.code(), Some(status), "{}", stderr(output));
    assert!(stderr(output).starts_with(start), "{}", stderr(output));
}

#[test]
fn lines_and_resp_are_loaded_and_counted() {
    let input =
        b"SET pipe:a 1\n*3\r\n$3\r\nSET\r\n$6\r\npipe:b\r\n$5\r\n\r\n\x00\xFFx\r\n\nINCR pipe:a\n";
    let output = valkey_input(&["--pipe"], input);
    assert_said(&output, 0, "3 replies, 0 errors, ");
    assert_eq!(output.stdout, b"");
    assert_eq!(stdout(&["GET", "pipe:a"]), "2");
    assert_eq!(crate::valkey(&["GET", "pipe:b"]).stdout, b"\r\n\x00\xFFx");
}

#[test]
fn errors_are_counted_the_first_are_shown_and_the_rest_is_loaded() {
    let mut input = b"SET pipe:text text\n".to_vec();
    input.extend(b"INCR pipe:text\n".repeat(15));
    input.extend(b"SET pipe:last done\n");
    let output = valkey_input(&["--pipe"], &input);
    assert_said(
        &output,
        1,
        "command 2: server error: ERR value is not an integer",
    );
    let said = stderr(&output);
    assert!(
        said.contains("\ncommand 11: ") && !said.contains("\ncommand 12: "),
        "{said}"
    );
    assert!(said.contains("\n17 replies, 15 errors, "), "{said}");
    assert_eq!(stdout(&["GET", "pipe:last"]), "done");
}

#[test]
fn what_is_no_command_ends_the_load_after_what_came_before() {
    let output = valkey_input(&["--pipe"], b"SET pipe:before 1\n*2\r\n$3\r\nGET\r\nx\r\n");
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("1 reply, 0 errors, "), "{said}");
    assert!(
        said.contains("error: command 2 of standard input, near byte "),
        "{said}"
    );
    assert_eq!(stdout(&["GET", "pipe:before"]), "1");
}

#[test]
fn a_command_that_would_break_the_order_of_replies_ends_the_load() {
    let output = valkey_input(&["--pipe"], b"PING\nMONITOR\nPING\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("are not supported here"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_empty_input_is_no_error() {
    assert_said(&valkey_input(&["--pipe"], b""), 0, "0 replies, 0 errors, ");
    assert_said(
        &valkey_input(&["--pipe"], b"\n\n"),
        0,
        "0 replies, 0 errors, ",
    );
}

/// More than the sockets hold, both ways: who writes it all before reading would wait forever.
#[test]
fn large_values_go_both_ways_without_a_deadlock() {
    let value = "x".repeat(1 << 20);
    let mut input = format!("SET pipe:large {value}\n").into_bytes();
    for _ in 0..32 {
        input.extend(format!("GET pipe:large\nECHO {value}\n").bytes());
    }
    let output = valkey_input(&["--pipe"], &input);
    assert_said(&output, 0, "65 replies, 0 errors, ");
}

/// 200,000 commands, or 5,000,000, from a file, in memory that does not grow with it.
#[test]
fn commands_by_the_million_take_constant_memory() {
    let commands = if is_soak() { 5_000_000 } else { 200_000 };
    let path = std::env::temp_dir().join(format!("onecopy-valkey-pipe-{}", std::process::id()));
    let mut file = BufWriter::new(File::create(&path).unwrap());
    for number in 0..commands {
        writeln!(
            file,
            "HSET pipe:many field:{} value:{number}",
            number % 1_000
        )
        .unwrap();
    }
    file.flush().unwrap();
    let output = onecopy()
        .args([url(), "--pipe", "--meter=json"])
        .stdin(Stdio::from(File::open(&path).unwrap()))
        .output()
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let (summary, meter) = said.split_once('\n').unwrap();
    assert!(summary.contains(" replies, 0 errors, "), "{said}");
    assert!(
        summary.replace(',', "").starts_with(&commands.to_string()),
        "{said}"
    );
    let meter: serde_json::Value = serde_json::from_str(meter).unwrap();
    assert!(
        meter["peak_capacity"].as_u64().unwrap() < 4 << 20,
        "{meter}"
    );
    // Many commands a write, or nothing was gained.
    assert!(
        meter["writes"].as_u64().unwrap() < commands / 100,
        "{meter}"
    );
    assert_eq!(stdout(&["HLEN", "pipe:many"]), "1000\n");
}

#[test]
fn a_terminal_is_shown_how_far_it_is() {
    stdout(&["DEL", "pipe:shown"]);
    let (input, mut commands) = io::pipe().unwrap();
    let mut terminal = Terminal::start_with_input(onecopy().args([url(), "--pipe"]), input.into());
    // So slowly that there is something to show, and as long as it takes.
    let is_shown = Arc::new(AtomicBool::new(false));
    let writer = thread::spawn({
        let is_shown = is_shown.clone();
        move || {
            let mut written = 0;
            while !is_shown.load(Ordering::Relaxed) {
                commands.write_all(b"INCR pipe:shown\n").unwrap();
                written += 1;
                thread::sleep(Duration::from_micros(100));
            }
            written
        }
    });
    terminal.shows(" commands, ");
    terminal.shows("KiB, 0 errors");
    is_shown.store(true, Ordering::Relaxed);
    let written: u64 = writer.join().unwrap();
    terminal.shows(" replies, 0 errors, ");
    terminal.ends();
    assert_eq!(stdout(&["GET", "pipe:shown"]), written.to_string());
}

#[test]
fn an_error_is_shown_while_the_next_command_is_still_to_come() {
    let (input, mut commands) = io::pipe().unwrap();
    let mut terminal = Terminal::start_with_input(onecopy().args([url(), "--pipe"]), input.into());
    commands.write_all(b"PING\nINCR\n").unwrap();
    terminal.shows("command 2: server error: ERR wrong number of arguments");
    commands.write_all(b"PING\nECHO\n").unwrap();
    terminal.shows("command 4: server error: ERR wrong number of arguments");
    drop(commands);
    terminal.shows("4 replies, 2 errors, ");
}

#[test]
fn a_command_among_the_arguments_is_refused_and_not_passed_over() {
    // Without a url among them the first argument might be one.
    let output = onecopy()
        .args(["--pipe", "PING"])
        .env("ONECOPY_VALKEY_URL", url())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_said(
        &output,
        1,
        "error: --pipe takes its commands from standard input",
    );
}
