use onecopy_testkit::certificate::{Authority, Certificate};

use super::*;

fn certificate() -> Certificate {
    Authority::new("tests").server(&["localhost"])
}

fn text(text: &str) -> Pem {
    Pem::Text(text.into())
}

/// A file that goes with it.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        let name = format!("onecopy-pem-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn all_certificates_of_a_text_and_a_file_are_read() {
    let pem = [certificate().certificate, certificate().certificate].join("\n# a comment\n");
    assert_eq!(text(&pem).certificates("ssl-ca").unwrap().len(), 2);
    let file = File::new("two.pem");
    fs::write(&file.0, &pem).unwrap();
    let found = Pem::File(file.0.clone()).certificates("ssl-ca").unwrap();
    assert_eq!(found, text(&pem).certificates("ssl-ca").unwrap());
}

#[test]
fn a_key_is_read_from_a_file_that_has_the_certificate_too() {
    let Certificate { certificate, key } = certificate();
    let both = text(&format!("{certificate}{key}"));
    assert!(both.private_key("ssl-key").is_ok());
    assert_eq!(both.certificates("ssl-cert").unwrap().len(), 1);
}

#[test]
fn a_file_that_is_missing_is_named_with_its_option() {
    let error = Pem::File("/nowhere/ca.pem".into())
        .certificates("ssl-ca")
        .unwrap_err();
    let shown = error.to_string();
    assert!(
        shown.starts_with("ssl-ca: can't read '/nowhere/ca.pem': "),
        "{shown}"
    );
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn a_text_without_a_certificate_is_refused() {
    for pem in ["", "no pem at all\n", &certificate().key] {
        let error = text(pem).certificates("ssl-cert").unwrap_err().to_string();
        assert_eq!(
            error,
            "ssl-cert: the text given: there is no certificate in it"
        );
    }
}

#[test]
fn a_certificate_that_is_cut_short_is_refused() {
    let whole = certificate().certificate;
    let error = text(&whole[..whole.len() / 2])
        .certificates("ssl-ca")
        .unwrap_err();
    assert!(
        matches!(
            error,
            TlsError::Pem {
                option: "ssl-ca",
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn a_key_that_is_missing_or_encrypted_is_refused_and_says_what_to_do() {
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n";
    for pem in [encrypted, &certificate().certificate, ""] {
        let error = text(pem).private_key("ssl-key").unwrap_err().to_string();
        assert_eq!(
            error,
            "ssl-key: the text given: there is no private key in it, or it is encrypted; decrypt it with openssl pkey"
        );
    }
}

#[test]
fn no_error_and_no_debug_shows_a_key() {
    let key = certificate().key;
    let secret = key.lines().nth(1).unwrap();
    let broken = [
        key.replace("-----END PRIVATE KEY-----", ""),
        key.replace(secret, &format!("{secret} not base64 !")),
        key.replace(
            "-----END PRIVATE KEY-----",
            &format!("-----END {secret}-----"),
        ),
    ];
    for pem in broken {
        let error = text(&pem).private_key("ssl-key").unwrap_err();
        for shown in [error.to_string(), format!("{error:?}")] {
            assert!(!shown.contains(&secret[..16]), "{shown}");
        }
    }
    assert_eq!(format!("{:?}", text(&key)), "Text(***)");
}

#[test]
fn a_file_of_more_than_16_mib_is_not_read() {
    let file = File::new("large.pem");
    fs::File::create(&file.0)
        .unwrap()
        .set_len(MAX_BYTES + 1)
        .unwrap();
    let error = Pem::File(file.0.clone())
        .certificates("ssl-ca")
        .unwrap_err();
    assert!(
        error.to_string().ends_with("it is larger than 16 MiB"),
        "{error}"
    );
}

#[test]
fn a_change_of_a_file_is_noticed_and_a_text_has_none() {
    let file = File::new("changed.pem");
    let pem = Pem::File(file.0.clone());
    let missing = pem.stamp();
    fs::write(&file.0, "one").unwrap();
    let one = pem.stamp();
    assert_eq!(pem.stamp(), one);
    fs::write(&file.0, "another").unwrap();
    assert!(missing != one && pem.stamp() != one);
    assert_eq!(text("a").stamp(), text("b").stamp());
}
