//! What is told of the session's state before it passes.

use super::*;
use crate::relay::Outcome;

const TRACKED: Capabilities = PLAIN
    .union(Capabilities::SESSION_TRACK)
    .union(Capabilities::DEPRECATE_EOF);

/// OK: 3 rows, insert id 7, two warnings; the schema is `shop`.
const CHANGED: [u8; 17] = [
    0, 3, 7, 2, 0x40, 2, 0, 0, 7, 1, 5, 4, b's', b'h', b'o', b'p', 0,
];

fn observing(capabilities: Capabilities) -> Relay {
    let mut relay = Relay::new(capabilities);
    relay.tell_state();
    relay
}

#[test]
fn an_ok_with_changes_is_told_once_when_all_of_it_is_there_and_may_be_rewritten() {
    let mut relay = observing(TRACKED);
    relay.client(&packet(0, &[3, b'x'])).unwrap();
    let ok = packet(1, &CHANGED[..16]);
    let passage = relay.server(&ok[..12]).unwrap();
    assert_eq!((passage.pass, passage.event), (0, None));
    assert_eq!(passage.need, ok.len());
    let passage = relay.server(&ok).unwrap();
    let event = Event::StateChanged { len: ok.len() };
    assert_eq!((passage.pass, passage.event), (0, Some(event)));
    // Without the changes: shorter by nine bytes.
    let rewritten = packet(1, &[0, 3, 7, 2, 0, 2, 0]);
    let passage = relay.server(&rewritten).unwrap();
    assert_eq!(passage.pass, rewritten.len());
    assert!(matches!(passage.event, Some(Event::Done { .. })));
    let outcome = Outcome {
        affected_rows: 3,
        last_insert_id: 7,
        warnings: 2,
    };
    assert_eq!(relay.outcome(), outcome);
    // As it is, it passes too, and the next one is told again.
    for _ in 0..2 {
        relay.client(&packet(0, &[3, b'x'])).unwrap();
        let told = relay.server(&ok).unwrap();
        assert_eq!(told.event, Some(event));
        assert_eq!(relay.server(&ok).unwrap().pass, ok.len());
    }
}

#[test]
fn a_prepared_statement_is_told_before_its_id_passes() {
    let mut relay = observing(TRACKED);
    relay.client(&packet(0, &[0x16, b'x'])).unwrap();
    let mut reply = packet(1, &[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let passage = relay.server(&reply).unwrap();
    let event = Event::Prepared {
        id: 9,
        parameters: 0,
        columns: 0,
    };
    assert_eq!((passage.pass, passage.event), (0, Some(event)));
    reply[5] = 1;
    let passage = relay.server(&reply).unwrap();
    assert!(matches!(passage.event, Some(Event::Done { .. })));
    relay.client(&packet(0, &[0x19, 1, 0, 0, 0])).unwrap();
    assert_eq!(relay.statements(), 0, "the id that passed is the one known");
}

#[test]
fn rows_end_with_the_number_of_warnings() {
    let mut relay = observing(PLAIN);
    relay.client(&packet(0, &[3, b'x'])).unwrap();
    let definition = [&[3][..], b"def", &[0; 20]].concat();
    let eof = [0xFE, 4, 0, 2, 0];
    for bytes in [
        packet(1, &[1]),
        packet(2, &definition),
        packet(3, &eof),
        packet(4, &[1, b'1']),
    ] {
        relay.server(&bytes).unwrap();
    }
    let passage = relay.server(&packet(5, &eof)).unwrap();
    assert!(matches!(passage.event, Some(Event::Done { .. })));
    assert_eq!(relay.outcome().warnings, 4);
    assert!(relay.take_warned());
    assert!(!relay.take_warned());
}
