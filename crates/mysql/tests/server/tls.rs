//! TLS against servers with every kind of certificate, in every mode.

use onecopy_mysql::{Config, Error, Pem, SslMode, Verify};
use onecopy_testkit::certificate::Certificate;
use onecopy_testkit::server::Server;

use super::Connection;
use crate::tls_servers::{config, on_disk, servers};

const ALL: [SslMode; 5] = [
    SslMode::Disabled,
    SslMode::Preferred,
    SslMode::Required,
    SslMode::VerifyCa,
    SslMode::VerifyFull,
];

/// How a login ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Clear,
    Tls,
    /// Its error has this in it.
    Refused(&'static str),
}

use End::{Clear, Refused, Tls};

const STRANGER: End = Refused("name the server's CA with ssl-ca");
const OTHER_HOST: End = Refused("set ssl-server-name");
const EXPIRED: End = Refused("it has expired");
const NOT_OFFERED: End = Refused("tls is required and the server");
const NEEDS_CA: End = Refused("set ssl-ca");

#[tokio::test]
async fn with_a_good_certificate_every_mode_connects() {
    let good = &servers().good;
    let ends = [Clear, Tls, Tls, Tls, Tls];
    each_mode(good, Some(servers().authority()), ends, |_| {}).await;
    // By its name too, which may be an IPv6 address first, where nobody listens.
    each_mode(good, Some(servers().authority()), ends, |config| {
        config.endpoint = onecopy_mysql::Endpoint::Tcp {
            host: "localhost".into(),
            port: good.port(),
        };
    })
    .await;
}

#[tokio::test]
async fn a_certificate_of_a_stranger_is_refused_where_it_is_verified() {
    let ends = [Clear, Tls, Tls, STRANGER, STRANGER];
    each_mode(&servers().good, Some(servers().stranger()), ends, |_| {}).await;
}

#[tokio::test]
async fn the_systems_authorities_do_not_vouch_for_a_private_one() {
    let end = end_of(&servers().good, SslMode::VerifyFull, None, |_| {}).await;
    let error = end.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("name the server's CA with ssl-ca"), "{text}");
    assert!(error.is_closed());
    // Where it may not be proven by the password either. If the system has no CA at all, the error says so.
    let strict = |config: &mut Config| config.verify_by_password = false;
    let end = end_of(&servers().good, SslMode::VerifyFull, None, strict).await;
    let error = end.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("the server's CA with ssl-ca"), "{text}");
    assert!(error.tls().is_some() && error.is_closed());
    let end = end_of(&servers().good, SslMode::VerifyCa, None, |_| {}).await;
    assert_end(end, NEEDS_CA, "verify-ca");
}

#[tokio::test]
async fn a_certificate_for_another_host_passes_only_where_the_host_is_not_verified() {
    let ends = [Clear, Tls, Tls, Tls, OTHER_HOST];
    each_mode(
        &servers().other_host,
        Some(servers().authority()),
        ends,
        |_| {},
    )
    .await;
    let by_name = [Clear, Tls, Tls, Tls, Tls];
    each_mode(
        &servers().other_host,
        Some(servers().authority()),
        by_name,
        |config| {
            if config.ssl_mode != Some(SslMode::Disabled) {
                config.ssl_server_name = Some("db.example".into());
            }
        },
    )
    .await;
}

#[tokio::test]
async fn an_address_is_verified_as_an_address() {
    let ends = [Clear, Tls, Tls, Tls, OTHER_HOST];
    each_mode(
        &servers().by_name,
        Some(servers().authority()),
        ends,
        |_| {},
    )
    .await;
    let end = end_of(
        &servers().by_name,
        SslMode::VerifyFull,
        Some(servers().authority()),
        |config| config.ssl_server_name = Some("localhost".into()),
    );
    assert_end(end.await, Tls, "by its name");
}

#[tokio::test]
async fn an_expired_certificate_is_refused_where_it_is_verified() {
    let ends = [Clear, Tls, Tls, EXPIRED, EXPIRED];
    each_mode(
        &servers().expired,
        Some(servers().authority()),
        ends,
        |_| {},
    )
    .await;
}

#[tokio::test]
async fn a_server_without_tls_is_spoken_to_only_where_tls_is_not_demanded() {
    let ends = [Clear, Clear, NOT_OFFERED, NOT_OFFERED, NOT_OFFERED];
    each_mode(
        &servers().without,
        Some(servers().authority()),
        ends,
        |_| {},
    )
    .await;
}

