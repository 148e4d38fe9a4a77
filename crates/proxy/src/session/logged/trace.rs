//! Which span of its client a statement belongs to.

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::codec::Reader;
use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::parameters::read_value;
use onecopy_mysql_proto::packet::{CommandByte, Execute, Parameters, Query};

use crate::session::counted::text;
use crate::statement_log::{TRACE_NAME, TraceContext};

/// What is said in a command, as far as it has arrived: by an attribute, or else by a comment. The comment of a prepared statement is not
/// meant: it is older than the execution.
pub(super) fn of_command(
    command: CommandByte,
    packet: &[u8],
    capabilities: Capabilities,
) -> Option<TraceContext> {
    let has_attributes = capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
    let payload = packet.get(HEADER_BYTES..)?;
    match command {
        CommandByte::QUERY => {
            let attribute = has_attributes.then(|| {
                let query = Query::decode(payload, capabilities).ok()?;
                TraceContext::parse(attribute(&query.attributes)?)
            });
            let comment = || TraceContext::of_comment(text(packet, capabilities)?);
            attribute.flatten().or_else(comment)
        }
        CommandByte::STMT_EXECUTE if has_attributes => {
            let execute = Execute::decode(payload).ok()?;
            // Those with attributes say how many parameters there are.
            let parameters = execute.parameters(0, capabilities).ok()?;
            TraceContext::parse(attribute(&parameters)?)
        }
        _ => None,
    }
}

/// The value of the attribute, where all in front of it can be read: what was sent before by COM_STMT_SEND_LONG_DATA is not there.
fn attribute<'p>(parameters: &Parameters<'p>) -> Option<&'p [u8]> {
    let mut values = Reader::new("attributes", parameters.values);
    for (index, (parameter_type, name)) in parameters.types().enumerate() {
        if parameters.nulls.is_null(index) {
            continue;
        }
        let value = read_value(&mut values, parameter_type.column_type()).ok()?;
        if name == TRACE_NAME {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &[u8] = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const ATTRIBUTES: Capabilities = Capabilities::QUERY_ATTRIBUTES;

    /// A query with these attributes of type STRING; `None` for NULL.
    fn query(attributes: &[(&[u8], Option<&[u8]>)], sql: &[u8]) -> Vec<u8> {
        let count = u8::try_from(attributes.len()).unwrap();
        let nulls = attributes.iter().enumerate();
        let nulls = nulls.map(|(at, (_, value))| u8::from(value.is_none()) << at);
        let mut packet = vec![0, 0, 0, 0, 0x03, count, 1, nulls.sum(), 1];
        for (name, _) in attributes {
            packet.extend([0xFE, 0, u8::try_from(name.len()).unwrap()]);
            packet.extend(*name);
        }
        for value in attributes.iter().filter_map(|(_, value)| *value) {
            packet.push(u8::try_from(value.len()).unwrap());
            packet.extend(value);
        }
        packet.extend(sql);
        packet
    }

    fn has_parent(packet: &[u8]) -> bool {
        let found = of_command(CommandByte::QUERY, packet, ATTRIBUTES);
        found.is_some() && found == TraceContext::parse(PARENT)
    }

    #[test]
    fn an_attribute_is_found_among_others() {
        let others: [(&[u8], Option<&[u8]>); 2] = [(b"a", Some(b"b")), (b"n", None)];
        let with = [others[0], others[1], (TRACE_NAME, Some(PARENT))];
        assert!(has_parent(&query(&with, b"SELECT 1")));
        assert!(!has_parent(&query(&others, b"SELECT 1")));
        assert!(!has_parent(&query(&[(TRACE_NAME, None)], b"SELECT 1")));
    }

    #[test]
    fn an_attribute_goes_before_a_comment() {
        let comment = [b"SELECT 1 /*traceparent='", PARENT, b"'*/"].concat();
        assert!(has_parent(&query(&[(b"a", Some(b"b"))], &comment)));
        let wrong = [b"SELECT 1 /*traceparent='", &PARENT[..54], b"0'*/"].concat();
        assert!(has_parent(&query(&[(TRACE_NAME, Some(PARENT))], &wrong)));
    }

    #[test]
    fn what_is_cut_off_has_none() {
        let packet = query(&[(TRACE_NAME, Some(PARENT))], b"");
        for length in 0..packet.len() {
            assert!(!has_parent(&packet[..length]), "{length}");
        }
        assert!(has_parent(&packet));
    }
}
