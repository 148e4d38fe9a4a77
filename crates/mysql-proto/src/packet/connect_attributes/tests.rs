use super::*;
use crate::codec::DecodeErrorKind;

#[test]
fn attributes_are_read_in_order() {
    let attributes = ConnectAttributes::from_encoded(b"\x0c_client_name\x07onecopy\x04_pid\x017");
    let pairs: Result<Vec<_>, _> = attributes.iter().collect();
    assert_eq!(
        pairs.unwrap(),
        [
            (&b"_client_name"[..], &b"onecopy"[..]),
            (&b"_pid"[..], &b"7"[..])
        ]
    );
}

#[test]
fn an_attribute_may_be_longer_than_one_byte_can_say() {
    let value = vec![b'x'; 70_000];
    let mut encoded = Vec::new();
    ConnectAttributes::push(&mut encoded, b"k", &value);
    assert_eq!(encoded[..6], [0x01, b'k', 0xFD, 0x70, 0x11, 0x01]);
    let read = ConnectAttributes::from_encoded(&encoded)
        .iter()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(read, (&b"k"[..], &value[..]));
}

#[test]
fn the_iterator_ends_after_an_attribute_that_lies() {
    // A key without a value, then a value longer than what is left.
    for bytes in [&b"\x01a\x01b\x01c"[..], &b"\x01a\x01b\x01c\x05d"[..]] {
        let mut iter = ConnectAttributes::from_encoded(bytes).into_iter();
        assert_eq!(iter.next(), Some(Ok((&b"a"[..], &b"b"[..]))));
        let error = iter.next().unwrap().unwrap_err();
        assert!(matches!(
            error.kind,
            DecodeErrorKind::Truncated | DecodeErrorKind::BadLength
        ));
        assert_eq!(iter.next(), None);
    }
}

#[test]
fn as_many_attributes_are_encoded_as_servers_take() {
    // One byte of length and one of name, three bytes of length and the value.
    let with = |length| vec![("k".to_owned(), "x".repeat(length))];
    let mut encoded = Vec::new();
    ConnectAttributes::encode_all(&with(65_530), &mut encoded).unwrap();
    assert_eq!(encoded.len(), MAX_ATTRIBUTES_BYTES);
    assert_eq!(encoded[..6], [0x01, b'k', 0xFC, 0xFA, 0xFF, b'x']);
    let error = ConnectAttributes::encode_all(&with(65_531), &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind, EncodeErrorKind::TooLong);
}
