//! What the two processes say.
//!
//! | bytes | field   | note                                             |
//! |-------|---------|--------------------------------------------------|
//! | 4     | length  | of all that follows, at most [`MAX_BYTES`]       |
//! | 1     | kind    | as below                                         |
//! | ...   | content | of that kind, [packed](crate::packed)            |
//!
//! `Hello` and `Refused` are the same in all versions.

use crate::packed::{Packer, Unpacker};
use crate::running::PassedPool;

/// The versions that this program speaks, from the lowest to the highest. A change of any other message than `Hello` and `Refused`
/// needs another one.
pub(super) const VERSIONS: [u16; 2] = [2, 2];

/// No message is longer.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// The first bytes of `Hello`.
const MAGIC: &[u8; 8] = b"onecopy\n";

/// What somebody has come for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To take over.
    TakeOver,
    /// To have a successor started.
    Start,
}

/// A socket that comes with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passed {
    /// As it is configured.
    pub(super) endpoint: String,
    /// Its file is removed in the end by whoever has it.
    pub(super) owns_file: bool,
}

/// A session that stays with the predecessor, as a `KILL` has to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stayed {
    pub(super) id: u32,
    /// As it is configured.
    pub(super) backend: String,
    /// Which of its addresses.
    pub(super) address: String,
    pub(super) user: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    Hello {
        versions: [u16; 2],
        purpose: Purpose,
    },
    /// So many sockets follow; what is to be known of pooled listeners; and the names of the backends that are drained.
    Welcome {
        version: u16,
        sockets: u16,
        pools: Vec<PassedPool>,
        drained: Vec<String>,
    },
    /// Each comes as a descriptor, too.
    Sockets(Vec<Passed>),
    Ready,
    Go,
    Serving,
    Yielded,
    Settled,
    Over {
        sessions: u32,
    },
    /// Why it goes no further; the other one goes on without.
    Refused(String),
    /// So many sessions are left with the predecessor.
    Sessions(u32),
    /// A session, whose socket comes with it, in a [form](crate::moved) of its own.
    Session(Vec<u8>),
    /// It is the successor's from now on.
    Taken,
    /// It is not, for this reason.
    Stays(String),
    /// Sessions of a listener that stay with the predecessor.
    Stayed {
        listener: String,
        sessions: Vec<Stayed>,
    },
    /// Those of them that have ended.
    Ended {
        listener: String,
        ids: Vec<u32>,
    },
    /// The answer to who has asked for a start.
    Upgraded {
        process: u32,
        sessions: u32,
    },
}

impl Message {
    pub(super) fn hello(purpose: Purpose) -> Self {
        Self::Hello {
            versions: VERSIONS,
            purpose,
        }
    }

