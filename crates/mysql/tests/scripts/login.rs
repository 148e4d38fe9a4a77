//! Logins, and the preamble of all other scripts.

use onecopy_mysql::{Config, Pem, SslMode};
use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::packet::{ConnectAttributes, HandshakeResponse};
use onecopy_testkit::script::{Script, Talk, Trial, packets, tls_authority};

use crate::talk::config;

/// MariaDB's greeting, captured from 10.11.19 (Debian 12); of its capabilities CONNECT_ATTRS is left out, whose bytes
/// would reveal the machine, and where the script says so DEPRECATE_EOF and CACHE_METADATA.
const MARIADB: &str = "
    S 64 00 00 00
      0a                                               | protocol 10
      35 2e 35 2e 35 2d 31 30 2e 31 31 2e 31 39 2d 4d | 5.5.5-10.11.19-M
      61 72 69 61 44 42 2d 30 2b 64 65 62 31 32 75 31 | ariaDB-0+deb12u1
      00 03 00 00 00                                   | NUL, connection 3
      33 31 3e 22 2f 63 27 37 00                       | nonce, first part; filler
      fe f7                                            | lower capabilities: neither LONG_PASSWORD nor SSL
      08 02 00                                         | latin1_swedish_ci, AUTOCOMMIT
      ef {eof}                                         | upper capabilities
      15 00 00 00 00 00 00                             | 21 bytes of auth data, filler
      {cache} 00 00 00                                 | MariaDB's capabilities
      7e 3a 41 77 56 27 5e 25 3c 40 69 72 00           | nonce, second part
      6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 73 | mysql_native_pas
      73 77 6f 72 64 00                                | sword";

/// The scramble was computed apart, by Python's hashlib: SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))).
const MARIADB_RESPONSE: &str = "
    C 4f 00 00 01
      {lower} a2 {upper}                               | capabilities: TRANSACTIONS, PROTOCOL_41, SECURE_CONNECTION
      00 00 00 40 2d                                   | packets of at most 1 GiB, utf8mb4_general_ci
      00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 | filler
      00 00 00                                         | filler
      {cache} 00 00 00                                 | MariaDB's capabilities
      61 64 61 00                                      | ada
      14 2f 86 92 bc 6a a2 33 24 37 d1 7d 47 b5 e8 5b | the scramble of lovelace
      05 e3 0a 50 f1
      6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 73 | mysql_native_pas
      73 77 6f 72 64 00                                | sword
    S 07 00 00 02
      00 00 00 02 00 00 00                             | OK, AUTOCOMMIT";

/// What the client answers to a greeting that offers TLS.
pub(crate) const SSL_REQUEST: &str = "
    C 20 00 00 01
      04 aa ae 01                                      | the response's capabilities and SSL
      00 00 00 40 2d                                   | packets of at most 1 GiB, utf8mb4_general_ci
      00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 | filler
      00 00 00                                         | filler
      04 00 00 00                                      | MariaDB's capabilities";

/// MySQL's greeting, laid out after its page of the packet, without TLS and CONNECT_ATTRS.
const MYSQL: &str = "
    S 49 00 00 00
      0a 38 2e 34 2e 33 00 0b 00 00 00                 | protocol 10, 8.4.3, connection 11
      01 02 03 04 05 06 07 08 00                       | nonce, first part; filler
      ff f7 ff 02 00 ef df                             | capabilities, utf8mb4_0900_ai_ci, AUTOCOMMIT
      15 00 00 00 00 00 00 00 00 00 00                 | 21 bytes of auth data, filler
      09 0a 0b 0c 0d 0e 0f 10 11 12 13 14 00           | nonce, second part
      63 61 63 68 69 6e 67 5f 73 68 61 32 5f 70 61 73 | caching_sha2_pas
      73 77 6f 72 64 00                                | sword";

/// The scramble was computed apart: SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce).
const MYSQL_RESPONSE: &str = "
    C 5b 00 00 01
      05 a2 ae 01 00 00 00 40 2d                       | capabilities, 1 GiB, utf8mb4_general_ci
      00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 | filler
      00 00 00 00 00 00 00                             | filler
      61 64 61 00                                      | ada
      20 a1 89 0b be 95 ed 5a 52 79 33 c2 8c 76 a7 e3 | the scramble of lovelace
      89 77 73 e6 98 27 f2 4c 54 d0 c8 ce 4a 76 35 34
      24
      63 61 63 68 69 6e 67 5f 73 68 61 32 5f 70 61 73 | caching_sha2_pas
      73 77 6f 72 64 00                                | sword";

