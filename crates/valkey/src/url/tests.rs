use std::time::Duration;

use onecopy_net::{Endpoint, Verify};
use onecopy_resp_proto::Protocol;

use super::parse;

fn tcp(host: &str, port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: host.into(),
        port,
    }
}

#[test]
fn a_full_url_gives_every_part() {
    let url = "valkey://al%40ice:p%3Aw%2F@db.example:6380/7?protocol=2&client-name=sh%C3%B6p&connect-timeout=2.5&\
               command-timeout=0&max-bulk=1000&max-total=5000";
    let config = parse(url).unwrap();
    assert_eq!(config.user.as_deref(), Some("al@ice"));
    assert_eq!(config.password.to_secret().unwrap().expose(), b"p:w/");
    assert_eq!(config.endpoint, tcp("db.example", 6380));
    assert_eq!((config.database, config.tls), (7, false));
    assert_eq!(config.protocol, Some(Protocol::Resp2));
    assert_eq!(config.client_name.as_deref(), Some("shöp"));
    assert_eq!(config.connect_timeout, Some(Duration::from_millis(2500)));
    assert_eq!(config.command_timeout, None);
    assert_eq!(config.limits.max_bulk, 1000);
    assert_eq!(config.limits.max_total, 5000);
}

#[test]
fn what_is_left_out_has_a_default() {
    for url in ["redis://", "redis://localhost", "redis:///0", "valkey://:@"] {
        let config = parse(url).unwrap();
        assert_eq!(config.endpoint, tcp("localhost", 6379), "{url}");
        assert_eq!((config.database, config.user), (0, None), "{url}");
        assert_eq!(config.password.is_some(), url.ends_with(":@"));
    }
}

#[test]
fn the_scheme_says_how_the_server_is_reached() {
    for (url, tls) in [
        ("redis://h", false),
        ("valkey://h", false),
        ("rediss://h", true),
        ("valkeys://h", true),
    ] {
        let config = parse(url).unwrap();
        assert_eq!(
            (config.tls, config.tls_verify),
            (tls, Verify::Full),
            "{url}"
        );
    }
    for scheme in ["redis+unix", "valkey+unix"] {
        let config = parse(&format!("{scheme}://me:pw@/run/a%20b/v.sock?db=2")).unwrap();
        assert_eq!(config.endpoint, Endpoint::Unix("/run/a b/v.sock".into()));
        assert_eq!((config.database, config.user.as_deref()), (2, Some("me")));
        let config = parse(&format!("{scheme}:///run/an@other.sock")).unwrap();
        assert_eq!(config.endpoint, Endpoint::Unix("/run/an@other.sock".into()));
        assert_eq!((config.user, config.password.is_some()), (None, false));
    }
}

#[test]
fn a_password_can_stand_without_a_user() {
    let config = parse("redis://:s3cret@h").unwrap();
    assert_eq!(config.user, None);
    assert_eq!(config.password.to_secret().unwrap().expose(), b"s3cret");
}

#[test]
fn an_ipv6_address_stands_in_brackets() {
    assert_eq!(
        parse("redis://[::1]:7000/1").unwrap().endpoint,
        tcp("::1", 7000)
    );
    assert_eq!(
        parse("redis://u@[fe80::2]").unwrap().endpoint,
        tcp("fe80::2", 6379)
    );
    assert!(parse("redis://::1/").is_err());
    assert!(parse("redis://[::1]7000").is_err());
}

#[test]
fn a_port_behind_an_ipv6_address_without_its_colon_is_an_error_that_says_what_to_write() {
    for url in [
        "redis://[::1]6380/0",
        "rediss://u@[::1]6380",
        "redis://[::1].example/",
        "redis://[::1/0",
        "redis://::1/0",
        "redis://[localhost]:6380/",
        "redis://[]:6380/",
    ] {
        let text = parse(url).unwrap_err().to_string();
        assert!(text.contains("redis://user@[::1]:6379/"), "{url}: {text}");
    }
    assert_eq!(
        parse("redis://[fe80::2%25eth0]").unwrap().endpoint,
        tcp("fe80::2%eth0", 6379)
    );
}

#[test]
fn tls_takes_its_options() {
    let url =
        "rediss://h?tls-ca=/ca.pem&tls-cert=/c.pem&tls-key=/k.pem&tls-server-name=db&tls-verify=ca";
    let config = parse(url).unwrap();
    assert_eq!(config.tls_verify, Verify::Ca);
    assert!(config.tls_ca.is_some() && config.tls_cert.is_some() && config.tls_key.is_some());
    assert_eq!(config.tls_server_name.as_deref(), Some("db"));
    assert_eq!(
        parse("rediss://h?tls-verify=none").unwrap().tls_verify,
        Verify::None
    );
}

