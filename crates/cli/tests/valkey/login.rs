//! The URL and the password, from wherever they come; TLS.

use std::fs;
use std::process::Output;

use onecopy_testkit::server::lacks;
use onecopy_testkit::valkey::{Server, TestServer, test_server};

use crate::{onecopy, stderr, stdout, url, valkey};

const PASSWORD: &str = "p@ss/w%rd";

fn assert_logged_in(output: &Output) {
    assert_eq!((output.status.code(), stderr(output)), (Some(0), ""));
    assert_eq!(output.stdout, b"PONG\n");
}

#[test]
fn the_password_comes_from_the_url_a_file_or_the_environment() {
    let server = Server::builder().password(PASSWORD).start().unwrap();
    let url = format!("redis://127.0.0.1:{}", server.port());
    let output = onecopy().args([&url, "PING"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("NOAUTH") && stderr(&output).contains("\n hint: "),
        "{}",
        stderr(&output)
    );

    assert_logged_in(&onecopy().args([&server.url(), "PING"]).output().unwrap());
    let mut command = onecopy();
    command.env("ONECOPY_VALKEY_PASSWORD", PASSWORD);
    assert_logged_in(&command.args([&url, "PING"]).output().unwrap());

    let file = std::env::temp_dir().join(format!("onecopy-valkey-password-{}", std::process::id()));
    fs::write(&file, format!("{PASSWORD}\nnot this\n")).unwrap();
    let path = file.to_str().unwrap();
    let output = onecopy()
        .args([&url, "--password-file", path, "PING"])
        .output()
        .unwrap();
    fs::remove_file(&file).unwrap();
    assert_logged_in(&output);

    let mut command = onecopy();
    command.env("ONECOPY_VALKEY_PASSWORD", "wrong");
    let output = command.args([&url, "PING"]).output().unwrap();
    assert!(stderr(&output).contains("WRONGPASS"), "{}", stderr(&output));
    assert!(!stderr(&output).contains("wrong\n"), "{}", stderr(&output));
}

#[test]
fn the_url_comes_from_the_environment_and_the_database_from_the_url() {
    let output = onecopy()
        .env("ONECOPY_VALKEY_URL", url())
        .arg("PING")
        .output()
        .unwrap();
    assert_logged_in(&output);
    let TestServer::Private(server) = test_server() else {
        return lacks(
            "a database beside the given one",
            "it is not ours to write to",
        );
    };
    let url = format!("{}/3", server.url());
    let output = onecopy().args([&url, "CLIENT", "INFO"]).output().unwrap();
    let info = String::from_utf8(output.stdout).unwrap();
    assert!(info.contains(" db=3 "), "{info}");
}

#[test]
fn a_user_logs_in_with_its_password() {
    let Some(url) = test_server().user_url() else {
        return lacks(
            "a user of the test's own",
            "the users of a given server are left alone",
        );
    };
    let output = onecopy().args([&url, "ACL", "WHOAMI"]).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(output.stdout, b"onecopy");
}

#[test]
fn a_server_is_verified_over_tls_by_the_authority_that_is_named() {
    let TestServer::Private(server) = test_server() else {
        return lacks(
            "an authority of the test's own",
            "the certificates of a given server are unknown",
        );
    };
    let tls_url = server.tls_url().unwrap();
    assert_logged_in(&onecopy().args([&tls_url, "PING"]).output().unwrap());

    let (without, _) = tls_url.split_once('?').unwrap();
    let mut command = onecopy();
    command.env_remove("SSL_CERT_FILE");
    let output = command.args([without, "PING"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("tls-ca"), "{}", stderr(&output));

    // Clear text to the port of TLS.
    let port = server.tls_port().unwrap();
    let url = format!("redis://127.0.0.1:{port}");
    let output = onecopy().args([&url, "PING"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("rediss://"), "{}", stderr(&output));
}

#[test]
fn options_of_redis_cli_are_answered_with_the_url_to_write() {
    for (arguments, command) in [
        (&["-h", "db"][..], "'redis://db:PORT/0'"),
        (
            &["-h", "db", "-p", "6380", "-n", "3", "GET", "a"],
            "'redis://db:6380/3'",
        ),
        (
            &["-hdb", "--user", "ada", "-a", "s3cr3t"],
            "'redis://ada@db:PORT/0' -p",
        ),
        (&["-u", "redis://:s3cr3t@db"], "'redis://HOST:PORT/0'"),
        (&["-p", "6380", "PING"], "'redis://HOST:6380/0'"),
        (&["-s", "/run/v.sock"], "'redis+unix:///run/v.sock?db=0'"),
    ] {
        let output = onecopy().args(arguments).output().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(
            text.contains(&format!("onecopy valkey {command}")),
            "{arguments:?}: {text}"
        );
        assert!(!text.contains("s3cr3t"), "{text}");
    }
    for arguments in ["-h", "--help"] {
        let output = onecopy().arg(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stdout.starts_with(b"Run commands on"), "{arguments}");
    }
}

#[test]
fn a_commands_own_words_are_no_options_of_ours() {
    assert_eq!(stdout(&["ECHO", "-h"]), "-h");
    let output = valkey(&["CLIENT", "-h", "x"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}

#[test]
fn what_begins_like_an_option_is_not_sent_as_a_command() {
    for (arguments, expected) in [
        (&["--latency-history"][..], "use --latency -i 15"),
        (&["-3", "PING"], "?protocol=3"),
        (&["--ldb"], "--ldb is neither an option nor a command"),
        (&["-fraw", "PING"], "-fraw is neither"),
    ] {
        let output = valkey(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}
