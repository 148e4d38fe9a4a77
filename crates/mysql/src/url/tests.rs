use std::time::Duration;

use onecopy_net::Endpoint;

use super::parse;
use crate::{Abandoned, PluginSet, SslMode};

fn tcp(host: &str, port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: host.into(),
        port,
    }
}

#[test]
fn a_full_url_gives_every_part() {
    let config = parse("mysql://al%40ice:p%3Aw%2F@db.example:3307/sh%C3%B6p?ssl-mode=verify-ca&connect-timeout=2.5").unwrap();
    assert_eq!(config.user, "al@ice");
    assert_eq!(config.password.secret().unwrap().expose(), b"p:w/");
    assert_eq!(config.endpoint, tcp("db.example", 3307));
    assert_eq!(config.database.as_deref(), Some("shöp"));
    assert_eq!(config.ssl_mode, Some(SslMode::VerifyCa));
    assert_eq!(config.connect_timeout, Some(Duration::from_millis(2500)));
}

#[test]
fn what_is_left_out_has_a_default() {
    let config = parse("mysql://").unwrap();
    assert_eq!(config.endpoint, tcp("localhost", 3306));
    assert!(config.user.is_empty() && !config.password.is_some() && config.database.is_none());
    assert_eq!(config.effective_ssl_mode(), SslMode::Disabled);
    assert_eq!(
        parse("mysql://db.example").unwrap().effective_ssl_mode(),
        SslMode::VerifyFull
    );
}

#[test]
fn what_is_abandoned_is_cancelled_or_drained() {
    for (option, abandoned) in [
        ("", Abandoned::Cancel),
        ("?abandoned=cancel", Abandoned::Cancel),
        ("?abandoned=drain", Abandoned::Drain),
    ] {
        let config = parse(&format!("mysql://db{option}")).unwrap();
        assert_eq!(config.abandoned, abandoned, "{option}");
    }
    let error = parse("mysql://db?abandoned=forget").unwrap_err();
    assert!(error.to_string().contains("neither cancel nor drain"));
}

#[test]
fn a_socket_takes_the_place_of_host_and_port() {
    let config = parse("mariadb://root@localhost/test?socket=/run/mysqld/mysqld.sock").unwrap();
    assert_eq!(
        config.endpoint,
        Endpoint::Unix("/run/mysqld/mysqld.sock".into())
    );
}

#[test]
fn several_hosts_are_separated_by_commas() {
    let config = parse("mysql://u:p@a,b:3307,[::1]:7,[::2]/d?target=prefer-replica").unwrap();
    assert_eq!(config.endpoint, tcp("a", 3306));
    let others = [tcp("b", 3307), tcp("::1", 7), tcp("::2", 3306)];
    assert_eq!(config.alternatives, others);
    assert_eq!(config.target, crate::ServerTarget::PreferReplica);
    assert!(parse("mysql://a").unwrap().alternatives.is_empty());
    for (url, hint) in [
        ("mysql://a,", "one of the url's hosts is empty"),
        ("mysql://a,,b", "one of the url's hosts is empty"),
        ("mysql://a,b:x", "port is not a number"),
        (
            "mysql://a?target=master",
            "any, primary, replica, prefer-replica",
        ),
    ] {
        let text = parse(url).unwrap_err().to_string();
        assert!(text.contains(hint), "{url}: {text}");
    }
}

#[test]
fn an_ipv6_address_stands_in_brackets() {
    assert_eq!(
        parse("mysql://u@[::1]:3307/d").unwrap().endpoint,
        tcp("::1", 3307)
    );
    assert_eq!(
        parse("mysql://u@[fe80::2]/d").unwrap().endpoint,
        tcp("fe80::2", 3306)
    );
    assert_eq!(
        parse("mysql://u@[fe80::2%25eth0]:/d").unwrap().endpoint,
        tcp("fe80::2%eth0", 3306)
    );
}

