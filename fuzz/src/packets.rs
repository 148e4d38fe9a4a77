//! Every decoder of `packet`, of both roles: what one reads, its encoder writes so that it reads the same again.
//!
//! | bytes | field        |
//! |-------|--------------|
//! | 1     | which packet |
//! | 8     | capabilities |
//! | rest  | the payload  |

use core::fmt::Debug;

use onecopy_mysql_proto::packet::{
    AuthMoreData, AuthNextFactor, AuthSwitchRequest, ChangeUser, ColumnDefinition, Command,
    ConnectAttributes, EofPacket, ErrReply, Execute, ExtendedMetadataKind, Greeting,
    HandshakeResponse, OkHeader, OkPacket, Parameters, PrepareOk, Query, ResultHeader,
    SessionTrack, SslRequest, parameters,
};
use onecopy_mysql_proto::{
    Capabilities, DecodeError, EncodeError, ServerVersion, StatusFlags, codec::Reader,
};

use crate::input::Input;

/// How many packets there are to choose from.
pub const KINDS: u8 = 18;

/// Decodes the payload as the packet that the first byte names.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let kind = input.byte();
    let capabilities = Capabilities(input.u64());
    let payload = input.rest();
    if let Err(error) = decode(kind, capabilities, payload) {
        check_error(&error, payload);
    }
}

/// An error points into the payload, and says so in one line.
pub(crate) fn check_error(error: &DecodeError, payload: &[u8]) {
    let offset = error.offset as usize;
    assert!(offset <= payload.len(), "{error:?} of {}", payload.len());
    check_line(error);
}

/// An error's text is one line, lower case but for the protocol's names.
pub(crate) fn check_line(error: &impl core::fmt::Display) {
    let text = error.to_string();
    assert!(
        !text.is_empty() && !text.contains(char::is_control),
        "{text:?}"
    );
}

/// Decodes a payload as the packet of that number, and holds it against its encoder.
///
/// # Errors
/// The decoder's.
pub fn decode(kind: u8, capabilities: Capabilities, payload: &[u8]) -> Result<(), DecodeError> {
    match kind % KINDS {
        0 => greeting(payload),
        1 => handshake_response(payload),
        2 => ok(capabilities, payload),
        3 => err(capabilities, payload),
        4 => result_header(capabilities, payload),
        5 => column_definition(capabilities, payload),
        6 => prepare_ok(capabilities, payload),
        7 => command(capabilities, payload),
        8 => execute(capabilities, payload),
        9 => session_track(payload),
        10 => attributes(payload),
        11 => ssl_request(payload),
        12 => auth_switch_request(payload),
        13 => auth_more_data(payload),
        14 => auth_next_factor(payload),
        15 => eof(payload),
        16 => {
            ServerVersion::parse(payload);
            Ok(())
        }
        _ => query(capabilities, payload),
    }
}

fn greeting(payload: &[u8]) -> Result<(), DecodeError> {
    let packet = Greeting::decode(payload)?;
    assert!(packet.to_nonce().len() >= 20);
    if packet.auth_plugin.is_none() && packet.to_nonce().len() > 20 {
        // A length may come without a plugin, but is not written so.
        assert!(packet.encode(&mut Vec::new()).is_err());
        return Ok(());
    }
    let bytes = encoded(&packet, |out| packet.encode(out));
    assert_eq!(Greeting::decode(&bytes), Ok(packet));
    Ok(())
}

fn handshake_response(payload: &[u8]) -> Result<(), DecodeError> {
    let packet = HandshakeResponse::decode(payload)?;
    attributes(packet.attributes.as_encoded())?;
    let says_length = packet
        .capabilities
        .contains(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA);
    if packet.auth_response.len() > usize::from(u8::MAX) && !says_length {
        // A response up to its NUL may be of any length; behind a byte that says it, as it is written, it may not.
        assert!(packet.encode(&mut Vec::new()).is_err());
        return Ok(());
    }
    let bytes = encoded(&packet, |out| packet.encode(out));
    let again = HandshakeResponse::decode(&bytes);
    // The encoder's own: nothing is spoken without it.
    let capabilities = packet.capabilities | Capabilities::SECURE_CONNECTION;
    let same = HandshakeResponse {
        capabilities,
        ..packet
    };
    assert_eq!(again, Ok(same));
    Ok(())
}

