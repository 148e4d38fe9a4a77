//! Random trees of every type: what is encoded is what is scanned, at any cuts.

use onecopy_resp_proto::{Client, Kind, Limits, Message, Reply};
use onecopy_wire::{BufferConfig, Buffers, Core, Step};
use proptest::prelude::*;

/// A value as a test makes it, with the attribute before it.
#[derive(Debug, Clone, PartialEq)]
struct Tree {
    attribute: Vec<(Tree, Tree)>,
    value: Value,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    /// A kind that is one line, and its text.
    Line(Kind, String),
    Null(usize),
    Bulk(Kind, Vec<u8>),
    /// A bulk in chunks.
    Chunks(Vec<Vec<u8>>),
    Aggregate(Kind, bool, Vec<Tree>),
}

fn leaf() -> impl Strategy<Value = Value> {
    let line = prop_oneof![
        "[ -~]{0,40}".prop_map(|text| Value::Line(Kind::SimpleString, text)),
        "ERR [ -~]{0,10}".prop_map(|text| Value::Line(Kind::SimpleError, text)),
        any::<i64>().prop_map(|number| Value::Line(Kind::Integer, number.to_string())),
        any::<bool>()
            .prop_map(|is| Value::Line(Kind::Boolean, if is { "t" } else { "f" }.to_owned())),
        any::<f64>()
            .prop_map(|number| Value::Line(Kind::Double, number.to_string().to_lowercase())),
        "-?[0-9]{1,50}".prop_map(|text| Value::Line(Kind::BigNumber, text)),
    ];
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        line,
        (0..3_usize).prop_map(Value::Null),
        bytes().prop_map(|bytes| Value::Bulk(Kind::BulkString, bytes)),
        bytes().prop_map(|bytes| Value::Bulk(Kind::BulkError, bytes)),
        bytes().prop_map(|bytes| Value::Bulk(
            Kind::VerbatimString,
            [b"txt:", bytes.as_slice()].concat()
        )),
        prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 0..4)
            .prop_map(Value::Chunks),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = leaf().prop_map(|value| Tree {
        attribute: Vec::new(),
        value,
    });
    leaf.prop_recursive(4, 40, 6, |inner| {
        let children = prop::collection::vec(inner.clone(), 0..6);
        let kinds = prop::sample::select(vec![Kind::Array, Kind::Set, Kind::Map]);
        let attribute = prop_oneof![
            4 => Just(Vec::new()),
            1 => prop::collection::vec((inner.clone(), inner), 1..3),
        ];
        (children, kinds, any::<bool>(), attribute).prop_map(
            |(mut children, kind, streamed, attribute)| {
                if kind == Kind::Map && children.len() % 2 == 1 {
                    children.pop();
                }
                Tree {
                    attribute,
                    value: Value::Aggregate(kind, streamed, children),
                }
            },
        )
    })
}

impl Tree {
    fn encode(&self, into: &mut Vec<u8>) {
        if !self.attribute.is_empty() {
            into.extend(format!("|{}\r\n", self.attribute.len()).bytes());
            for (key, value) in &self.attribute {
                key.encode(into);
                value.encode(into);
            }
        }
        match &self.value {
            Value::Line(kind, text) => {
                into.extend([&[*kind as u8], text.as_bytes(), b"\r\n"].concat())
            }
            Value::Null(form) => into.extend(["_\r\n", "$-1\r\n", "*-1\r\n"][*form].bytes()),
            Value::Bulk(kind, bytes) => {
                into.push(*kind as u8);
                into.extend(format!("{}\r\n", bytes.len()).bytes());
                into.extend([bytes.as_slice(), b"\r\n"].concat());
            }
            Value::Chunks(chunks) => {
                into.extend(b"$?\r\n");
                for chunk in chunks {
                    into.extend(format!(";{}\r\n", chunk.len()).bytes());
                    into.extend([chunk.as_slice(), b"\r\n"].concat());
                }
                into.extend(b";0\r\n");
            }
            Value::Aggregate(kind, is_streamed, children) => {
                into.push(*kind as u8);
                let each = if *kind == Kind::Map { 2 } else { 1 };
                let count = (children.len() / each).to_string();
                into.extend(if *is_streamed { "?" } else { &count }.bytes());
                into.extend(b"\r\n");
                children.iter().for_each(|child| child.encode(into));
                into.extend(if *is_streamed {
                    b".\r\n".as_slice()
                } else {
                    b""
                });
            }
        }
    }

