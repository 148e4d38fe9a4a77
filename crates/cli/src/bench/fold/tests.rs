use super::*;

fn whole(bytes: &[u8]) -> u64 {
    let mut fold = Fold::default();
    fold.bytes(bytes);
    fold.sum()
}

#[test]
fn a_value_in_pieces_has_the_sum_of_the_whole() {
    let value: Vec<u8> = (0..=255).cycle().take(1000).collect();
    for len in [0, 1, 2, 3, 4, 5, 8, 255, 1000] {
        for piece in [1, 2, 7, 64, 1000] {
            let value = &value[..len];
            let mut pieces = Pieces::new(len as u64);
            value.chunks(piece).for_each(|piece| pieces.pass(piece));
            let mut fold = Fold::default();
            fold.pieces(&pieces);
            assert_eq!(fold.sum(), whole(value), "{len} bytes in pieces of {piece}");
        }
    }
}

#[test]
fn length_start_quarters_and_end_change_the_sum() {
    let value = [7; 100];
    assert_ne!(whole(&value), whole(&value[1..]));
    for place in [0, 25, 50, 75, 99] {
        let mut other = value;
        other[place] = 8;
        assert_ne!(whole(&value), whole(&other), "byte {place}");
    }
}
