//! What commands and replies are made of, from the input, and what must be read back of it.

use onecopy_mysql_proto::client::ClientCore;
use onecopy_mysql_proto::codec::Reader;
use onecopy_mysql_proto::packet::{ColumnDefinition, Execute, SessionChange, parameters};
use onecopy_mysql_proto::value::{Date, DateTime, Decimal, Param, Time, Value};
use onecopy_mysql_proto::{Capabilities, CollationId, ColumnFlags, ColumnType};

use crate::input::Input;
use crate::values::TYPES;

/// Longest name of a column, so that all of them stay under the limit.
const LONGEST_NAME: u8 = 60;

/// Bytes of any length up to 20 KiB, over 16 KiB being sent by reference.
pub(super) fn text(input: &mut Input<'_>) -> Vec<u8> {
    let times = if input.byte() >= 0xF8 { 5 } else { 1 };
    input.long().repeat(times)
}

/// A parameter of any kind, `text` being what it borrows.
pub(super) fn param<'t>(input: &mut Input<'_>, text: &'t [u8]) -> Param<'t> {
    let date = |input: &mut Input<'_>| Date {
        year: input.u16() % 10_000,
        month: input.below(13),
        day: input.below(32),
    };
    match input.byte() % 11 {
        0 => Param::Null,
        1 => Param::Int(i64::from_le_bytes(input.array())),
        2 => Param::UInt(input.u64()),
        3 => Param::Float(f32::from_le_bytes(input.array())),
        4 => Param::Double(f64::from_le_bytes(input.array())),
        5 => Param::Date(date(input)),
        6 => Param::DateTime(DateTime {
            hour: input.below(24),
            minute: input.below(60),
            second: input.below(60),
            microsecond: input.u32() % 1_000_000,
            ..DateTime::at_midnight(date(input))
        }),
        7 => Param::Time(time(input)),
        8 => Decimal::parse_text(text).map_or(Param::Null, Param::Decimal),
        9 => std::str::from_utf8(text).map_or(Param::Null, Param::Str),
        _ => Param::Bytes(text),
    }
}

/// Never less than nothing: zero has no sign on the wire.
fn time(input: &mut Input<'_>) -> Time {
    let time = Time {
        negative: input.flag(),
        hours: input.u16() % 839,
        minutes: input.below(60),
        seconds: input.below(60),
        microseconds: input.u32() % 1_000_000,
    };
    if time.is_zero() { Time::ZERO } else { time }
}

/// What the server reads is what the client was given.
pub(super) fn check_params(
    execute: &Execute<'_>,
    count: u16,
    capabilities: Capabilities,
    params: &[Param<'_>],
) {
    let block = execute.parameters(count, capabilities);
    let block = block.expect("our own client's parameters");
    let mut values = Reader::new("values", block.values);
    for (index, (sent, (parameter_type, _))) in params.iter().zip(block.types()).enumerate() {
        let column_type = ColumnType(parameter_type.column_type());
        assert_eq!(column_type, sent.column_type());
        assert_eq!(block.nulls.is_null(index), sent.is_null());
        if sent.is_null() {
            continue;
        }
        let body = parameters::read_value(&mut values, column_type.0);
        let body = body.expect("our own client's value");
        let flags = if parameter_type.is_unsigned() {
            ColumnFlags::UNSIGNED
        } else {
            ColumnFlags::empty()
        };
        let found = Value::decode_binary(column_type, flags, CollationId(63), body);
        let is_same = match (found, *sent) {
            (Ok(Value::Bytes(found)), Param::Str(text)) => found == text.as_bytes(),
            (Ok(Value::Bytes(found)), Param::Text(text)) => found == text,
            (Ok(Value::Float(found)), Param::Float(sent)) => found.to_bits() == sent.to_bits(),
            (Ok(Value::Double(found)), Param::Double(sent)) => found.to_bits() == sent.to_bits(),
            (Ok(found), sent) => Param::from(found) == sent,
            (Err(_), _) => false,
        };
        assert!(is_same, "{sent:?} became {found:?}");
    }
    assert_eq!(values.remaining(), 0);
}

/// A column of a type whose values lie behind a length: numbers of a binary row are the rows' own targets.
pub(super) fn column<'i>(input: &mut Input<'i>) -> ColumnDefinition<'i> {
    let [schema, table, org_table, name, org_name] = [(); 5].map(|()| input.few(LONGEST_NAME));
    let kinds = &TYPES[15..];
    ColumnDefinition {
        catalog: b"def",
        schema,
        table,
        org_table,
        name,
        org_name,
        collation: input.u16(),
        column_length: input.u32(),
        column_type: kinds[usize::from(input.byte()) % kinds.len()].0,
        flags: input.u16(),
        decimals: input.byte(),
        ..ColumnDefinition::default()
    }
}

/// What the client has of the columns is what the server sent.
pub(super) fn check_columns(client: &ClientCore, columns: &[ColumnDefinition<'_>]) {
    let definitions = client.definitions();
    assert_eq!(definitions.len(), columns.len());
    for (index, (sent, found)) in columns.iter().zip(definitions.columns()).enumerate() {
        assert_eq!(definitions.schema(index), Some(sent.schema));
        assert_eq!(definitions.table(index), Some(sent.table));
        assert_eq!(definitions.org_table(index), Some(sent.org_table));
        assert_eq!(definitions.name(index), Some(sent.name));
        assert_eq!(definitions.org_name(index), Some(sent.org_name));
        assert_eq!(found.column_type.0, sent.column_type);
        assert_eq!(found.flags.0, sent.flags);
        assert_eq!(found.collation.0, sent.collation);
        assert_eq!(found.length, sent.column_length);
        assert_eq!(found.decimals, sent.decimals);
    }
}

/// A value of a row, of at most 2 KiB.
pub(super) fn value(input: &mut Input<'_>) -> Option<Vec<u8>> {
    match input.byte() % 4 {
        0 => None,
        1 => Some(input.few(8).to_vec()),
        2 => Some(input.short().to_vec()),
        _ => Some(vec![b'v'; usize::from(input.u16() & 0x07FF)]),
    }
}

/// One change of the session's state.
pub(super) fn change<'i>(input: &mut Input<'i>) -> SessionChange<'i> {
    let (one, other) = (input.few(LONGEST_NAME), input.few(LONGEST_NAME));
    match input.byte() % 7 {
        0 => SessionChange::SystemVariable {
            name: one,
            value: other,
        },
        1 => SessionChange::Schema(one),
        2 => SessionChange::StateChange(one.is_empty()),
        3 => SessionChange::Gtids {
            encoding: 0,
            gtids: one,
        },
        4 => SessionChange::TransactionCharacteristics(one),
        5 => SessionChange::TransactionState(one),
        _ => SessionChange::Unknown {
            kind: 0x7F,
            data: one,
        },
    }
}
