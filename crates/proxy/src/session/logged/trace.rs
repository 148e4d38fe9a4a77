//! Which span of its client a statement belongs to.

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::{CommandByte, Execute, Query};

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
                TraceContext::parse(query.attributes.named(TRACE_NAME)?)
            });
            let comment = || TraceContext::of_comment(text(packet, capabilities)?);
            attribute.flatten().or_else(comment)
        }
        CommandByte::STMT_EXECUTE if has_attributes => {
            let execute = Execute::decode(payload).ok()?;
            // Those with attributes say how many parameters there are.
            let parameters = execute.parameters(0, capabilities).ok()?;
            TraceContext::parse(parameters.named(TRACE_NAME)?)
        }
        _ => None,
    }
}
