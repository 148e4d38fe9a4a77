//! Sentinels and servers that are reached by TLS.

use onecopy_testkit::certificate::Authority;
use onecopy_testkit::valkey::Sentinels;
use onecopy_valkey::aio::{Sentinel, SharedOptions};
use onecopy_valkey::blocking;
use onecopy_valkey::cluster::ReadFrom;
use onecopy_valkey::command::string;
use onecopy_valkey::sentinel::SentinelConfig;
use onecopy_valkey::{Pem, TlsError};

use crate::common::{LONG, connect, until, within};

const ADDRESS: &str = "127.0.0.1";

#[tokio::test]
async fn the_primary_is_found_and_followed_by_tls() {
    let authority = Authority::new("servers");
    let certificate = authority.node(&[ADDRESS]);
    let builder = Sentinels::builder().tls(authority, certificate);
    let mut group = builder.start(2, 3).unwrap();
    let mut config = SentinelConfig::from_url(&group.tls_url(ADDRESS).unwrap()).unwrap();
    config.max_wait = LONG;
    config.read_from = ReadFrom::Replica;
    let sentinel = connect(&config).await;
    let mut blocking = blocking::Sentinel::connect_with(&config).unwrap();
    sentinel.run(&string::set("tls", "1")).await.unwrap();
    blocking.run(&string::set("tls", "1")).unwrap();
    let own = sentinel
        .on_primary()
        .await
        .unwrap()
        .acquire()
        .await
        .unwrap();
    assert!(own.tls().is_some());
    assert!(blocking.on_primary().unwrap().tls().is_some());
    let first = sentinel.primary().unwrap().port();
    assert_eq!(Some(first), group.server(0).tls_port());
    let tls_ports: Vec<_> = (0..3).map(|at| group.server(at).tls_port()).collect();
    for replica in sentinel.replicas() {
        assert!(tls_ports.contains(&Some(replica.port())));
    }
    assert_eq!(sentinel.replicas().len(), 2);
    // Replicas get their connections in the background.
    within(async {
        while sentinel.connections() < 3 {
            sentinel.run(&string::get("tls")).await.unwrap();
            tokio::task::yield_now().await;
        }
    })
    .await;

    // Another CA is refused, and says so.
    let mut other = config.clone();
    let pem = || Some(Pem::Text(Authority::new("other").certificate().into()));
    (other.sentinel.tls_ca, other.server.tls_ca) = (pem(), pem());
    let connecting = Sentinel::connect_with(&other, SharedOptions::default());
    for error in [
        within(connecting).await.unwrap_err(),
        blocking::Sentinel::connect_with(&other).unwrap_err(),
    ] {
        assert!(error.tls().is_some_and(TlsError::is_untrusted), "{error:?}");
        assert!(error.to_string().contains("tls-ca"), "{error}");
    }

    group.server_mut(0).kill();
    until(|| {
        sentinel
            .primary()
            .is_some_and(|primary| primary.port() != first)
    })
    .await;
    sentinel.run(&string::set("tls", "2")).await.unwrap();
    // It hears of the loss by the first command, which may have been executed.
    if let Err(error) = blocking.run(&string::set("tls", "3")) {
        assert!(error.maybe_executed(), "{error:?}");
    }
    blocking.run(&string::set("tls", "3")).unwrap();
    let port = blocking.primary().unwrap().port();
    assert!(port != first && tls_ports.contains(&Some(port)));
}
