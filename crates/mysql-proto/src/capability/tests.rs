use super::*;

#[test]
fn both_halves_survive_the_wire() {
    let capabilities = Capabilities::from_wire(0x81ff_f7fe, 0x0000_001d);
    assert_eq!(capabilities.mysql(), 0x81ff_f7fe);
    assert_eq!(capabilities.mariadb_extended(), 0x0000_001d);
    assert!(
        capabilities.contains(Capabilities::MARIADB_CACHE_METADATA | Capabilities::DEPRECATE_EOF)
    );
    assert!(!capabilities.contains(Capabilities::LONG_PASSWORD));
}

#[test]
fn contains_asks_for_every_bit_and_intersects_for_one() {
    let both = Capabilities::SSL | Capabilities::COMPRESS;
    assert!(both.contains(Capabilities::SSL));
    assert!(!Capabilities::SSL.contains(both));
    assert!(Capabilities::SSL.intersects(both));
    assert!(!Capabilities::ODBC.intersects(both));
    assert_eq!(both & Capabilities::SSL, Capabilities::SSL);
    assert_eq!(both.difference(Capabilities::SSL), Capabilities::COMPRESS);
}

#[test]
fn debug_lists_names_and_keeps_what_has_none() {
    let capabilities = Capabilities::SSL | Capabilities::MARIADB_PROGRESS | Capabilities(1 << 50);
    assert_eq!(
        format!("{capabilities:?}"),
        "Capabilities(SSL | MARIADB_PROGRESS | 0x4000000000000)"
    );
    assert_eq!(format!("{:?}", Capabilities::empty()), "Capabilities()");
}