#[test]
fn a_port_behind_an_ipv6_address_without_its_colon_is_an_error_that_says_what_to_write() {
    for url in [
        "mysql://u@[::1]3307/d",
        "mysql://u@[::1]3307",
        "mysql://u@[::1].example/",
        "mysql://u@[::1/d",
        "mysql://u@::1/d",
        "mysql://u@[localhost]:3307/d",
        "mysql://u@[127.0.0.1]:3307/d",
        "mysql://u@[]:3307/d",
    ] {
        let text = parse(url).unwrap_err().to_string();
        assert!(text.contains("mysql://user@[::1]:3306/"), "{url}: {text}");
    }
}

#[test]
fn a_bad_url_is_refused_with_what_would_be_right() {
    for (url, hint) in [
        ("postgres://x", "mysql://"),
        ("mysql://h?sslmode=x", "unknown option 'sslmode'"),
        ("mysql://h?socket", "has no value"),
        ("mysql://h:70000", "65535"),
        ("mysql://h?ssl-mode=on", "verify-full"),
        ("mysql://h?found-rows=1", "true nor false"),
        ("mysql://h?connect-timeout=-1", "seconds"),
        ("mysql://h?connect-timeout=NaN", "seconds"),
        ("mysql://%FF@h", "UTF-8"),
    ] {
        let text = parse(url).unwrap_err().to_string();
        assert!(text.contains(hint), "{url}: {text}");
    }
}

#[test]
fn no_error_and_no_debug_text_shows_the_password() {
    let config = parse("mysql://u:hunter2@h/d").unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
    let error = parse("mysql://u:hunter2@h/d?nope=1").unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}

#[test]
fn a_reserved_character_in_the_password_is_told_without_the_password() {
    for url in [
        "mysql://root:s3cr3t/xyz@127.0.0.1:1/db",
        "mysql://root:s3cr3t?xyz@127.0.0.1/db",
        "mysql://root:s3cr3t?xyz=1@127.0.0.1/db",
        "mysql://root:33/s3cr3t@127.0.0.1/db",
        "mysql://root:xyz@s3cr3t/s3cr3t@127.0.0.1/db",
        "mysql://s3cr3t/root@127.0.0.1",
    ] {
        let error = parse(url).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(
            text.contains("percent-encode / and ? in the password (%2F, %3F)"),
            "{url}: {text}"
        );
        for part in ["s3cr3t", "xyz", "33", "root", "127"] {
            assert!(!text.contains(part), "{url}: {text}");
        }
    }
    let config = parse("mysql://u:a%2Fb%3Fc%40d@h/e%40f?socket=/g%40h").unwrap();
    assert_eq!(config.password.secret().unwrap().expose(), b"a/b?c@d");
    assert_eq!(config.database.as_deref(), Some("e@f"));
    assert_eq!(config.endpoint, Endpoint::Unix("/g@h".into()));
}

#[test]
fn neither_a_port_nor_an_option_without_a_value_is_quoted() {
    for (url, hint) in [
        ("mysql://root:s3cr3t", "port"),
        ("mysql://root:s3cr3t/db", "port"),
        ("mysql://u@[::1]:s3cr3t", "port"),
        ("mysql://root?s3cr3t", "name=value"),
        ("mysql://u:p@h/d?found-rows=true&s3cr3t", "name=value"),
    ] {
        let error = parse(url).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(
            text.contains(hint) && !text.contains("s3cr3t"),
            "{url}: {text}"
        );
    }
}

#[test]
fn a_deadline_is_at_most_a_year() {
    for name in [
        "connect-timeout",
        "call-timeout",
        "statement-timeout",
        "tcp-keepalive",
        "tcp-user-timeout",
    ] {
        for value in ["1e19", "1e300", "inf", "31536001"] {
            let text = parse(&format!("mysql://h?{name}={value}"))
                .unwrap_err()
                .to_string();
            assert!(
                text.contains(&format!("{name} '{value}' is more than a year")),
                "{text}"
            );
        }
    }
    let config =
        parse("mysql://h?connect-timeout=31536000&call-timeout=0&statement-timeout=2.5").unwrap();
    assert_eq!(
        config.connect_timeout,
        Some(Duration::from_secs(31_536_000))
    );
    assert_eq!(config.call_timeout, None);
    assert_eq!(config.statement_timeout, Some(Duration::from_millis(2500)));
}

