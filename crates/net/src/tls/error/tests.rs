use rustls::{AlertDescription, InvalidMessage, PeerIncompatible};

use super::*;

fn text(error: rustls::Error) -> String {
    TlsError::from(error).to_string()
}

#[test]
fn a_refused_certificate_says_why_and_what_to_do() {
    for (error, part) in [
        (
            CertificateError::Expired,
            "it has expired; the server needs a new one",
        ),
        (CertificateError::NotValidYet, "look at both clocks"),
        (
            CertificateError::UnknownIssuer,
            "name the server's CA with ssl-ca",
        ),
        (CertificateError::NotValidForName, "set ssl-server-name"),
        (CertificateError::Revoked, "it was revoked"),
        (CertificateError::BadSignature, ""),
    ] {
        let error = TlsError::from(rustls::Error::InvalidCertificate(error));
        assert!(error.is_untrusted());
        let shown = error.to_string();
        assert!(
            shown.starts_with("the server's certificate is refused: "),
            "{shown}"
        );
        assert!(shown.contains(part), "{shown}");
    }
    assert!(!TlsError::ClosedInHandshake.is_untrusted());
}

/// They come from the peer: a line break or a terminal's command could pass for another message.
#[test]
fn names_in_a_certificate_are_cut_and_only_printable() {
    let long = "x".repeat(100_000);
    let presented = [
        "good.example",
        "two\nlines\x1b[2J",
        "\u{202e}evil",
        &long,
        "fifth",
    ];
    let shown = wrong_host(&presented);
    assert!(shown.contains("not for db.example but for good.example, two?lines?[2J, ?evil, x"));
    assert!(shown.len() < 400 && !shown.contains("fifth"), "{shown}");
    assert!(!shown.contains(|c: char| c.is_control()), "{shown}");
}

fn wrong_host(presented: &[&str]) -> String {
    text(rustls::Error::InvalidCertificate(
        CertificateError::NotValidForNameContext {
            expected: rustls::pki_types::ServerName::try_from("db.example").unwrap(),
            presented: presented.iter().map(|&name| name.to_owned()).collect(),
        },
    ))
}

#[test]
fn names_in_a_certificate_are_shown_without_what_the_library_puts_around_them() {
    let shown = wrong_host(&[
        "IpAddress(127.0.0.1)",
        "DnsName(\"localhost\")",
        "DirectoryName",
        "DnsName(",
    ]);
    assert_eq!(
        shown,
        "the server's certificate is refused: it is not for db.example but for 127.0.0.1, localhost, DirectoryName, \
         DnsName(; set ssl-server-name to the host that it is for"
    );
}

#[test]
fn where_a_certificate_names_no_host_another_host_is_no_help() {
    assert_eq!(
        wrong_host(&[]),
        "the server's certificate is refused: it is not for db.example and names no host at all, like those that \
         MySQL generates; verify only its CA with ssl-mode=verify-ca"
    );
}

#[test]
fn alerts_say_what_they_mean() {
    for (alert, part) in [
        (AlertDescription::HandshakeFailure, "no cipher in common"),
        (
            AlertDescription::ProtocolVersion,
            "it has no version in common",
        ),
        (
            AlertDescription::CertificateRequired,
            "give one that it trusts with ssl-cert",
        ),
        (
            AlertDescription::UnknownCA,
            "give one that it trusts with ssl-cert",
        ),
        (
            AlertDescription::InternalError,
            "the server broke off tls: InternalError",
        ),
        (AlertDescription::Unknown(200), "the server broke off tls"),
    ] {
        let shown = text(rustls::Error::AlertReceived(alert));
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn what_is_no_tls_and_what_is_too_old_is_said() {
    let shown = text(rustls::Error::InvalidMessage(
        InvalidMessage::InvalidContentType,
    ));
    assert!(
        shown.starts_with("what the server sent is not tls"),
        "{shown}"
    );
    let shown = text(rustls::Error::PeerIncompatible(
        PeerIncompatible::Tls12NotOffered,
    ));
    assert!(
        shown.starts_with("the server speaks no tls that is safe here"),
        "{shown}"
    );
}

#[test]
fn every_text_is_one_line_that_begins_in_lower_case() {
    let pem = TlsError::Pem {
        option: "ssl-ca",
        place: "the text given".into(),
        problem: "empty".into(),
    };
    for error in [
        TlsError::ClosedInHandshake,
        TlsError::NoSystemRoots("none".into()),
        TlsError::BadServerName("a b".into()),
        pem,
        rustls::Error::DecryptError.into(),
        rustls::Error::General("odd".into()).into(),
        WireError::OutOfMemory { bytes: 1 << 30 }.into(),
    ] {
        let shown = error.to_string();
        assert!(
            !shown.contains('\n') && shown.starts_with(|c: char| c.is_lowercase()),
            "{shown}"
        );
    }
}

#[test]
fn an_io_error_of_tls_is_taken_out_of_its_envelope_and_any_other_is_not() {
    let error = TlsError::from_io(TlsError::ClosedInHandshake.into());
    assert!(matches!(error, Ok(TlsError::ClosedInHandshake)));
    let other = TlsError::from_io(io::ErrorKind::InvalidData.into()).unwrap_err();
    assert_eq!(other.kind(), io::ErrorKind::InvalidData);
}

#[test]
fn what_a_client_did_is_said_of_the_client() {
    for (error, text) in [
        (
            rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer),
            "the client's certificate is refused: UnknownIssuer",
        ),
        (
            rustls::Error::NoCertificatesPresented,
            "the client has no certificate, and one is required",
        ),
        (
            rustls::Error::AlertReceived(AlertDescription::UnknownCA),
            "the client does not trust the certificate",
        ),
        (
            rustls::Error::AlertReceived(AlertDescription::HandshakeFailure),
            "the client broke off tls: handshake failure",
        ),
        (
            rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType),
            "what the client sent is not tls",
        ),
        (
            rustls::Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
            "the client speaks no tls that is safe here",
        ),
    ] {
        let error = TlsError::from(error).of_client();
        for error in [error.again(), error] {
            let shown = error.to_string();
            assert!(shown.starts_with(text), "{shown}");
            assert!(!shown.contains("server"), "{shown}");
        }
    }
    let closed = TlsError::ClientClosedInHandshake;
    assert!(closed.again().to_string().starts_with("the client closed"));
}
