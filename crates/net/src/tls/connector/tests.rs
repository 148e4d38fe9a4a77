use std::fs;

use onecopy_testkit::certificate::Authority;

use super::*;

fn authority() -> Pem {
    Pem::Text(Authority::new("tests").certificate().into())
}

fn options(verify: Verify) -> TlsOptions {
    TlsOptions {
        verify,
        ca: (verify != Verify::None).then(authority),
        identity: None,
        ..TlsOptions::default()
    }
}

fn identity(certificate: &str, key: &str) -> Option<Identity> {
    Some(Identity {
        certificate: Pem::Text(certificate.into()),
        key: Pem::Text(key.into()),
    })
}

fn refused(options: &TlsOptions, name: &str) -> TlsError {
    TlsConnector::new(options, name, &TlsCache::default()).unwrap_err()
}

#[test]
fn a_name_that_no_certificate_is_for_is_refused_only_where_the_host_is_verified() {
    for name in ["", "two words", "-", "a..b", "1.2.3.4.5", "db:3306"] {
        match refused(&options(Verify::Full), name) {
            TlsError::BadServerName(refused) => assert_eq!(refused, name),
            other => panic!("{name}: {other:?}"),
        }
        for verify in [Verify::None, Verify::Ca] {
            let connector = TlsConnector::new(&options(verify), name, &TlsCache::default());
            assert!(connector.unwrap().session().is_ok(), "{name}");
        }
    }
}

#[test]
fn names_and_addresses_are_taken() {
    for name in [
        "localhost",
        "db.example",
        "db_1.example",
        "127.0.0.1",
        "::1",
    ] {
        let options = options(Verify::Full);
        let connector = TlsConnector::new(&options, name, &TlsCache::default());
        assert!(connector.unwrap().session().is_ok(), "{name}");
    }
}

#[test]
fn an_authority_of_ones_own_is_needed_where_any_of_its_hosts_will_do() {
    let options = TlsOptions {
        verify: Verify::Ca,
        ..TlsOptions::default()
    };
    let error = refused(&options, "localhost").to_string();
    assert!(error.starts_with("ssl-ca: none is given: "), "{error}");
}

#[test]
fn an_authority_that_is_no_certificate_is_refused() {
    let pem = "-----BEGIN CERTIFICATE-----\nbm8gY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n";
    for verify in [Verify::Ca, Verify::Full] {
        let options = TlsOptions {
            verify,
            ca: Some(Pem::Text(pem.into())),
            identity: None,
            ..TlsOptions::default()
        };
        let error = refused(&options, "localhost");
        assert!(!error.to_string().is_empty(), "{error:?}");
    }
}

#[test]
fn a_key_that_is_not_the_certificates_is_refused() {
    let authority = Authority::new("tests");
    let [one, another] = [authority.client("one"), authority.client("another")];
    let options = TlsOptions {
        verify: Verify::None,
        ca: None,
        identity: identity(&one.certificate, &another.key),
        ..TlsOptions::default()
    };
    assert_eq!(
        refused(&options, "localhost").to_string(),
        "ssl-key: the text given: it is not the private key of the first certificate in the text given"
    );
    let options = TlsOptions {
        identity: identity(&one.certificate, &one.key),
        ..options
    };
    assert!(TlsConnector::new(&options, "localhost", &TlsCache::default()).is_ok());
    // Of X.509 version 1, as MySQL 5.7 made for clients.
    let old = authority.version_1_server();
    let options = TlsOptions {
        identity: identity(&old.certificate, &old.key),
        ..options
    };
    assert!(TlsConnector::new(&options, "localhost", &TlsCache::default()).is_ok());
}

#[test]
fn the_cache_keeps_what_was_made_until_an_option_or_a_file_changes() {
    let folder = std::env::temp_dir().join(format!("onecopy-cache-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("ca.pem");
    fs::write(&path, Authority::new("first").certificate()).unwrap();
    let cache = TlsCache::default();
    let options = TlsOptions {
        verify: Verify::Ca,
        ca: Some(Pem::File(path.clone())),
        identity: None,
        ..TlsOptions::default()
    };
    let first = cache.make(&options).unwrap();
    let connector = TlsConnector::new(&options, "db.example", &cache).unwrap();
    assert_eq!(connector.options(), &options);
    assert_eq!(connector.server_name(), "db.example");
    assert!(!connector.is_stale());
    assert!(Arc::ptr_eq(&first, &cache.make(&options).unwrap()));
    assert!(Arc::ptr_eq(&first, &cache.clone().make(&options).unwrap()));

    // Another length, as a clock's step may be longer than the test.
    fs::write(&path, Authority::new("the second authority").certificate()).unwrap();
    assert!(connector.is_stale());
    let second = cache.make(&options).unwrap();
    assert!(
        !Arc::ptr_eq(&first, &second),
        "the file's change was not noticed"
    );

    let other = TlsOptions {
        verify: Verify::Full,
        ..options.clone()
    };
    assert!(!Arc::ptr_eq(&second, &cache.make(&other).unwrap()));

    fs::remove_file(&path).unwrap();
    assert!(matches!(cache.make(&options), Err(TlsError::File { .. })));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn debug_shows_no_key() {
    let client = Authority::new("tests").client("one");
    let options = TlsOptions {
        verify: Verify::None,
        ca: None,
        identity: identity(&client.certificate, &client.key),
        ..TlsOptions::default()
    };
    let connector = TlsConnector::new(&options, "localhost", &TlsCache::default()).unwrap();
    let secret = client.key.lines().nth(1).unwrap();
    for shown in [format!("{options:?}"), format!("{connector:?}")] {
        assert!(!shown.contains(&secret[..16]), "{shown}");
    }
}
