use super::*;

fn some() -> SessionState {
    let schema = |name: &[u8]| State::default().with_schema(Some(name.into()));
    SessionState {
        listener: "pooled".into(),
        id: 1 << 30,
        user: (*b"app").into(),
        address: Some("[::1]:3306".parse().unwrap()),
        agreed: Capabilities::SESSION_TRACK | Capabilities::DEPRECATE_EOF,
        shared: Capabilities::SESSION_TRACK,
        nonce: [7; 20],
        collation: 45,
        status: StatusFlags::AUTOCOMMIT,
        age_millis: 7,
        commands: 8,
        knows_of_losses_itself: true,
        tells_client: false,
        has_several: true,
        wanted: schema(b"shop"),
        initial: schema(b"test"),
        statements: vec![MovedStatement {
            id: (1 << 30) + 1,
            sql: (*b"SELECT ?").into(),
            meaning: schema(b"shop"),
            parameters: 1,
            types: Some([3, 0].into()),
        }],
        last_statement: (1 << 30) + 1,
        last_prepare_failed: false,
        last_insert_id: 9,
        is_fresh: false,
        has_diagnostics: true,
        is_to_clear: false,
        changes: Some(MovedChanges {
            position: (*b"0-1-17").into(),
            count: 2,
            has_untold: false,
            only_primary: true,
        }),
    }
}

#[test]
fn a_session_is_read_as_it_was_written() {
    let state = some();
    assert_eq!(SessionState::unpack(&state.pack()), Some(state.clone()));
    let least = SessionState {
        address: None,
        statements: Vec::new(),
        changes: None,
        ..state
    };
    assert_eq!(SessionState::unpack(&least.pack()), Some(least));
}

#[test]
fn cut_or_longer_bytes_and_other_forms_are_no_session() {
    let bytes = some().pack();
    for cut in 0..bytes.len() {
        assert_eq!(SessionState::unpack(&bytes[..cut]), None, "{cut}");
    }
    assert_eq!(SessionState::unpack(&[&bytes[..], &[0]].concat()), None);
    let mut other = bytes.clone();
    other[0] = other[0].wrapping_add(1);
    assert_eq!(SessionState::unpack(&other), None);
    // Whatever stands at a place: it is refused, or is another session, and takes no more memory than there are bytes.
    for at in 2..bytes.len() {
        for value in [0, 1, 0x7F, 0xFF] {
            let mut changed = bytes.clone();
            changed[at] = value;
            if let Some(state) = SessionState::unpack(&changed) {
                assert_eq!(state.pack().len(), bytes.len());
            }
        }
    }
}

#[test]
fn variables_have_to_be_in_order() {
    let mut to = Packer::default();
    to.count(2);
    for name in [b"b", b"a"] {
        to.bytes(name);
        to.bytes(b"1");
    }
    to.bool(false);
    let bytes = to.finish();
    assert_eq!(State::unpack(&mut Unpacker::new(&bytes)), None);
}

#[test]
fn only_so_many_sessions_are_under_way() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let mover = Mover::new(sender);
    assert!(mover.has_room());
    mover.bytes.store(MAX_BYTES_UNDER_WAY, SeqCst);
    assert!(!mover.has_room());
    mover.bytes.store(0, SeqCst);
    mover.under_way.store(MAX_UNDER_WAY, SeqCst);
    assert!(!mover.has_room());
    drop(receiver);
}
