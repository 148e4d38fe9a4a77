use super::FromReply;
use crate::command::{DecodeError, generic, hash, list, set, string};
use crate::testing::with_reply;
use crate::{Command, Kind};

/// Both protocols' forms of one reply have to show the same.
fn same<C: Command>(_: C, replies: &[&str], shown: &str, show: impl Fn(C::Output<'_>) -> String) {
    for bytes in replies {
        let found = with_reply(bytes.as_bytes(), |reply| C::decode(reply).map(&show));
        assert_eq!(found.as_deref(), Ok(shown), "{bytes:?}");
    }
}

/// Reads a reply as something that holds nothing of it.
fn read<T: for<'r> FromReply<'r>>(bytes: &[u8]) -> Result<T, DecodeError> {
    with_reply(bytes, |reply| T::from_reply(reply))
}

#[test]
fn ok_is_nothing_more_to_say() {
    same(string::mset(("k", "v")), &["+OK\r\n"], "()", |done| {
        format!("{done:?}")
    });
    let queued = read::<()>(b"+QUEUED\r\n");
    assert_eq!(queued.map_err(|error| error.found), Err(Kind::SimpleString));
}

#[test]
fn nil_is_none_in_both_protocols() {
    let show = |value: Option<&[u8]>| format!("{:?}", value.map(<[u8]>::len));
    same(
        string::get("k"),
        &["$-1\r\n", "_\r\n", "*-1\r\n"],
        "None",
        show,
    );
    same(
        string::get("k"),
        &["$2\r\nab\r\n", "+ab\r\n", "=6\r\ntxt:ab\r\n"],
        "Some(2)",
        show,
    );
}

#[test]
fn numbers_may_come_as_texts() {
    same(
        string::incr("k"),
        &[":-7\r\n", "$2\r\n-7\r\n"],
        "-7",
        |number| number.to_string(),
    );
    same(
        string::incrbyfloat("k", 0.5),
        &["$4\r\n10.5\r\n", ",10.5\r\n"],
        "10.5",
        |number| number.to_string(),
    );
    same(
        hash::hincrbyfloat("k", "f", 0.5),
        &["$3\r\n5e3\r\n", ":5000\r\n"],
        "5000",
        |number| number.to_string(),
    );
}

#[test]
fn booleans_may_come_as_numbers() {
    same(
        string::setnx("k", "v"),
        &[":1\r\n", "#t\r\n"],
        "true",
        |done| done.to_string(),
    );
    same(
        generic::persist("k"),
        &[":0\r\n", "#f\r\n"],
        "false",
        |done| done.to_string(),
    );
    let other = read::<bool>(b":2\r\n");
    assert_eq!(
        other,
        Err(DecodeError {
            expected: "0 or 1",
            found: Kind::Integer
        })
    );
}

#[test]
fn a_pair_is_an_array_of_exactly_two() {
    let replies = ["*2\r\n$4\r\njobs\r\n$1\r\nx\r\n"];
    same(
        list::blpop("jobs", 0.0),
        &replies,
        "Some(([106, 111, 98, 115], [120]))",
        |pair| format!("{pair:?}"),
    );
    same(
        list::blpop("jobs", 0.0),
        &["*-1\r\n", "_\r\n"],
        "None",
        |pair| format!("{pair:?}"),
    );
    for wrong in [
        "*1\r\n:1\r\n",
        "*3\r\n:1\r\n:2\r\n:3\r\n",
        ":1\r\n",
        "%1\r\n:1\r\n:2\r\n",
    ] {
        let found = read::<(i64, i64)>(wrong.as_bytes());
        assert_eq!(
            found.map_err(|error| error.expected),
            Err("an array of 2"),
            "{wrong:?}"
        );
    }
}

#[test]
fn another_type_is_an_error_that_says_both() {
    let found = with_reply(b"*0\r\n", |reply| {
        <&[u8]>::from_reply(reply).map(<[u8]>::to_vec)
    });
    let error = found.unwrap_err();
    assert_eq!(
        error,
        DecodeError {
            expected: "a string",
            found: Kind::Array
        }
    );
    assert_eq!(
        error.to_string(),
        "the reply is not a string but an array; run the command as a raw one to see it"
    );
    let found = read::<i64>(b"-ERR no\r\n");
    assert_eq!(found.unwrap_err().found, Kind::SimpleError);
    let found = with_reply(b"$2\r\n\xff\xfe\r\n", |reply| {
        <&str>::from_reply(reply).map(str::len)
    });
    assert_eq!(found.unwrap_err().expected, "a string in UTF-8");
    let found = read::<i64>(b"$3\r\nabc\r\n");
    assert_eq!(found.unwrap_err().expected, "an integer");
    let found = read::<f64>(b"$3\r\nabc\r\n");
    assert_eq!(found.unwrap_err().expected, "a number");
}

#[test]
fn one_wrong_element_spoils_the_array() {
    let members = |bytes: &str| {
        with_reply(bytes.as_bytes(), |reply| {
            type Members<'a> = <set::Smembers<'static> as Command>::Output<'a>;
            Members::from_reply(reply).map(|members| members.len())
        })
    };
    assert_eq!(members("*2\r\n$1\r\na\r\n$1\r\nb\r\n"), Ok(2));
    assert_eq!(members("~2\r\n$1\r\na\r\n+b\r\n"), Ok(2));
    assert_eq!(members("*0\r\n"), Ok(0));
    let error = members("*2\r\n$1\r\na\r\n:1\r\n").unwrap_err();
    assert_eq!((error.expected, error.found), ("a string", Kind::Integer));
    assert_eq!(
        members("$1\r\na\r\n").unwrap_err().expected,
        "an array or a set"
    );
}