/// How results end, and what else is agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Eof,
    DeprecateEof,
    CachedMetadata,
    /// With [`Style::DeprecateEof`], for a client that has asked for them.
    Progress,
}

fn mariadb(style: Style, lower: &str, upper: &str) -> Script {
    let (eof, upper_eof) = match style {
        Style::Eof => ("80", "00"),
        Style::DeprecateEof | Style::CachedMetadata | Style::Progress => ("81", "01"),
    };
    let (offered, cache) = match style {
        Style::CachedMetadata => ("1d", "14"),
        Style::Progress => ("0d", "05"),
        Style::Eof | Style::DeprecateEof => ("0d", "04"),
    };
    let greeting = MARIADB.replace("{eof}", eof).replace("{cache}", offered);
    let response = MARIADB_RESPONSE
        .replace("{lower}", lower)
        .replace("{upper}", &format!("{upper} {upper_eof}"))
        .replace("{cache}", cache);
    Script::parse(&greeting).then(&Script::parse(&response))
}

/// The login to MariaDB that other scripts begin with.
pub(crate) fn login(style: Style) -> Script {
    mariadb(style, "04", "ae").preamble()
}

/// The same for a client with a listener for the progress of statements.
pub(crate) fn login_progress() -> Script {
    login(Style::Progress)
}

/// The same with several statements in one query.
pub(crate) fn login_multi(style: Style) -> Script {
    mariadb(style, "04", "af").preamble()
}

/// The same, after which both sides are compressed with zlib.
pub(crate) fn login_compressed() -> Script {
    mariadb(Style::DeprecateEof, "24", "ae").preamble()
}

/// The same with local files.
pub(crate) fn login_local_infile(style: Style) -> Script {
    mariadb(style, "84", "ae").preamble()
}

/// MariaDB's greeting alone.
pub(crate) fn greeting() -> Script {
    Script::parse(&MARIADB.replace("{eof}", "81").replace("{cache}", "0d"))
}

/// A login to a MariaDB that could prove its certificate.
pub(crate) fn login_to_11() -> Script {
    let old = b"10.11.19";
    let mut login = mariadb(Style::DeprecateEof, "04", "ae");
    login.replace_in_server(old, b"11.8.300");
    login
}

/// The same, of a server that speaks TLS.
pub(crate) fn greeting_with_tls() -> Script {
    let greeting = MARIADB.replace("fe f7", "fe ff");
    Script::parse(&greeting.replace("{eof}", "81").replace("{cache}", "0d"))
}

/// A login to MySQL up to the client's response.
pub(crate) fn mysql_response() -> Script {
    Script::parse(MYSQL).then(&Script::parse(MYSQL_RESPONSE))
}

/// A login to MariaDB up to the client's response.
pub(crate) fn mariadb_response() -> Script {
    let whole = mariadb(Style::DeprecateEof, "04", "ae");
    whole.without_last_answer()
}

/// What a login comes to.
pub(crate) fn talk() -> Talk {
    talk!(|conn, log, wait, face| {
        log.line(format!(
            "{} {}",
            conn.server_version(),
            conn.connection_id()
        ));
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    })
}

pub(crate) const PING: &str = "
    C 01 00 00 00 0e
    S 07 00 00 01 00 00 00 02 00 00 00";

pub(crate) const MARIADB_SEEN: [&str; 2] = ["5.5.5-10.11.19-MariaDB-0+deb12u1 3", "pong"];
pub(crate) const MYSQL_SEEN: [&str; 2] = ["8.4.3 11", "pong"];

#[test]
fn native_password() {
    for style in [Style::Eof, Style::DeprecateEof, Style::CachedMetadata] {
        let script = mariadb(style, "04", "ae").then(&Script::parse(PING));
        Trial::new(&script, talk(), &MARIADB_SEEN).run();
    }
}

