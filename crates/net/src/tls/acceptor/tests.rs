use std::fs;
use std::io::{IoSlice, IoSliceMut};
use std::path::PathBuf;

use onecopy_testkit::certificate::{Authority, Certificate};
use rustls::pki_types::ServerName;

use super::*;
use crate::tls::verifier::AnyHost;
use crate::tls::{Read, TlsCache, TlsConnector, TlsOptions, Verify};

fn text(pem: &str) -> Pem {
    Pem::Text(pem.into())
}

fn options(certificate: &Certificate, clients: ClientCertificates) -> TlsServerOptions {
    TlsServerOptions {
        identity: Identity {
            certificate: text(&certificate.certificate),
            key: text(&certificate.key),
        },
        clients,
    }
}

fn server() -> Certificate {
    Authority::new("tests").server(&["localhost"])
}

fn connector() -> TlsConnector {
    let options = TlsOptions {
        verify: Verify::None,
        ..TlsOptions::default()
    };
    TlsConnector::new(&options, "localhost", &TlsCache::default()).unwrap()
}

/// What `from` has unsent comes to `to`, at most `step` bytes at once.
fn deliver(from: &mut Session, to: &mut Session, step: usize) {
    while from.has_unsent() {
        let n = from.unsent().len().min(step);
        to.feed(&from.unsent()[..n]).unwrap();
        from.sent(n);
        to.shake_hands().unwrap();
    }
}

/// A client's and the server's session that stand, and nothing is in flight.
fn established(
    connector: &TlsConnector,
    acceptor: &TlsAcceptor,
    step: usize,
) -> (Session, Session) {
    join(
        connector.session().unwrap(),
        acceptor.session().unwrap(),
        step,
    )
}

fn join(mut client: Session, mut server: Session, step: usize) -> (Session, Session) {
    while !(client.shake_hands().unwrap() & server.shake_hands().unwrap())
        || client.has_unsent()
        || server.has_unsent()
    {
        deliver(&mut client, &mut server, step);
        deliver(&mut server, &mut client, step);
    }
    // Tickets come behind the handshake, and only a read looks at them.
    client.read(&mut []).unwrap();
    (client, server)
}

#[test]
fn a_handshake_stands_however_its_bytes_are_cut() {
    let acceptor = TlsAcceptor::new(&options(&server(), ClientCertificates::Off)).unwrap();
    for step in [1, 2, 7, 1000, usize::MAX] {
        let (client, server) = established(&connector(), &acceptor, step);
        assert_eq!(client.agreed(), server.agreed());
        assert_eq!(client.agreed().unwrap().version, "TLSv1.3");
    }
}

#[test]
fn a_client_that_was_here_comes_back_by_ticket_also_to_a_clone() {
    let acceptor = TlsAcceptor::new(&options(&server(), ClientCertificates::Off)).unwrap();
    let connector = connector();
    let (_, first) = established(&connector, &acceptor, usize::MAX);
    assert!(!first.is_resumed());
    let (_, second) = established(&connector, &acceptor.clone(), usize::MAX);
    assert!(second.is_resumed());
    // New keys, as after a change of the certificate: a whole handshake, no failure.
    let renewed = TlsAcceptor::new(&options(&server(), ClientCertificates::Off)).unwrap();
    let (_, third) = established(&connector, &renewed, usize::MAX);
    assert!(!third.is_resumed());
}

/// Clients that have only TLS 1.2, as MySQL's own of some years ago.
#[test]
fn a_client_of_the_older_version_is_served_and_comes_back() {
    let acceptor = TlsAcceptor::new(&options(&server(), ClientCertificates::Off)).unwrap();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyHost {
            roots: None,
            provider,
        }))
        .with_no_client_auth();
    let config = Arc::new(config);
    for (step, is_resumed) in [(1, false), (usize::MAX, true), (7, true)] {
        let name = ServerName::try_from("localhost").unwrap();
        let client = Session::client(Arc::clone(&config), name, Verify::None, None).unwrap();
        let (mut client, mut server) = join(client, acceptor.session().unwrap(), step);
        assert_eq!(server.agreed().unwrap().version, "TLSv1.2");
        assert_eq!(server.is_resumed(), is_resumed);
        let said = [b'x'; 16_000];
        let n = server.write(&[IoSlice::new(&said)]).unwrap();
        deliver(&mut server, &mut client, usize::MAX);
        let mut heard = [0; 20_000];
        let read = client.read(&mut [IoSliceMut::new(&mut heard)]).unwrap();
        assert_eq!((read, n), (Read::Bytes(16_000), 16_000));
        assert!(heard[..16_000] == said);
    }
}

#[test]
fn a_key_that_is_not_the_certificates_is_refused_with_both_places() {
    let [one, another] = [server(), server()];
    let error = TlsAcceptor::new(&options(
        &Certificate {
            key: another.key,
            ..one
        },
        ClientCertificates::Off,
    ))
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "ssl-key: the text given: it is not the private key of the first certificate in the text given"
    );
}

