use super::decode;
use crate::value::{ValueError, ValueKind, ValueProblem};

#[test]
fn one_to_eight_bytes_are_read_big_endian() {
    assert_eq!(decode(&[0x00]), Ok(0));
    assert_eq!(decode(&[0x01]), Ok(1));
    // BIT(9) at its maximum.
    assert_eq!(decode(&[0x01, 0xFF]), Ok(511));
    assert_eq!(decode(&[0x12, 0x34, 0x56]), Ok(0x12_3456));
    assert_eq!(decode(&[0x80, 0, 0, 0, 0, 0, 0, 0]), Ok(1 << 63));
    // BIT(64) at its maximum.
    assert_eq!(decode(&[0xFF; 8]), Ok(u64::MAX));
}

#[test]
fn only_one_to_eight_bytes_are_taken() {
    for length in 0..=255 {
        let bytes = vec![1; length];
        let offset = u32::try_from(length).unwrap();
        let wrong = ValueError {
            kind: ValueKind::Bit,
            problem: ValueProblem::WrongLength,
            offset,
        };
        match length {
            1..=8 => assert!(decode(&bytes).is_ok()),
            _ => assert_eq!(decode(&bytes), Err(wrong)),
        }
    }
}
