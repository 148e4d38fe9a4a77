//! Which servers are found.

use super::*;
use crate::backend::{Identity, Telling};

fn endpoint(port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port,
    }
}

fn replica(number: u32, port: u16) -> Member {
    Member {
        identity: Identity::Number(number),
        host: "127.0.0.1".into(),
        port,
        is_replica: true,
    }
}

fn member(address: &str, port: u16) -> Member {
    Member {
        identity: Identity::Incoming(address.into()),
        host: "127.0.0.1".into(),
        port,
        is_replica: false,
    }
}

/// A server at a port, with a number of its own.
fn server(port: u16, role: Role, replicas: Vec<Member>, members: Vec<Member>) -> Arc<Backend> {
    let config = BackendConfig {
        role,
        ..BackendConfig::new(endpoint(port))
    };
    let backend = Backend::new(config, &Arc::default()).unwrap();
    backend.topology().learn(Telling {
        own: vec![Identity::Number(port.into())],
        replicas: Some(replicas),
        members: Some(members),
    });
    Arc::new(backend)
}

fn discovered(backend: &Arc<Backend>) -> Arc<Backend> {
    let config = BackendConfig {
        is_discovered: true,
        ..backend.config.clone()
    };
    Arc::new(backend.with_config(config))
}

fn found(all: &[Arc<Backend>]) -> (Vec<String>, Found) {
    let found = find(all, |endpoint| resolve(endpoint).unwrap());
    let names = found.servers.iter().map(|one| one.name.clone());
    (names.collect(), found)
}

#[test]
fn replicas_of_replicas_are_found() {
    let one = server(
        1,
        Role::Primary,
        vec![replica(2, 2), replica(3, 3)],
        Vec::new(),
    );
    let (names, all) = found(std::slice::from_ref(&one));
    assert_eq!(names, ["127.0.0.1:2", "127.0.0.1:3"]);
    assert!(all.left_out.is_empty(), "{all:?}");
    let is_alike = |one: &BackendConfig| one.is_discovered && one.role == Role::Primary;
    assert!(all.servers.iter().all(is_alike), "{all:?}");
    let three = server(3, Role::Primary, vec![replica(4, 4)], Vec::new());
    let (names, _) = found(&[one, discovered(&three)]);
    assert_eq!(names, ["127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4"]);
    // Nobody who is configured leads to it any more.
    let alone = server(1, Role::Primary, Vec::new(), Vec::new());
    let (names, _) = found(&[alone, discovered(&three)]);
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_configured_server_is_known_by_its_number_its_address_and_its_name_in_a_cluster() {
    let two = server(2, Role::Primary, Vec::new(), Vec::new());
    let tells = |what| server(1, Role::Primary, vec![what], Vec::new());
    for other_name in [replica(2, 7), replica(9, 2)] {
        let (names, all) = found(&[tells(other_name.clone()), Arc::clone(&two)]);
        assert!(names.is_empty(), "{other_name:?}: {names:?}");
        assert!(all.left_out.is_empty(), "{all:?}");
    }
    let by_name = server(
        1,
        Role::Any,
        Vec::new(),
        vec![member("db1:1", 8), member("db3:1", 9)],
    );
    by_name.topology().learn(Telling {
        own: vec![Identity::Number(1), Identity::Incoming("db1:1".into())],
        ..Telling::default()
    });
    assert_eq!(found(&[by_name]).0, ["127.0.0.1:9"]);
}

/// One is found first, and turns out later to be another name of a configured one. Members of a cluster may have the same number.
#[test]
fn a_discovered_server_that_is_a_configured_one_is_given_up() {
    let one = server(1, Role::Primary, vec![replica(5, 5)], Vec::new());
    let same = server(5, Role::Primary, Vec::new(), Vec::new());
    same.topology().learn(Telling {
        own: vec![Identity::Number(1)],
        ..Telling::default()
    });
    let (names, all) = found(&[Arc::clone(&one), discovered(&same)]);
    assert!(names.is_empty(), "{names:?}");
    assert_eq!(all.others_names, [endpoint(5)]);
    for (backend, address) in [(&one, "a:1"), (&same, "a:5")] {
        backend.topology().learn(Telling {
            own: vec![Identity::Number(1), Identity::Incoming(address.into())],
            ..Telling::default()
        });
    }
    assert_eq!(found(&[one, discovered(&same)]).0, ["127.0.0.1:5"]);
}

#[test]
fn what_cannot_be_used_is_named() {
    let mut hostile = replica(9, 9);
    hostile.host = "</script>\u{1b}[2J".into();
    let port = replica(8, 0);
    let one = server(1, Role::Any, vec![replica(2, 2), hostile, port], Vec::new());
    let (names, all) = found(&[one]);
    assert!(names.is_empty(), "{names:?}");
    assert_eq!(all.left_out.len(), 3, "{all:?}");
    assert!(all.left_out[0].contains("role \"any\""), "{all:?}");
    assert!(all.left_out[1].contains("</script>\\u{1b}[2J"), "{all:?}");
    assert!(all.left_out[2].contains("port 0"), "{all:?}");
    let many = (2..=u16::try_from(MOST_DISCOVERED).unwrap() + 9).map(|at| replica(at.into(), at));
    let one = server(1, Role::Primary, many.collect(), Vec::new());
    let (names, all) = found(&[one]);
    assert_eq!((names.len(), all.left_out.len()), (MOST_DISCOVERED, 8));
}

#[test]
fn a_name_that_is_not_found_is_left_out_until_it_is() {
    let one = server(1, Role::Primary, vec![replica(2, 2)], Vec::new());
    let all = find(std::slice::from_ref(&one), |_| Vec::new());
    assert!(all.servers.is_empty(), "{all:?}");
    assert!(all.left_out[0].contains("no address"), "{all:?}");
    assert_eq!(found(&[one]).0, ["127.0.0.1:2"]);
}
