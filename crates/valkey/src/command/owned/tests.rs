use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bytes::Bytes;

use super::*;
use crate::testing::with_reply;

fn read<T: for<'r> FromReply<'r>>(bytes: &str) -> Result<T, DecodeError> {
    with_reply(bytes.as_bytes(), |reply| T::from_reply(reply))
}

#[test]
fn integers_are_read_within_their_range() {
    assert_eq!(read::<u32>(":4294967295\r\n").unwrap(), u32::MAX);
    assert_eq!(read::<u32>("$10\r\n4294967295\r\n").unwrap(), u32::MAX);
    let largest = "$20\r\n18446744073709551615\r\n";
    assert_eq!(read::<u64>(largest).unwrap(), u64::MAX);
    assert_eq!(read::<i16>(":-32768\r\n").unwrap(), i16::MIN);
    assert_eq!(read::<usize>("+7\r\n").unwrap(), 7);
    for wrong in [
        ":4294967296\r\n",
        ":-1\r\n",
        "$1\r\nx\r\n",
        "$0\r\n\r\n",
        "*0\r\n",
        "$-1\r\n",
    ] {
        let error = read::<u32>(wrong).unwrap_err();
        assert_eq!(error.expected, "an integer of type u32", "{wrong}");
    }
    assert!(read::<u64>("$20\r\n18446744073709551616\r\n").is_err());
}

#[test]
fn strings_are_copied() {
    assert_eq!(read::<String>("$3\r\nabc\r\n").unwrap(), "abc");
    assert_eq!(
        read::<Vec<u8>>("$3\r\n\0\x01\x7f\r\n").unwrap(),
        [0, 1, 0x7f]
    );
    assert_eq!(
        read::<Bytes>("+abc\r\n").unwrap(),
        Bytes::from_static(b"abc")
    );
    assert_eq!(&*read::<Box<str>>("$0\r\n\r\n").unwrap(), "");
    assert!(with_reply(b"$1\r\n\xff\r\n", |reply| String::from_reply(
        reply
    )
    .is_err()));
    assert!(read::<String>(":1\r\n").is_err());
}

#[test]
fn collections_are_read_from_arrays_sets_and_maps() {
    let list = "*3\r\n:1\r\n$1\r\n2\r\n:2\r\n";
    assert_eq!(read::<Vec<u16>>(list).unwrap(), [1, 2, 2]);
    assert_eq!(read::<BTreeSet<i64>>(list).unwrap(), BTreeSet::from([1, 2]));
    assert_eq!(
        read::<HashSet<i64>>("~2\r\n:1\r\n:2\r\n").unwrap(),
        HashSet::from([1, 2])
    );
    assert_eq!(
        read::<Vec<Option<String>>>("*2\r\n$-1\r\n+a\r\n").unwrap(),
        [None, Some("a".into())]
    );
    let pairs = [("a".to_owned(), 1), ("b".to_owned(), 2)];
    for map in [
        "%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n",
        "*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
        "*2\r\n*2\r\n+a\r\n:1\r\n*2\r\n+b\r\n:2\r\n",
    ] {
        assert_eq!(
            read::<HashMap<String, i64>>(map).unwrap(),
            HashMap::from(pairs.clone())
        );
        assert_eq!(
            read::<BTreeMap<String, i64>>(map).unwrap(),
            BTreeMap::from(pairs.clone())
        );
    }
    assert!(read::<Vec<u16>>("*2\r\n:1\r\n:-1\r\n").is_err());
    assert!(read::<HashMap<String, i64>>("*3\r\n+a\r\n:1\r\n+b\r\n").is_err());
    assert!(read::<Vec<i64>>("$1\r\n1\r\n").is_err());
}

#[test]
fn longer_tuples_are_read() {
    let reply = "*6\r\n:1\r\n+b\r\n:3\r\n$-1\r\n:5\r\n#t\r\n";
    type Tuple = (u16, String, i64, Option<String>, u64, bool);
    let expected = (1, "b".to_owned(), 3, None, 5, true);
    assert_eq!(read::<Tuple>(reply).unwrap(), expected);
    assert!(read::<(i64, i64, i64, i64, i64)>(reply).is_err());
}
