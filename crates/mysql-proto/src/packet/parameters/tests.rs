use super::*;

#[test]
fn the_null_bitmap_has_a_bit_for_each_parameter() {
    let nulls = [
        true, false, false, false, false, false, false, false, false, true,
    ];
    let mut out = Vec::new();
    NullBitmap::encode(nulls, &mut out);
    assert_eq!(out, [0b0000_0001, 0b0000_0010]);
    assert_eq!(NullBitmap::bytes_for(10), 2);
    let bitmap = NullBitmap(&out);
    for (index, null) in nulls.into_iter().enumerate() {
        assert_eq!(bitmap.is_null(index), null);
    }
    assert!(bitmap.is_null(16), "what is not there has no value");
}

#[test]
fn bitmaps_of_whole_bytes_have_no_byte_more() {
    let mut out = Vec::new();
    NullBitmap::encode([true; 8], &mut out);
    assert_eq!(out, [0xFF]);
    out.clear();
    NullBitmap::encode([], &mut out);
    assert!(out.is_empty());
    assert_eq!((NullBitmap::bytes_for(0), NullBitmap::bytes_for(8)), (0, 1));
}

#[test]
fn a_type_says_whether_it_is_unsigned() {
    let signed = ParameterType::new(0x08, false);
    let unsigned = ParameterType::new(0x08, true);
    assert_eq!((signed.0, unsigned.0), (0x0008, 0x8008));
    assert_eq!(
        (unsigned.column_type(), unsigned.is_unsigned()),
        (0x08, true)
    );
    assert!(!signed.is_unsigned());
}

#[test]
fn each_type_has_its_own_length() {
    let bytes = [0x0B; 32];
    // Each first byte is 11: a length of 11 where the type has one.
    let lengths = [
        (0x01, 1),  // TINY
        (0x02, 2),  // SHORT
        (0x0D, 2),  // YEAR
        (0x03, 4),  // LONG
        (0x04, 4),  // FLOAT
        (0x09, 4),  // INT24
        (0x05, 8),  // DOUBLE
        (0x08, 8),  // LONGLONG
        (0x06, 0),  // NULL
        (0x0C, 11), // DATETIME
        (0xFD, 11), // VAR_STRING
        (0xF2, 11), // VECTOR
        (0x77, 11), // unknown
    ];
    for (column_type, length) in lengths {
        let value = read_value(&mut Reader::new("Test", &bytes), column_type).unwrap();
        assert_eq!(value.len(), length, "{column_type:#x}");
        let short = &bytes[..length.saturating_sub(1)];
        assert!(length == 0 || read_value(&mut Reader::new("Test", short), column_type).is_err());
    }
}

#[test]
fn dates_and_times_have_only_their_own_lengths() {
    for length in 0..=255 {
        let mut bytes = vec![0; 256];
        bytes[0] = length;
        for (column_type, legal) in [
            (0x07, [0, 4, 7, 11]),
            (0x0A, [0, 4, 7, 11]),
            (0x0C, [0, 4, 7, 11]),
            (0x0B, [0, 0, 8, 12]),
        ] {
            let value = read_value(&mut Reader::new("Test", &bytes), column_type);
            assert_eq!(
                value.is_ok(),
                legal.contains(&length),
                "{column_type:#x} of {length}"
            );
            if let Err(error) = value {
                assert_eq!((error.offset, error.kind), (0, DecodeErrorKind::BadLength));
            }
        }
    }
}
