//! The second and the third factor, and questions of `dialog`.

use super::*;
use crate::auth::Dialog;

const ALL: PluginSet = PluginSet::SAFE
    .union(PluginSet::CLEAR_PASSWORD)
    .union(PluginSet::DIALOG);

fn next_factor(plugin: &str, data: &[u8]) -> Vec<u8> {
    [&[0x02], plugin.as_bytes(), &[0], data].concat()
}

fn nonce(byte: u8) -> Vec<u8> {
    [&[byte; 20][..], &[0]].concat()
}

#[test]
fn each_factor_has_its_own_password_and_nonce() {
    let auth = default(Channel::Plain, NATIVE);
    let mut auth = auth.with_more_passwords(
        ["second".into(), "third".into()].map(|password: String| Secret::new(password)),
    );
    let second = sent(auth.on_packet(&next_factor("caching_sha2_password", &nonce(2))));
    assert_eq!(
        second,
        caching_sha2::respond(&Secret::new("second"), &[2; 20]).expose()
    );
    assert!(matches!(auth.on_packet(&[1, 3]), Ok(AuthAction::Wait)));
    let third = sent(auth.on_packet(&next_factor("mysql_native_password", &nonce(3))));
    assert_eq!(
        third,
        native_password::respond(&Secret::new("third"), &[3; 20]).expose()
    );
    assert!(matches!(auth.on_packet(&[0]), Ok(AuthAction::Done)));
}

#[test]
fn a_factor_without_a_password_is_an_error() {
    let mut auth = default(Channel::Plain, NATIVE);
    let error = auth.on_packet(&next_factor("mysql_native_password", &nonce(2)));
    assert_eq!(error.unwrap_err(), AuthError::MoreFactors);
    // Not the first one's again, however often it is asked for.
    let auth = default(Channel::Plain, NATIVE);
    let mut auth = auth.with_more_passwords([Secret::new("second")]);
    sent(auth.on_packet(&next_factor("mysql_native_password", &nonce(2))));
    let error = auth.on_packet(&next_factor("mysql_native_password", &nonce(2)));
    assert_eq!(error.unwrap_err(), AuthError::MoreFactors);
}

#[test]
fn a_factor_does_not_get_what_the_first_one_would_not() {
    for (plugin, allowed, channel) in [
        (
            "mysql_clear_password",
            PluginSet::SAFE,
            Channel::TlsVerified,
        ),
        ("mysql_clear_password", ALL, Channel::Plain),
        ("mysql_clear_password", ALL, Channel::TlsUnverified),
        ("mysql_old_password", ALL, Channel::TlsVerified),
        ("sha256_password", ALL, Channel::Plain),
        ("webauthn", ALL, Channel::TlsVerified),
    ] {
        let (auth, _) = start(allowing(allowed), channel, NATIVE);
        let mut auth = auth.with_more_passwords([Secret::new("second")]);
        let error = auth.on_packet(&next_factor(plugin, &nonce(2)));
        assert!(error.is_err(), "{plugin} {channel}");
    }
    // Nor may it be switched.
    let auth = default(Channel::Plain, NATIVE);
    let mut auth = auth.with_more_passwords([Secret::new("second")]);
    sent(auth.on_packet(&next_factor("mysql_native_password", &nonce(2))));
    let error = auth.on_packet(&switch("caching_sha2_password", &nonce(3)));
    assert_eq!(error.unwrap_err(), AuthError::SwitchedTwice);
}

fn asked(answer: &'static str) -> AuthOptions {
    AuthOptions {
        dialog: Some(Dialog::new(move |question| {
            let text = [question.text, b":", answer.as_bytes()].concat();
            (!answer.is_empty()).then(|| Secret::new(text))
        })),
        ..allowing(ALL)
    }
}

#[test]
fn questions_are_answered_by_the_password_first_and_then_by_the_caller() {
    let (mut auth, _) = start(asked("42"), Channel::UnixSocket, NATIVE);
    let first = auth.on_packet(&switch("dialog", b"\x04Password: "));
    assert_eq!(sent(first), b"secret\0");
    assert_eq!(sent(auth.on_packet(b"\x02Code")), b"Code:42\0");
    assert_eq!(sent(auth.on_packet(b"\x01\x05Last")), b"Last:42\0");
    let more = auth.on_packet(b"\x04Another");
    assert!(more.is_err(), "{more:?}");
    // A server may begin without one.
    let (mut auth, _) = start(asked("42"), Channel::UnixSocket, NATIVE);
    assert_eq!(sent(auth.on_packet(&switch("dialog", b""))), b"secret\0");
    assert_eq!(sent(auth.on_packet(b"\x05PIN")), b"PIN:42\0");
    // A first question that is not secret is not answered by the password.
    let (mut auth, _) = start(asked("ada"), Channel::TlsVerified, NATIVE);
    let first = auth.on_packet(&switch("dialog", b"\x03Name"));
    assert_eq!(sent(first), b"Name:ada\0");
    assert!(matches!(auth.on_packet(&[0]), Ok(AuthAction::Done)));
}

#[test]
fn a_question_that_nobody_answers_is_shown_in_the_error() {
    for options in [asked(""), allowing(ALL)] {
        let (mut auth, _) = start(options, Channel::UnixSocket, NATIVE);
        let error = auth.on_packet(&switch("dialog", b"\x02Code\x1b[2J?"));
        let question = "Code?[2J?".to_owned();
        assert_eq!(error.unwrap_err(), AuthError::NotAnswered { question });
    }
}

#[test]
fn questions_are_answered_on_a_verified_channel_and_with_permission_alone() {
    for channel in [Channel::Plain, Channel::TlsUnverified] {
        let (mut auth, _) = start(asked("42"), channel, NATIVE);
        let error = auth.on_packet(&switch("dialog", b"\x04Password"));
        let plugin = Plugin::Dialog;
        assert_eq!(
            error.unwrap_err(),
            AuthError::InsecureChannel { plugin, channel }
        );
    }
    let mut auth = default(Channel::TlsVerified, NATIVE);
    let error = auth.on_packet(&switch("dialog", b"\x04Password"));
    let plugin = Plugin::Dialog;
    assert_eq!(error.unwrap_err(), AuthError::PluginNotAllowed { plugin });
}

#[test]
fn questions_for_ever_and_what_is_no_question_end() {
    let (mut auth, _) = start(asked("42"), Channel::UnixSocket, NATIVE);
    sent(auth.on_packet(&switch("dialog", b"\x02First")));
    let error = loop {
        match auth.on_packet(b"\x02Again") {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(error, AuthError::TooManySteps);
    for question in [&b"\x00"[..], b"\x01", b"\x06x", b"\xFFx"] {
        let (mut auth, _) = start(asked("42"), Channel::UnixSocket, NATIVE);
        let error = auth.on_packet(&switch("dialog", question));
        assert!(matches!(error, Err(AuthError::Malformed(_))), "{error:?}");
    }
}

#[test]
fn a_greeting_with_dialog_is_answered_by_another_plugins_name() {
    let (auth, _) = start(asked("42"), Channel::UnixSocket, Some(b"dialog"));
    assert_ne!(auth.plugin(), Plugin::Dialog);
    let only = allowing(PluginSet::DIALOG);
    let (auth, response) = start(only, Channel::UnixSocket, Some(b"dialog"));
    assert_eq!(auth.plugin(), Plugin::ClearPassword);
    assert!(response.is_empty());
}
