use super::super::FromReply;
use super::Matches;
use crate::testing::with_reply;

type Lengths<'r> = Matches<'r, Option<i64>>;

fn read(bytes: &[u8]) -> Result<(Vec<Option<i64>>, usize), String> {
    with_reply(bytes, |reply| match Lengths::from_reply(reply) {
        Ok(matches) => {
            assert_eq!(matches.first(), matches.iter().next());
            assert_eq!(matches.is_empty(), matches.iter().next().is_none());
            Ok((matches.iter().collect(), matches.len()))
        }
        Err(error) => Err(error.to_string()),
    })
}

#[test]
fn an_array_has_an_element_for_each_match() {
    let bytes = b"*3\r\n:2\r\n$-1\r\n:0\r\n";
    assert_eq!(read(bytes), Ok((vec![Some(2), None, Some(0)], 3)));
    assert_eq!(read(b"*0\r\n"), Ok((vec![], 0)));
}

#[test]
fn a_value_that_is_no_array_is_the_only_match_and_null_is_none() {
    assert_eq!(read(b":7\r\n"), Ok((vec![Some(7)], 1)));
    assert_eq!(read(b"$-1\r\n"), Ok((vec![], 0)));
    assert_eq!(read(b"_\r\n"), Ok((vec![], 0)));
    assert_eq!(read(b"*-1\r\n"), Ok((vec![], 0)));
}

#[test]
fn a_value_of_another_type_is_an_error() {
    assert!(read(b"$1\r\nx\r\n").is_err());
    assert!(read(b"*2\r\n:1\r\n$1\r\nx\r\n").is_err());
}

#[test]
fn debug_shows_the_reply() {
    for (bytes, shown) in [
        (&b"$-1\r\n"[..], "nil"),
        (b"+a\r\n", "a"),
        (b"*1\r\n+a\r\n", "a"),
    ] {
        let text = with_reply(bytes, |reply| {
            format!("{:?}", Matches::<&[u8]>::from_reply(reply).unwrap().clone())
        });
        assert!(text.contains(shown), "{text}");
    }
}