#[test]
fn a_file_that_is_missing_is_named_with_its_option_and_reason() {
    let missing = || Pem::File("/nowhere/at-all.pem".into());
    let good = server();
    let mut no_certificate = options(&good, ClientCertificates::Off);
    no_certificate.identity.certificate = missing();
    let mut no_key = options(&good, ClientCertificates::Off);
    no_key.identity.key = missing();
    for (options, option) in [
        (no_certificate, "ssl-cert"),
        (no_key, "ssl-key"),
        (
            options(&good, ClientCertificates::Required(missing())),
            "ssl-ca",
        ),
    ] {
        let error = TlsAcceptor::new(&options).unwrap_err().to_string();
        let start = format!("{option}: can't read '/nowhere/at-all.pem': No such file");
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn what_is_no_certificate_key_or_authority_is_refused() {
    let good = server();
    let junk = "-----BEGIN CERTIFICATE-----\nbm8gY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n";
    let key = Certificate {
        key: "no key".into(),
        ..good.clone()
    };
    let chain = Certificate {
        certificate: junk.into(),
        ..good.clone()
    };
    for (options, start) in [
        (
            options(&key, ClientCertificates::Off),
            "ssl-key: the text given: ",
        ),
        (
            options(&chain, ClientCertificates::Off),
            "ssl-cert: the text given: ",
        ),
        (
            options(&good, ClientCertificates::Optional(text(junk))),
            "ssl-ca: the text given: ",
        ),
        (
            options(&good, ClientCertificates::Required(text(""))),
            "ssl-ca: the text given: ",
        ),
    ] {
        let error = TlsAcceptor::new(&options).unwrap_err().to_string();
        assert!(error.starts_with(start), "{error}");
    }
}

/// Files that go with it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_change_of_a_file_is_seen_and_what_was_made_goes_on() {
    let name = format!("onecopy-acceptor-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    fs::create_dir_all(&folder.0).unwrap();
    let files = server().write(&folder.0, "server").unwrap();
    let options = TlsServerOptions {
        identity: Identity {
            certificate: Pem::File(files.certificate.clone()),
            key: Pem::File(files.key),
        },
        clients: ClientCertificates::Off,
    };
    let acceptor = TlsAcceptor::new(&options).unwrap();
    assert!(!acceptor.is_stale());
    assert_eq!(acceptor.options(), &options);
    // Half of a change: what is there now can't be used, what was there still is.
    let longer = Authority::new("tests").server(&["localhost", "also.example"]);
    fs::write(&files.certificate, longer.certificate).unwrap();
    assert!(acceptor.is_stale());
    let error = TlsAcceptor::new(&options).unwrap_err().to_string();
    assert!(
        error.contains("server-key.pem: it is not the private key"),
        "{error}"
    );
    established(&connector(), &acceptor, usize::MAX);
    fs::remove_file(&files.certificate).unwrap();
    assert!(acceptor.is_stale());
}

/// As `openssl x509 -req` makes them, and `mysql_ssl_rsa_setup` of MySQL 5.7 did: servers take them, and so do clients of OpenSSL.
#[test]
fn a_certificate_of_x509_version_1_is_shown_to_clients() {
    let authority = Authority::new("tests");
    let certificate = authority.version_1_server();
    let options = |key: &Certificate| TlsServerOptions {
        identity: Identity {
            certificate: text(&certificate.certificate),
            key: text(&key.key),
        },
        clients: ClientCertificates::Off,
    };
    let acceptor = TlsAcceptor::new(&options(&certificate)).unwrap();
    established(&connector(), &acceptor, usize::MAX);
    // The one client that does not take it is one that verifies it by this library, and says so.
    let verifying = TlsOptions {
        verify: Verify::Ca,
        ca: Some(text(&authority.certificate())),
        identity: None,
        ..TlsOptions::default()
    };
    let verifying = TlsConnector::new(&verifying, "localhost", &TlsCache::default()).unwrap();
    let (mut client, mut server) = (verifying.session().unwrap(), acceptor.session().unwrap());
    client.shake_hands().unwrap();
    server.feed(client.unsent()).unwrap();
    server.shake_hands().unwrap();
    client.feed(server.unsent()).unwrap();
    let error = client.shake_hands().unwrap_err().to_string();
    assert!(error.contains("x.509 version 1"), "{error}");
    // Its key is compared all the same.
    for other in [
        authority.version_1_server(),
        authority.server(&["localhost"]),
    ] {
        let error = TlsAcceptor::new(&options(&other)).unwrap_err().to_string();
        assert!(error.contains("it is not the private key"), "{error}");
    }
    // What is no certificate is refused, whatever is in it.
    let broken = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n";
    let mut broken_options = options(&certificate);
    broken_options.identity.certificate = text(broken);
    let error = TlsAcceptor::new(&broken_options).unwrap_err().to_string();
    assert!(error.starts_with("ssl-cert"), "{error}");
}

#[test]
fn debug_shows_no_key() {
    let certificate = server();
    let options = options(&certificate, ClientCertificates::Off);
    let acceptor = TlsAcceptor::new(&options).unwrap();
    let secret = certificate.key.lines().nth(1).unwrap();
    let bytes = format!("{:?}", &secret.as_bytes()[..8]);
    for shown in [format!("{options:?}"), format!("{acceptor:?}")] {
        assert!(!shown.contains(&secret[..16]), "{shown}");
        assert!(!shown.contains(bytes.trim_matches(['[', ']'])), "{shown}");
    }
}