#[test]
fn a_database_and_the_attributes_of_the_client_are_told() {
    fn config_with_database() -> Config {
        let mut config = config();
        config.database = Some("shop".into());
        config.attributes = vec![("program_name".into(), "scripts".into())];
        config
    }
    let greeting = MARIADB
        .replace("ef {eof}", "ff 81")
        .replace("{cache}", "0d");
    let pid = std::process::id().to_string();
    let mut attributes = Vec::new();
    for (name, value) in [
        ("_client_name", "onecopy"),
        ("_client_version", env!("CARGO_PKG_VERSION")),
        ("_os", std::env::consts::OS),
        ("_platform", std::env::consts::ARCH),
        ("_pid", &pid),
        ("program_name", "scripts"),
    ] {
        ConnectAttributes::push(&mut attributes, name.as_bytes(), value.as_bytes());
    }
    let scramble = Script::parse(
        MARIADB_RESPONSE
            .replace("{lower}", "00")
            .replace("{upper}", "00 00")
            .replace("{cache}", "00")
            .as_str(),
    );
    let mut response = Vec::new();
    HandshakeResponse {
        // The upper half is MariaDB's: bulk operations.
        capabilities: Capabilities(0x4_01BE_A20C),
        max_packet_bytes: 1 << 30,
        collation: 45,
        user: b"ada",
        auth_response: &scramble.client_bytes()[41..61],
        database: Some(b"shop"),
        auth_plugin: Some(b"mysql_native_password"),
        attributes: ConnectAttributes::from_encoded(&attributes),
        zstd_level: None,
    }
    .encode(&mut response)
    .unwrap();
    let script = Script::parse(&greeting)
        .client(&packets(&mut 1, &response))
        .server_packets(2, &[&[0, 0, 0, 2, 0, 0, 0]])
        .then(&Script::parse(PING));
    let talk = talk!(config_with_database(), |conn, log, wait, face| {
        log.line(format!(
            "{} {}",
            conn.server_version(),
            conn.connection_id()
        ));
        wait!(conn.ping())?;
        log.line("pong");
        Ok(())
    });
    Trial::new(&script, talk, &MARIADB_SEEN).run();
}

#[test]
fn caching_sha2_fast() {
    let script = mysql_response().then(&Script::parse(
        "S 02 00 00 02 01 03
         S 07 00 00 03 00 00 00 02 00 00 00",
    ));
    Trial::new(&script.then(&Script::parse(PING)), talk(), &MYSQL_SEEN).run();
}

#[test]
fn caching_sha2_full_over_a_unix_socket() {
    let script = mysql_response().then(&Script::parse(
        "S 02 00 00 02 01 04                              | asks for the password itself
         C 09 00 00 03 6c 6f 76 65 6c 61 63 65 00         | lovelace
         S 07 00 00 04 00 00 00 02 00 00 00",
    ));
    let script = script.then(&Script::parse(PING)).over_unix_socket();
    Trial::new(&script, talk(), &MYSQL_SEEN).run();
}

#[test]
fn caching_sha2_full_over_plain_tcp_is_refused() {
    let script = mysql_response().then(&Script::parse("S 02 00 00 02 01 04"));
    let refused = "Auth(InsecureChannel { plugin: CachingSha2Password, channel: Plain })";
    Trial::new(&script.in_clear_text(), talk(), &[refused]).run();
}

#[test]
fn caching_sha2_full_over_tls_that_is_not_verified_is_refused() {
    let script = mysql_response().then(&Script::parse("S 02 00 00 02 01 04"));
    let script = script.over_tls().unwrap();
    let refused = "Auth(InsecureChannel { plugin: CachingSha2Password, channel: TlsUnverified })";
    Trial::new(&script, talk(), &[refused]).run();
}

#[test]
fn caching_sha2_full_over_tls_that_is_not_verified_by_opt_in() {
    fn opted_in() -> Config {
        let mut config = config();
        config.password_over_unverified_tls = true;
        config
    }
    let script = mysql_response().then(&Script::parse(
        "S 02 00 00 02 01 04                              | asks for the password itself
         C 09 00 00 03 6c 6f 76 65 6c 61 63 65 00         | lovelace
         S 07 00 00 04 00 00 00 02 00 00 00",
    ));
    let script = script.then(&Script::parse(PING)).over_tls().unwrap();
    let talk = talk!(opted_in(), |conn, log, wait, face| {
        wait!(conn.ping())?;
        log.line(format!("{:?}", conn.tls().unwrap().verify));
        Ok(())
    });
    Trial::new(&script, talk, &["None"]).run();
}

