//! What commands are sent to: a connection to one server, or a client of a cluster.

use onecopy_valkey::blocking::{Cluster, Connection, Response};
use onecopy_valkey::command::Flags;
use onecopy_valkey::{Command, Meter, OwnedReply, Raw, Reply, ScriptCall};

use crate::bench::valkey::meters;
use crate::failure::Failure;

/// A server or a cluster.
pub(super) enum Peer {
    Server(Box<Connection>),
    Cluster(Box<Cluster>),
}

/// A reply, borrowed from a connection or the caller's own.
pub(super) enum Answer<'p> {
    Borrowed(Reply<'p>),
    Owned(OwnedReply),
}

impl Answer<'_> {
    pub(super) fn reply(&self) -> Reply<'_> {
        match self {
            Self::Borrowed(reply) => *reply,
            Self::Owned(reply) => reply.reply(),
        }
    }
}

impl Peer {
    /// Runs a command, in a cluster on the node of its keys.
    pub(super) fn run(&mut self, command: &Raw<'_>) -> Result<Answer<'_>, Failure> {
        match self {
            Self::Server(connection) => Ok(Answer::Borrowed(connection.run(command)?)),
            Self::Cluster(cluster) => {
                admit_to_cluster(command)?;
                Ok(owned(cluster.run(command)?))
            }
        }
    }

    pub(super) fn run_script(&mut self, call: &ScriptCall<'_>) -> Result<Answer<'_>, Failure> {
        match self {
            Self::Server(connection) => Ok(Answer::Borrowed(connection.run_script(call)?)),
            Self::Cluster(cluster) => Ok(owned(cluster.run_script(call)?)),
        }
    }

    /// Runs commands together, and gives each reply with its position to `take`: of the server's errors too. One without a reply
    /// fails all.
    pub(super) fn run_all<'c>(
        &mut self,
        commands: impl IntoIterator<Item = Raw<'c>>,
        mut take: impl FnMut(usize, Reply<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::Server(connection) => {
                let mut pipeline = connection.pipeline()?;
                for command in commands {
                    pipeline.push(&command)?;
                }
                let mut replies = pipeline.replies();
                let mut position = 0;
                while let Some(reply) = replies.next_reply()? {
                    take(position, reply)?;
                    position += 1;
                }
            }
            Self::Cluster(cluster) => {
                let mut pipeline = cluster.pipeline();
                for command in commands {
                    pipeline.push(&command)?;
                }
                let replies = pipeline.run()?;
                for position in 0..replies.len() {
                    if let Some(reply) = replies.reply(position)? {
                        take(position, reply)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The keys that all of it has, as far as it says so.
    pub(super) fn count_keys(&mut self) -> Option<u64> {
        let dbsize = onecopy_valkey::command::server::dbsize();
        let count = match self {
            Self::Server(connection) => connection.run(&dbsize).ok()?,
            Self::Cluster(cluster) => {
                let counts = cluster.on_all_primaries(&dbsize).into_iter();
                let counts = counts.map(|(_, count)| count.ok()?.get().ok());
                counts.sum::<Option<i64>>()?
            }
        };
        u64::try_from(count).ok()
    }

    /// Of all connections that there are to primaries.
    pub(super) fn meter(&mut self) -> Meter {
        match self {
            Self::Server(connection) => connection.meter(),
            Self::Cluster(cluster) => {
                let primaries = cluster.primaries();
                let meter = |address| Some(cluster.on_node(address).ok()?.meter());
                meters::sum(primaries.iter().filter_map(meter))
            }
        }
    }
}

fn owned<'p, C: Command>(response: Response<C>) -> Answer<'p> {
    Answer::Owned(response.into_reply())
}

/// What a cluster's connections, of which there is one to each node for all commands, can't be used for.
pub(super) fn admit_to_cluster(command: &Raw<'_>) -> Result<(), Failure> {
    let flags = command.flags();
    let has = |flag| flags.intersects(flag);
    let problem = if has(Flags::TRANSACTION.with(Flags::ENDS_TRANSACTION)) {
        "WATCH and UNWATCH belong to one connection, and the commands for a cluster use one to each node; connect to the node \
         of the keys by its own url, or use a script, --eval"
    } else if has(Flags::CONNECTION_STATE) {
        "this command changes one connection, and the commands for a cluster use one to each node; give user, password, \
         client-name and protocol in the url"
    } else if has(Flags::BREAKS_ORDER) {
        "this command is not supported on a cluster; connect to one node by its own url"
    } else {
        return Ok(());
    };
    Err(Failure::other(problem))
}
