use std::collections::BTreeSet;

use super::{Place, Router};
use crate::cluster::address::NodeAddress;
use crate::cluster::attempts::Target;
use crate::cluster::config::ReadFrom;
use crate::cluster::error::ClusterError;
use crate::cluster::route::Route;
use crate::cluster::topology::Topology;
use crate::command::Flags;
use crate::testing::with_reply;

fn node(port: u64) -> NodeAddress {
    NodeAddress::new(b"10.0.0.1", port).unwrap()
}

/// Slots 0 to 99 on port 1 with replicas on 2 and 3, of which 3 is in zone b; slots 100 to 199 on 4, in zone b, without one.
fn router(read_from: ReadFrom) -> Router {
    let zone = |port: u8, zone: &str| {
        format!(
            "*4\r\n$8\r\n10.0.0.1\r\n:{port}\r\n$1\r\nx\r\n*2\r\n$17\r\navailability-zone\r\n$1\r\n{zone}\r\n"
        )
    };
    let text = format!(
        "*2\r\n*5\r\n:0\r\n:99\r\n{}{}{}*3\r\n:100\r\n:199\r\n{}",
        zone(1, "a"),
        zone(2, "a"),
        zone(3, "b"),
        zone(4, "b")
    );
    let topology = with_reply(text.as_bytes(), |reply| Topology::of_slots(reply, &node(9)));
    let mut router = Router::new(read_from, vec![node(1), node(8)]);
    router.learn(topology.unwrap());
    router
}

fn route(slot: u16, flags: Flags) -> Route {
    Route {
        slot: Some(slot),
        flags,
    }
}

fn readers(router: &mut Router, slot: u16) -> BTreeSet<(u16, bool)> {
    let places = (0..10).map(|_| {
        router
            .place(route(slot, Flags::READONLY), &Target::Route)
            .unwrap()
    });
    places
        .map(|place| (place.address.port(), place.is_replica))
        .collect()
}

#[test]
fn writes_go_to_primaries_whatever_is_read_from() {
    for read_from in [
        ReadFrom::Primary,
        ReadFrom::Replica,
        ReadFrom::Any,
        ReadFrom::Zone("b".into()),
    ] {
        let mut router = router(read_from);
        let place = |router: &mut Router, slot| {
            router
                .place(route(slot, Flags::WRITE), &Target::Route)
                .unwrap()
        };
        assert_eq!(
            place(&mut router, 0),
            Place {
                address: node(1),
                is_replica: false
            }
        );
        assert_eq!(
            place(&mut router, 199),
            Place {
                address: node(4),
                is_replica: false
            }
        );
    }
}

#[test]
fn reads_go_where_they_are_told_to_in_turn() {
    for (read_from, expected, without_replica) in [
        (ReadFrom::Primary, vec![(1, false)], (4, false)),
        (ReadFrom::Replica, vec![(2, true), (3, true)], (4, false)),
        (
            ReadFrom::Any,
            vec![(1, false), (2, true), (3, true)],
            (4, false),
        ),
        (ReadFrom::Zone("b".into()), vec![(3, true)], (4, false)),
        (
            ReadFrom::Zone("a".into()),
            vec![(1, false), (2, true)],
            (4, false),
        ),
        (
            ReadFrom::Zone("c".into()),
            vec![(2, true), (3, true)],
            (4, false),
        ),
    ] {
        let mut router = router(read_from);
        assert_eq!(readers(&mut router, 0), expected.into_iter().collect());
        assert_eq!(readers(&mut router, 100), [without_replica].into());
        let primary = router
            .place(route(0, Flags::READONLY), &Target::Primary)
            .unwrap();
        assert_eq!(primary.address, node(1));
    }
}

#[test]
fn commands_without_keys_go_to_all_primaries_in_turn() {
    let mut router = router(ReadFrom::Replica);
    let any = Route {
        slot: None,
        flags: Flags::READONLY,
    };
    let ports: Vec<u16> = (0..4)
        .map(|_| router.place(any, &Target::Route).unwrap().address.port())
        .collect();
    assert!(ports == [1, 4, 1, 4] || ports == [4, 1, 4, 1], "{ports:?}");
}

#[test]
fn a_slot_without_a_node_is_named() {
    let mut router = router(ReadFrom::Replica);
    for flags in [Flags::READONLY, Flags::WRITE] {
        let error = router.place(route(200, flags), &Target::Route).unwrap_err();
        assert_eq!(error.cluster(), Some(&ClusterError::UnassignedSlot(200)));
    }
    let mut empty = Router::new(ReadFrom::Primary, Vec::new());
    assert!(
        empty
            .place(
                Route {
                    slot: None,
                    flags: Flags::NONE
                },
                &Target::Route
            )
            .is_err()
    );
}

#[test]
fn nodes_that_answer_are_asked_first_and_seeds_always() {
    let mut router = router(ReadFrom::Primary);
    for _ in 0..5 {
        let asked = router.candidates(|address| address.port() == 3);
        assert_eq!(asked.len(), 5);
        assert_eq!(asked[0], node(3));
        assert_eq!(asked[4], node(8));
    }
    let mut empty = Router::new(ReadFrom::Primary, vec![node(1), node(8)]);
    assert_eq!(empty.candidates(|_| false), [node(1), node(8)]);
}

#[test]
fn zones_that_the_description_lacks_are_asked_for_once() {
    let text =
        b"*1\r\n*4\r\n:0\r\n:9\r\n*2\r\n$8\r\n10.0.0.1\r\n:1\r\n*2\r\n$8\r\n10.0.0.1\r\n:2\r\n";
    let topology = with_reply(text, |reply| Topology::of_slots(reply, &node(9))).unwrap();
    let mut router = Router::new(ReadFrom::Zone("b".into()), Vec::new());
    router.learn(topology.clone());
    assert_eq!(router.without_zone(), [node(1), node(2)]);
    router.learn_zone(&node(1), b"# Server\r\navailability_zone:b\r\nx:y\r\n");
    router.learn_zone(&node(2), b"# Server\r\navailability_zone:\r\n");
    for _ in 0..2 {
        assert!(router.without_zone().is_empty());
        assert_eq!(readers(&mut router, 0), [(1, false)].into());
        router.learn(topology.clone());
    }
    let mut other = Router::new(ReadFrom::Replica, Vec::new());
    other.learn(topology);
    assert!(other.without_zone().is_empty());
}
