use super::*;
use crate::codec::DecodeErrorKind;
use crate::value::Time;

const LONGLONG: ParameterType = ParameterType::new(0x08, false);
const VAR_STRING: ParameterType = ParameterType::new(0xFD, false);

/// Two rows of a number and a text, laid out after the command's page.
const PAYLOAD: &[u8] = &[
    0xFA, 3, 0, 0, 0, 0x80, 0, // statement 3, types follow
    0x08, 0x00, 0xFD, 0x00, // BIGINT, VARCHAR
    0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 2, b'h', b'i', // 7, "hi"
    2, 1, // DEFAULT, NULL
];

#[test]
fn rows_are_written_and_read() {
    let mut out = Vec::new();
    BulkExecute::encode_header(3, &[LONGLONG, VAR_STRING], &mut out);
    assert_eq!(out.len(), BulkExecute::header_bytes(2));
    for param in [Param::Int(7), Param::Str("hi"), Param::Default, Param::Null] {
        BulkExecute::encode_value(&param, &mut out);
    }
    assert_eq!(out, PAYLOAD);

    let decoded = BulkExecute::decode(PAYLOAD).unwrap();
    assert_eq!(decoded.statement_id, 3);
    let mut types = [ParameterType(0); 2];
    let values = decoded.values(&mut types).unwrap();
    assert_eq!(types, [LONGLONG, VAR_STRING]);
    let seven: &[u8] = &[7, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(
        values,
        [
            (Indicator::None, seven),
            (Indicator::None, b"hi"),
            (Indicator::Default, b""),
            (Indicator::Null, b""),
        ]
    );
}

#[test]
fn every_kind_of_value_has_its_indicator_in_front() {
    let time = Time::parse_text(b"-101:02:03").unwrap();
    let cases: [(Param<'_>, &[u8]); 7] = [
        (Param::Null, &[1]),
        (Param::Default, &[2]),
        (Param::Ignore, &[3]),
        (
            Param::UInt(u64::MAX),
            &[0, 255, 255, 255, 255, 255, 255, 255, 255],
        ),
        (Param::Float(1.5), &[0, 0, 0, 0xC0, 0x3F]),
        (Param::Bytes(b"\0\xff"), &[0, 2, 0, 0xFF]),
        // 4 days, 5:02:03, negative.
        (Param::Time(time), &[0, 8, 1, 4, 0, 0, 0, 5, 2, 3]),
    ];
    for (param, bytes) in cases {
        let mut out = Vec::new();
        BulkExecute::encode_value(&param, &mut out);
        assert_eq!(out, bytes, "{param:?}");
    }
}

#[test]
fn rows_that_are_cut_short_and_unknown_indicators_are_refused() {
    for len in 0..PAYLOAD.len() {
        let decoded = BulkExecute::decode(&PAYLOAD[..len]);
        let values = decoded.and_then(|packet| packet.values(&mut [ParameterType(0); 2]));
        // Behind a whole row the payload may end.
        assert_eq!(values.is_ok(), len == 11 || len == 24, "{len}");
    }
    let mut unknown = PAYLOAD.to_vec();
    unknown[24] = 4;
    let error = BulkExecute::decode(&unknown)
        .unwrap()
        .values(&mut [ParameterType(0); 2]);
    assert_eq!(error.unwrap_err().kind, DecodeErrorKind::BadValue);
}