#[test]
fn caching_sha2_full_over_tls_that_is_verified() {
    fn verify(mode: SslMode) -> Config {
        let mut config = config();
        config.ssl_mode = Some(mode);
        config.ssl_ca = Some(Pem::Text(tls_authority().into()));
        config
    }
    let script = mysql_response().then(&Script::parse(
        "S 02 00 00 02 01 04                              | asks for the password itself
         C 09 00 00 03 6c 6f 76 65 6c 61 63 65 00         | lovelace
         S 07 00 00 04 00 00 00 02 00 00 00",
    ));
    let script = script.then(&Script::parse(PING)).over_tls().unwrap();
    let seen = ["8.4.3 11", "Full"];
    let talk = talk!(verify(SslMode::VerifyFull), |conn, log, wait, face| {
        wait!(conn.ping())?;
        log.line(format!(
            "{} {}",
            conn.server_version(),
            conn.connection_id()
        ));
        log.line(format!("{:?}", conn.tls().unwrap().verify));
        Ok(())
    });
    Trial::new(&script, talk, &seen).run();
    let talk = talk!(verify(SslMode::VerifyCa), |conn, log, wait, face| {
        wait!(conn.ping())?;
        log.line(format!("{:?}", conn.tls().unwrap().verify));
        Ok(())
    });
    Trial::new(&script, talk, &["Ca"]).run();
}

/// Byte for byte, not only as it follows from the login in clear text.
#[test]
fn the_request_for_tls_and_the_response_behind_it() {
    let script = mariadb(Style::DeprecateEof, "04", "ae").over_tls().unwrap();
    let request = Script::parse(SSL_REQUEST);
    let (request, response) = script.client_bytes().split_at(request.client_bytes().len());
    assert_eq!(request, Script::parse(SSL_REQUEST).client_bytes());
    assert_eq!(response[..6], [0x4F, 0, 0, 2, 0x04, 0xAA]);
    let ok = [7, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0];
    assert!(script.server_bytes().ends_with(&ok));
    assert!(
        script
            .server_bytes()
            .starts_with(greeting_with_tls().server_bytes())
    );
}

#[test]
fn native_password_over_tls_cut_and_broken_off_everywhere() {
    let script = mariadb(Style::DeprecateEof, "04", "ae").then(&Script::parse(PING));
    Trial::new(&script, talk(), &MARIADB_SEEN).run_everywhere_over_tls();
}

/// The signature was computed apart, by a plain Python writing of RFC 8032 with SHA-512 of the password for the key.
#[test]
fn ed25519_by_a_switch() {
    let script = mariadb_response().then(&Script::parse(
        "S 30 00 00 02
           fe 63 6c 69 65 6e 74 5f 65 64 32 35 35 31 39 00 | client_ed25519
           20 21 22 23 24 25 26 27 28 29 2a 2b 2c 2d 2e 2f | nonce of 32 bytes
           30 31 32 33 34 35 36 37 38 39 3a 3b 3c 3d 3e 3f
         C 40 00 00 03
           a4 bd 39 4b 7d fe 32 d4 74 0a 98 41 19 4a 30 34
           28 fb a9 54 83 74 39 0c ca c7 8c 6c cd 3f 4a f5
           13 ed 02 70 8f b8 f9 3a 6e c3 bf 94 9b 7f 0e f3
           c2 ac 3e 29 53 db c0 4c a3 b8 80 86 83 e1 65 0a
         S 07 00 00 04 00 00 00 02 00 00 00",
    ));
    Trial::new(&script.then(&Script::parse(PING)), talk(), &MARIADB_SEEN).run();
}

#[test]
fn a_switch_to_native_password() {
    let script = mysql_response().then(&Script::parse(
        "S 2c 00 00 02
           fe 6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 | mysql_native_pa
           73 73 77 6f 72 64 00                            | ssword
           01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 | nonce of 20 bytes and its NUL
           11 12 13 14 00
         C 14 00 00 03
           3d e6 fa 94 1a 3b 79 c0 88 78 9d 14 26 88 67 23
           88 9a 13 1c
         S 07 00 00 04 00 00 00 02 00 00 00",
    ));
    Trial::new(&script.then(&Script::parse(PING)), talk(), &MYSQL_SEEN).run();
}

#[test]
fn err_in_place_of_the_greeting_has_no_sqlstate() {
    let payload = b"\xff\x10\x04Too many connections";
    let script = Script::new().server_packets(0, &[payload]).closes();
    let seen = "server error 1040: Too many connections";
    Trial::new(&script, talk(), &[seen]).run();
}

#[test]
fn err_in_answer_to_the_response() {
    for (payload, seen) in [
        (
            &b"\xff\x15\x04#28000Access denied for user 'ada'"[..],
            "server error 1045 (28000): Access denied for user 'ada'",
        ),
        (b"\xff\x15\x04no marker", "server error 1045: no marker"),
        (b"\xff", "server error 0: "),
    ] {
        let script = mysql_response().server_packets(2, &[payload]).closes();
        Trial::new(&script, talk(), &[seen]).run();
    }
}
