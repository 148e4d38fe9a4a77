use std::convert::Infallible;

use super::*;

#[test]
fn a_text_cut_at_any_two_bytes_comes_out_whole() {
    // One, two, three and four bytes a character.
    let text = "aé日🦀z";
    for first in 0..=text.len() {
        for second in first..=text.len() {
            let bytes = text.as_bytes();
            let parts = [&bytes[..first], &bytes[first..second], &bytes[second..]];
            assert_eq!(together(&parts), text, "cut at {first} and {second}");
        }
    }
}

#[test]
fn bytes_that_are_no_utf8_are_told_apart_wherever_the_cut_is() {
    // A lone continuation byte, a character cut short by an ASCII one, a surrogate, a cut end.
    let bytes = b"a\x80b\xE6\x97c\xED\xA0\x80d\xF0\x9F\xA6";
    let shown = r"a\x80b\xE6\x97c\xED\xA0\x80d\xF0\x9F\xA6";
    for cut in 0..=bytes.len() {
        assert_eq!(
            together(&[&bytes[..cut], &bytes[cut..]]),
            shown,
            "cut at {cut}"
        );
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(together(&single), shown);
}

#[test]
fn nothing_in_a_text_reaches_the_terminal_as_a_command() {
    let mut shown = String::new();
    push_visible(
        "a\x1b[31m\u{202e}\0b\nc\t\u{9b}",
        Lines::Escaped,
        &mut shown,
    );
    assert_eq!(shown, r"a\u{1b}[31m\u{202e}\0b\nc\t\u{9b}");
    shown.clear();
    push_visible("b\nc\td\r", Lines::Kept, &mut shown);
    assert_eq!(shown, "b\nc\td\\r");
}

#[test]
fn bytes_read_well_when_they_are_text_without_control_characters() {
    assert!(is_readable("日本\n".as_bytes(), true));
    assert!(!is_readable(b"\x89PNG\r\n", true));
    assert!(!is_readable(b"a\0", true));
    let cut = &"日".as_bytes()[..2];
    assert!(is_readable(cut, false));
    assert!(!is_readable(cut, true));
}

fn together(pieces: &[&[u8]]) -> String {
    let mut shown = String::new();
    let mut state = Pieces::default();
    let mut push = |part: Part<'_>| -> Result<(), Infallible> {
        match part {
            Part::Text(text) => shown.push_str(text),
            Part::Bad(bytes) => push_bytes(bytes, &mut shown),
        }
        Ok(())
    };
    for piece in pieces {
        let Ok(()) = state.feed(piece, &mut push);
    }
    let Ok(()) = state.finish(&mut push);
    shown
}
