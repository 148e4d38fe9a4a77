//! Results that are announced and never come.

use super::*;

const TEXT: &[u8] = b"Uptime: 7  Threads: 1";
/// OK, and another result follows.
const OK_MORE: &[u8] = &[0, 0, 0, 0x0A, 0, 0, 0];
/// The same with a change of the schema to `a`.
const CHANGED_MORE: &[u8] = &[0, 0, 0, 0x0A, 0x40, 0, 0, 0, 4, 1, 2, 1, b'a'];

/// Behind the first result of a command, asked for the rest.
fn asking() -> Relay {
    let tracked = DEPRECATE
        .union(Capabilities::SESSION_TRACK)
        .union(Capabilities::MULTI_RESULTS);
    let mut relay = Relay::new(tracked);
    relay.tell_state();
    let sql = packet(0, b"\x03DO 1; DO 2");
    assert_eq!(relay.client(&sql).unwrap().pass, sql.len());
    // Nothing of the reply has come.
    assert!(!relay.ask_for_rest());
    hear(&mut relay, 1, OK_MORE);
    assert!(relay.ask_for_rest());
    relay
}

fn hear(relay: &mut Relay, sequence: u8, payload: &[u8]) -> Option<Event> {
    let bytes = packet(sequence, payload);
    let passage = look(relay, &bytes);
    assert_eq!(passage.pass, bytes.len());
    passage.event
}

/// The call that is to be made at once is made.
fn look(relay: &mut Relay, bytes: &[u8]) -> Passage {
    loop {
        let passage = relay.server(bytes).unwrap();
        if passage != AGAIN {
            return passage;
        }
    }
}

const AGAIN: Passage = Passage {
    pass: 0,
    need: 0,
    until_end: 0,
    event: None,
};

#[test]
fn the_text_is_told_in_place_of_a_result_once_all_of_it_is_there() {
    let mut relay = asking();
    let text = packet(1, TEXT);
    for cut in 0..text.len() {
        let passage = relay.server(&text[..cut]).unwrap();
        assert_eq!((passage.pass, passage.event), (0, None), "{cut}");
    }
    let passage = relay.server(&text).unwrap();
    let left_out = Event::LeftOut { len: text.len() };
    assert_eq!((passage.pass, passage.event), (0, Some(left_out)));
    // An error in its place, and the next command is told of as ever.
    assert_eq!(relay.error_sequence(), Some(2));
    let failed = hear(&mut relay, 2, ERR);
    assert!(matches!(failed, Some(Event::Done { failed: true, .. })));
    assert!(relay.is_idle());
    let changed = packet(1, CHANGED_MORE);
    relay.client(&packet(0, b"\x03USE a")).unwrap();
    let told = relay.server(&changed).unwrap().event;
    assert_eq!(told, Some(Event::StateChanged { len: changed.len() }));
}

#[test]
fn what_comes_before_it_comes_as_ever() {
    let mut relay = asking();
    let changed = packet(2, CHANGED_MORE);
    let told = look(&mut relay, &changed);
    let event = Event::StateChanged { len: changed.len() };
    assert_eq!((told.pass, told.event), (0, Some(event)));
    assert_eq!(relay.server(&changed).unwrap().pass, changed.len());
    let text = packet(1, TEXT);
    let left_out = Event::LeftOut { len: text.len() };
    assert_eq!(relay.server(&text).unwrap().event, Some(left_out));
}

#[test]
fn a_reply_of_which_nothing_is_left_out_ends_and_the_next_asks_for_nothing() {
    let mut relay = asking();
    assert_eq!(hear(&mut relay, 2, OK), Some(done(3)));
    assert!(relay.is_idle());
    relay.client(&packet(0, b"\x03DO 1; DO 2")).unwrap();
    hear(&mut relay, 1, OK_MORE);
    // The text is no result here.
    assert!(relay.server(&packet(1, TEXT)).is_err());
    // 85 columns are as many as the text's first byte says.
    let mut relay = asking();
    assert_eq!(hear(&mut relay, 2, &[85]), None);
    assert!(relay.reply_begun());
}
