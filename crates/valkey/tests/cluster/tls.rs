//! Clusters whose nodes are reached by TLS, and talk to each other by TLS.

use std::sync::OnceLock;

use onecopy_testkit::certificate::{Authority, Certificate};
use onecopy_testkit::server::lacks;
use onecopy_testkit::valkey;
use onecopy_valkey::aio::{Cluster, SharedOptions};
use onecopy_valkey::blocking;
use onecopy_valkey::cluster::{ClusterConfig, ReadFrom, key_slot};
use onecopy_valkey::command::string;
use onecopy_valkey::{Error, Pem, TlsError, Verify};

use crate::common::{LONG, connect_with, until, within};

const ADDRESS: &str = "127.0.0.1";

/// Two primaries with a replica each, whose certificates are for their address and not for a name.
fn shared() -> &'static valkey::Cluster {
    static CLUSTER: OnceLock<Result<valkey::Cluster, String>> = OnceLock::new();
    let start = || {
        let authority = Authority::new("nodes");
        let certificate = |_| authority.node(&[ADDRESS]);
        let cluster = valkey::Cluster::start_tls(2, 1, &authority, certificate, |_| Vec::new());
        cluster.map_err(|error| error.to_string())
    };
    match CLUSTER.get_or_init(start) {
        Ok(cluster) => cluster,
        Err(why) => panic!("this test needs a cluster with TLS: {why}"),
    }
}

fn config(cluster: &valkey::Cluster, host: &str) -> ClusterConfig {
    let mut config = ClusterConfig::from_url(&cluster.tls_url(host).unwrap()).unwrap();
    // What is not trusted must not be waited for.
    config.max_wait = 10 * LONG;
    config
}

fn is_untrusted(error: &Error) -> bool {
    error.tls().is_some_and(TlsError::is_untrusted)
}

#[tokio::test]
async fn all_nodes_are_reached_by_tls_and_redirections_lead_to_their_tls_ports() {
    let servers = shared();
    let mut config = config(servers, ADDRESS);
    config.read_from = ReadFrom::Replica;
    let cluster = connect_with(&config).await;
    let mut blocking = blocking::Cluster::connect_with(&config).unwrap();
    let tls_ports: Vec<_> = (0..4)
        .map(|at| servers.node(at).tls_port().unwrap())
        .collect();
    let is_tls = |port: u16| tls_ports.contains(&port);
    assert!(cluster.primaries().iter().all(|node| is_tls(node.port())));
    for number in 0..100 {
        let key = format!("tls:{number}");
        cluster.run(&string::set(&key, number)).await.unwrap();
        cluster.run(&string::get(&key)).await.unwrap();
        blocking.run(&string::get(&key)).unwrap();
    }
    // Primaries and replicas, and replicas alone where nothing is written.
    assert_eq!((cluster.connections(), blocking.connections()), (4, 2));
    let own = cluster.acquire("tls:1").await.unwrap();
    assert!(own.tls().is_some());
    assert!(blocking.connection_of("tls:1").unwrap().tls().is_some());

    let key = "tls:moved";
    let set = string::set(key, "1");
    cluster.run(&set).await.unwrap();
    let from = servers
        .position(cluster.primary_of(key).unwrap().port())
        .unwrap();
    let to = 1 - from;
    servers
        .begin_move(key_slot(key.as_bytes()), from, to)
        .unwrap();
    // A key that is not there is asked for at the new node.
    let absent = string::get("{tls:moved}:absent");
    let mut primaries = config.clone();
    primaries.read_from = ReadFrom::Primary;
    let reader = connect_with(&primaries).await;
    assert_eq!(reader.run(&absent).await.unwrap().get().unwrap(), None);
    assert_eq!(reader.stats().asked, 1);
    servers
        .move_slot(key_slot(key.as_bytes()), from, to, || {})
        .unwrap();
    cluster.run(&set).await.unwrap();
    blocking.run(&set).unwrap();
    assert_eq!((cluster.stats().moved, blocking.stats().moved), (1, 1));
    for primary in [cluster.primary_of(key), blocking.primary_of(key)] {
        assert_eq!(primary.map(|node| node.port()), servers.node(to).tls_port());
    }
}

#[tokio::test]
async fn a_cluster_of_another_ca_is_refused_at_once() {
    let mut config = config(shared(), ADDRESS);
    config.node.tls_ca = Some(Pem::Text(Authority::new("other").certificate().into()));
    let connecting = Cluster::connect_with(&config, SharedOptions::default());
    for error in [
        within(connecting).await.unwrap_err(),
        blocking::Cluster::connect_with(&config).unwrap_err(),
    ] {
        assert!(is_untrusted(&error), "{error:?}");
        assert!(error.to_string().contains("tls-ca"), "{error}");
    }
}

#[tokio::test]
async fn a_client_without_tls_is_not_led_to_ports_of_tls() {
    let config = crate::common::config(shared());
    let cluster = connect_with(&config).await;
    cluster.run(&string::set("tls:plain", "1")).await.unwrap();
    let ports = cluster.primaries().into_iter().map(|node| node.port());
    assert!(
        ports
            .collect::<Vec<_>>()
            .iter()
            .all(|&port| (0..4).any(|at| shared().node(at).port() == port))
    );
}

