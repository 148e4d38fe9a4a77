//! What works while nothing fails, on both faces.

use std::collections::BTreeSet;

use onecopy_testkit::certificate::Authority;
use onecopy_testkit::valkey::{Sentinels, Server};
use onecopy_valkey::cluster::ReadFrom;
use onecopy_valkey::command::string;
use onecopy_valkey::sentinel::{SentinelConfig, SentinelError};
use onecopy_valkey::{Script, blocking, raw};

use crate::common::{config, connect, shared, until, within};

/// The port of the server that a connection leads to.
fn port_of(config_get: &[u8]) -> u16 {
    std::str::from_utf8(config_get).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_sentinel_leads_to_the_primary_its_replicas_and_the_other_sentinels() {
    let group = shared();
    let mut config = config(group);
    config.sentinels.truncate(1);
    config.read_from = ReadFrom::Replica;
    let sentinel = connect(&config).await;
    let primary = group.server(group.primary().unwrap()).port();
    assert_eq!(sentinel.primary().unwrap().port(), primary);
    assert_eq!(sentinel.sentinels().len(), 3);
    let replicas: BTreeSet<u16> = sentinel.replicas().iter().map(|node| node.port()).collect();
    assert_eq!(replicas.len(), 2);
    assert!(!replicas.contains(&primary));

    // The replicas are connected to in the background, and have the value in a moment.
    sentinel
        .run(&string::set("basics:async", "1"))
        .await
        .unwrap();
    within(async {
        loop {
            let read = sentinel.run(&string::get("basics:async")).await.unwrap();
            if sentinel.connections() == 3 && read.get().unwrap() == Some(b"1") {
                break;
            }
        }
    })
    .await;
    assert!(sentinel.searches() <= 3, "{}", sentinel.searches());

    let shared = sentinel.on_primary().await.unwrap();
    let mut pipeline = shared.pipeline();
    pipeline.push(&string::incr("basics:async")).unwrap();
    assert_eq!(
        pipeline
            .run()
            .await
            .unwrap()
            .get::<string::Incr>(0)
            .unwrap(),
        2
    );
    let script = Script::new("return redis.call('GET', KEYS[1]) -- by sentinels");
    let value = sentinel
        .run_script(&script.call().keys("basics:async"))
        .await;
    assert_eq!(value.unwrap().as_i64(), Some(2));
    let port = sentinel
        .run(&raw("CONFIG").args(["GET", "port"]))
        .await
        .unwrap();
    let port = port.reply().children().nth(1).unwrap().bytes().to_vec();
    assert_eq!(port_of(&port), primary);

    sentinel.close().await;
    assert!(
        sentinel
            .run(&string::get("basics:async"))
            .await
            .unwrap_err()
            .is_closed()
    );
    assert!(sentinel.on_primary().await.unwrap_err().is_closed());
    assert_eq!(sentinel.primary(), None);
}

#[test]
fn the_blocking_face_does_the_same() {
    let group = shared();
    let mut config = config(group);
    config.sentinels.truncate(1);
    config.read_from = ReadFrom::Any;
    let mut sentinel = blocking::Sentinel::connect_with(&config).unwrap();
    let primary = group.server(group.primary().unwrap()).port();
    assert_eq!(sentinel.primary().unwrap().port(), primary);
    assert_eq!(
        (sentinel.sentinels().len(), sentinel.replicas().len()),
        (3, 2)
    );
    sentinel.run(&string::set("basics:blocking", "1")).unwrap();
    for _ in 0..6 {
        sentinel.run(&string::get("basics:blocking")).unwrap();
    }
    assert_eq!((sentinel.connections(), sentinel.searches()), (3, 1));
    let connection = sentinel.on_primary().unwrap();
    let mut transaction = connection.transaction().unwrap();
    transaction.push(&string::incr("basics:blocking")).unwrap();
    transaction.exec().unwrap();
    let script = Script::new("return redis.call('GET', KEYS[1]) -- by sentinels, blocking");
    let value = sentinel.run_script(&script.call().keys("basics:blocking"));
    assert_eq!(value.unwrap().as_i64(), Some(2));
    assert!(sentinel.run(&raw("SELECT").arg(1)).unwrap_err().is_misuse());
    sentinel.refresh().unwrap();
    assert_eq!(sentinel.searches(), 2);
}

#[tokio::test]
async fn an_unknown_name_is_an_error_that_names_it() {
    let mut config = config(shared());
    config.name = "other".into();
    let error = blocking::Sentinel::connect_with(&config).unwrap_err();
    let unknown = |error: &onecopy_valkey::Error| matches!(error.sentinel(), Some(SentinelError::UnknownName { name, .. }) if name == "other");
    assert!(unknown(&error), "{error}");
    let connecting = onecopy_valkey::aio::Sentinel::connect_with(&config, Default::default());
    assert!(unknown(&connecting.await.unwrap_err()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passwords_of_sentinels_and_servers_are_apart() {
    let builder = Sentinels::builder()
        .password("one")
        .sentinel_password("two");
    let group = builder.start(1, 1).unwrap();
    let with = |server: &str, sentinel: &str| {
        let url = group.url().replace("//", &format!("//:{server}@"));
        SentinelConfig::from_url(&format!("{url}?sentinel-password={sentinel}")).unwrap()
    };
    let sentinel = connect(&with("one", "two")).await;
    sentinel.run(&string::set("key", "value")).await.unwrap();
    for (server, of_sentinel) in [("two", "two"), ("one", "one"), ("", "two"), ("one", "")] {
        let error = blocking::Sentinel::connect_with(&with(server, of_sentinel)).unwrap_err();
        assert!(
            error.server().is_some(),
            "{server} {of_sentinel}: {error:?}"
        );
        assert!(!error.is_retryable(), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_with_tls_lead_to_servers_without() {
    let authority = Authority::new("onecopy's sentinels");
    let server = Server::start().unwrap();
    let sentinel = Server::builder()
        .sentinel()
        .tls(&authority, authority.server(&["127.0.0.1"]))
        .directive(format!(
            "sentinel monitor main 127.0.0.1 {} 1",
            server.port()
        ))
        .start()
        .unwrap();
    let url = format!(
        "redis+sentinel://127.0.0.1:{}/main?sentinel-tls=true&sentinel-tls-ca={}",
        sentinel.tls_port().unwrap(),
        sentinel.authority().unwrap().display()
    );
    let config = SentinelConfig::from_url(&url).unwrap();
    let handle = connect(&config).await;
    handle.run(&string::set("key", "value")).await.unwrap();
    blocking::Sentinel::connect_with(&config).unwrap();
    let mut untrusted = config;
    untrusted.sentinel.tls_ca = None;
    let error = blocking::Sentinel::connect_with(&untrusted).unwrap_err();
    assert!(error.tls().is_some(), "{error:?}");
    until(|| handle.searches() >= 2).await; // the listener has come up
}