#[test]
fn a_password_comes_from_a_file_or_the_environment() {
    let path = std::env::temp_dir().join(format!("onecopy-password-{}", std::process::id()));
    std::fs::write(&path, "from file\nsecond line\n").unwrap();
    let config = parse(&format!("mysql://u@h/d?password-file={}", path.display())).unwrap();
    assert_eq!(config.password.secret().unwrap().expose(), b"from file");
    std::fs::remove_file(path).unwrap();
    let config = parse("mysql://u@h/d?password-env=CARGO_PKG_NAME").unwrap();
    assert_eq!(config.password.secret().unwrap().expose(), b"onecopy-mysql");
    assert!(parse("mysql://u@h/d?password-env=ONECOPY_NOT_THERE").is_err());
}

#[test]
fn authentication_has_options_by_their_own_names() {
    let config = parse("mysql://h").unwrap();
    assert_eq!(config.auth_plugins, PluginSet::SAFE);
    assert!(config.server_public_key.is_none());
    assert!(!config.get_server_public_key && !config.password_over_unverified_tls);

    let config = parse(
        "mysql://h?auth-plugins=mysql_clear_password,parsec&get-server-public-key=true&password-over-unverified-tls=true",
    )
    .unwrap();
    let allowed = PluginSet::CLEAR_PASSWORD | PluginSet::PARSEC;
    assert_eq!(config.auth_plugins, allowed);
    assert!(config.get_server_public_key && config.password_over_unverified_tls);

    let error = parse("mysql://h?auth-plugins=parsec,auth_gssapi_client").unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(
            "'auth_gssapi_client' is none of caching_sha2_password, mysql_native_password"
        ),
        "{text}"
    );
    assert!(parse("mysql://h?auth-plugins=").is_err());
}

#[test]
fn a_server_public_key_comes_from_a_file() {
    let keys = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../mysql-proto/src/auth/public_key/data"
    );
    let with = |file: &str| parse(&format!("mysql://h?server-public-key={file}"));
    let config = with(&format!("{keys}/rsa_2048.pem")).unwrap();
    assert_eq!(config.server_public_key.unwrap().bits(), 2048);
    for (file, problem) in [
        (format!("{keys}/rsa_1024.pem"), "has 1024 bits"),
        (format!("{keys}/p256.pem"), "is not an rsa key"),
        (format!("{keys}/no_such.pem"), "No such file"),
        ("/dev/zero".into(), "has 4097 bytes"),
    ] {
        let text = with(&file).unwrap_err().to_string();
        assert!(text.contains(problem) && text.contains(&file), "{text}");
        assert!(text.contains("server-public-key: "), "{text}");
    }
    let text = with("/nope").unwrap_err().to_string();
    assert!(
        text.contains("server-public-key: can't read '/nope': No such file"),
        "{text}"
    );
}

/// What reads a file or the environment has tests of its own.
#[test]
fn every_option_changes_the_configuration() {
    let unchanged = format!("{:?}", parse("mysql://host").unwrap());
    for option in [
        "socket=/run/other.sock",
        "target=replica",
        "load-balance=true",
        "ssl-mode=required",
        "ssl-ca=ca.pem",
        "ssl-cert=cert.pem",
        "ssl-key=key.pem",
        "ssl-server-name=other",
        "auth-plugins=caching_sha2_password",
        "get-server-public-key=true",
        "password-over-unverified-tls=true",
        "connect-timeout=7",
        "call-timeout=7",
        "statement-timeout=7",
        "abandoned=drain",
        "tcp-keepalive=7",
        "tcp-user-timeout=7",
        "tcp-nodelay=false",
        "multi-statements=true",
        "cached-metadata=false",
        "found-rows=true",
        "max-row-bytes=7777",
        "max-result-bytes=7777",
        "idle-keep=7777",
    ] {
        let config = parse(&format!("mysql://host?{option}"));
        let changed = format!("{:?}", config.unwrap());
        assert_ne!(changed, unchanged, "{option}");
    }
}
