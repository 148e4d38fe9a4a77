use super::*;

#[test]
fn copies_are_what_was_copied_and_no_larger() {
    let copy = bytes(b"as it came").unwrap();
    assert_eq!((&copy[..], copy.capacity()), (&b"as it came"[..], 10));
    let copy = text("as it came").unwrap();
    assert_eq!((&copy[..], copy.capacity()), ("as it came", 10));
    assert!(bytes(b"").unwrap().is_empty());
}

#[test]
fn what_is_no_utf_8_is_replaced_as_the_standard_library_does() {
    for bytes in [
        &b""[..],
        b"plain",
        b"\xe9t\xe9",
        b"\xff",
        b"cut \xf0\x9f\x90",
        b"\xf0\x9f\x90\xac",
        b"\xc3\x28 \xa0\xa1 \xe2\x82\x28",
    ] {
        let text = lossy_text(bytes).unwrap();
        assert_eq!(text, String::from_utf8_lossy(bytes));
        assert_eq!(text.capacity(), text.len(), "{bytes:?}");
    }
}

#[test]
fn a_vector_beyond_the_address_space_is_an_error_and_names_its_size() {
    let refused = with_capacity::<u64>(usize::MAX / 8).unwrap_err();
    let bytes = (usize::MAX / 8 * 8) as u64;
    assert_eq!(refused, WireError::OutOfMemory { bytes });
}
