use crate::command::{Array, Command, FromReply, Map, hash, set, sorted_set, stream, string};
use crate::testing::with_reply;

/// Both protocols' forms of one reply have to show the same.
fn same<C: Command>(
    _: C,
    replies: &[&str],
    shown: &[&str],
    show: impl Fn(C::Output<'_>) -> Vec<String>,
) {
    for bytes in replies {
        let found = with_reply(bytes.as_bytes(), |reply| C::decode(reply).map(&show));
        assert_eq!(found.unwrap(), shown, "{bytes:?}");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_map_may_come_as_an_array_of_keys_and_values_in_turn() {
    let replies = [
        "*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$0\r\n\r\n",
        "%2\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$0\r\n\r\n",
    ];
    same(hash::hgetall("h"), &replies, &["2", "a=1", "b="], |map| {
        let mut shown = vec![map.len().to_string()];
        shown.extend(
            map.iter()
                .map(|(field, value)| format!("{}={}", text(field), text(value))),
        );
        assert_eq!(map.get("b"), Some(b"".as_slice()));
        assert_eq!(map.get("c"), None);
        shown
    });
    same(
        hash::hgetall("h"),
        &["*0\r\n", "%0\r\n"],
        &["0", "true"],
        |map| vec![map.len().to_string(), map.is_empty().to_string()],
    );
}

#[test]
fn members_and_scores_may_come_in_pairs() {
    let replies = [
        "*4\r\n$1\r\na\r\n$3\r\n1.5\r\n$1\r\nb\r\n$3\r\ninf\r\n",
        "*2\r\n*2\r\n$1\r\na\r\n,1.5\r\n*2\r\n$1\r\nb\r\n,inf\r\n",
    ];
    let command = sorted_set::zrange("z", 0, -1).withscores();
    same(command, &replies, &["2", "a 1.5", "b inf"], |scores| {
        let mut shown = vec![scores.iter().len().to_string()];
        shown.extend(
            scores
                .into_iter()
                .map(|(member, score)| format!("{} {score}", text(member))),
        );
        shown
    });
}

#[test]
fn a_map_with_a_key_too_many_or_a_pair_of_three_is_none() {
    for wrong in [
        "*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n",
        "*1\r\n*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n",
        "*2\r\n*2\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n",
        "*2\r\n$1\r\na\r\n:1\r\n",
        "~0\r\n",
        "$1\r\na\r\n",
    ] {
        let found = with_reply(wrong.as_bytes(), |reply| {
            Map::<&[u8], &[u8]>::from_reply(reply).map(|map| map.len())
        });
        assert!(found.is_err(), "{wrong:?}");
    }
}

#[test]
fn elements_may_be_nil() {
    let replies = [
        "*3\r\n$1\r\na\r\n$-1\r\n$1\r\nc\r\n",
        "*3\r\n$1\r\na\r\n_\r\n$1\r\nc\r\n",
    ];
    same(
        string::mget(["a", "b", "c"]),
        &replies,
        &["a", "nil", "c"],
        |values| {
            let show = |value: Option<&[u8]>| value.map_or("nil".to_owned(), text);
            values.iter().map(show).collect()
        },
    );
}

#[test]
fn a_set_may_come_as_an_array() {
    let replies = [
        "*2\r\n$1\r\na\r\n$1\r\nb\r\n",
        "~2\r\n$1\r\na\r\n$1\r\nb\r\n",
    ];
    same(set::smembers("s"), &replies, &["a", "b"], |members| {
        members.into_iter().map(text).collect()
    });
}

#[test]
fn streams_may_come_as_a_map_or_as_pairs() {
    let entries =
        "*2\r\n*2\r\n$3\r\n1-1\r\n*4\r\n+f\r\n+1\r\n+g\r\n+2\r\n*2\r\n$3\r\n2-1\r\n*-1\r\n";
    let replies = [
        format!("*1\r\n*2\r\n$1\r\ns\r\n{entries}"),
        format!("%1\r\n$1\r\ns\r\n{entries}"),
    ];
    let replies = replies.each_ref().map(String::as_str);
    same(
        stream::xread("s", 0),
        &replies,
        &["s", "1-1", "f1", "g2", "2-1", "deleted"],
        |streams| {
            let mut shown = Vec::new();
            for (name, entries) in streams.unwrap() {
                shown.push(text(name));
                for entry in entries {
                    shown.push(text(entry.id));
                    match entry.fields {
                        None => shown.push("deleted".to_owned()),
                        Some(fields) => shown.extend(
                            fields
                                .iter()
                                .map(|(field, value)| text(field) + &text(value)),
                        ),
                    }
                }
            }
            shown
        },
    );
    same(
        stream::xread("s", 0),
        &["*-1\r\n", "_\r\n"],
        &["nothing"],
        |streams| {
            assert!(streams.is_none());
            vec!["nothing".to_owned()]
        },
    );
}

#[test]
fn a_scan_gives_its_cursor_as_a_number() {
    let bytes = "*2\r\n$20\r\n18446744073709551615\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n";
    same(
        crate::command::generic::scan(0),
        &[bytes],
        &["18446744073709551615", "a", "b"],
        |scan| {
            let mut shown = vec![scan.cursor.to_string()];
            shown.extend(scan.elements.iter().map(text));
            shown
        },
    );
    let wrong = with_reply(b"*2\r\n$1\r\nx\r\n*0\r\n", |reply| {
        crate::command::Scanned::from_reply(reply).is_err()
    });
    assert!(wrong);
}

#[test]
fn elements_in_elements_are_read_as_they_are_come_to() {
    let bytes = b"*2\r\n*2\r\n:1\r\n:2\r\n*1\r\n:3\r\n";
    let sums = with_reply(bytes, |reply| {
        let rows = Array::<Array<i64>>::from_reply(reply).unwrap();
        rows.iter()
            .map(|row| row.iter().sum())
            .collect::<Vec<i64>>()
    });
    assert_eq!(sums, [3, 3]);
}