#[tokio::test]
async fn an_account_that_demands_a_certificate_gets_it() {
    let mut root = wait!(Connection::connect(&servers().good.url())).unwrap();
    let user = format!("certified_{}", face_name());
    let create = format!("CREATE USER {user}@'127.0.0.1' IDENTIFIED BY 'secret' REQUIRE X509");
    wait!(root.run(&create)).unwrap();
    let shows = |certificate: Option<&Certificate>| {
        let pem = certificate.map(|certificate| {
            let pem = |text: &str| Some(Pem::Text(text.as_bytes().to_vec()));
            (pem(&certificate.certificate), pem(&certificate.key))
        });
        let user = user.clone();
        move |config: &mut Config| {
            config.user.clone_from(&user);
            config.password = "secret".into();
            config.database = None;
            (config.ssl_cert, config.ssl_key) = pem.unwrap_or_default();
        }
    };
    let good = &servers().good;
    let authority = || Some(servers().authority());
    let (client, strange) = (servers().client(), servers().strange_client());
    // Verified first: where the server must be sent the password itself, it is remembered from then on.
    for mode in [SslMode::VerifyFull, SslMode::VerifyCa, SslMode::Required] {
        let ca = || authority().filter(|_| mode != SslMode::Required);
        let end = end_of(good, mode, ca(), shows(Some(&client))).await;
        assert_end(end, Tls, "with a certificate");
        let end = end_of(good, mode, ca(), shows(None)).await;
        assert_end(end, Refused("Access denied"), "without a certificate");
        let error = end_of(good, mode, ca(), shows(Some(&strange))).await;
        let error = error.expect_err("a stranger's certificate");
        assert!(error.is_closed() && !error.is_timeout(), "{error}");
    }
    let end = end_of(good, SslMode::Disabled, None, |config| {
        shows(None)(config);
    });
    assert_end(end.await, Refused("Access denied"), "without tls");
}

#[tokio::test]
async fn certificates_come_from_the_files_that_a_url_names() {
    let good = &servers().good;
    let (certificate, key) = on_disk(&servers().client(), face_name());
    let authority = good.authority().unwrap().display();
    let url = format!(
        "{}?ssl-ca={authority}&ssl-cert={}&ssl-key={}",
        good.url(),
        certificate.display(),
        key.display()
    );
    // A certificate asks for verification, also of this host.
    let conn = wait!(Connection::connect(&url)).unwrap();
    assert_eq!(conn.tls().unwrap().verify, Verify::Full);

    for (old, new, what) in [
        (
            "ssl-cert=",
            "ssl-cert=/no/such/file#",
            "can't read '/no/such/file",
        ),
        (
            "ssl-ca=",
            "ssl-ca=/no/such/file#",
            "can't read '/no/such/file",
        ),
    ] {
        let error = wait!(Connection::connect(&url.replace(old, new))).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
    let swapped = url
        .replace("ssl-cert=", "ssl-x=")
        .replace("ssl-key=", "ssl-cert=")
        .replace("ssl-x=", "ssl-key=");
    let error = wait!(Connection::connect(&swapped)).unwrap_err();
    assert!(
        error.to_string().contains("no certificate in it"),
        "{error}"
    );
    std::fs::remove_dir_all(certificate.parent().unwrap()).unwrap();
}

#[tokio::test]
async fn what_contradicts_itself_is_refused_before_anybody_is_connected_to() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for (options, text) in [
        ("ssl-mode=required&ssl-ca=/a", "verifies nothing"),
        ("ssl-mode=preferred&ssl-ca=/a", "verifies nothing"),
        ("ssl-mode=disabled&ssl-ca=/a", "verifies nothing"),
        ("ssl-mode=verify-ca", "set ssl-ca"),
        ("ssl-cert=/a", "go together"),
        ("ssl-key=/a", "go together"),
        ("ssl-mode=disabled&ssl-cert=/a&ssl-key=/a", "has no effect"),
        ("ssl-mode=disabled&ssl-server-name=db", "has no effect"),
        ("ssl-ca=/no/such/file", "can't read"),
        ("ssl-mode=verify-full&socket=/a", "set ssl-server-name"),
    ] {
        let url = format!("mysql://root:secret@127.0.0.1:{port}/test?{options}");
        let error = wait!(Connection::connect(&url)).unwrap_err();
        assert!(error.to_string().contains(text), "{options}: {error}");
        assert!(listener.accept().is_err(), "somebody was connected to");
    }
}

