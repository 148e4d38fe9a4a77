use onecopy_resp_proto::Reply;

use super::super::address::NodeAddress;
use super::Topology;
use crate::testing::with_reply;

fn asked() -> NodeAddress {
    NodeAddress::new(b"10.0.0.9", 7009).unwrap()
}

fn shards(bytes: &[u8]) -> Result<Topology, String> {
    with_reply(bytes, |reply| Topology::of_shards(reply, &asked(), false))
}

fn slots(bytes: &[u8]) -> Result<Topology, String> {
    with_reply(bytes, |reply| Topology::of_slots(reply, &asked()))
}

/// RESP of a text in which `[` to `]` is an array, `{` to `}` a map, `_` null, a number an integer, and other words are strings.
fn resp(text: &str) -> Vec<u8> {
    let mut words = text.split_whitespace();
    let mut bytes = Vec::new();
    while let Some(word) = words.next() {
        value(word, &mut words, &mut bytes);
    }
    bytes
}

fn value<'t>(word: &'t str, words: &mut impl Iterator<Item = &'t str>, bytes: &mut Vec<u8>) {
    let (mark, close, share) = match word {
        "[" => ('*', "]", 1),
        "{" => ('%', "}", 2),
        "_" => return bytes.extend(b"_\r\n"),
        "''" => return bytes.extend(b"$0\r\n\r\n"),
        word if word.parse::<i64>().is_ok() => return bytes.extend(format!(":{word}\r\n").bytes()),
        word => return bytes.extend(format!("${}\r\n{word}\r\n", word.len()).bytes()),
    };
    let (mut inner, mut count) = (Vec::new(), 0);
    loop {
        let word = words.next().unwrap();
        if word == close {
            break;
        }
        value(word, words, &mut inner);
        count += 1;
    }
    bytes.extend(format!("{mark}{}\r\n", count / share).bytes());
    bytes.extend(inner);
}

const NODE: &str =
    "id x port 7000 ip 10.0.0.1 endpoint 10.0.0.1 role master replication-offset 1 health online";

fn address(topology: &Topology, slot: u16) -> Option<String> {
    topology.primary(slot).map(|node| node.address.to_string())
}

#[test]
fn shards_are_read_with_their_replicas_and_zones() {
    for (open, close) in [("{", "}"), ("[", "]")] {
        let text = format!(
            "[ {open} slots [ 0 99 200 200 ] nodes [ {open} {NODE} availability-zone a {close} \
             {open} port 7001 ip 10.0.0.2 endpoint 10.0.0.2 role replica health online availability-zone b {close} \
             {open} port 7002 ip 10.0.0.3 endpoint 10.0.0.3 role replica health fail {close} ] {close} \
             {open} slots [ ] nodes [ {open} port 7003 endpoint 10.0.0.4 role master health online {close} ] {close} ]"
        );
        let topology = shards(&resp(&text)).unwrap();
        assert_eq!(address(&topology, 0).as_deref(), Some("10.0.0.1:7000"));
        assert_eq!(address(&topology, 200).as_deref(), Some("10.0.0.1:7000"));
        assert_eq!(address(&topology, 100), None);
        assert_eq!(topology.assigned(), 101);
        let replicas: Vec<_> = topology.replicas(99).collect();
        assert_eq!(replicas.len(), 1);
        assert_eq!(replicas[0].address.to_string(), "10.0.0.2:7001");
        assert_eq!(replicas[0].zone.as_deref(), Some("b"));
        assert_eq!(topology.primary(0).unwrap().zone.as_deref(), Some("a"));
    }
}

#[test]
fn the_online_primary_of_a_shard_is_taken_after_a_failover() {
    let failed = NODE.replace("online", "fail").replace("7000", "7005");
    for nodes in [
        format!("{{ {NODE} }} {{ {failed} }}"),
        format!("{{ {failed} }} {{ {NODE} }}"),
    ] {
        let topology = shards(&resp(&format!(
            "[ {{ slots [ 0 16383 ] nodes [ {nodes} ] }} ]"
        )))
        .unwrap();
        assert_eq!(address(&topology, 1).as_deref(), Some("10.0.0.1:7000"));
    }
}

#[test]
fn with_tls_the_port_of_tls_is_taken() {
    let text = resp(&format!(
        "[ {{ slots [ 0 1 ] nodes [ {{ tls-port 7100 {NODE} }} ] }} ]"
    ));
    let port = |is_tls| {
        let topology = with_reply(&text, |reply| Topology::of_shards(reply, &asked(), is_tls));
        topology.unwrap().primary(0).unwrap().address.port()
    };
    assert_eq!((port(true), port(false)), (7100, 7000));
}

