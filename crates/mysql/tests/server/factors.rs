//! Passwords that a function provides, second factors, and servers that ask.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use onecopy_mysql::{Config, Dialog, Password, PluginSet, Secret};
use onecopy_testkit::server::Server;

use super::Connection;
use crate::common::{Users, lacks, number, offered, url};

#[tokio::test]
async fn a_password_is_asked_for_at_each_login() {
    let Some(mut users) = Users::open() else {
        return;
    };
    let user = users.make("IDENTIFIED BY 'Token 1 of onecopy'").unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let mut config = Config::from_url(&url()).unwrap();
    config.user = user.clone();
    config.database = None;
    config.password =
        Password::from_provider(move || match count.fetch_add(1, Ordering::Relaxed) {
            2 => Err("the vault is sealed"),
            _ => Ok("Token 1 of onecopy"),
        });
    assert!(format!("{config:?}").contains("password: ***"));
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    wait!(conn.change_user(&user, config.password.clone(), None)).unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    // A change of user that has no password was not begun.
    let error = wait!(conn.change_user(&user, config.password.clone(), None)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the password could not be obtained: the vault is sealed"
    );
    assert!(!error.is_closed() && error.is_retryable());
    wait!(conn.ping()).unwrap();
    wait!(Connection::connect_with(&config)).unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn a_second_factor_is_given() {
    let server = Server::start().unwrap();
    let mut admin = wait!(Connection::connect(&server.socket_url())).unwrap();
    let installed = wait!(admin.run("INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'"));
    if !offered("a second factor", installed) {
        return;
    }
    // The user of the operating system that this test runs as is the second factor.
    let name = whoami();
    wait!(admin.run(format!(
        "CREATE USER '{name}'@'localhost' IDENTIFIED BY 'first' AND IDENTIFIED WITH auth_socket"
    )))
    .unwrap();
    let mut config = Config::from_url(&server.socket_url()).unwrap();
    config.user = name;
    config.password = "first".into();
    config.database = None;
    let error = wait!(Connection::connect_with(&config)).unwrap_err();
    assert!(error.server().is_some(), "{error}");
    config.more_passwords = ["second".into(), Password::NONE];
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    wait!(conn.ping()).unwrap();
}

/// Each factor has a secret of its own: with a wrong one, or none, the login fails, and says which is missing.
#[tokio::test]
async fn three_factors_are_given_and_each_is_checked() {
    let server = Server::start().unwrap();
    let mut admin = wait!(Connection::connect(&server.socket_url())).unwrap();
    let plugin = "INSTALL PLUGIN cleartext_plugin_server SONAME 'auth_test_plugin.so'";
    if !offered("three factors", wait!(admin.run(plugin))) {
        return;
    }
    wait!(admin.run(
        "CREATE USER three@localhost IDENTIFIED BY 'first' AND IDENTIFIED WITH cleartext_plugin_server AS 'second' \
         AND IDENTIFIED WITH cleartext_plugin_server AS 'third'"
    ))
    .unwrap();
    let mut config = Config::from_url(&server.socket_url()).unwrap();
    config.user = "three".into();
    config.database = None;
    let factors = ["first", "second", "third"];
    // Clear text is sent only where that is permitted.
    set_factors(&mut config, factors);
    let error = wait!(Connection::connect_with(&config)).unwrap_err();
    assert!(
        error.to_string().contains("mysql_clear_password"),
        "{error}"
    );
    config.auth_plugins = PluginSet::SAFE | PluginSet::CLEAR_PASSWORD;
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    wait!(conn.ping()).unwrap();
    for wrong in 0..3 {
        let mut given = factors;
        given[wrong] = "wrong";
        set_factors(&mut config, given);
        let error = wait!(Connection::connect_with(&config)).unwrap_err();
        assert_eq!(error.server().unwrap().code, 1045, "{error}");
    }
    set_factors(&mut config, factors);
    config.more_passwords[1] = Password::NONE;
    let error = wait!(Connection::connect_with(&config)).unwrap_err();
    assert!(error.to_string().contains("password3"), "{error}");
}

fn set_factors(config: &mut Config, [first, second, third]: [&str; 3]) {
    config.password = first.into();
    config.more_passwords = [second.into(), third.into()];
}

/// A plugin that asks for the password and then whether the user is sure.
#[tokio::test]
async fn a_server_that_asks_twice_is_answered_and_lets_the_user_in() {
    // It calls itself an example.
    let server = Server::builder().argument("--loose-plugin-maturity=unknown");
    let server = server.start().unwrap();
    let mut admin = wait!(Connection::connect(&server.socket_url())).unwrap();
    let installed = wait!(admin.run("INSTALL SONAME 'dialog_examples'"));
    if !offered("two questions", installed) {
        return;
    }
    wait!(admin.run("CREATE USER asked@localhost IDENTIFIED VIA two_questions USING 'Answer 1'"))
        .unwrap();
    let mut config = Config::from_url(&server.socket_url()).unwrap();
    config.user = "asked".into();
    config.database = None;
    config.auth_plugins = PluginSet::SAFE | PluginSet::DIALOG;
    let password = || "Answer 1".into();
    for (password, first, last, is_let_in) in [
        (Password::NONE, "Answer 1", "yes, of course", true),
        (Password::NONE, "Answer 1", "no", false),
        (Password::NONE, "Answer 2", "yes, of course", false),
        // A password that is there answers the first question.
        (password(), "unasked", "yes, of course", true),
        (password(), "unasked", "no", false),
    ] {
        config.password = password;
        let questions = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&questions);
        config.dialog = Some(Dialog::new(move |question| {
            let text = String::from_utf8_lossy(question.text).into_owned();
            heard.lock().unwrap().push((text, question.is_secret));
            let answer = if question.is_secret { first } else { last };
            Some(Secret::new(answer))
        }));
        let connected = wait!(Connection::connect_with(&config));
        assert_eq!(connected.is_ok(), is_let_in, "{connected:?}");
        let mut expected = vec![
            ("Password, please:".to_owned(), true),
            ("Are you sure ?".to_owned(), false),
        ];
        match first {
            "unasked" => drop(expected.remove(0)),
            "Answer 2" => expected.truncate(1),
            _ => {}
        }
        assert_eq!(*questions.lock().unwrap(), expected);
    }
}

