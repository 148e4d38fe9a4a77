use super::*;

fn text(configuration: &Configuration, release: (u32, u32)) -> String {
    let address = Address {
        port: 20_001,
        tls_port: Some(20_002),
        socket: "/tmp/a b/socket".into(),
    };
    let text = configuration.text(release, &address, Path::new("/tmp/a b"));
    String::from_utf8(text).unwrap()
}

fn plain() -> Configuration {
    Configuration {
        password: None,
        user: ("someone".into(), "secret".into()),
        tls: None,
        is_sentinel: false,
        directives: vec!["maxclients 5".into()],
    }
}

#[test]
fn paths_are_quoted_and_the_last_line_is_the_callers() {
    let text = text(&plain(), (7, 0));
    assert!(
        text.contains("\nunixsocket \"/tmp/a\\x20b/socket\"\n"),
        "{text}"
    );
    assert!(
        text.contains("\nuser someone on \">secret\" ~* +@all &*\n"),
        "{text}"
    );
    assert!(text.ends_with("\nmaxclients 5\n"), "{text}");
}

#[test]
fn an_older_release_is_told_nothing_that_it_does_not_know() {
    let old = text(&plain(), (6, 0));
    assert!(
        !old.contains("enable-debug-command") && !old.contains('&'),
        "{old}"
    );
    assert!(text(&plain(), (7, 2)).contains("\nenable-debug-command local\n"));
}

#[test]
fn a_password_is_escaped_whatever_it_is() {
    let mut configuration = plain();
    configuration.password = Some("it's \"p@ss\\word\"\nport 1".into());
    let text = text(&configuration, (7, 0));
    assert!(
        text.contains(
            "\nrequirepass \"it\\x27s\\x20\\x22p\\x40ss\\x5cword\\x22\\x0aport\\x201\"\n"
        ),
        "{text}"
    );
}
