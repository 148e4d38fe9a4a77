//! States and differences, without a server. `tests/pooled/variables.rs` tries them on real ones.

use super::*;
use crate::pooling::exchange::put_packet;
use onecopy_mysql_proto::packet::CommandByte;

fn baseline() -> Baseline {
    let rows = [
        ("autocommit", "ON"),
        ("character_set_client", "utf8mb4"),
        ("character_set_connection", "utf8mb4"),
        ("character_set_results", "utf8mb4"),
        ("collation_connection", "utf8mb4_general_ci"),
        ("lock_wait_timeout", "86400"),
        ("max_join_size", "5"),
        ("sql_mode", "STRICT_ALL_TABLES"),
    ];
    Baseline::from_rows(rows.map(|(name, value)| (name.into(), value.into())))
}

fn with(state: &State, name: &str, value: &str) -> State {
    let changed = state.with_variable(&baseline(), name.as_bytes(), value.as_bytes());
    changed.unwrap().unwrap_or_else(|| state.clone())
}

fn sql(actual: &State, wanted: &State) -> (u32, Vec<String>) {
    let mut out = Vec::new();
    let count = difference(actual, wanted, &baseline(), &mut out);
    let mut packets = Vec::new();
    let mut rest = &out[..];
    while let Some((&[a, b, _, 0], behind)) = rest.split_first_chunk::<4>() {
        let len = usize::from(a) + 256 * usize::from(b);
        packets.push(String::from_utf8_lossy(&behind[1..len]).into_owned());
        rest = &behind[len..];
    }
    (count, packets)
}

#[test]
fn what_differs_is_set_and_what_is_no_longer_wanted_goes_back() {
    let fresh = State::default();
    let one = with(&with(&fresh, "autocommit", "OFF"), "sql_mode", "it's");
    let other = with(&fresh, "lock_wait_timeout", "3").with_schema(Some(b"shop"[..].into()));
    let (count, packets) = sql(&one, &other);
    assert_eq!(count, 2);
    assert_eq!(
        packets,
        [
            "shop",
            "SET @@session.autocommit='ON',@@session.lock_wait_timeout=3,@@session.sql_mode='STRICT_ALL_TABLES'",
        ]
    );
    let (_, packets) = sql(&other, &one);
    assert_eq!(
        packets,
        [
            "SET @@session.autocommit='OFF',@@session.lock_wait_timeout=86400,@@session.sql_mode='it''s'"
        ]
    );
    assert_eq!(sql(&one, &one.clone()).0, 0);
}

#[test]
fn a_value_of_a_fresh_connection_leaves_the_state() {
    let changed = with(&State::default(), "AutoCommit", "OFF");
    assert_ne!(changed, State::default());
    assert_eq!(with(&changed, "autocommit", "ON"), State::default());
}

#[test]
fn character_sets_are_set_together() {
    let fresh = State::default();
    let wanted = with(&fresh, "collation_connection", "latin1_bin");
    assert_eq!(
        wanted.get(b"character_set_connection"),
        Some(&b"latin1"[..])
    );
    let (_, packets) = sql(&fresh, &wanted);
    assert_eq!(
        packets,
        [
            "SET @@session.character_set_client='utf8mb4',@@session.collation_connection='latin1_bin'"
        ]
    );
    let back = with(&wanted, "collation_connection", "utf8mb4_general_ci");
    assert_eq!(back, fresh);
    let wanted = with(&fresh, "character_set_results", "");
    assert_eq!(
        sql(&fresh, &wanted).1,
        [
            "SET @@session.character_set_client='utf8mb4',@@session.character_set_results=NULL,\
             @@session.collation_connection='utf8mb4_general_ci'"
        ]
    );
    let wanted = with(
        &with(&fresh, "collation_connection", "utf8mb4_bin"),
        "autocommit",
        "OFF",
    );
    let (_, packets) = sql(&fresh, &wanted);
    assert_eq!(
        packets,
        [
            "SET @@session.character_set_client='utf8mb4',@@session.collation_connection='utf8mb4_bin',@@session.autocommit='OFF'"
        ]
    );
    let results = with(&wanted, "character_set_results", "latin1");
    assert!(
        sql(&results, &fresh).1[0].starts_with("SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci',")
    );
    // What a statement means leaves results alone.
    assert_eq!(
        results.meaning(),
        with(&fresh, "collation_connection", "utf8mb4_bin")
    );
    assert_eq!(
        results.with_meaning(&fresh).get(b"character_set_results"),
        Some(&b"latin1"[..])
    );
}

