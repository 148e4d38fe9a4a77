use onecopy_wire::{BufferConfig, Core, Step};

use super::*;
use crate::Capabilities;
use crate::client::query_attributes::QueryAttributes;
use crate::client::{Limits, Reply, Session};
use crate::value::{Date, Param};

/// The definition of a parameter as servers send it: no names, binary, VAR_STRING.
const DEFINITION: &[u8] = b"\x03def\0\0\0\x01?\0\x0c\x3f\0\0\0\0\0\xfd\x80\0\0\0\0";

struct Client {
    core: ClientCore,
    buffers: Buffers,
}

impl Client {
    fn new() -> Self {
        let session = Session::with(Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF);
        Self {
            core: ClientCore::new(session, Limits::default()),
            buffers: Buffers::new(BufferConfig::default()),
        }
    }

    fn hear(&mut self, mut bytes: &[u8]) -> Reply {
        loop {
            match self.core.advance(&mut self.buffers).unwrap() {
                Step::Message(reply) => return reply,
                _ => {
                    self.buffers.prepare().unwrap();
                    let targets = &mut self.buffers.targets();
                    let n = std::io::Read::read_vectored(&mut bytes, targets.as_mut()).unwrap();
                    assert!(n > 0, "more was expected");
                    self.buffers.commit(n);
                }
            }
        }
    }

    fn said(&mut self, borrowed: &[u8]) -> Vec<u8> {
        let mut said = Vec::new();
        while self.buffers.has_output() {
            let mut slices = [std::io::IoSlice::new(&[]); 8];
            let count = self.buffers.output_slices(borrowed, &mut slices);
            let before = said.len();
            said.extend(slices[..count].iter().flat_map(|slice| slice.iter()));
            self.buffers.commit_output(said.len() - before);
        }
        said
    }

    /// The number 7 on the server, with so many parameters.
    fn prepared(&mut self, parameters: u8) -> StatementId {
        self.core.prepare(&mut self.buffers, b"INSERT").unwrap();
        self.said(&[]);
        let mut reply = vec![12, 0, 0, 1, 0, 7, 0, 0, 0, 0, 0, parameters, 0, 0, 0, 0];
        for sequence in (2..).take(parameters.into()) {
            reply.extend([u8::try_from(DEFINITION.len()).unwrap(), 0, 0, sequence]);
            reply.extend(DEFINITION);
        }
        match self.hear(&reply) {
            Reply::Prepared(id) => id,
            other => panic!("{other:?}"),
        }
    }

    /// The command without its header, and the server's OK.
    fn executed(&mut self, statement: StatementId, params: EncodedParams<'_>) -> Vec<u8> {
        self.core
            .execute_encoded(&mut self.buffers, statement, params)
            .unwrap();
        let said = self.said(params.values);
        assert_eq!(self.hear(b"\x07\0\0\x01\0\x01\0\x02\0\0\0"), Reply::Ok);
        said[4..].to_vec()
    }
}

const TYPES: [ParameterType; 2] = [
    ParameterType::new(8, false),
    ParameterType::new(0xFD, false),
];

#[test]
fn types_are_repeated_and_need_not_be_sent_again() {
    let mut client = Client::new();
    let statement = client.prepared(4);
    let mut params = EncodedParams {
        nulls: &[0b1000],
        types: &TYPES,
        types_hold: false,
        values: b"\x05\0\0\0\0\0\0\0\x01a\x06\0\0\0\0\0\0\0",
    };
    let expected = b"\x17\x07\0\0\0\0\x01\0\0\0\
        \x08\x01\x08\0\xfd\0\x08\0\xfd\0\
        \x05\0\0\0\0\0\0\0\x01a\x06\0\0\0\0\0\0\0";
    assert_eq!(client.executed(statement, params), expected);
    params.types_hold = true;
    let expected = b"\x17\x07\0\0\0\0\x01\0\0\0\
        \x08\0\
        \x05\0\0\0\0\0\0\0\x01a\x06\0\0\0\0\0\0\0";
    assert_eq!(client.executed(statement, params), expected);
}

#[test]
fn large_values_are_borrowed() {
    let mut client = Client::new();
    let statement = client.prepared(2);
    let mut values = vec![b'x'; 20_000];
    values[..3].copy_from_slice(&[0xFC, 0x1D, 0x4E]);
    let params = EncodedParams {
        nulls: &[1],
        types: &TYPES,
        types_hold: false,
        values: &values,
    };
    let said = client.executed(statement, params);
    assert!(said.ends_with(&values) && said.len() == 16 + values.len());
}

#[test]
fn query_attributes_come_behind_the_parameters_and_always_have_their_types() {
    let mut client = Client::new();
    client.core.attributes = Some(Box::new(QueryAttributes::none()));
    let statement = client.prepared(2);
    let params = EncodedParams {
        nulls: &[0b10],
        types: &TYPES,
        types_hold: true,
        values: b"\x05\0\0\0\0\0\0\0",
    };
    let expected = b"\x17\x07\0\0\0\0\x01\0\0\0\x02\x02\0\x05\0\0\0\0\0\0\0";
    assert_eq!(client.executed(statement, params), expected);
    let set = client.core.set_query_attributes(&[("k", "v")]);
    assert_eq!(set, Ok(true));
    let expected = b"\x17\x07\0\0\0\x08\x01\0\0\0\x03\
        \x02\x01\x08\0\0\xfd\0\0\xfe\0\x01k\
        \x05\0\0\0\0\0\0\0\x01v";
    assert_eq!(client.executed(statement, params), expected);
}

#[test]
fn parameters_that_are_not_those_of_the_statement_are_refused() {
    let mut client = Client::new();
    let statement = client.prepared(4);
    let right = EncodedParams {
        nulls: &[0],
        types: &TYPES,
        types_hold: false,
        values: &[],
    };
    for wrong in [
        EncodedParams {
            nulls: &[],
            ..right
        },
        EncodedParams {
            nulls: &[0, 0],
            ..right
        },
        EncodedParams {
            types: &[],
            ..right
        },
        EncodedParams {
            types: &[TYPES[0]; 3],
            ..right
        },
    ] {
        let refused = client
            .core
            .execute_encoded(&mut client.buffers, statement, wrong);
        assert!(
            matches!(refused, Err(Error::ParameterCount { expected: 4, .. })),
            "{refused:?}"
        );
    }
    assert!(client.core.is_idle() && !client.buffers.has_output());
}

#[test]
fn values_are_those_of_an_execution() {
    let date = Date::parse_text(b"2024-02-29").unwrap();
    for (param, expected) in [
        (Param::Null, &b""[..]),
        (Param::Int(-2), b"\xfe\xff\xff\xff\xff\xff\xff\xff"),
        (Param::UInt(2), b"\x02\0\0\0\0\0\0\0"),
        (Param::Float(1.5), b"\0\0\xc0\x3f"),
        (Param::Double(1.5), b"\0\0\0\0\0\0\xf8\x3f"),
        (Param::Str("ab"), b"\x02ab"),
        (Param::Bytes(b""), b"\0"),
        (Param::Date(date), b"\x04\xe8\x07\x02\x1d"),
        (Param::Date(Date::ZERO), b"\0"),
        (
            Param::Bytes16([7; 16]),
            b"\x10\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07",
        ),
    ] {
        let mut out = Vec::new();
        Execute::encode_value(&param, &mut out);
        assert_eq!(out, expected, "{param:?}");
    }
}