fn ok(capabilities: Capabilities, payload: &[u8]) -> Result<(), DecodeError> {
    let packet = OkPacket::decode(payload, capabilities)?;
    for header in [OkHeader::Ok, OkHeader::Eof] {
        let mut bytes = Vec::new();
        packet.encode(header, capabilities, &mut bytes);
        // The encoder sets the flag by what there is to tell.
        let mut same = packet;
        same.status_flags = packet
            .status_flags
            .difference(StatusFlags::SESSION_STATE_CHANGED);
        if !packet.session_track.is_empty() {
            same.status_flags |= StatusFlags::SESSION_STATE_CHANGED;
        }
        assert_eq!(OkPacket::decode(&bytes, capabilities), Ok(same));
    }
    session_track(packet.session_track.as_encoded())
}

fn err(capabilities: Capabilities, payload: &[u8]) -> Result<(), DecodeError> {
    let packet = ErrReply::decode(payload, capabilities)?;
    let mut bytes = Vec::new();
    match packet {
        ErrReply::Error(error) => {
            check_line(&error);
            error.encode(&mut bytes);
        }
        ErrReply::Progress(report) => report.encode(&mut bytes),
    }
    assert_eq!(ErrReply::decode(&bytes, capabilities), Ok(packet));
    Ok(())
}

fn result_header(capabilities: Capabilities, payload: &[u8]) -> Result<(), DecodeError> {
    let packet = ResultHeader::decode(payload, capabilities)?;
    let mut bytes = Vec::new();
    match packet {
        ResultHeader::Ok(_) => return ok(capabilities, payload),
        ResultHeader::Err(_) => return err(capabilities, payload),
        ResultHeader::LocalInfile { file_name } => {
            ResultHeader::encode_local_infile(file_name, &mut bytes);
        }
        ResultHeader::Columns {
            count,
            metadata_follows,
        } => ResultHeader::encode_columns(count, metadata_follows, capabilities, &mut bytes),
    }
    assert_eq!(ResultHeader::decode(&bytes, capabilities), Ok(packet));
    Ok(())
}

fn column_definition(capabilities: Capabilities, payload: &[u8]) -> Result<(), DecodeError> {
    let packet = ColumnDefinition::decode(payload, capabilities)?;
    let mut bytes = Vec::new();
    packet.encode(capabilities, &mut bytes);
    assert_eq!(ColumnDefinition::decode(&bytes, capabilities), Ok(packet));
    for kind in [
        ExtendedMetadataKind::TypeName,
        ExtendedMetadataKind::Format,
        ExtendedMetadataKind::Unknown(0x7F),
    ] {
        let found = packet.extended.find(kind).map_or(0, <[u8]>::len);
        assert!(found <= packet.extended.as_encoded().len());
    }
    Ok(())
}

fn prepare_ok(capabilities: Capabilities, payload: &[u8]) -> Result<(), DecodeError> {
    let packet = PrepareOk::decode(payload, capabilities)?;
    let mut bytes = Vec::new();
    packet.encode(capabilities, &mut bytes);
    assert_eq!(PrepareOk::decode(&bytes, capabilities), Ok(packet));
    Ok(())
}

fn command(capabilities: Capabilities, payload: &[u8]) -> Result<(), DecodeError> {
    let packet = Command::decode(payload, capabilities)?;
    let mut bytes = Vec::new();
    match packet {
        Command::Quit(quit) => quit.encode(&mut bytes),
        Command::InitDb(init_db) => init_db.encode(&mut bytes),
        Command::Query(_) => return query(capabilities, payload),
        Command::Ping(ping) => ping.encode(&mut bytes),
        Command::ChangeUser(change) => return change_user(capabilities, change),
        Command::Prepare(prepare) => prepare.encode(&mut bytes),
        Command::Execute(_) => return execute(capabilities, payload),
        Command::SendLongData(piece) => piece.encode(&mut bytes),
        Command::Close(close) => close.encode(&mut bytes),
        Command::StmtReset(reset) => reset.encode(&mut bytes),
        Command::Fetch(fetch) => fetch.encode(&mut bytes),
        Command::ResetConnection(reset) => reset.encode(&mut bytes),
        Command::Raw { command, body } => {
            bytes.push(command.0);
            bytes.extend_from_slice(body);
        }
        _ => return Ok(()),
    }
    assert_eq!(Command::decode(&bytes, capabilities), Ok(packet));
    Ok(())
}

