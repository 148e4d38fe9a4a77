//! Replies that outlive their connection's next read.

use onecopy_resp_proto::{Client, Limits, Message, OwnedReply};
use onecopy_wire::{BufferConfig, Buffers, Core, Step};

use super::shape::with_reply;

/// Detaches the only reply of a stream.
pub(crate) fn detached(stream: &[u8], chunk: usize, limits: Limits) -> (OwnedReply, Buffers) {
    let mut client = Client::new(limits);
    let mut buffers = Buffers::new(BufferConfig::default());
    client.expect(1);
    let mut rest = stream;
    loop {
        match client.advance(&mut buffers).unwrap() {
            Step::Message(Message::Reply(frame)) => {
                let owned = client.detach(frame, &mut buffers).unwrap();
                return (owned, buffers);
            }
            _ => {
                assert!(!rest.is_empty(), "the stream is no whole reply");
                buffers.prepare().unwrap();
                let mut now = &rest[..rest.len().min(chunk)];
                let n = std::io::Read::read_vectored(&mut now, buffers.targets().as_mut()).unwrap();
                buffers.commit(n);
                rest = &rest[n..];
            }
        }
    }
}

const STREAM: &[u8] = b"|1\r\n+about\r\n$6\r\nabcdef\r\n*4\r\n$10\r\n0123456789\r\n|1\r\n+k\r\n:1\r\n%1\r\n+a\r\n$8\r\nabcdefgh\r\n\
    $?\r\n;3\r\nabc\r\n;3\r\ndef\r\n;0\r\n_\r\n";

#[test]
fn an_owned_reply_is_the_borrowed_one() {
    let limits = Limits {
        large: 5,
        ..Limits::default()
    };
    with_reply(STREAM, |borrowed| {
        for chunk in 1..STREAM.len() {
            for limits in [limits, Limits::default()] {
                let (owned, _) = detached(STREAM, chunk, limits);
                assert_eq!(owned.reply(), borrowed);
                assert_eq!(owned.reply().attribute(), borrowed.attribute());
                assert_eq!(format!("{owned:?}"), format!("{borrowed:?}"));
            }
        }
    });
}

#[test]
fn a_part_is_detached_without_the_rest() {
    let limits = Limits {
        large: 5,
        ..Limits::default()
    };
    with_reply(STREAM, |borrowed| {
        let whole = borrowed.detach().unwrap();
        assert_eq!(
            (whole.reply(), whole.reply().attribute()),
            (borrowed, borrowed.attribute())
        );
        for chunk in 1..STREAM.len() {
            let (owned, _) = detached(STREAM, chunk, limits);
            for (part, child) in owned.reply().children().zip(borrowed.children()) {
                let copy = part.detach().unwrap();
                assert_eq!(copy.reply(), child);
                assert_eq!(copy.reply().attribute(), child.attribute());
                assert_eq!(
                    copy.reply().attribute().is_some(),
                    child.attribute().is_some()
                );
            }
        }
    });
    // A small part of a large reply is small.
    let large = [
        b"*2\r\n:1\r\n$100000\r\n".to_vec(),
        vec![b'x'; 100_000],
        b"\r\n".to_vec(),
    ]
    .concat();
    with_reply(&large, |borrowed| {
        let small = borrowed.children().next().unwrap().detach().unwrap();
        assert_eq!(small.reply().as_i64(), Some(1));
        assert!(small.capacity() < 100, "{}", small.capacity());
    });
}

#[test]
fn a_large_bulk_is_moved_and_not_copied() {
    let body = vec![b'x'; 1 << 20];
    let stream = [format!("${}\r\n", body.len()).as_bytes(), &body, b"\r\n"].concat();
    let (owned, buffers) = detached(&stream, 16 << 10, Limits::default());
    let meter = buffers.meter();
    assert!(meter.copied() < 20 << 10, "{meter}");
    assert_eq!(meter.large_values, 1);
    let bytes = owned.into_bytes();
    assert_eq!(bytes, body);
    assert_eq!(bytes.capacity(), body.len());
}

#[test]
fn the_callers_vector_is_the_home_of_a_large_bulk() {
    let body = vec![b'x'; 1 << 20];
    let stream = [format!("${}\r\n", body.len()).as_bytes(), &body, b"\r\n"].concat();
    let mut client = Client::new(Limits::default());
    let mut buffers = Buffers::new(BufferConfig::default());
    let mut reused: Vec<u8> = vec![0; 2 << 20];
    let place = reused.as_ptr();
    for _ in 0..3 {
        client.expect(1);
        buffers.offer_home(reused);
        let mut rest = stream.as_slice();
        let owned = loop {
            match client.advance(&mut buffers).unwrap() {
                Step::Message(Message::Reply(frame)) => {
                    break client.detach(frame, &mut buffers).unwrap();
                }
                _ => {
                    buffers.prepare().unwrap();
                    let n = std::io::Read::read_vectored(&mut rest, buffers.targets().as_mut());
                    buffers.commit(n.unwrap());
                }
            }
        };
        reused = owned.into_bytes();
        assert_eq!((reused.as_ptr(), reused.len()), (place, body.len()));
    }
    assert_eq!(buffers.withdraw_home(), None);
}

#[test]
fn bytes_of_a_small_string_are_copied_out() {
    let (owned, _) = detached(b"$5\r\nhello\r\n", 100, Limits::default());
    assert_eq!(owned.into_bytes(), b"hello");
    let (owned, _) = detached(
        b"|1\r\n+a\r\n$6\r\nabcdef\r\n$6\r\nfedcba\r\n",
        1,
        Limits {
            large: 5,
            ..Limits::default()
        },
    );
    assert_eq!(owned.into_bytes(), b"fedcba");
    let (owned, _) = detached(b"=8\r\ntxt:text\r\n", 100, Limits::default());
    assert_eq!(owned.into_bytes(), b"text");
    let (owned, _) = detached(b"*1\r\n:1\r\n", 100, Limits::default());
    assert_eq!(owned.into_bytes(), b"");
}

/// Short ones are held in place, and are read from memory in which nothing is behind them too.
#[test]
fn bytes_of_any_length_are_owned_whatever_is_behind_them() {
    for len in 0..40_usize {
        let body: Vec<u8> = (b'a'..=b'z').cycle().take(len).collect();
        let header = format!("${len}\r\n").into_bytes();
        for behind in [&b""[..], b"+and what is behind it is not a part of it\r\n"] {
            let stream = [&header, &body[..], b"\r\n", behind].concat();
            let (owned, buffers) = detached(&stream, stream.len(), Limits::default());
            assert_eq!(owned.reply().bytes(), body);
            assert_eq!(owned, owned.clone());
            assert_eq!(owned.reply().detach().unwrap(), owned);
            assert_eq!(owned.size(), len);
            assert_eq!(owned.capacity(), if len > 15 { len } else { 0 });
            assert_eq!(buffers.meter().bytes_copied_to_owned, len as u64);
            assert_eq!(owned.into_bytes(), body);
        }
    }
    let (empty, _) = detached(b"*0\r\n", 4, Limits::default());
    assert!(empty.reply().is_empty() && empty.into_bytes().is_empty());
}
