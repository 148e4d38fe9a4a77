use super::CharacterSet;
use crate::charset::CollationId;

const LATIN1: CollationId = CollationId::LATIN1_SWEDISH_CI;
const UTF8: CollationId = CollationId::UTF8MB4_GENERAL_CI;
const UCS2: CollationId = CollationId(35);
/// Of no server that is known here.
const UNKNOWN: CollationId = CollationId(9999);

#[test]
fn text_is_taken_by_a_session_of_its_own_character_set() {
    let (utf8mb4, utf8mb3) = (CharacterSet::default(), CharacterSet::named(b"utf8mb3"));
    let latin1 = CharacterSet::named(b"latin1");
    let accented = "é".as_bytes();
    for (session, collation, text, is_taken) in [
        (utf8mb4, UTF8, accented, true),
        (utf8mb4, UNKNOWN, accented, true),
        (utf8mb4, CollationId::UTF8MB3_GENERAL_CI, accented, true),
        (utf8mb4, UTF8, b"\xE9", false),
        (utf8mb4, LATIN1, b"\xE9", false),
        (utf8mb4, LATIN1, accented, false),
        (utf8mb4, UCS2, b"\0a", false),
        (utf8mb4, UCS2, b"\0\xE9", false),
        (utf8mb3, UTF8, accented, true),
        (utf8mb3, UTF8, "😀".as_bytes(), false),
        (latin1, LATIN1, b"\xE9", true),
        (latin1, UTF8, accented, false),
        (latin1, UTF8, b"e", true),
        (utf8mb4, LATIN1, b"e", true),
    ] {
        assert_eq!(
            session.takes(collation, text),
            is_taken,
            "{session:?} {collation} {text:?}"
        );
    }
}

#[test]
fn a_session_of_an_unknown_character_set_takes_only_ascii() {
    let unknown = CharacterSet::named(b"klingon");
    assert_eq!(unknown, CharacterSet(""));
    assert!(unknown.takes(UTF8, b"e"));
    assert!(!unknown.takes(UTF8, "é".as_bytes()));
    assert!(!unknown.takes(UNKNOWN, "é".as_bytes()));
}

#[test]
fn names_are_those_of_the_servers() {
    assert_eq!(CharacterSet::named(b"utf8mb4"), CharacterSet::default());
    assert_eq!(
        CharacterSet::named(b"utf8"),
        CharacterSet::named(b"utf8mb3")
    );
    assert_eq!(CharacterSet::named(b"gb18030"), CharacterSet("gb18030"));
}
