//! Good replies of every type, and the views of them.

use onecopy_resp_proto::{Kind, Limits, Message, Reply};
use onecopy_wire::{Core, Step};

use super::play::{Player, replies, reply};

/// Shows the only reply of a stream to `look`.
pub(crate) fn with_reply<T>(stream: &[u8], look: impl FnOnce(Reply<'_>) -> T) -> T {
    let mut player = Player::new(Limits::default());
    let mut bytes = stream;
    player.client.expect(1);
    loop {
        match player.client.advance(&mut player.buffers).unwrap() {
            Step::Message(Message::Reply(frame)) => {
                let reply = player.client.reply(frame, &player.buffers);
                return look(reply);
            }
            _ => {
                assert!(!bytes.is_empty(), "the stream is no whole reply");
                player.buffers.prepare().unwrap();
                let n = std::io::Read::read_vectored(&mut bytes, player.buffers.targets().as_mut());
                player.buffers.commit(n.unwrap());
            }
        }
    }
}

#[test]
fn every_type_comes_the_same_however_the_stream_is_cut() {
    let stream = b"+OK\r\n-ERR no\r\n:-5\r\n$3\r\na\r\n\r\n$-1\r\n*-1\r\n_\r\n#t\r\n,1.5e3\r\n(-123\r\n\
        !5\r\nERR x\r\n=7\r\ntxt:abc\r\n*3\r\n:1\r\n*0\r\n*2\r\n:2\r\n:3\r\n%1\r\n+k\r\n~1\r\n:1\r\n\
        ~0\r\n,inf\r\n,-inf\r\n,nan\r\n,-0\r\n#f\r\n$0\r\n\r\n%0\r\n+\r\n";
    let shown = [
        "SimpleString(OK)",
        "SimpleError(ERR no)",
        "Integer(-5)",
        r"BulkString(a\r\n)",
        "Null",
        "Null",
        "Null",
        "Boolean(t)",
        "Double(1.5e3)",
        "BigNumber(-123)",
        "BulkError(ERR x)",
        "VerbatimString(txt:abc)",
        "Array [Integer(1), Array [], Array [Integer(2), Integer(3)]]",
        "Map [SimpleString(k), Set [Integer(1)]]",
        "Set []",
        "Double(inf)",
        "Double(-inf)",
        "Double(nan)",
        "Double(-0)",
        "Boolean(f)",
        "BulkString()",
        "Map []",
        "SimpleString()",
    ];
    let events = replies(stream);
    assert_eq!(events[..shown.len()], shown.map(reply));
    assert_eq!(events.len(), shown.len() + 1);
}

#[test]
fn numbers_are_read_when_they_are_asked_for() {
    with_reply(
        b"*9\r\n:-5\r\n$2\r\n42\r\n,2.5\r\n#t\r\n:0\r\n$3\r\n1.5\r\n+x\r\n,inf\r\n_\r\n",
        |reply| {
            let all: Vec<Reply<'_>> = reply.children().collect();
            assert_eq!(
                all.iter().map(Reply::as_i64).collect::<Vec<_>>(),
                [
                    Some(-5),
                    Some(42),
                    None,
                    None,
                    Some(0),
                    None,
                    None,
                    None,
                    None
                ]
            );
            assert_eq!(all[2].as_f64(), Some(2.5));
            assert_eq!(all[5].as_f64(), Some(1.5));
            assert_eq!(all[7].as_f64(), Some(f64::INFINITY));
            assert_eq!(
                (all[3].as_bool(), all[4].as_bool(), all[6].as_bool()),
                (Some(true), Some(false), None)
            );
            assert!(all[8].is_null());
            assert_eq!(reply.len(), 9);
        },
    );
}

#[test]
fn a_null_has_no_bytes_however_it_is_written() {
    let stream = b"_\r\n$-1\r\n*-1\r\n".repeat(2);
    let mut player = Player::new(Limits::default());
    player.client.expect(6);
    player.buffers.prepare().unwrap();
    player.buffers.targets().as_mut()[0][..stream.len()].copy_from_slice(&stream);
    player.buffers.commit(stream.len());
    for _ in 0..6 {
        let Ok(Step::Message(Message::Reply(frame))) = player.client.advance(&mut player.buffers)
        else {
            panic!("it has all come");
        };
        let reply = player.client.reply(frame, &player.buffers);
        assert_eq!((reply.kind(), reply.bytes()), (Kind::Null, &b""[..]));
    }
}

#[test]
fn a_verbatim_string_is_its_text_and_its_format() {
    with_reply(b"=8\r\nmkd:# Hi\r\n", |reply| {
        assert_eq!(reply.format(), Some(b"mkd".as_slice()));
        assert_eq!(reply.bytes(), b"# Hi");
        assert_eq!(reply.as_str(), Some("# Hi"));
    });
}

#[test]
fn a_map_and_an_array_are_pairs() {
    for stream in [
        b"%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n".as_slice(),
        b"*4\r\n+a\r\n:1\r\n+b\r\n:2\r\n",
    ] {
        with_reply(stream, |reply| {
            let pairs: Vec<_> = reply
                .pairs()
                .map(|(key, value)| (key.bytes(), value.as_i64()))
                .collect();
            assert_eq!(pairs, [(b"a".as_slice(), Some(1)), (b"b", Some(2))]);
        });
    }
}

#[test]
fn an_attribute_is_asked_for_at_its_value() {
    let stream = b"|1\r\n+ttl\r\n:9\r\n*2\r\n|1\r\n+a\r\n:1\r\n:7\r\n:8\r\n";
    with_reply(stream, |reply| {
        assert_eq!(reply.kind(), Kind::Array);
        let attribute = reply.attribute().unwrap();
        let (key, value) = attribute.pairs().next().unwrap();
        assert_eq!((key.bytes(), value.as_i64()), (b"ttl".as_slice(), Some(9)));
        let children: Vec<_> = reply
            .children()
            .map(|child| (child.as_i64(), child.attribute().is_some()))
            .collect();
        assert_eq!(children, [(Some(7), true), (Some(8), false)]);
    });
}

#[test]
fn several_attributes_of_one_value_all_stay_with_it() {
    let stream = b"|1\r\n+a\r\n:1\r\n|2\r\n+b\r\n*1\r\n|1\r\n+inside\r\n_\r\n:2\r\n+c\r\n:3\r\n*1\r\n|0\r\n|1\r\n+d\r\n:4\r\n:5\r\n";
    let keys = |reply: Reply<'_>| -> Vec<Vec<String>> {
        let attributes = reply.attributes();
        let keys = |(key, _): (Reply<'_>, _)| key.as_str().unwrap().to_owned();
        attributes
            .map(|all| all.pairs().map(keys).collect())
            .collect()
    };
    let owned = with_reply(stream, |reply| {
        assert_eq!(keys(reply), [vec!["a"], vec!["b", "c"]]);
        let nearest = reply.attribute().unwrap();
        assert_eq!(nearest.pairs().len(), 2);
        assert_eq!(nearest.attributes().count(), 0);
        assert_eq!(keys(reply.children().next().unwrap()), [vec![], vec!["d"]]);
        (
            reply.detach().unwrap(),
            reply.children().next().unwrap().detach().unwrap(),
        )
    });
    assert_eq!(keys(owned.0.reply()), [vec!["a"], vec!["b", "c"]]);
    assert_eq!(keys(owned.1.reply()), [vec![], vec!["d"]]);
    assert_eq!(owned.1.reply().as_i64(), Some(5));
}

#[test]
fn an_error_is_a_value() {
    with_reply(b"-WRONGTYPE Operation against a key\r\n", |reply| {
        assert_eq!(
            reply.as_error(),
            Some(b"WRONGTYPE Operation against a key".as_slice())
        );
    });
    with_reply(b"+OK\r\n", |reply| assert_eq!(reply.as_error(), None));
}

#[test]
fn replies_are_equal_by_kind_elements_and_bytes() {
    let owned = |stream: &[u8]| with_reply(stream, |reply| reply.detach().unwrap());
    let array = owned(b"*2\r\n:1\r\n$2\r\nab\r\n");
    assert_eq!(array, owned(b"*2\r\n:1\r\n$2\r\nab\r\n"));
    for other in [
        &b"*2\r\n:2\r\n$2\r\nab\r\n"[..],
        b"*2\r\n:1\r\n$2\r\nac\r\n",
        b"*2\r\n:1\r\n+ab\r\n",
        b"*3\r\n:1\r\n$2\r\nab\r\n_\r\n",
        b"~2\r\n:1\r\n$2\r\nab\r\n",
        b"*1\r\n*1\r\n:1\r\n",
    ] {
        assert_ne!(array, owned(other), "{}", other.escape_ascii());
    }
    assert_ne!(owned(b"$1\r\na\r\n"), owned(b"$1\r\nb\r\n"));
    // A null is a null, however it is written.
    assert_eq!(owned(b"$-1\r\n"), owned(b"_\r\n"));
    assert_eq!(owned(b"*-1\r\n"), owned(b"_\r\n"));
}

#[test]
fn a_null_has_no_bytes() {
    for stream in [&b"$-1\r\n"[..], b"*-1\r\n", b"_\r\n"] {
        let bytes = with_reply(stream, |reply| reply.bytes().to_vec());
        assert_eq!(bytes, b"", "{}", stream.escape_ascii());
    }
    with_reply(b"*2\r\n$-1\r\n_\r\n", |array| {
        assert!(array.children().all(|element| element.bytes().is_empty()));
    });
}