    fn check(&self, reply: Reply<'_>) {
        match reply.attribute() {
            None => assert!(self.attribute.is_empty()),
            Some(attribute) => {
                assert_eq!(attribute.pairs().len(), self.attribute.len());
                for ((key, value), (own_key, own_value)) in attribute.pairs().zip(&self.attribute) {
                    own_key.check(key);
                    own_value.check(value);
                }
            }
        }
        match &self.value {
            Value::Line(kind, text) => {
                assert_eq!((reply.kind(), reply.bytes()), (*kind, text.as_bytes()))
            }
            Value::Null(_) => {
                assert!(reply.is_null());
                assert_eq!(reply.bytes(), b"");
            }
            Value::Bulk(Kind::VerbatimString, bytes) => {
                assert_eq!(
                    (reply.kind(), reply.bytes()),
                    (Kind::VerbatimString, &bytes[4..])
                );
            }
            Value::Bulk(kind, bytes) => {
                assert_eq!((reply.kind(), reply.bytes()), (*kind, bytes.as_slice()))
            }
            Value::Chunks(chunks) => {
                assert_eq!(
                    (reply.kind(), reply.bytes()),
                    (Kind::BulkString, chunks.concat().as_slice())
                );
            }
            Value::Aggregate(kind, _, children) => {
                assert_eq!((reply.kind(), reply.len()), (*kind, children.len()));
                assert_eq!(reply.children().count(), children.len());
                reply
                    .children()
                    .zip(children)
                    .for_each(|(reply, child)| child.check(reply));
            }
        }
    }
}

/// Feeds a stream in parts of the given lengths, over and over; `take` gets each reply.
fn scan(
    stream: &[u8],
    parts: &[usize],
    limits: Limits,
    replies: usize,
    mut take: impl FnMut(usize, Reply<'_>),
) {
    let mut client = Client::new(limits);
    let mut buffers = Buffers::new(BufferConfig {
        initial_read: 16,
        ..BufferConfig::default()
    });
    client.expect(replies as u64);
    let mut rest = stream;
    let mut parts = parts.iter().cycle();
    let mut taken = 0;
    while taken < replies {
        match client.advance(&mut buffers).unwrap() {
            Step::Message(Message::Reply(frame)) => {
                take(taken, client.reply(frame, &buffers));
                let borrowed = format!("{:?}", client.reply(frame, &buffers));
                let copy = client.reply(frame, &buffers).detach().unwrap();
                assert_eq!(copy.reply(), client.reply(frame, &buffers));
                let owned = client.detach(frame, &mut buffers).unwrap();
                assert_eq!(owned, copy);
                assert_eq!(format!("{owned:?}"), borrowed);
                taken += 1;
            }
            Step::NeedInput(_) => {
                buffers.prepare().unwrap();
                let len = *parts.next().unwrap();
                let mut now = &rest[..rest.len().min(len)];
                let n = std::io::Read::read_vectored(&mut now, buffers.targets().as_mut()).unwrap();
                assert!(n > 0, "the stream is too short");
                buffers.commit(n);
                rest = &rest[n..];
            }
            step => panic!("{step:?}"),
        }
    }
    assert_eq!(rest.len() + buffers.pending().len(), 0);
    assert!(client.is_idle());
}

/// Each case of the last two is played some hundred times.
fn cases() -> u32 {
    if std::env::var_os("ONECOPY_SOAK").is_some() {
        5000
    } else {
        64
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn what_is_encoded_is_scanned(
        trees in prop::collection::vec(tree(), 1..5),
        parts in prop::collection::vec(1..100_usize, 1..8),
        large in 1..50_usize,
    ) {
        let mut stream = Vec::new();
        trees.iter().for_each(|tree| tree.encode(&mut stream));
        let limits = Limits { large, ..Limits::default() };
        let replies = trees.len();
        scan(&stream, &parts, limits, replies, |index, reply| trees[index].check(reply));
        scan(&stream, &[usize::MAX], Limits::default(), replies, |index, reply| trees[index].check(reply));
    }

    #[test]
    fn any_bytes_have_one_outcome(
        stream in prop::collection::vec(prop::sample::select(b"+-:$*_#,(!=%~>|.;?0129atfx\r\n".to_vec()), 0..60),
        more in any::<Vec<u8>>(),
    ) {
        let stream = [stream, more].concat();
        let stream = &stream[..stream.len().min(80)];
        super::play::replies(stream);
    }

    #[test]
    fn a_broken_tree_has_one_outcome(tree in tree(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut stream = Vec::new();
        tree.encode(&mut stream);
        stream.truncate(100);
        let at = at.index(stream.len());
        stream[at] = byte;
        super::play::replies(&stream);
        super::play::play_anyhow(&stream, Limits::default(), |player| {
            player.client.expect(1);
            player.client.abandon();
            player.client.expect(1);
            player.client.stream_next();
        });
    }
}