#[test]
fn a_bad_url_is_refused_with_what_would_be_right() {
    for (url, hint) in [
        ("mysql://x", "redis://"),
        ("localhost:6379", "redis://"),
        ("redis://h?sslca=x", "unknown option 'sslca'"),
        ("redis://h?db", "name=value"),
        ("redis://h?db=x", "db 'x' is not a number"),
        ("redis://h/shop", "database 'shop' is not a number"),
        ("redis://h:70000", "65535"),
        ("redis://[::1", "']'"),
        ("redis://h?protocol=4", "neither 2 nor 3"),
        ("redis://h?tls-verify=some", "full, ca, none"),
        ("redis://h?client-info=yes", "neither true nor false"),
        ("redis://h?connect-timeout=-1", "number of seconds"),
        ("redis://h?connect-timeout=1e9", "more than a year"),
        ("redis://h?max-bulk=1k", "number of bytes"),
        ("redis://h?password-file=/no/such/file", "/no/such/file"),
        (
            "redis://h?password-env=ONECOPY_NO_SUCH_NAME",
            "ONECOPY_NO_SUCH_NAME",
        ),
        ("redis://%FF@h", "the user is not UTF-8"),
        ("redis://h?tls-ca=/ca.pem", "rediss://"),
        ("redis://h?tls-verify=none", "rediss://"),
        ("rediss://h?tls-cert=/c.pem", "go together"),
        ("rediss://h?tls-verify=ca", "set tls-ca"),
        ("rediss://h?tls-verify=none&tls-ca=/c", "verifies nothing"),
        ("redis+unix://", "whole path"),
        ("redis+unix://host/run/v.sock", "no host"),
    ] {
        let error = parse(url).unwrap_err().to_string();
        assert!(error.contains(hint), "{url}: {error}");
    }
}

#[test]
fn no_error_quotes_a_password() {
    for url in [
        "redis://me:hunter2",
        "redis://me:hunter2/x@h",
        "redis://me:hunter2?x@h",
        "redis://:hunter2@h:hunter2x",
        "redis://me:hunter2@h/0?no-such=1",
        "redis+unix://me:hunter2/x@/run/v.sock",
    ] {
        let error = parse(url).unwrap_err();
        assert!(
            !format!("{error} {error:?}").contains("hunter2"),
            "{url}: {error}"
        );
    }
    let config = parse("redis://me:hunter2@h").unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn a_password_comes_from_a_file_or_a_variable() {
    let path = std::env::temp_dir().join(format!("onecopy-valkey-password-{}", std::process::id()));
    std::fs::write(&path, "from a file\nnot this\n").unwrap();
    let config = parse(&format!("redis://h?password-file={}", path.display())).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        config.password.to_secret().unwrap().expose(),
        b"from a file"
    );
    let config = parse("redis://h?password-env=CARGO_PKG_NAME").unwrap();
    assert_eq!(
        config.password.to_secret().unwrap().expose(),
        b"onecopy-valkey"
    );
}

#[test]
fn a_server_that_does_not_respond_is_given_up_unless_the_url_says_otherwise() {
    let timeouts = |url: &str| {
        let config = parse(url).unwrap();
        (config.unresponsive_timeout, config.socket.user_timeout)
    };
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(timeouts("redis://host"), (seconds(30), seconds(90)));
    assert_eq!(
        timeouts("redis://host?unresponsive-timeout=0&tcp-user-timeout=0"),
        (None, None)
    );
    assert_eq!(
        timeouts("redis://host?unresponsive-timeout=7&tcp-user-timeout=8"),
        (seconds(7), seconds(8))
    );
}

/// What reads a file or the environment has a test of its own.
#[test]
fn every_option_changes_the_configuration() {
    let unchanged = format!("{:?}", parse("rediss://host").unwrap());
    for option in [
        "db=7",
        "protocol=2",
        "client-name=name",
        "client-info=false",
        "tls-ca=ca.pem",
        "tls-cert=cert.pem&tls-key=key.pem",
        "tls-server-name=other",
        "tls-verify=none",
        "connect-timeout=7",
        "command-timeout=7",
        "unresponsive-timeout=7",
        "tcp-keepalive=7",
        "tcp-user-timeout=7",
        "tcp-nodelay=false",
        "max-bulk=777",
        "max-line=777",
        "max-depth=77",
        "max-elements=777",
        "max-total=7777",
        "max-reply=7777",
        "idle-keep=7777",
        "pool-min=7",
        "pool-max=77",
        "pool-acquire-timeout=7",
        "pool-idle-timeout=7",
        "pool-lifetime=7",
        "pool-ping-after=7",
        "pool-max-connecting=7",
        "pool-reset=false",
        "pool-reset-timeout=7",
        "pool-idle-keep=7777",
    ] {
        let config = parse(&format!("rediss://host?{option}"));
        let changed = format!("{:?}", config.unwrap());
        assert_ne!(changed, unchanged, "{option}");
    }
}

#[test]
fn a_misspelt_option_of_pools_is_answered_with_those_that_there_are() {
    let error = parse("redis://host?pool-size=7").unwrap_err().to_string();
    assert!(error.contains("pool-size") && error.contains("pool-max,"));
    let error = parse("redis://host?pool-reset-timeout=0").unwrap_err();
    assert!(error.to_string().contains("pool-reset=false"), "{error}");
}
