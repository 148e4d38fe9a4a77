//! What a returned connection is restored by.
//!
//! Seen on Redis 7.0 and Valkey 8.1, compared with a new connection:
//!
//! | state                                            | RESET                  | put right by                       |
//! |--------------------------------------------------|------------------------|------------------------------------|
//! | MULTI, WATCH, tracking, ASKING, READONLY         | undone                 |                                    |
//! | database, user, protocol, name                   | those of no login      | the handshake, which is sent again |
//! | NO-EVICT                                         | kept by Redis 7.0      | closing the connection             |
//! | CAPA                                             | kept by Valkey 8.1     | closing the connection             |
//! | library name and version                         | kept                   | the handshake, or closing          |
//!
//! CLIENT INFO tells what is left. Servers before 6.2 have neither RESET nor CLIENT INFO: the connection is closed.

use onecopy_resp_proto::Reply;

use crate::command::{Command, Flags};
use crate::request::Request;
use crate::{Config, Error};

/// RESET, whose reply has to be what it is: a server that refuses it has undone nothing.
pub(crate) struct Reset;

impl Command for Reset {
    type Output<'r> = Reply<'r>;

    fn flags(&self) -> Flags {
        Flags::KEYLESS
    }

    fn encode<'a>(&'a self, request: &mut Request<'_, 'a>) {
        request.fixed(b"*1\r\n$5\r\nRESET\r\n");
    }
}

/// DISCARD or UNWATCH, of a connection whose state is kept otherwise.
pub(crate) struct Leave(&'static [u8]);

impl Leave {
    pub(crate) const DISCARD: Self = Self(b"*1\r\n$7\r\nDISCARD\r\n");
    pub(crate) const UNWATCH: Self = Self(b"*1\r\n$7\r\nUNWATCH\r\n");
}

impl Command for Leave {
    type Output<'r> = Reply<'r>;

    fn flags(&self) -> Flags {
        Flags::KEYLESS
    }

    fn encode<'a>(&'a self, request: &mut Request<'_, 'a>) {
        request.fixed(self.0);
    }
}

/// Whether a connection is alive after this outcome of a command: also a server's error is a reply.
pub(crate) fn is_alive<T>(outcome: &Result<T, Error>) -> bool {
    let error = outcome.as_ref().err();
    error.is_none_or(|error| error.server().is_some())
}

/// Whether CLIENT INFO says that a connection has no more state than a new one.
pub(crate) fn is_as_new(info: &[u8], config: &Config) -> bool {
    let fields = || info.trim_ascii().split(|&byte| byte == b' ');
    let field = |name: &str| {
        fields().find_map(|field| {
            let value = field.strip_prefix(name.as_bytes())?;
            value.strip_prefix(b"=")
        })
    };
    // N: nothing is special; U: a Unix socket.
    let is_plain = |flags: &[u8]| flags.iter().all(|flag| b"NU".contains(flag));
    let library: &[u8] = if config.client_info { b"onecopy" } else { b"" };
    field("flags").is_some_and(is_plain)
        && field("capa").is_none_or(<[u8]>::is_empty)
        && field("lib-name").is_none_or(|name| name == library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reset_left_is_seen_in_client_info() {
        let config = Config::default();
        let is_as_new = |text: &str| is_as_new(text.as_bytes(), &config);
        assert!(is_as_new("id=3 name= flags=N db=0 user=default\n"));
        assert!(is_as_new("id=3 flags=U capa= lib-name=onecopy lib-ver=1"));
        assert!(!is_as_new("id=3 flags=Ue db=0"), "CLIENT NO-EVICT");
        assert!(!is_as_new("id=3 flags=T db=0"), "CLIENT NO-TOUCH");
        assert!(!is_as_new("id=2 flags=N capa=r db=0"), "CLIENT CAPA");
        assert!(!is_as_new("id=2 flags=N lib-name=x"), "CLIENT SETINFO");
        assert!(!is_as_new("id=2 db=0"), "nothing is known");
        assert!(!is_as_new(""));
    }
}