fn change_user(capabilities: Capabilities, packet: ChangeUser<'_>) -> Result<(), DecodeError> {
    let bytes = encoded(&packet, |out| packet.encode(capabilities, out));
    assert_eq!(ChangeUser::decode(&bytes, capabilities), Ok(packet));
    attributes(packet.attributes.as_encoded())
}

fn query(capabilities: Capabilities, payload: &[u8]) -> Result<(), DecodeError> {
    let packet = Query::decode(payload, capabilities)?;
    values_of(&packet.attributes)?;
    if packet.attributes.count == 0 {
        let mut bytes = Vec::new();
        Query::encode(packet.sql, capabilities, &mut bytes);
        assert_eq!(Query::decode(&bytes, capabilities), Ok(packet));
    }
    Ok(())
}

/// The payload with a parameter count in its last byte, which only the statement would know.
fn execute(capabilities: Capabilities, payload: &[u8]) -> Result<(), DecodeError> {
    let count = u16::from(payload.last().copied().unwrap_or_default() % 20);
    let packet = Execute::decode(payload)?;
    let mut bytes = Vec::new();
    Execute::encode_header(packet.statement_id, packet.cursor_type, &mut bytes);
    bytes.extend_from_slice(packet.body);
    assert_eq!(Execute::decode(&bytes), Ok(packet));
    let parameters = packet.parameters(count, capabilities)?;
    assert!(parameters.count >= usize::from(count));
    values_of(&parameters)
}

/// Goes through types and values of a parameter block, as a server does.
fn values_of(parameters: &Parameters<'_>) -> Result<(), DecodeError> {
    let mut values = Reader::new("values", parameters.values);
    let mut count = 0;
    for (index, (parameter_type, _name)) in parameters.types().enumerate() {
        count += 1;
        if !parameters.nulls.is_null(index) {
            parameters::read_value(&mut values, parameter_type.column_type())?;
        }
    }
    assert!(!parameters.has_types() || count == parameters.count);
    Ok(())
}

fn session_track(encoded: &[u8]) -> Result<(), DecodeError> {
    let track = SessionTrack::from_encoded(encoded);
    let mut bytes = Vec::new();
    let mut changes = Vec::new();
    for change in track {
        let change = change?;
        change.encode(&mut bytes);
        changes.push(change);
    }
    let again: Result<Vec<_>, _> = SessionTrack::from_encoded(&bytes).iter().collect();
    assert_eq!(again, Ok(changes));
    Ok(())
}

fn attributes(encoded: &[u8]) -> Result<(), DecodeError> {
    let mut bytes = Vec::new();
    let mut pairs = Vec::new();
    for pair in ConnectAttributes::from_encoded(encoded) {
        let (key, value) = pair?;
        ConnectAttributes::push(&mut bytes, key, value);
        pairs.push((key, value));
    }
    let again: Result<Vec<_>, _> = ConnectAttributes::from_encoded(&bytes).iter().collect();
    assert_eq!(again, Ok(pairs));
    Ok(())
}

fn ssl_request(payload: &[u8]) -> Result<(), DecodeError> {
    let packet = SslRequest::decode(payload)?;
    assert!(SslRequest::is(payload));
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    assert_eq!(SslRequest::decode(&bytes), Ok(packet));
    Ok(())
}

fn auth_switch_request(payload: &[u8]) -> Result<(), DecodeError> {
    let packet = AuthSwitchRequest::decode(payload)?;
    let bytes = encoded(&packet, |out| packet.encode(out));
    assert_eq!(AuthSwitchRequest::decode(&bytes), Ok(packet));
    Ok(())
}

fn auth_more_data(payload: &[u8]) -> Result<(), DecodeError> {
    let packet = AuthMoreData::decode(payload)?;
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    assert_eq!(bytes, payload);
    Ok(())
}

fn auth_next_factor(payload: &[u8]) -> Result<(), DecodeError> {
    let packet = AuthNextFactor::decode(payload)?;
    let bytes = encoded(&packet, |out| packet.encode(out));
    assert_eq!(bytes, payload);
    Ok(())
}

fn eof(payload: &[u8]) -> Result<(), DecodeError> {
    let packet = EofPacket::decode(payload)?;
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    assert_eq!(bytes, payload);
    Ok(())
}

/// What was decoded can be encoded.
fn encoded<P: Debug>(
    packet: &P,
    encode: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Err(error) = encode(&mut bytes) {
        panic!("{packet:?} was decoded and can't be encoded: {error}");
    }
    bytes
}
