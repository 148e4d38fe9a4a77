//! Which server is chosen.

use std::time::Duration;

use onecopy_net::Endpoint;

use super::*;

fn backends(weights: &[u32]) -> Backends {
    let backend = |(port, &weight): (usize, &u32)| {
        let endpoint = Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port: u16::try_from(port + 1).unwrap(),
        };
        Arc::new(
            Backend::new(
                BackendConfig {
                    weight,
                    max_connections: Some(100),
                    ..BackendConfig::new(endpoint)
                },
                &Arc::default(),
            )
            .unwrap(),
        )
    };
    Backends::new(weights.iter().enumerate().map(backend).collect())
}

fn with_roles(roles: &[Role]) -> Backends {
    let known = backends(&vec![1; roles.len()]);
    let with_role = |(backend, &role): (&Arc<Backend>, &Role)| {
        let config = BackendConfig {
            role,
            max_connections: Some(3),
            ..backend.config.clone()
        };
        Arc::new(backend.with_config(config))
    };
    Backends::new(known.all().iter().zip(roles).map(with_role).collect())
}

fn choose(backends: &Backends, count: usize) -> Vec<Place> {
    (0..count)
        .map(|_| backends.choose(&[], &[]).unwrap())
        .collect()
}

fn counts(backends: &Backends) -> Vec<usize> {
    backends
        .all()
        .iter()
        .map(|backend| backend.sessions())
        .collect()
}

#[test]
fn sessions_are_shared_by_weight() {
    let backends = backends(&[1, 3, 0]);
    let places: Vec<_> = (0..8).map(|_| backends.choose(&[], &[]).unwrap()).collect();
    assert_eq!(counts(&backends), [2, 6, 0]);
    drop(places);
    assert_eq!(counts(&backends), [0, 0, 0]);
}

#[test]
fn one_that_failed_is_the_last_to_be_tried() {
    let backends = backends(&[1, 1]);
    let address = backends.all()[0].addresses().remove(0);
    backends.all()[0].connect_failed(&address);
    let places: Vec<_> = (0..3).map(|_| backends.choose(&[], &[]).unwrap()).collect();
    assert_eq!(counts(&backends), [0, 3]);
    let tried = [Arc::clone(&backends.all()[1])];
    let other = backends.choose(&tried, &[]).unwrap();
    assert_eq!(other.backend().name(), "127.0.0.1:1");
    let tried = backends.all().to_vec();
    assert_eq!(backends.choose(&tried, &[]).unwrap_err(), Nobody::Up);
    drop(places);
}

#[test]
fn nobody_is_sent_to_one_that_is_full_or_removed() {
    let backends = backends(&[1, 1]);
    let places: Vec<_> = (0..200)
        .map(|_| backends.choose(&[], &[]).unwrap())
        .collect();
    assert_eq!(backends.choose(&[], &[]).unwrap_err(), Nobody::Full);
    drop(places);
    backends.all()[0].remove(Instant::now());
    let _places: Vec<_> = (0..3).map(|_| backends.choose(&[], &[]).unwrap()).collect();
    assert_eq!(counts(&backends), [0, 3]);
    backends.all()[1].remove(Instant::now());
    assert_eq!(backends.choose(&[], &[]).unwrap_err(), Nobody::Up);
}

#[test]
fn writers_go_to_the_server_that_takes_writes_and_follow_it() {
    let backends = with_roles(&[Role::Primary, Role::Primary]);
    let is_read_only = |at: usize, is| backends.all()[at].set_part(is, Membership::default());
    is_read_only(0, Some(false));
    is_read_only(1, Some(true));
    drop(choose(&backends, 3));
    let places = choose(&backends, 2);
    assert_eq!(counts(&backends), [2, 0]);
    is_read_only(0, Some(true));
    assert_eq!(backends.choose(&[], &[]).unwrap_err(), Nobody::Up);
    assert!(!backends.serve());
    is_read_only(1, Some(false));
    let more = choose(&backends, 1);
    assert_eq!(counts(&backends), [2, 1], "those that are there stay");
    drop((places, more));
    is_read_only(0, None);
    let _places = choose(&backends, 3);
    assert_eq!(counts(&backends), [0, 3], "one that is not known waits");
    assert_eq!(backends.choose(&[], &[]).unwrap_err(), Nobody::Full);
    is_read_only(1, Some(true));
    assert!(backends.serve());
    let _more = choose(&backends, 1);
    assert_eq!(
        counts(&backends),
        [1, 3],
        "and is tried where none is known"
    );
}