#[tokio::test]
async fn both_versions_of_tls_are_spoken() {
    for version in ["TLSv1.2", "TLSv1.3"] {
        let authority = onecopy_testkit::certificate::Authority::new("versions");
        let certificate = authority.server(&["127.0.0.1"]);
        let server = Server::builder()
            .tls(&authority, certificate)
            .argument(format!("--tls-version={version}"));
        let server = server.start().unwrap();
        let mut conn = wait!(Connection::connect(&server.tls_url().unwrap())).unwrap();
        let tls = conn.tls().unwrap();
        assert_eq!(tls.version, version);
        assert!(!cipher(&mut conn).await.is_empty());
        wait!(conn.close()).unwrap();
    }
}

#[tokio::test]
async fn tls_goes_over_a_unix_socket_too() {
    let good = &servers().good;
    let mut config = Config::from_url(&good.socket_url()).unwrap();
    config.ssl_mode = Some(SslMode::Required);
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    assert!(!cipher(&mut conn).await.is_empty());
    config.ssl_mode = Some(SslMode::VerifyFull);
    config.ssl_ca = Some(servers().authority());
    config.ssl_server_name = Some("localhost".into());
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    assert!(!cipher(&mut conn).await.is_empty());
}

#[tokio::test]
async fn what_tls_copies_is_counted_apart() {
    let mut conn = wait!(Connection::connect(&servers().good.tls_url().unwrap())).unwrap();
    let before = conn.meter();
    let mut rows = wait!(conn.query("SELECT REPEAT('x', 10000000)")).unwrap();
    let mut value = Vec::new();
    wait!(rows.next_into(0, &mut value)).unwrap().unwrap();
    wait!(rows.finish()).unwrap();
    let cost = conn.meter().since(&before);
    assert_eq!(value.len(), 10_000_000);
    // Twice each byte, and a third time what did not fit the read that its record came for.
    let ratio = cost.bytes_copied_by_tls as f64 / cost.bytes_read as f64;
    assert!((2.0..2.1).contains(&ratio), "{ratio}: {cost:?}");
    assert!(cost.copied() < 100_000, "{cost:?}");
}

/// Connects in each mode and compares.
async fn each_mode(
    server: &Server,
    authority: Option<Pem>,
    ends: [End; 5],
    change: impl Fn(&mut Config),
) {
    for (mode, expected) in ALL.into_iter().zip(ends) {
        let verifies = matches!(mode, SslMode::VerifyCa | SslMode::VerifyFull);
        let authority = authority.clone().filter(|_| verifies);
        let end = end_of(server, mode, authority, &change).await;
        assert_end(end, expected, mode.name());
    }
}

/// The cipher that the server says it speaks with this connection; empty in clear text.
async fn end_of(
    server: &Server,
    mode: SslMode,
    authority: Option<Pem>,
    change: impl FnOnce(&mut Config),
) -> Result<String, Error> {
    let mut config = config(server);
    config.ssl_mode = Some(mode);
    config.ssl_ca = authority;
    change(&mut config);
    let mut conn = wait!(Connection::connect_with(&config))?;
    let cipher = cipher(&mut conn).await;
    assert_eq!(cipher.is_empty(), conn.tls().is_none());
    if let Some(tls) = conn.tls() {
        let verify = match mode {
            SslMode::VerifyFull => Verify::Full,
            SslMode::VerifyCa => Verify::Ca,
            _ => Verify::None,
        };
        assert_eq!(tls.verify, verify);
    }
    wait!(conn.close())?;
    Ok(cipher)
}

fn assert_end(end: Result<String, Error>, expected: End, what: &str) {
    match (&end, expected) {
        (Ok(cipher), Clear) if cipher.is_empty() => {}
        (Ok(cipher), Tls) if !cipher.is_empty() => {}
        (Err(error), Refused(text)) if error.to_string().contains(text) => {
            assert!(!error.is_timeout());
        }
        _ => panic!("{what}: {end:?} instead of {expected:?}"),
    }
}

async fn cipher(conn: &mut Connection) -> String {
    let mut rows = wait!(conn.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'")).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    row.get::<String>(1).unwrap()
}

fn face_name() -> &'static str {
    module_path!().rsplit("::").nth(1).unwrap()
}