    /// What it is called in errors.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => "Hello",
            Self::Welcome { .. } => "Welcome",
            Self::Sockets(_) => "Sockets",
            Self::Ready => "Ready",
            Self::Go => "Go",
            Self::Serving => "Serving",
            Self::Yielded => "Yielded",
            Self::Settled => "Settled",
            Self::Over { .. } => "Over",
            Self::Refused(_) => "Refused",
            Self::Sessions(_) => "Sessions",
            Self::Session(_) => "Session",
            Self::Taken => "Taken",
            Self::Stays(_) => "Stays",
            Self::Stayed { .. } => "Stayed",
            Self::Ended { .. } => "Ended",
            Self::Upgraded { .. } => "Upgraded",
        }
    }

    /// With the kind, without the length.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to = Packer::default();
        match self {
            Self::Hello {
                versions: [lowest, highest],
                purpose,
            } => {
                to.byte(1);
                to.bytes(MAGIC);
                to.u16(*lowest);
                to.u16(*highest);
                to.byte(match purpose {
                    Purpose::TakeOver => 1,
                    Purpose::Start => 2,
                });
            }
            Self::Refused(why) => {
                to.byte(2);
                to.bytes(why.as_bytes());
            }
            Self::Welcome {
                version,
                sockets,
                pools,
                drained,
            } => {
                to.byte(3);
                to.u16(*version);
                to.u16(*sockets);
                to.count(pools.len());
                for pool in pools {
                    to.bytes(pool.listener.as_bytes());
                    to.u64(pool.number);
                    to.option(pool.facts.as_deref(), Packer::bytes);
                }
                to.count(drained.len());
                for name in drained {
                    to.bytes(name.as_bytes());
                }
            }
            Self::Sockets(all) => {
                to.byte(4);
                to.count(all.len());
                for passed in all {
                    to.bytes(passed.endpoint.as_bytes());
                    to.bool(passed.owns_file);
                }
            }
            Self::Ready => to.byte(5),
            Self::Go => to.byte(6),
            Self::Serving => to.byte(7),
            Self::Yielded => to.byte(8),
            Self::Settled => to.byte(9),
            Self::Over { sessions } => {
                to.byte(10);
                to.u32(*sessions);
            }
            Self::Sessions(sessions) => {
                to.byte(11);
                to.u32(*sessions);
            }
            Self::Upgraded { process, sessions } => {
                to.byte(12);
                to.u32(*process);
                to.u32(*sessions);
            }
            Self::Session(bytes) => {
                to.byte(13);
                to.bytes(bytes);
            }
            Self::Stayed { listener, sessions } => {
                to.byte(16);
                to.bytes(listener.as_bytes());
                to.count(sessions.len());
                for session in sessions {
                    to.u32(session.id);
                    to.bytes(session.backend.as_bytes());
                    to.bytes(session.address.as_bytes());
                    to.bytes(&session.user);
                }
            }
            Self::Ended { listener, ids } => {
                to.byte(17);
                to.bytes(listener.as_bytes());
                to.count(ids.len());
                ids.iter().for_each(|id| to.u32(*id));
            }
            Self::Taken => to.byte(14),
            Self::Stays(why) => {
                to.byte(15);
                to.bytes(why.as_bytes());
            }
        }
        to.finish()
    }

    /// `None` where the bytes are no message.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Unpacker::new(bytes);
        let message = match from.byte()? {
            1 => {
                if from.bytes()? != MAGIC {
                    return None;
                }
                Self::Hello {
                    versions: [from.u16()?, from.u16()?],
                    purpose: match from.byte()? {
                        1 => Purpose::TakeOver,
                        2 => Purpose::Start,
                        _ => return None,
                    },
                }
            }
            2 => Self::Refused(from.text()?),
            3 => Self::Welcome {
                version: from.u16()?,
                sockets: from.u16()?,
                pools: {
                    let count = from.count(13)?;
                    let pool = |_| {
                        Some(PassedPool {
                            listener: from.text()?,
                            number: from.u64()?,
                            facts: from.option(|from| Some(from.bytes()?.to_vec()))?,
                        })
                    };
                    (0..count).map(pool).collect::<Option<_>>()?
                },
                drained: {
                    let count = from.count(4)?;
                    (0..count).map(|_| from.text()).collect::<Option<_>>()?
                },
            },
            4 => Self::Sockets({
                let count = from.count(5)?;
                let passed = |_| {
                    Some(Passed {
                        endpoint: from.text()?,
                        owns_file: from.bool()?,
                    })
                };
                (0..count).map(passed).collect::<Option<_>>()?
            }),
            5 => Self::Ready,
            6 => Self::Go,
            7 => Self::Serving,
            8 => Self::Yielded,
            9 => Self::Settled,
            10 => Self::Over {
                sessions: from.u32()?,
            },
            11 => Self::Sessions(from.u32()?),
            12 => Self::Upgraded {
                process: from.u32()?,
                sessions: from.u32()?,
            },
            13 => Self::Session(from.bytes()?.to_vec()),
            16 => Self::Stayed {
                listener: from.text()?,
                sessions: {
                    let count = from.count(16)?;
                    let session = |_| {
                        Some(Stayed {
                            id: from.u32()?,
                            backend: from.text()?,
                            address: from.text()?,
                            user: from.bytes()?.to_vec(),
                        })
                    };
                    (0..count).map(session).collect::<Option<_>>()?
                },
            },
            17 => Self::Ended {
                listener: from.text()?,
                ids: {
                    let count = from.count(4)?;
                    (0..count).map(|_| from.u32()).collect::<Option<_>>()?
                },
            },
            14 => Self::Taken,
            15 => Self::Stays(from.text()?),
            _ => return None,
        };
        from.end()?;
        Some(message)
    }
}