#[test]
fn slots_are_read_in_every_form_of_their_versions() {
    let text = "[ [ 0 5460 [ 10.0.0.1 7000 id-1 [ ] ] [ '' 7001 id-2 ] ] \
                [ 5461 16383 [ _ 7002 id-3 [ hostname a availability-zone z ] ] [ ? 7003 id-4 ] ] ]";
    let topology = slots(&resp(text)).unwrap();
    assert_eq!(address(&topology, 5460).as_deref(), Some("10.0.0.1:7000"));
    assert_eq!(address(&topology, 5461).as_deref(), Some("10.0.0.9:7002"));
    assert_eq!(topology.primary(5461).unwrap().zone.as_deref(), Some("z"));
    let replicas = |slot| {
        topology
            .replicas(slot)
            .map(|node| node.address.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(replicas(0), ["10.0.0.9:7001"]);
    assert_eq!(replicas(16_383), [""; 0]);
    assert_eq!(topology.assigned(), 16_384);
    assert_eq!(topology.primaries().len(), 2);
}

#[test]
fn a_broken_description_is_an_error() {
    for text in [
        "[ ]",
        "hello",
        "1",
        "_",
        "[ 1 ]",
        "[ [ ] ]",
        "[ [ 0 1 ] ]",
        "[ [ 0 1 [ ] ] ]",
        "[ [ 1 0 [ a 1 ] ] ]",
        "[ [ -1 0 [ a 1 ] ] ]",
        "[ [ 0 16384 [ a 1 ] ] ]",
        "[ [ 0 1 [ a 0 ] ] ]",
        "[ [ 0 1 [ a 65536 ] ] ]",
        "[ [ 0 1 [ a/b 1 ] ] ]",
        "[ [ 0 1 [ a 1 ] ] [ 1 2 [ b 1 ] ] ]",
        "[ [ a b [ a 1 ] ] ]",
        "[ [ 0 1 [ ? 1 ] ] ]",
    ] {
        assert!(slots(&resp(text)).is_err(), "{text}");
        assert!(shards(&resp(text)).is_err(), "{text}");
    }
    for text in [
        format!("[ {{ slots [ 0 ] nodes [ {{ {NODE} }} ] }} ]"),
        format!("[ {{ slots [ 0 1 0 1 ] nodes [ {{ {NODE} }} ] }} ]"),
        format!("[ {{ nodes [ {{ {NODE} }} ] }} ]"),
        "[ { slots [ 0 1 ] } ]".to_owned(),
        "[ { slots [ 0 1 ] nodes [ ] } ]".to_owned(),
        "[ { slots [ 0 1 ] nodes [ { role master } ] } ]".to_owned(),
        format!(
            "[ {{ slots [ 0 1 ] nodes [ {{ {} }} ] }} ]",
            NODE.replace("7000", "0")
        ),
    ] {
        assert!(shards(&resp(&text)).is_err(), "{text}");
    }
}

#[test]
fn a_hundred_thousand_ranges_end_at_the_first_that_is_claimed_twice() {
    let mut text = b"*100000\r\n".to_vec();
    for number in 0..100_000 {
        let slot = number % 16_384;
        text.extend(format!("*3\r\n:{slot}\r\n:{slot}\r\n*2\r\n$1\r\na\r\n:1\r\n").bytes());
    }
    let error = slots(&text).unwrap_err();
    assert!(error.contains("two entries"), "{error}");
}

#[test]
fn a_cluster_with_too_many_nodes_is_refused() {
    let ranges = (0..3_000).map(|slot| format!("[ {slot} {slot} [ node-{slot} 7000 ] ]"));
    let text = format!("[ {} ]", ranges.collect::<Vec<_>>().join(" "));
    let error = slots(&resp(&text)).unwrap_err();
    assert!(error.contains("more than 2000 nodes"), "{error}");
}

#[test]
fn a_moved_slot_is_known_at_its_new_node() {
    let text = "[ [ 0 99 [ 10.0.0.1 7000 ] [ 10.0.0.3 7002 ] ] [ 100 199 [ 10.0.0.2 7001 ] ] ]";
    let mut topology = slots(&resp(text)).unwrap();
    let node = |port| NodeAddress::new(b"10.0.0.3", port).unwrap();
    let known = NodeAddress::new(b"10.0.0.2", 7001).unwrap();
    topology.moved(5, &known);
    topology.moved(6, &node(7002)); // a replica before
    topology.moved(7, &node(7999)); // not known before
    topology.moved(16_383, &node(7999));
    let at = |slot| address(&topology, slot).unwrap();
    assert_eq!([at(4), at(5)], ["10.0.0.1:7000", "10.0.0.2:7001"]);
    assert_eq!(
        [at(6), at(7), at(16_383)],
        ["10.0.0.3:7002", "10.0.0.3:7999", "10.0.0.3:7999"]
    );
    assert_eq!(topology.primaries().len(), 4);
}

#[test]
fn redirections_to_many_nodes_take_bounded_memory() {
    let mut topology = Topology::empty();
    for number in 0..20_000_u32 {
        let host = format!("node-{number}");
        let slot = u16::try_from(number % 16_384).unwrap();
        topology.moved(slot, &NodeAddress::new(host.as_bytes(), 7000).unwrap());
    }
    assert_eq!(topology.nodes().len(), super::MAX_NODES);
}

/// Whatever the bytes of a reply say, reading them ends, and says what it found.
#[test]
fn cut_and_changed_descriptions_never_panic() {
    let text = resp(&format!(
        "[ {{ slots [ 0 99 ] nodes [ {{ {NODE} }} {{ {NODE} }} ] }} [ 100 200 [ 10.0.0.1 7000 id [ a b ] ] ] ]"
    ));
    let read = |reply: Reply<'_>| {
        let _ = Topology::of_shards(reply, &asked(), true);
        let _ = Topology::of_slots(reply, &asked());
    };
    with_reply(&text, read);
    // Each value replaced by each other kind.
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    for at in 0..lines.len() {
        if lines[at].starts_with(b":") {
            for other in [
                &b"_\r\n"[..],
                b"*0\r\n",
                b"%0\r\n",
                b":-9223372036854775808\r\n",
                b"+x\r\n",
                b"#t\r\n",
            ] {
                let mut changed = lines.clone();
                changed[at] = other;
                with_reply(&changed.concat(), read);
            }
        }
    }
}
