use super::*;
use crate::packet::parameters::read_value;
use crate::packet::testing::hex;

const PLAIN: Capabilities = Capabilities::empty();
const ATTRIBUTES: Capabilities = Capabilities::QUERY_ATTRIBUTES;

/// Laid out after the packet's page: statement 1 with the parameters 5 and NULL.
const TWO_PARAMETERS: &str = "
    17
    01 00 00 00              statement 1
    00                       no cursor
    01 00 00 00              once
    02                       null bitmap: the second
    01                       types follow
    03 80                    unsigned LONG
    fd 00                    VAR_STRING
    05 00 00 00              5";

#[test]
fn an_execution_without_parameters_ends_with_its_header() {
    // Sent to MariaDB 10.11.19, which answered with rows.
    let payload = [0x17, 0x01, 0, 0, 0, 0x00, 0x01, 0, 0, 0];
    let execute = Execute::decode(&payload).unwrap();
    assert_eq!(
        execute,
        Execute {
            statement_id: 1,
            cursor_type: CursorType(0),
            body: b""
        }
    );
    assert_eq!(execute.parameters(0, PLAIN), Ok(Parameters::default()));
    let mut out = Vec::new();
    Execute::encode_header(1, CursorType::empty(), &mut out);
    assert_eq!(out, payload);
}

#[test]
fn parameters_are_read_and_their_header_is_written() {
    let payload = hex(TWO_PARAMETERS);
    let execute = Execute::decode(&payload).unwrap();
    let parameters = execute.parameters(2, PLAIN).unwrap();
    assert!(!parameters.nulls.is_null(0) && parameters.nulls.is_null(1));
    let types: Vec<_> = parameters
        .types()
        .map(|(parameter_type, _)| parameter_type)
        .collect();
    assert_eq!(
        types,
        [
            ParameterType::new(0x03, true),
            ParameterType::new(0xFD, false)
        ]
    );
    let mut values = Reader::new("Test", parameters.values);
    assert_eq!(
        read_value(&mut values, types[0].column_type()),
        Ok(&[5, 0, 0, 0][..])
    );
    assert_eq!(values.remaining(), 0);

    let mut out = Vec::new();
    Execute::encode_header(1, CursorType::empty(), &mut out);
    Execute::encode_parameter_count(2, PLAIN, &mut out);
    crate::packet::NullBitmap::encode([false, true], &mut out);
    Execute::encode_types(Some(&types), PLAIN, &mut out);
    out.put_u32(5);
    assert_eq!(out, payload);
}

#[test]
fn an_execution_cut_short_is_refused() {
    let payload = hex(TWO_PARAMETERS);
    for length in 0..10 {
        assert!(
            Execute::decode(&payload[..length]).is_err(),
            "cut to {length} bytes"
        );
    }
    // Behind the types the values begin, whose end only their types tell.
    for length in 10..16 {
        let execute = Execute::decode(&payload[..length]).unwrap();
        assert!(
            execute.parameters(2, PLAIN).is_err(),
            "cut to {length} bytes"
        );
    }
}

#[test]
fn types_of_the_last_execution_may_hold() {
    let execute = Execute {
        statement_id: 1,
        cursor_type: CursorType(0),
        body: &[0x00, 0x00, 0x07],
    };
    let parameters = execute.parameters(1, PLAIN).unwrap();
    assert!(!parameters.has_types());
    assert_eq!(parameters.types().count(), 0);
    assert_eq!(parameters.values, [0x07]);
    let bad = Execute {
        body: &[0x00, 0x02],
        ..execute
    };
    assert_eq!(
        bad.parameters(1, PLAIN).unwrap_err().kind,
        DecodeErrorKind::BadValue
    );
}

#[test]
fn with_query_attributes_a_count_and_names_come_along() {
    let mut out = Vec::new();
    Execute::encode_parameter_count(1, ATTRIBUTES, &mut out);
    out.put_u8(0);
    Execute::encode_types(
        Some(&[ParameterType::new(0x01, false)]),
        ATTRIBUTES,
        &mut out,
    );
    out.put_u8(9);
    assert_eq!(out, [0x01, 0x00, 0x01, 0x01, 0x00, 0x00, 0x09]);
    let execute = Execute {
        statement_id: 1,
        cursor_type: CursorType(0),
        body: &out,
    };
    assert_eq!(execute.parameters(1, ATTRIBUTES).unwrap().values, [9]);

    // Fewer parameters than the statement takes.
    let error = execute.parameters(2, ATTRIBUTES).unwrap_err();
    assert_eq!(
        (error.field, error.kind),
        ("parameter count", DecodeErrorKind::BadValue)
    );
}

#[test]
fn a_statement_without_parameters_may_have_attributes() {
    let body = [0x01, 0x00, 0x01, 0x01, 0x00, 0x01, b'n', 0x09];
    let cursor_type = CursorType::PARAMETER_COUNT_AVAILABLE;
    let execute = Execute {
        statement_id: 1,
        cursor_type,
        body: &body,
    };
    let parameters = execute.parameters(0, ATTRIBUTES).unwrap();
    assert_eq!(
        parameters.types().next(),
        Some((ParameterType(1), &b"n"[..]))
    );
    assert_eq!(
        execute.parameters(0, PLAIN).unwrap_err().kind,
        DecodeErrorKind::Trailing
    );
}

#[test]
fn any_iteration_count_but_1_is_refused() {
    let payload = [0x17, 0x01, 0, 0, 0, 0x00, 0x02, 0, 0, 0];
    let error = Execute::decode(&payload).unwrap_err();
    assert_eq!((error.field, error.offset), ("iteration count", 6));
}