#[test]
fn what_can_t_be_repeated_pins() {
    let fresh = State::default();
    for (name, pin) in [
        ("timestamp", Pin::Variable),
        ("last_insert_id", Pin::LastInsertId),
        ("unknown_one", Pin::Variable),
        ("session_track_schema", Pin::SessionTrack),
    ] {
        let error = fresh
            .with_variable(&baseline(), name.as_bytes(), b"1")
            .unwrap_err();
        assert_eq!(error, pin, "{name}");
    }
}

#[test]
fn a_schema_or_a_rare_variable_is_waited_for() {
    let fresh = State::default();
    assert!(is_harmless(&fresh, &with(&fresh, "autocommit", "OFF")));
    assert!(!is_harmless(&with(&fresh, "max_join_size", "4"), &fresh));
    assert!(!is_harmless(
        &fresh,
        &fresh.with_schema(Some(b"a"[..].into()))
    ));
}

#[test]
fn texts_are_read_the_same_under_each_sql_mode_and_character_set() {
    let fresh = State::default();
    for (value, sent) in [
        ("it's", "'it''s'"),
        ("\"a\"", "'\"a\"'"),
        ("a\\b", "X'615C62'"),
        ("\u{e9}", "X'C3A9'"),
        ("5", "'5'"),
    ] {
        let (_, packets) = sql(&fresh, &with(&fresh, "sql_mode", value));
        assert_eq!(packets, [format!("SET @@session.sql_mode={sent}")]);
    }
}

#[test]
fn a_schema_s_name_is_sent_in_its_own_character_set() {
    let fresh = State::default();
    let wanted = fresh.with_schema(Some("d\u{e9}".as_bytes().into()));
    assert_eq!(
        sql(&fresh, &wanted).1,
        [
            "SET NAMES 'utf8mb4'",
            "d\u{e9}",
            "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci'"
        ]
    );
}

#[test]
fn a_variable_of_two_names_is_one() {
    let rows = [("transaction_isolation", "A"), ("tx_isolation", "A")];
    let new = Baseline::from_rows(rows.map(|(name, value)| (name.into(), value.into())));
    let state = State::default().with_variable(&new, b"tx_isolation", b"B");
    let state = state.unwrap().unwrap();
    assert_eq!(state.get(b"transaction_isolation"), Some(&b"B"[..]));
    let old = Baseline::from_rows([(b"tx_isolation".to_vec(), b"A".to_vec())]);
    let state = State::default().with_variable(&old, b"tx_isolation", b"B");
    assert_eq!(
        state.unwrap().unwrap().get(b"tx_isolation"),
        Some(&b"B"[..])
    );
}

#[test]
fn many_variables_are_set_in_the_order_of_their_names_and_go_back() {
    for many in [1, 7, 8, 9, 30] {
        let names: Vec<_> = (0..many).map(|n| format!("variable_{n:02}")).collect();
        let rows = names.iter().map(|name| (name.as_bytes(), b"1"));
        let baseline = Baseline::from_rows(rows.map(|(name, value)| (name.into(), value.into())));
        let mut state = State::default();
        for name in names.iter().rev() {
            let changed = state.with_variable(&baseline, name.as_bytes(), b"2");
            state = changed.unwrap().unwrap();
        }
        for (actual, wanted, value) in [
            (&State::default(), &state, 2),
            (&state, &State::default(), 1),
        ] {
            let mut out = Vec::new();
            assert_eq!(difference(actual, wanted, &baseline, &mut out), 1);
            let set: Vec<_> = names
                .iter()
                .map(|name| format!("@@session.{name}={value}"))
                .collect();
            let text = format!("SET {}", set.join(","));
            let mut packet = Vec::new();
            put_packet(&mut packet, CommandByte::QUERY, text.as_bytes());
            assert_eq!(out, packet, "{many}");
        }
    }
}
