//! A new proxy that fails leaves the old one as it was.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use onecopy_proxy::{Log, Proxy, Takeover};

use crate::common::{Ground, loopback, take_over, text, until};

/// The old proxy serves as before, and can be taken over from.
fn goes_on(ground: &Ground, old: Proxy) {
    assert_eq!(old.successor(), None);
    for listener in 0..2 {
        let mut conn = ground.connect(&old, listener);
        assert_eq!(text(&mut conn, "SELECT 1"), "1");
    }
    let mut conn = ground.connect_unix("pass.sock");
    assert_eq!(text(&mut conn, "SELECT 1"), "1");
    ground
        .connect_unix("admin.sock")
        .run("SHOW CLIENTS")
        .unwrap();
    assert!(old.reload(ground.config.clone()).unwrap().is_empty());
    drop(conn);
    let new = ground.take_over().unwrap();
    assert!(old.successor().is_some());
    let mut conn = ground.connect(&new, 0);
    assert_eq!(text(&mut conn, "SELECT 1"), "1");
}

#[test]
fn a_socket_that_fits_no_listener_is_named() {
    let ground = Ground::new();
    let old = ground.start();
    let mut config = ground.config.clone();
    let pass = config.listeners[0].listen.pop().unwrap();
    let error = take_over(&config).unwrap_err().to_string();
    assert!(error.contains(&pass.to_string()), "{error}");
    goes_on(&ground, old);
}

#[test]
fn a_proxy_with_a_paused_listener_goes_on() {
    let ground = Ground::new();
    let old = ground.start();
    ground.connect_unix("admin.sock").run("PAUSE").unwrap();
    let error = ground.take_over().unwrap_err().to_string();
    assert!(error.contains("listener 'pooled' is paused"), "{error}");
    ground.connect_unix("admin.sock").run("RESUME").unwrap();
    goes_on(&ground, old);
}

#[test]
fn an_address_that_is_taken_ends_the_takeover() {
    let ground = Ground::new();
    let old = ground.start();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = ground.config.clone();
    let port = taken.local_addr().unwrap().port();
    config.metrics.listen = Some(loopback(port));
    let error = take_over(&config).unwrap_err().to_string();
    assert!(error.contains("can't listen on"), "{error}");
    // As does one that is no configuration.
    config.listeners.clear();
    assert!(take_over(&config).is_err());
    goes_on(&ground, old);
}

#[test]
fn one_that_is_given_up_leaves_no_trace() {
    let ground = Ground::new();
    let old = ground.start();
    let takeover = Takeover::begin(&ground.config).unwrap();
    // Nothing changes meanwhile, and nobody else takes over.
    let error = old.reload(ground.config.clone()).unwrap_err().to_string();
    assert!(error.contains("upgrade"), "{error}");
    let error = Takeover::begin(&ground.config).unwrap_err().to_string();
    assert!(error.contains("another upgrade is under way"), "{error}");
    drop(takeover);
    until("the end of the takeover", || {
        old.reload(ground.config.clone()).is_ok()
    });
    goes_on(&ground, old);
}

#[test]
fn one_that_takes_too_long_is_left_behind() {
    let mut ground = Ground::new();
    ground.config.upgrade.ready_timeout = Duration::from_millis(50);
    let old = ground.start();
    let late = Takeover::begin(&ground.config).unwrap();
    until("the end of the takeover", || {
        old.reload(ground.config.clone()).is_ok()
    });
    let error = Proxy::take_over(ground.config.clone(), late, &Log::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("did not answer in time"), "{error}");
    let mut conn = ground.connect(&old, 0);
    assert_eq!(text(&mut conn, "SELECT 1"), "1");
    assert_eq!(old.successor(), None);
}

#[test]
fn a_proxy_that_drains_or_is_none_is_not_taken_over_from() {
    let ground = Ground::new();
    let error = ground.take_over().unwrap_err().to_string();
    assert!(error.contains("no proxy waits there"), "{error}");
    let old = ground.start();
    let _stays = ground.connect(&old, 0);
    old.drain();
    let error = ground.take_over().unwrap_err().to_string();
    assert!(error.contains("draining"), "{error}");
    let mut config = ground.config.clone();
    config.upgrade.socket = None;
    let error = take_over(&config).unwrap_err().to_string();
    assert!(error.contains("no `upgrade.socket`"), "{error}");
}

#[test]
fn without_a_command_nothing_is_started() {
    let ground = Ground::new();
    let old = ground.start();
    let timeout = Duration::from_secs(60);
    let error = onecopy_proxy::request_upgrade(&ground.socket(), timeout).unwrap_err();
    assert!(error.to_string().contains("does not know how"), "{error}");
    // One that ends at once, and one that can't be started.
    for (program, said) in [
        ("false", "has ended before it took over"),
        ("/no/such", "can't start"),
    ] {
        old.set_successor(onecopy_proxy::SuccessorCommand {
            program: program.into(),
            arguments: Vec::new(),
        });
        let error = onecopy_proxy::request_upgrade(&ground.socket(), timeout).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    goes_on(&ground, old);
}

#[test]
fn the_socket_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let ground = Ground::new();
    let _old = ground.start();
    let mode = std::fs::metadata(ground.socket()).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    // It is one that can be connected to.
    UnixStream::connect(ground.socket()).unwrap();
}
