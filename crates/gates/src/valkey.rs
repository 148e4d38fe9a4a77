//! The Valkey client, whole, through its APIs, against a server in memory.

mod blocking;
mod cached;
mod pool;
mod shared;
mod tokio;

use onecopy_valkey::Config;

pub(crate) use blocking::Blocking;
pub(crate) use cached::Cached;
pub(crate) use pool::{checkout, tokio_checkout};
pub(crate) use shared::Shared;
pub(crate) use tokio::Tokio;

use crate::memory::Memory;
use crate::peer::valkey::ValkeyPeer;

/// What is asked for in one iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// One PING.
    Ping,
    /// 32 SETs of 1 KiB, pipelined.
    Set,
    /// 32 GETs of 1 KiB, pipelined.
    Get,
    /// One GET of 4 MiB into a vector that is used again.
    GetLarge,
}

const KEY: &str = "key:000000000001";
const DEPTH: usize = 32;
const SMALL: usize = 1 << 10;
const LARGE: usize = 4 << 20;

impl Case {
    fn request(self) -> Vec<u8> {
        match self {
            Self::Ping => b"*1\r\n$4\r\nPING\r\n".to_vec(),
            Self::Set => encode(&[b"SET", KEY.as_bytes(), &[b'x'; SMALL]]),
            Self::Get | Self::GetLarge => encode(&[b"GET", KEY.as_bytes()]),
        }
    }

    fn reply(self) -> Vec<u8> {
        let value = match self {
            Self::Ping => return b"+PONG\r\n".to_vec(),
            Self::Set => return b"+OK\r\n".to_vec(),
            Self::Get => vec![b'x'; SMALL],
            Self::GetLarge => vec![b'x'; LARGE],
        };
        [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat()
    }

    fn depth(self) -> usize {
        match self {
            Self::Set | Self::Get => DEPTH,
            Self::Ping | Self::GetLarge => 1,
        }
    }

    fn peer(self) -> Memory<ValkeyPeer> {
        let peer = ValkeyPeer::new(&self.request(), &self.reply(), self.depth());
        Memory(peer)
    }
}

fn encode(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", parts.len()).into_bytes();
    for part in parts {
        bytes.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        bytes.extend_from_slice(part);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn config() -> Config {
    Config::default()
}