fn whoami() -> String {
    let id = std::process::Command::new("id")
        .arg("-un")
        .output()
        .unwrap();
    String::from_utf8(id.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn a_server_with_pam_asks_and_is_answered_where_that_is_permitted() {
    let server = Server::start().unwrap();
    let mut admin = wait!(Connection::connect(&server.socket_url())).unwrap();
    let installed = wait!(admin.run("INSTALL SONAME 'auth_pam_v1'"));
    if !offered("dialog", installed) {
        return;
    }
    let user = format!("asked_{}", number());
    wait!(admin.run(format!(
        "CREATE USER {user}@localhost IDENTIFIED VIA pam USING 'other'"
    )))
    .unwrap();
    let mut config = Config::from_url(&server.socket_url()).unwrap();
    config.user = user;
    config.password = Password::NONE;
    config.database = None;
    let error = wait!(Connection::connect_with(&config)).unwrap_err();
    assert!(
        error.to_string().contains("add dialog to auth-plugins"),
        "{error}"
    );
    config.auth_plugins = PluginSet::SAFE | PluginSet::DIALOG;
    let questions = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&questions);
    config.dialog = Some(Dialog::new(move |question| {
        let text = String::from_utf8_lossy(question.text).into_owned();
        heard.lock().unwrap().push((text, question.is_secret));
        Some(Secret::new("no password of any user"))
    }));
    // PAM refuses it, but has asked.
    let error = wait!(Connection::connect_with(&config)).unwrap_err();
    assert!(error.server().is_some(), "{error}");
    let questions = questions.lock().unwrap();
    if questions.is_empty() {
        return lacks("a question of PAM", &error.to_string());
    }
    assert!(questions[0].1, "{questions:?}");
    assert!(questions[0].0.contains("assword"), "{questions:?}");
}
