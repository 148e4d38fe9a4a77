//! What the user can do about an error of Valkey or Redis, or of a connection to one.

use std::error::Error as _;
use std::io;

use onecopy_valkey::{Error, ProtocolErrorKind};

/// A line that says what to do, where one is likely to help.
pub(crate) fn find(error: &Error) -> Option<&'static str> {
    if let Some(error) = error.server() {
        return server(error.code(), error.message());
    }
    if let Some(error) = error.protocol() {
        return protocol(error.kind());
    }
    if error.is_timeout() {
        return Some(
            "?connect-timeout=SECONDS and ?command-timeout=SECONDS in the url set the deadlines, 0 is none; a port without \
             TLS never answers to rediss://",
        );
    }
    let source = error.source()?.downcast_ref::<io::Error>()?;
    match source.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Some(
            "redis://HOST:PORT goes over TCP, rediss://HOST:PORT over TLS, redis+unix:///PATH over a Unix socket",
        ),
        io::ErrorKind::PermissionDenied => Some("your OS user may not open this socket"),
        // The login is over: it is not for want of TLS.
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe if error.maybe_executed() => {
            Some("the server ended the connection, or is gone; its log may say why")
        }
        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => Some(
            "a port that speaks TLS ends a connection like this: use rediss:// instead of redis://; the server's log may \
             say more",
        ),
        _ => None,
    }
}

/// Limits of ours that the url raises.
fn protocol(kind: ProtocolErrorKind) -> Option<&'static str> {
    match kind {
        ProtocolErrorKind::BulkTooLarge { .. } => Some(
            "?max-bulk=BYTES in the url raises the limit; alone and with --format raw, GET and its like need none",
        ),
        ProtocolErrorKind::TotalTooLarge { .. } => {
            Some("?max-total=BYTES in the url raises the limit; fewer values at a time need none")
        }
        ProtocolErrorKind::TooManyElements { .. } => Some(
            "?max-elements=NUMBER in the url raises the limit; SCAN and its like give a part at a time",
        ),
        _ => None,
    }
}

fn server(code: &str, message: &str) -> Option<&'static str> {
    Some(match code {
        "NOAUTH" => {
            "put the password into the url, redis://:PASSWORD@HOST or redis://USER:PASSWORD@HOST, or let -p ask for it"
        }
        "WRONGPASS" => {
            "check user and password; a reserved character of the password is percent-encoded in a url, -p asks for it"
        }
        "NOPERM" => {
            "this user lacks the permission; ACL WHOAMI shows the user, ACL GETUSER its permissions"
        }
        "WRONGTYPE" => {
            "TYPE KEY says what the key holds, and help @FAMILY lists the commands for it"
        }
        "MOVED" | "ASK" => {
            "this server is a node of a cluster, and another node has the key; onecopy valkey -c sends each command to the right one"
        }
        "CROSSSLOT" => {
            "keys of one command must be in one slot: names with the same {part} in braces are"
        }
        "READONLY" => "this server is a replica; ROLE names its primary",
        "OOM" => {
            "the server holds as much as its maxmemory allows; CONFIG GET maxmemory-policy says what may be evicted"
        }
        "MISCONF" => "the server can't store its data and refuses writes; its log says why",
        "LOADING" => "the server is reading its data; try again in a moment",
        "BUSY" => {
            "a script holds the server; SCRIPT KILL or FUNCTION KILL ends one that has written nothing"
        }
        "EXECABORT" => "a command of the transaction was refused; the replies before say which",
        "NOSCRIPT" => "SCRIPT LOAD makes the script known, EVAL sends it whole",
        "BUSYGROUP" => "XINFO GROUPS lists the groups that there are",
        "NOPROTO" => "?protocol=2 in the url speaks RESP2",
        "ERR"
            if message.starts_with("unknown command")
                || message.starts_with("unknown subcommand") =>
        {
            "COMMAND LIST shows what the server knows"
        }
        "ERR" if message.starts_with("wrong number of arguments") => {
            "the interactive mode shows a command's arguments: help COMMAND"
        }
        "ERR" if message.contains("invalid bulk length") => {
            "the server takes no string that long; CONFIG GET proto-max-bulk-len says which it takes"
        }
        "ERR" if message.contains("protected mode") => {
            "the server takes no connections from elsewhere while it has no password"
        }
        _ => return None,
    })
}
