//! Which replicas serve reads, by what they and the primary have said.

use std::time::Duration;

use onecopy_net::Endpoint;

use super::*;
use crate::backend::{Backends, Lag, Standing};
use crate::config::{BackendConfig, ReplicaReads, Role};

fn id(number: u32) -> ServerId {
    ServerId {
        number,
        uuid: "".into(),
    }
}

/// Backends with the role primary that have replicas serve reads.
fn backends(count: u16, max_lag: Option<Duration>) -> Vec<Arc<Backend>> {
    let backend = |port| {
        let config = BackendConfig {
            role: Role::Primary,
            ..BackendConfig::new(Endpoint::Tcp {
                host: "127.0.0.1".into(),
                port,
            })
        };
        Arc::new(Backend::new(config, &Arc::default()).unwrap())
    };
    let backends = Backends::new((1..=count).map(backend).collect());
    backends.set_reads(Some(ReplicaReads {
        max_lag,
        ..ReplicaReads::default()
    }));
    backends.all().to_vec()
}

/// A health check finds a server with this number, which replicates from these, or takes writes where there are none.
fn finds(backend: &Backend, number: u32, sources: &[u32]) {
    backend.replication().set_lag(Some(Lag::default()));
    let source = |&number: &u32| Source {
        id: id(number),
        address: "db:3306".into(),
    };
    backend.note_lineage(Lineage {
        own: id(number),
        sources: sources.iter().map(source).collect(),
    });
    backend.set_part(Some(!sources.is_empty()), Membership::default());
}

fn wrong(backends: &[Arc<Backend>]) -> Vec<bool> {
    backends.iter().map(|one| one.has_wrong_source()).collect()
}

const LIMIT: Option<Duration> = Some(Duration::from_secs(1));

#[test]
fn servers_are_the_same_by_uuid_where_both_have_one() {
    let of = |number, uuid: &str| ServerId {
        number,
        uuid: uuid.into(),
    };
    assert!(of(1, "a").is_same(&of(2, "a")));
    assert!(!of(1, "a").is_same(&of(1, "b")));
    assert!(of(1, "").is_same(&of(1, "b")));
    assert!(!of(0, "").is_same(&of(0, "")), "neither is known");
}

#[test]
fn another_primary_leaves_the_replicas_of_the_one_before_without_reads_at_once() {
    let all = backends(3, LIMIT);
    finds(&all[2], 3, &[1]);
    assert_eq!(wrong(&all), [false; 3], "no primary is known");
    finds(&all[0], 1, &[]);
    finds(&all[1], 2, &[1]);
    assert_eq!(wrong(&all), [false; 3]);
    all[0].set_up(false);
    assert_eq!(wrong(&all), [false; 3], "there is no other one");
    finds(&all[1], 2, &[]);
    assert_eq!(wrong(&all), [false, false, true]);
    let why = all[2].wrong_source().unwrap();
    assert!(why.contains("db:3306 (server id 1)"), "{why}");
    // It turns into the primary itself, and back.
    finds(&all[1], 2, &[3]);
    finds(&all[2], 3, &[]);
    assert_eq!(wrong(&all), [false; 3]);
    assert_eq!(all[2].serves(), Some(true));
    finds(&all[2], 3, &[2]);
    assert_eq!(wrong(&all), [false; 3], "both follow each other");
    finds(&all[0], 1, &[]);
    assert_eq!(wrong(&all), [false; 3]);
}

#[test]
fn a_circle_without_the_primary_leads_nowhere() {
    let all = backends(4, LIMIT);
    finds(&all[0], 1, &[]);
    finds(&all[1], 2, &[3]);
    finds(&all[2], 3, &[2]);
    finds(&all[3], 4, &[3, 4]);
    assert_eq!(wrong(&all), [false, true, true, true]);
    finds(&all[1], 2, &[3, 1]);
    assert_eq!(wrong(&all), [false; 4], "of several sources one is enough");
}

#[test]
fn one_in_between_counts_while_it_keeps_up() {
    let all = backends(3, LIMIT);
    finds(&all[0], 1, &[]);
    finds(&all[1], 2, &[1]);
    finds(&all[2], 3, &[2]);
    assert_eq!(wrong(&all), [false; 3]);
    all[1].replication().set_lag(None);
    all[1].set_part(Some(true), Membership::default());
    assert_eq!(wrong(&all), [false, false, true]);
}

#[test]
fn members_of_the_primarys_cluster_are_as_good_as_the_primary() {
    let all = backends(3, LIMIT);
    finds(&all[0], 1, &[]);
    finds(&all[1], 2, &[]);
    finds(&all[2], 3, &[2]);
    assert_eq!(wrong(&all), [false, false, true]);
    let member = |backend: &Backend| {
        let membership = Membership {
            cluster: "a".into(),
            ..Membership::default()
        };
        backend.set_part(Some(false), membership);
    };
    member(&all[0]);
    member(&all[1]);
    assert_eq!(wrong(&all), [false; 3]);
}

/// A group that follows the primary's: one of its members replicates from there, and the others from it.
#[test]
fn members_of_another_group_serve_reads_where_one_of_them_follows_the_primary() {
    let all = backends(3, LIMIT);
    finds(&all[0], 1, &[]);
    let member = |backend: &Backend, number, source| {
        let from = |number, uuid: &str| Source {
            id: ServerId {
                number,
                uuid: uuid.into(),
            },
            address: "db:3306".into(),
        };
        let mut sources = vec![from(0, "b")];
        sources.extend(Option::map(source, |number| from(number, "")));
        backend.replication().set_lag(Some(Lag::default()));
        let own = id(number);
        backend.note_lineage(Lineage { own, sources });
        let membership = Membership {
            standing: Standing::Full,
            cluster: "b".into(),
            reports_lag: true,
        };
        backend.set_part(Some(true), membership);
    };
    member(&all[2], 3, None);
    assert_eq!(wrong(&all), [false, false, true], "nobody follows");
    member(&all[1], 2, Some(1));
    assert_eq!(wrong(&all), [false; 3]);
    all[1].replication().set_lag(None);
    member(&all[2], 3, None);
    assert_eq!(wrong(&all), [false, false, true], "it does not keep up");
}

#[test]
fn a_server_that_is_no_backend_is_trusted_where_any_lag_will_do() {
    for (max_lag, is_wrong) in [(LIMIT, true), (None, false)] {
        let all = backends(2, max_lag);
        finds(&all[0], 1, &[]);
        finds(&all[1], 2, &[9]);
        assert_eq!(wrong(&all), [false, is_wrong]);
        finds(&all[1], 2, &[0]);
        assert_eq!(wrong(&all), [false, false], "its source is not known yet");
    }
}

#[test]
fn nothing_is_held_against_replicas_where_reads_stay_on_the_primary() {
    let all = backends(2, LIMIT);
    finds(&all[0], 1, &[]);
    finds(&all[1], 2, &[9]);
    assert_eq!(wrong(&all), [false, true]);
    Backends::new(all.clone()).set_reads(None);
    assert_eq!(wrong(&all), [false, false]);
}