/// The version that both speak, or why there is none.
pub(super) fn agree(theirs: [u16; 2]) -> Result<u16, String> {
    let ([lowest, highest], [own_lowest, own_highest]) = (theirs, VERSIONS);
    let version = highest.min(own_highest);
    if version < lowest.max(own_lowest) {
        return Err(format!(
            "the running proxy speaks the versions {own_lowest} to {own_highest} of the takeover protocol, the new one {lowest} to \
             {highest}; restart the proxy instead"
        ));
    }
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Message> {
        vec![
            Message::hello(Purpose::TakeOver),
            Message::hello(Purpose::Start),
            Message::Welcome {
                version: 2,
                sockets: 2,
                pools: vec![
                    PassedPool {
                        listener: "mysql".into(),
                        number: 7,
                        facts: None,
                    },
                    PassedPool {
                        listener: "other".into(),
                        number: u64::MAX,
                        facts: Some(vec![1, 2]),
                    },
                ],
                drained: vec!["db1".into(), "db2".into()],
            },
            Message::Sockets(vec![
                Passed {
                    endpoint: "127.0.0.1:3307".into(),
                    owns_file: false,
                },
                Passed {
                    endpoint: "/run/mysql.sock".into(),
                    owns_file: true,
                },
            ]),
            Message::Ready,
            Message::Go,
            Message::Serving,
            Message::Yielded,
            Message::Settled,
            Message::Over { sessions: 3 },
            Message::Refused("no".into()),
            Message::Sessions(9),
            Message::Session(vec![1, 2, 3]),
            Message::Stayed {
                listener: "mysql".into(),
                sessions: vec![Stayed {
                    id: 7,
                    backend: "db1:3306".into(),
                    address: "127.0.0.1:3306".into(),
                    user: b"app".to_vec(),
                }],
            },
            Message::Ended {
                listener: "mysql".into(),
                ids: vec![7, 8],
            },
            Message::Taken,
            Message::Stays("no".into()),
            Message::Upgraded {
                process: 77,
                sessions: 5,
            },
        ]
    }

    #[test]
    fn a_message_is_read_as_it_was_written_and_neither_cut_nor_with_more() {
        for message in all() {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes).as_ref(), Some(&message));
            for cut in 0..bytes.len() {
                assert_eq!(Message::decode(&bytes[..cut]), None, "{message:?} {cut}");
            }
            let more = [&bytes[..], &[0]].concat();
            assert_eq!(Message::decode(&more), None, "{message:?}");
        }
        assert_eq!(Message::decode(&[200]), None);
    }

    #[test]
    fn hello_and_refused_are_the_same_for_ever() {
        let hello = [
            1, 8, 0, 0, 0, b'o', b'n', b'e', b'c', b'o', b'p', b'y', b'\n', 3, 0, 9, 0, 1,
        ];
        let expected = Message::Hello {
            versions: [3, 9],
            purpose: Purpose::TakeOver,
        };
        assert_eq!(Message::decode(&hello), Some(expected));
        let refused = [2, 2, 0, 0, 0, b'n', b'o'];
        assert_eq!(
            Message::decode(&refused),
            Some(Message::Refused("no".into()))
        );
    }

    #[test]
    fn both_speak_the_highest_version_that_they_have_in_common() {
        assert_eq!(agree([2, 2]), Ok(2));
        assert_eq!(agree([0, 99]), Ok(VERSIONS[1]));
        assert!(agree([98, 99]).unwrap_err().contains("98 to 99"));
        assert!(agree([0, 1]).is_err());
        assert!(agree([9, 1]).is_err());
    }
}
