//! TLS, as it is named in a URL.

use std::process::Output;

use onecopy_testkit::server::{TestServer, lacks, test_server};

use crate::{onecopy, stderr};

const CIPHER: [&str; 2] = ["SHOW SESSION STATUS LIKE 'Ssl_cipher'", "-N"];

/// The server over TCP without a word on TLS, and the file of its CA.
fn server() -> Option<(String, String)> {
    let TestServer::Private(server) = test_server() else {
        lacks(
            "an authority of the test's own",
            "the certificates of a server that ONECOPY_TEST_MYSQL_URL names are unknown",
        );
        return None;
    };
    let authority = server.authority().unwrap().to_str().unwrap().to_owned();
    Some((server.url(), authority))
}

fn assert_refused(output: &Output, text: &str) {
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(output).contains(text), "{}", stderr(output));
}

#[test]
fn the_systems_authorities_are_trusted_and_no_others() {
    let Some((url, authority)) = server() else {
        return;
    };
    let url = format!("{url}?ssl-mode=verify-full");
    // What names the system's CAs to every program.
    let mut trusting = onecopy();
    trusting
        .arg(&url)
        .args(CIPHER)
        .env("SSL_CERT_FILE", &authority);
    let output = trusting.output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.trim_end().len() > "Ssl_cipher\t".len(), "{shown}");

    let mut other = onecopy();
    other.arg(&url).args(CIPHER).env_remove("SSL_CERT_FILE");
    assert_refused(&other.output().unwrap(), "ssl-ca");
}

#[test]
fn a_server_is_verified_by_the_authority_that_is_named() {
    let Some((url, authority)) = server() else {
        return;
    };
    let url = format!("{url}?ssl-ca={authority}");
    let output = onecopy().arg(&url).args(CIPHER).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));

    let url = format!("{url}&ssl-server-name=db.example");
    let output = onecopy().arg(&url).args(CIPHER).output().unwrap();
    assert_refused(
        &output,
        "it is not for db.example but for 127.0.0.1, localhost; set ssl-server-name",
    );
}

#[test]
fn the_meters_table_has_what_tls_copied_where_there_is_tls() {
    let Some((url, authority)) = server() else {
        return;
    };
    let metered = |url: &str| {
        let mut command = onecopy();
        let output = command.arg(url).args(["SELECT 1", "--meter"]).output();
        output.unwrap()
    };
    let output = metered(&format!("{url}?ssl-ca={authority}"));
    let shown = stderr(&output);
    let row = shown.lines().find(|line| line.starts_with("copied by tls"));
    let words: Vec<&str> = row.expect(shown).split_whitespace().collect();
    let bytes: u64 = words[3].replace(',', "").parse().expect(shown);
    assert!(
        bytes > 0 && words[4..] == ["not", "in", "the", "sum"],
        "{shown}"
    );

    let socket = metered(crate::url());
    assert_eq!(socket.status.code(), Some(0), "{}", stderr(&socket));
    assert!(!stderr(&socket).contains("tls"), "{}", stderr(&socket));
}
