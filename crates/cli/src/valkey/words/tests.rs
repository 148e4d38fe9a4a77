use super::*;

fn words(line: &[u8]) -> Result<Vec<Vec<u8>>, BadLine> {
    let mut words = Words::default();
    words.split(line)?;
    let found: Vec<Vec<u8>> = words.iter().map(<[u8]>::to_vec).collect();
    assert_eq!(found.is_empty(), words.is_empty());
    Ok(found)
}

#[test]
fn words_stand_between_spaces() {
    assert_eq!(
        words(b"  SET  key\tvalue \r\n").unwrap(),
        [&b"SET"[..], b"key", b"value"]
    );
    assert_eq!(words(b" \t").unwrap(), Vec::<Vec<u8>>::new());
    assert_eq!(words(b"").unwrap(), Vec::<Vec<u8>>::new());
}

#[test]
fn double_quotes_hold_spaces_and_escapes() {
    assert_eq!(
        words(br#"SET "a b" "\x00\xFf\n\r\t\b\a\\\"\q""#).unwrap(),
        [&b"SET"[..], b"a b", b"\x00\xFF\n\r\t\x08\x07\\\"q"]
    );
    // No two digits behind it: the letter itself.
    assert_eq!(words(br#""\xg1""#).unwrap(), [&b"xg1"[..]]);
    assert_eq!(words(br#""""#).unwrap(), [&b""[..]]);
}

#[test]
fn single_quotes_keep_backslashes() {
    assert_eq!(
        words(br#"'a\n "b"' 'it\'s' ''"#).unwrap(),
        [&br#"a\n "b""#[..], b"it's", b""]
    );
}

#[test]
fn a_quote_inside_a_word_begins_a_part_that_ends_it() {
    assert_eq!(words(br#"key:"a b" x"#).unwrap(), [&b"key:a b"[..], b"x"]);
}

#[test]
fn a_quote_without_an_end_or_with_something_behind_it_is_refused() {
    for line in [&br#"SET "a"#[..], b"SET 'a", br#"SET "a\"#, br#"""#] {
        assert_eq!(
            words(line),
            Err(BadLine::Unclosed),
            "{}",
            line.escape_ascii()
        );
    }
    for line in [&br#""a"b"#[..], b"'a'b", br#""a""b""#] {
        assert_eq!(words(line), Err(BadLine::Glued), "{}", line.escape_ascii());
    }
}

#[test]
fn bytes_that_are_no_text_are_kept() {
    assert_eq!(
        words(b"SET k \xFF\x80").unwrap(),
        [&b"SET"[..], b"k", b"\xFF\x80"]
    );
}

#[test]
fn the_next_line_takes_the_place_of_the_last() {
    let mut words = Words::default();
    words.split(b"a b c").unwrap();
    words.split(b"d").unwrap();
    assert_eq!(words.iter().collect::<Vec<_>>(), [b"d"]);
    let large = vec![b'x'; 1 << 20];
    words.split(&large).unwrap();
    words.split(b"e").unwrap();
    assert!(words.capacity() <= KEPT);
}
