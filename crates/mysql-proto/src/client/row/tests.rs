use super::*;

fn cells(count: usize) -> Vec<Cell> {
    vec![Cell::TAKEN; count]
}

/// Start and length of each value, `None` for NULL.
fn found(cells: &[Cell]) -> Vec<Option<(u32, usize)>> {
    let place = |cell: &Cell| (!cell.is_null()).then(|| (cell.start, cell.len()));
    cells.iter().map(place).collect()
}

#[test]
fn a_text_row_is_a_length_or_null_for_each_column() {
    let mut cells = cells(4);
    scan_text(b"\x03abc\xfb\x00\xfc\x02\x00de", &mut cells).unwrap();
    assert_eq!(
        found(&cells),
        [Some((1, 3)), None, Some((6, 0)), Some((9, 2))]
    );
}

#[test]
fn a_text_row_cut_anywhere_is_refused() {
    let row = b"\x03abc\xfb\x00\xfc\x02\x00de";
    for len in 0..row.len() {
        let refused = scan_text(&row[..len], &mut cells(4)).unwrap_err();
        assert_eq!(refused.packet, "text row");
        assert!(usize::try_from(refused.offset).unwrap() <= len);
    }
    let trailing = scan_text(b"\x01ab", &mut cells(1)).unwrap_err();
    assert_eq!(
        (trailing.offset, trailing.kind),
        (2, DecodeErrorKind::Trailing)
    );
}

#[test]
fn a_text_length_beyond_all_memory_is_refused() {
    for length in [
        &b"\xfd\xff\xff\xff"[..],
        b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        let refused = scan_text(length, &mut cells(1)).unwrap_err();
        assert_eq!(refused.kind, DecodeErrorKind::BadLength);
    }
    assert!(scan_text(b"\xff", &mut cells(1)).is_err());
}

#[test]
fn a_binary_row_has_fixed_values_and_those_behind_a_length() {
    // NULL bits for columns 1 and 6, counted from bit 2: the second in the second byte.
    let row = b"\x00\x08\x01\x2a\x03abc\x07\x00\x00\x00\x01x\x02\x00";
    let widths = [1, 0, 0, 4, 0, 2, 8];
    let mut cells = cells(7);
    scan_binary(row, &widths, &mut cells).unwrap();
    assert_eq!(
        found(&cells),
        [
            Some((3, 1)),
            None,
            Some((5, 3)),
            Some((8, 4)),
            Some((13, 1)),
            Some((14, 2)),
            None
        ]
    );
}

#[test]
fn a_binary_row_cut_anywhere_is_refused() {
    let row = b"\x00\x00\x2a\x03abc\x07\x00\x00\x00";
    let widths = [1, 0, 4];
    scan_binary(row, &widths, &mut cells(3)).unwrap();
    for len in 0..row.len() {
        let refused = scan_binary(&row[..len], &widths, &mut cells(3)).unwrap_err();
        assert_eq!(refused.packet, "binary row");
    }
    let trailing = scan_binary(&[row, &b"+"[..]].concat(), &widths, &mut cells(3)).unwrap_err();
    assert_eq!(trailing.kind, DecodeErrorKind::Trailing);
}

#[test]
fn a_binary_row_with_another_first_byte_or_a_null_length_is_refused() {
    let refused = scan_binary(b"\x01\x00\x2a", &[1], &mut cells(1)).unwrap_err();
    assert_eq!(
        (refused.offset, refused.kind),
        (0, DecodeErrorKind::BadValue)
    );
    let refused = scan_binary(b"\x00\x00\xfb", &[0], &mut cells(1)).unwrap_err();
    assert_eq!(
        (refused.offset, refused.kind),
        (2, DecodeErrorKind::BadValue)
    );
}

#[test]
fn the_null_bitmap_grows_at_every_eighth_column() {
    for (columns, head) in [(1, 2), (6, 2), (7, 3), (14, 3), (15, 4), (4096, 514)] {
        assert_eq!(binary_head(columns), head);
        let mut row = vec![0xFF; head];
        row[0] = 0;
        let mut cells = cells(columns);
        scan_binary(&row, &vec![8; columns], &mut cells).unwrap();
        assert!(cells.iter().all(|cell| cell.is_null()));
    }
}