#[test]
fn of_two_that_take_writes_the_one_that_serves_stays() {
    let backends = with_roles(&[Role::Primary, Role::Primary, Role::Any]);
    let [one, two, _] = backends.all() else {
        panic!()
    };
    let serve = || [one.serves(), two.serves()];
    // While the first one is not known the second one may serve, and has to give way.
    two.set_part(Some(false), Membership::default());
    assert_eq!(serve(), [None, Some(true)]);
    one.set_part(Some(false), Membership::default());
    assert_eq!(serve(), [Some(true), Some(false)]);
    assert!(two.is_second() && !one.is_second());
    // The first one is lost, and comes back as it was.
    one.set_up(false);
    assert_eq!(serve(), [Some(false), Some(true)]);
    one.set_up(true);
    assert_eq!(serve(), [Some(false), Some(true)]);
    assert!(one.is_second());
    one.set_part(Some(true), Membership::default());
    assert!(!one.is_second(), "as a replica it is none");
    // A change on purpose.
    two.set_part(Some(true), Membership::default());
    assert_eq!(serve(), [Some(false), Some(false)]);
    one.set_part(Some(false), Membership::default());
    assert_eq!(serve(), [Some(true), Some(false)]);
    two.set_part(Some(false), Membership::default());
    one.drain(true);
    assert_eq!(serve(), [Some(false), Some(true)]);
    // Reloads leave it.
    let again = backends
        .all()
        .iter()
        .map(|backend| Arc::new(backend.with_config(backend.config.clone())));
    let again = Backends::new(again.collect());
    one.drain(false);
    assert_eq!(again.all()[0].serves(), Some(false));
    assert_eq!(again.all()[1].serves(), Some(true));
}

fn member(cluster: &str, standing: Standing) -> Membership {
    Membership {
        standing,
        cluster: cluster.into(),
        reports_lag: false,
    }
}

#[test]
fn of_a_cluster_one_takes_the_writes_and_gives_way_when_it_is_behind() {
    let backends = with_roles(&[Role::Primary, Role::Primary, Role::Primary]);
    let [one, two, three] = backends.all() else {
        panic!()
    };
    let says = |backend: &Backend, standing| {
        backend.set_part(Some(false), member("a", standing));
    };
    let serve = || [one.serves(), two.serves(), three.serves()].map(|serves| serves == Some(true));
    for backend in [one, two, three] {
        says(backend, Standing::Full);
    }
    assert_eq!(serve(), [true, false, false]);
    assert!(!two.is_second() && !two.is_desynced(), "as it is meant");
    says(one, Standing::Behind);
    assert_eq!(serve(), [false, true, false]);
    assert!(one.is_desynced() && !one.is_second());
    says(one, Standing::Full);
    assert_eq!(serve(), [false, true, false], "who serves stays");
    two.set_up(false);
    assert_eq!(serve(), [true, false, false]);
    // One that is behind is better than nobody, and one that has lost the others is not.
    says(one, Standing::Behind);
    says(three, Standing::Out);
    assert_eq!(serve(), [true, false, false]);
    says(one, Standing::Out);
    assert_eq!(serve(), [false, false, false]);
    // Another one that is no member knows nothing of the others' writes.
    says(one, Standing::Full);
    three.set_part(Some(false), Membership::default());
    assert_eq!(serve(), [true, false, false]);
    assert!(three.is_second());
}

/// One of a group that takes writes too serves reads as long as it keeps up; one of Galera has no lag.
#[test]
fn members_on_standby_serve_reads_as_far_as_they_keep_up() {
    let backends = with_roles(&[Role::Primary, Role::Primary]);
    backends.set_reads(Some(ReplicaReads::default()));
    let [_, two] = backends.all() else { panic!() };
    for (reports_lag, lag, reads) in [
        (false, None, true),
        (true, Some(0), true),
        (true, Some(3_600), false),
        (true, None, false),
    ] {
        for backend in backends.all() {
            let member = member("a", Standing::Full);
            let member = Membership {
                reports_lag,
                ..member
            };
            backend.set_part(Some(false), member);
        }
        two.replication().set_lag(lag.map(|seconds| Lag {
            time: Duration::from_secs(seconds),
            transactions: None,
        }));
        assert_eq!(two.serves_part(Part::Reads), Some(reads), "{lag:?}");
        assert_eq!(two.is_lagging(), !reads, "{lag:?}");
        assert_eq!(two.serves(), Some(false));
    }
}

#[test]
fn equal_members_share_sessions_without_those_that_are_behind() {
    let backends = with_roles(&[Role::Any, Role::Any]);
    let [one, two] = backends.all() else { panic!() };
    for backend in [one, two] {
        backend.set_part(Some(false), member("a", Standing::Full));
    }
    let places = choose(&backends, 4);
    assert_eq!(counts(&backends), [2, 2]);
    drop(places);
    one.set_part(Some(false), member("a", Standing::Behind));
    let places = choose(&backends, 2);
    assert_eq!(counts(&backends), [0, 2]);
    drop(places);
    two.set_part(Some(false), member("a", Standing::Out));
    let _places = choose(&backends, 2);
    assert_eq!(counts(&backends), [2, 0]);
}

