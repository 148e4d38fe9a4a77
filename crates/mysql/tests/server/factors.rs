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