#[tokio::test]
async fn a_node_with_a_certificate_for_another_host_gets_no_commands() {
    let authority = Authority::new("nodes");
    let hosts = [ADDRESS, "elsewhere.example"];
    let certificate = |at: usize| authority.node(&[hosts[at]]);
    let servers =
        valkey::Cluster::start_tls(2, 0, &authority, certificate, |_| Vec::new()).unwrap();
    let config = config(&servers, ADDRESS);
    let cluster = connect_with(&config).await;
    let mut blocking = blocking::Cluster::connect_with(&config).unwrap();
    let good = servers.node(0).tls_port().unwrap();
    let (mut reached, mut refused) = (0, 0);
    for number in 0..20 {
        let key = format!("tls:{number}");
        let is_good = cluster.primary_of(&key).unwrap().port() == good;
        let set = string::set(&key, number);
        let done = [
            within(cluster.run(&set)).await.err(),
            blocking.run(&set).err(),
        ];
        for error in done {
            match error {
                None => reached += usize::from(is_good),
                Some(error) => {
                    assert!(!is_good && is_untrusted(&error), "{error:?}");
                    assert!(!error.maybe_executed());
                    assert!(error.to_string().contains("tls-server-name"), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(reached > 0 && refused > 0 && reached + refused == 40);

    let mut any = config.clone();
    any.node.tls_verify = Verify::Ca;
    let cluster = connect_with(&any).await;
    for number in 0..20 {
        let set = string::set(format!("tls:{number}"), number);
        cluster.run(&set).await.unwrap();
    }
    until(|| cluster.connections() == 2).await;
}

#[tokio::test]
async fn nodes_that_announce_their_names_are_verified_by_these() {
    let authority = Authority::new("nodes");
    let named = |_| {
        vec![
            "cluster-announce-hostname localhost".to_owned(),
            "cluster-preferred-endpoint-type hostname".to_owned(),
        ]
    };
    let certificate = |_| authority.node(&["localhost"]);
    let servers = match valkey::Cluster::start_tls(2, 0, &authority, certificate, named) {
        Ok(servers) => servers,
        // Before 7.0 nodes have addresses only.
        Err(error) if error.to_string().contains("cluster-announce-hostname") => {
            return lacks("cluster-announce-hostname", &error.to_string());
        }
        Err(error) => panic!("{error}"),
    };
    let config = config(&servers, "localhost");
    let cluster = connect_with(&config).await;
    let mut blocking = blocking::Cluster::connect_with(&config).unwrap();
    for number in 0..20 {
        let set = string::set(format!("tls:{number}"), number);
        cluster.run(&set).await.unwrap();
        blocking.run(&set).unwrap();
    }
    assert!(
        cluster
            .primaries()
            .iter()
            .all(|node| node.host() == "localhost")
    );
    assert_eq!(cluster.connections(), 2);
}

/// Servers that ask for a certificate of their CA, as CLUSTER's own connections have one.
#[tokio::test]
async fn nodes_that_ask_for_a_certificate_get_the_clients_own() {
    let authority = Authority::new("nodes");
    let certificate = |_| authority.node(&[ADDRESS]);
    let asks = |_| vec!["tls-auth-clients yes".to_owned()];
    let servers = match valkey::Cluster::start_tls(2, 0, &authority, certificate, asks) {
        Ok(cluster) => cluster,
        Err(why) => panic!("this test needs a cluster with TLS: {why}"),
    };
    let with = |identity: Option<Certificate>| {
        let mut config = config(&servers, ADDRESS);
        if let Some(identity) = identity {
            config.node.tls_cert = Some(Pem::Text(identity.certificate.into()));
            config.node.tls_key = Some(Pem::Text(identity.key.into()));
        }
        config
    };
    let good = with(Some(authority.client("worker")));
    let cluster = connect_with(&good).await;
    let mut blocking = blocking::Cluster::connect_with(&good).unwrap();
    for number in 0..20 {
        let key = format!("certified:{number}");
        cluster.run(&string::set(&key, number)).await.unwrap();
        assert_eq!(
            blocking.run(&string::get(&key)).unwrap().as_i64(),
            Some(number)
        );
    }
    assert_eq!((cluster.connections(), blocking.connections()), (2, 2));

    for bad in [
        with(None),
        with(Some(Authority::new("other").client("worker"))),
    ] {
        let connecting = Cluster::connect_with(&bad, SharedOptions::default());
        let error = within(connecting).await.unwrap_err();
        println!("{error}");
        let own = bad.clone();
        let blocking =
            tokio::task::spawn_blocking(move || blocking::Cluster::connect_with(&own).unwrap_err());
        let blocking = within(blocking).await.unwrap();
        println!("{blocking}");
        for error in [error, blocking] {
            assert!(!error.maybe_executed());
            let text = error.to_string();
            assert!(
                text.contains("certificate") && text.contains("tls-cert"),
                "{text}"
            );
        }
    }
}