#[test]
fn readers_go_to_replicas_and_to_the_backup_only_without_them() {
    let backends = with_roles(&[Role::Replica, Role::Replica, Role::Backup]);
    let [one, two, _] = backends.all() else {
        panic!()
    };
    one.health().set_read_only(Some(true));
    two.health().set_read_only(Some(true));
    let places = choose(&backends, 6);
    assert_eq!(counts(&backends), [3, 3, 0]);
    let full = backends.choose(&[], &[]).unwrap_err();
    assert_eq!(full, Nobody::Full, "a backup is not for those who wait");
    drop(places);
    one.set_up(false);
    two.health().set_read_only(Some(false));
    let places = choose(&backends, 1);
    assert_eq!(counts(&backends), [0, 0, 1], "one down, one promoted");
    drop(places);
    two.health().set_read_only(Some(true));
    two.connect_failed(&two.addresses()[0]);
    let _places = choose(&backends, 1);
    assert_eq!(counts(&backends), [0, 0, 1], "one down, one that fails");
    let tried = [Arc::clone(&backends.all()[2])];
    let place = backends.choose(&tried, &[]).unwrap();
    assert!(Arc::ptr_eq(place.backend(), two), "better than nobody");
}

#[test]
fn a_look_up_moves_a_backend_only_where_it_finds_something_else() {
    let backends = backends(&[1]);
    let backend = &backends.all()[0];
    let tcp = |text: &str| Address::Tcp(text.parse().unwrap());
    assert_eq!(backend.move_to(&[]), None);
    assert_eq!(backend.move_to(&[tcp("127.0.0.1:1")]), None);
    let found = [tcp("127.0.0.3:1"), tcp("127.0.0.2:1")];
    let change = backend.move_to(&found).unwrap();
    assert_eq!(
        change,
        "backend '127.0.0.1:1' moved from 127.0.0.1:1 to 127.0.0.2:1, 127.0.0.3:1"
    );
    assert_eq!(backend.move_to(&found), None);
}

#[test]
fn a_part_is_awaited_until_the_first_check_is_over() {
    let backends = with_roles(&[Role::Primary, Role::Any]);
    let [one, two] = [&backends.all()[0], &backends.all()[1]];
    assert!(!one.is_part_awaited(Part::All), "nobody asks");
    one.health().await_part();
    two.health().await_part();
    assert!(one.is_part_awaited(Part::All));
    assert!(!two.is_part_awaited(Part::All), "it has none");
    one.set_part(Some(true), Membership::default());
    assert!(!one.is_part_awaited(Part::All), "it is known");
    one.set_part(None, Membership::default());
    one.health().end_await();
    assert!(!one.is_part_awaited(Part::All), "it can't be had");
}

#[test]
fn of_another_server_with_its_name_nothing_is_known() {
    let backends = with_roles(&[Role::Primary]);
    let backend = &backends.all()[0];
    backend.set_part(Some(false), member("a", Standing::Out));
    let number = backend.server_number();
    let before = backend.addresses();
    let tcp = |text: &str| Address::Tcp(text.parse().unwrap());
    backend.move_to(&[before[0].clone(), tcp("127.0.0.9:1")]);
    assert_eq!(backend.server_number(), number, "it may still be the same");
    assert_eq!(backend.serves(), Some(false));
    backend.move_to(&[tcp("127.0.0.8:1")]);
    assert_ne!(backend.server_number(), number);
    assert_eq!(backend.serves(), None);
    assert!(backend.is_part_awaited(Part::All));
}

#[test]
fn connections_leave_a_server_that_has_more_than_its_share_a_few_at_a_time() {
    let backends = backends(&[1, 3]);
    let [one, two] = backends.all() else { panic!() };
    let leaves = |backend: &Backend| (0..100).filter(|_| backend.takes_leave()).count();
    two.drain(true);
    let mut places = choose(&backends, 40);
    assert_eq!(counts(&backends), [40, 0]);
    backends.rebalance();
    assert_eq!(leaves(one), 0, "there is nowhere to go");
    two.drain(false);
    backends.rebalance();
    assert_eq!((leaves(one), leaves(two)), (3, 0), "a tenth of thirty");
    let mut rounds = 0;
    while one.sessions() > 10 {
        backends.rebalance();
        let left = leaves(one);
        assert!((1..=3).contains(&left), "{left} of {}", one.sessions());
        for _ in 0..left {
            let at = places
                .iter()
                .position(|place| Arc::ptr_eq(place.backend(), one));
            places.swap_remove(at.unwrap());
            places.push(backends.choose(&[], &[]).unwrap());
        }
        rounds += 1;
    }
    assert_eq!(counts(&backends), [10, 30]);
    assert!(rounds > 10, "{rounds}");
    backends.rebalance();
    assert_eq!(leaves(one) + leaves(two), 0);
    // One that can't be reached draws nobody.
    drop(places);
    two.drain(true);
    let _places = choose(&backends, 8);
    two.drain(false);
    two.connect_failed(&two.addresses()[0]);
    backends.rebalance();
    assert_eq!(leaves(one), 0);
}
