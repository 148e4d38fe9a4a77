use super::super::FromReply;
use super::Similar;
use crate::testing::with_reply;

fn read(bytes: &[u8]) -> Result<Vec<(String, f64, Option<String>)>, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    with_reply(bytes, |reply| {
        let found = Similar::from_reply(reply).map_err(|error| error.to_string())?;
        let all: Vec<_> = found
            .iter()
            .map(|(element, score, attributes)| (text(element), score, attributes.map(text)))
            .collect();
        assert_eq!((all.len(), all.is_empty()), (found.len(), found.is_empty()));
        Ok(all)
    })
}

#[test]
fn a_map_and_an_array_of_triples_are_read_alike() {
    let expected = vec![
        ("a".to_owned(), 0.5, Some("{}".to_owned())),
        ("b".to_owned(), 0.25, None),
    ];
    let map = b"%2\r\n$1\r\na\r\n*2\r\n,0.5\r\n$2\r\n{}\r\n$1\r\nb\r\n*2\r\n,0.25\r\n_\r\n";
    assert_eq!(read(map).as_ref(), Ok(&expected));
    let array = b"*6\r\n$1\r\na\r\n$3\r\n0.5\r\n$2\r\n{}\r\n$1\r\nb\r\n$4\r\n0.25\r\n$-1\r\n";
    assert_eq!(read(array).as_ref(), Ok(&expected));
    assert_eq!(read(b"*0\r\n"), Ok(vec![]));
    assert_eq!(read(b"%0\r\n"), Ok(vec![]));
}

#[test]
fn an_element_that_lacks_something_is_an_error() {
    for bytes in [
        &b"*2\r\n$1\r\na\r\n$3\r\n0.5\r\n"[..],
        b"*3\r\n$1\r\na\r\n$1\r\nx\r\n$-1\r\n",
        b"%1\r\n$1\r\na\r\n,0.5\r\n",
        b"$1\r\na\r\n",
        b"_\r\n",
    ] {
        assert!(read(bytes).is_err(), "{}", bytes.escape_ascii());
    }
}
