use super::*;

#[test]
fn a_part_is_found_by_its_number() {
    let mut parts = Parts::new();
    assert!(parts.is_empty());
    parts.borrowed().extend([&b"first"[..], b"second"]);
    let (owned, number) = parts.owned();
    owned.push(Bytes::from_static(b"third"));
    assert!(!parts.is_empty());
    assert_eq!(parts.part(0), b"first");
    assert_eq!(parts.part(1), b"second");
    assert_eq!(parts.part(2), b"");
    assert_eq!(parts.part(number), b"third");
    assert_eq!(parts.part(number + 1), b"");

    let with_piece = WithPiece(&parts, b"piece");
    assert_eq!(with_piece.part(PIECE), b"piece");
    assert_eq!(with_piece.part(1), b"second");

    parts.clear();
    assert!(parts.is_empty());
    assert_eq!(parts.part(0), b"");
}

#[test]
fn a_piece_is_as_long_as_the_argument_but_never_over_128_kib() {
    assert_eq!(piece(0).unwrap().len(), 0);
    assert_eq!(piece(1000).unwrap().len(), 1000);
    assert_eq!(piece(u64::MAX).unwrap().len(), 128 << 10);
}
