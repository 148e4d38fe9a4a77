use super::*;

#[test]
fn numbers_keep_every_digit_and_lose_only_filling_zeros() {
    for (text, json) in [
        ("0", "0"),
        ("-0", "-0"),
        ("00042", "42"),
        ("000.10", "0.10"),
        ("-1234567890.1234567890", "-1234567890.1234567890"),
        (
            "99999999999999999999999999999999999999999999999999999999999999999",
            "",
        ),
        ("1.5e-10", ""),
        ("1e20", ""),
        ("0e0", ""),
    ] {
        let json = if json.is_empty() { text } else { json };
        let (sign, digits) = number(text.as_bytes()).unwrap();
        assert_eq!([sign, digits].concat(), json.as_bytes(), "{text}");
    }
}

#[test]
fn what_json_knows_as_no_number_is_none() {
    for text in [
        "", "-", "nan", "inf", ".5", "1.", "1e", "1e+", "--1", "1 ", "0x10",
    ] {
        assert_eq!(number(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn columns_of_one_name_get_a_count() {
    let column = |name: &str| Column {
        name: name.into(),
        kind: Kind::Text,
        max_bytes: 0,
    };
    let keys = keys(&[
        column("id"),
        column("id"),
        column("id_2"),
        column("id"),
        column("a\"b"),
    ])
    .unwrap();
    let keys: Vec<_> = keys
        .iter()
        .map(|key| std::str::from_utf8(key).unwrap())
        .collect();
    assert_eq!(
        keys,
        [
            "{\"id\":\"",
            ",\"id_3\":\"",
            ",\"id_2\":\"",
            ",\"id_4\":\"",
            ",\"a\\\"b\":\""
        ]
    );
}
