//! Wrong users and passwords: what is said, and when.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use onecopy_mysql::{Config, PluginSet};

use onecopy_net::evented::Address;

use crate::common::{connect, loopback, on_server, pooled_with, said, until};
use crate::sides::{Front, Way};

/// What is counted of logins: wrong ones, those that were delayed, those that were refused because too many waited.
fn counted(front: &Front) -> [u64; 3] {
    let Some(Address::Tcp(address)) = front.proxy.metrics_address() else {
        panic!("no metrics");
    };
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    ["wrong", "delayed", "blocked"].map(|kind| {
        let start = format!("onecopy_pool_{kind}_logins_total{{listener=\"mysql\"}} ");
        let mut lines = page.lines();
        let value = lines.find_map(|line| line.strip_prefix(&start));
        value.unwrap().parse().unwrap()
    })
}

/// A login that is refused, and how long that took.
fn refused(config: &Config) -> ((u16, String), Duration) {
    let began = Instant::now();
    let error = connect(config).unwrap_err();
    (said(&error), began.elapsed())
}

fn front_of(user: &str) -> Front {
    on_server(user, "secret");
    pooled_with(&[(user, "secret")], |config| {
        config.metrics.listen = Some(loopback(0));
    })
}

#[test]
fn a_wrong_user_is_told_what_a_wrong_password_is_told() {
    let front = front_of("wrong_text");
    for (way, host) in [(Way::Plain, "127.0.0.1"), (Way::Socket, "localhost")] {
        for user in ["wrong_text", "nobody at all", ""] {
            for (password, used) in [("wrong", "YES"), ("", "NO")] {
                let config = front.config_of(way, user, password);
                let expected =
                    format!("Access denied for user '{user}'@'{host}' (using password: {used})");
                assert_eq!(refused(&config).0, (1045, expected));
            }
        }
    }
    let reason = onecopy_proxy::Reason::AccessDenied as usize;
    until("the counts", || {
        let snapshot = front.proxy.snapshot(false);
        snapshot.counters.entrances[0].refused[reason] == 12
    });
}

#[test]
fn more_and_more_wrong_passwords_take_more_and_more_time() {
    let front = front_of("wrong_slow");
    on_server("wrong_other", "other");
    let mut config = front.config_of(Way::Plain, "wrong_slow", "wrong");
    for plugin in [
        PluginSet::NATIVE_PASSWORD,
        PluginSet::CLIENT_ED25519,
        PluginSet::SAFE,
    ] {
        config.auth_plugins = plugin;
        refused(&config);
    }
    for least in [250, 500, 1_000] {
        let ((code, _), took) = refused(&config);
        assert_eq!(code, 1045);
        assert!(took >= Duration::from_millis(least), "{took:?}");
    }
    // Others are not held up meanwhile: the same user from elsewhere, and a user that does not exist.
    let slow = config.clone();
    let waiting = std::thread::spawn(move || refused(&slow).1);
    std::thread::sleep(Duration::from_millis(100));
    let elsewhere = front.config_of(Way::Socket, "wrong_slow", "secret");
    connect(&elsewhere).unwrap().ping().unwrap();
    refused(&front.config_of(Way::Plain, "wrong_nobody", "wrong"));
    assert!(!waiting.is_finished());
    assert!(waiting.join().unwrap() >= Duration::from_secs(2));
    // The right password takes as long as a wrong one would; then all is forgotten.
    config.password = "secret".into();
    let began = Instant::now();
    connect(&config).unwrap().ping().unwrap();
    assert!(began.elapsed() >= Duration::from_secs(2));
    let began = Instant::now();
    connect(&config).unwrap().ping().unwrap();
    config.password = "wrong".into();
    refused(&config);
    assert!(began.elapsed() < Duration::from_secs(4), "no time is left");
}

#[test]
fn of_many_guesses_at_a_time_few_are_answered_and_the_rest_is_refused_alike() {
    let front = front_of("wrong_many");
    let guesses: Vec<_> = (0..40)
        .map(|number| {
            // One of them is right.
            let password = if number == 20 { "secret" } else { "wrong" };
            let mut config = front.config_of(Way::Plain, "wrong_many", password);
            config.connect_timeout = Some(Duration::from_secs(20));
            std::thread::spawn(move || connect(&config).map(drop))
        })
        .collect();
    let answers = guesses.into_iter().map(|guess| guess.join().unwrap());
    let codes: Vec<_> = answers
        .map(|answer| answer.map_or_else(|error| said(&error).0, |()| 0))
        .collect();
    let count = |code| codes.iter().filter(|&&one| one == code).count();
    // Without one that is right in between: 3 for nothing, 4 within five seconds.
    assert!(count(1045) <= 3 + 4 + 3 + 4, "{codes:?}");
    assert!(count(1129) >= 40 - 15, "{codes:?}");
    let [wrong, delayed, blocked] = counted(&front);
    assert_eq!(wrong, 39);
    assert_eq!(blocked, count(1129) as u64);
    assert!(delayed >= 4, "{delayed}");
}

#[test]
fn clients_that_leave_while_they_wait_leave_nothing_behind() {
    let front = front_of("wrong_left");
    let mut config = front.config_of(Way::Plain, "wrong_left", "wrong");
    for _ in 0..5 {
        refused(&config);
    }
    config.connect_timeout = Some(Duration::from_millis(100));
    for _ in 0..3 {
        let error = connect(&config).unwrap_err();
        assert!(error.is_timeout() || said(&error).0 == 1129, "{error}");
    }
    until("the end of the sessions", || front.proxy.sessions() == 0);
}
