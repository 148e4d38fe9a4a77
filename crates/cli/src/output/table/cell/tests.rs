use super::*;

#[test]
fn a_value_is_padded_or_cut_to_exactly_its_columns_width() {
    for text in ["", "abc", "日本語テキスト", "ée\u{301}f", "a🦀b🦀c"] {
        let cell = Cell::name(text);
        for width in 1..20 {
            for right in [false, true] {
                let mut line = String::new();
                cell.push(width, right, Style::new(), &mut line);
                assert_eq!(line.width(), width, "{text:?} in {width}: {line:?}");
                assert_eq!(line.contains('…'), text.width() > width);
            }
        }
    }
}

#[test]
fn only_the_start_of_a_long_value_is_read() {
    let bytes = "é".repeat(1 << 20);
    let mut reader = &bytes.as_bytes()[1..];
    let column = Column {
        name: "a".into(),
        kind: Kind::Text,
        max_bytes: 0,
    };
    let cell = Cell::read(
        &column,
        Value {
            len: reader.len() as u64,
            bytes: &mut reader,
        },
    )
    .unwrap();
    assert_eq!(bytes.len() - 1 - reader.len(), SHOWN_BYTES);
    assert_eq!(
        cell.text,
        format!("\\xA9{}…", "é".repeat(SHOWN_BYTES / 2 - 1))
    );
}

#[test]
fn bytes_are_shown_as_text_where_they_are_readable() {
    let shown = |mut bytes: &[u8], kind| {
        let column = Column {
            name: "a".into(),
            kind,
            max_bytes: 0,
        };
        Cell::read(
            &column,
            Value {
                len: bytes.len() as u64,
                bytes: &mut bytes,
            },
        )
        .unwrap()
        .text
    };
    assert_eq!(shown(b"abc\n", Kind::Bytes), "abc\\n");
    assert_eq!(shown(b"\x00\x01\xFF", Kind::Bytes), "0x0001FF");
    assert_eq!(shown(b"a\xFFb", Kind::Text), "a\\xFFb");
}
