//! How sentinels and servers are asked.

use std::time::Duration;

use onecopy_resp_proto::{Limits, OwnedReply, Reply};

use super::answers::{Answers, Listed, primary, servers};
use super::error::SentinelError;
use crate::cluster::NodeAddress;
use crate::command::{Raw, raw};
use crate::{Config, Error};

/// The longest answer: some 700 bytes for each replica. A hostile one ends here.
const LIMITS: Limits = Limits {
    max_bulk: 64 << 10,
    max_depth: 8,
    max_elements: 1 << 16,
    max_total: MAX_REPLY as u64,
    max_line: 64 << 10,
    large: usize::MAX,
};

/// Bytes of it: 1 MiB.
const MAX_REPLY: usize = 1 << 20;

/// The longest time for one sentinel, for each of connecting and answering: others are asked next.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The longest time to connect to a server that a sentinel names: by then it may name another one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest time in which a server says what its role is.
pub(crate) const VERIFY_TIMEOUT: Duration = Duration::from_secs(2);

/// A sentinel that announces new primaries may say nothing for so long, and then not answer a PING, before another one is used.
const SILENCE: Duration = Duration::from_secs(10);

/// The settings of a connection to a server.
pub(crate) fn server_config(address: &NodeAddress, server: &Config) -> Config {
    Config {
        endpoint: address.endpoint(),
        connect_timeout: at_most(server.connect_timeout, CONNECT_TIMEOUT),
        ..server.clone()
    }
}

fn at_most(timeout: Option<Duration>, most: Duration) -> Option<Duration> {
    Some(timeout.unwrap_or(most).min(most))
}

/// The questions for one sentinel, one after the other.
#[derive(Debug)]
pub(crate) struct Query {
    sentinel: NodeAddress,
    name: String,
    wants_replicas: bool,
    primary: Option<NodeAddress>,
    replicas: Option<Vec<NodeAddress>>,
}

impl Query {
    pub(crate) fn new(sentinel: &NodeAddress, name: &str, wants_replicas: bool) -> Self {
        Self {
            sentinel: sentinel.clone(),
            name: name.to_owned(),
            wants_replicas,
            primary: None,
            replicas: None,
        }
    }

    /// The settings of the connection.
    pub(crate) fn config(&self, sentinel: &Config) -> Config {
        Config {
            endpoint: self.sentinel.endpoint(),
            // A sentinel has none.
            database: 0,
            connect_timeout: at_most(sentinel.connect_timeout, TIMEOUT),
            command_timeout: at_most(sentinel.command_timeout, TIMEOUT),
            unresponsive_timeout: at_most(sentinel.unresponsive_timeout, SILENCE),
            limits: LIMITS,
            max_reply: MAX_REPLY,
            ..sentinel.clone()
        }
    }

    /// What to ask next.
    pub(crate) fn command(&self) -> Raw<'_> {
        let about = match (&self.primary, &self.replicas) {
            // The names with PRIMARY are known from Valkey 8.0 on only.
            (None, _) => "GET-MASTER-ADDR-BY-NAME",
            (Some(_), None) if self.wants_replicas => "REPLICAS",
            _ => "SENTINELS",
        };
        raw("SENTINEL").arg(about).arg(self.name.as_str())
    }

    /// Reads what came of the command. `None`: there is more to ask.
    ///
    /// # Errors
    /// Fails if this sentinel does not help.
    pub(crate) fn answered(
        &mut self,
        reply: Result<OwnedReply, Error>,
    ) -> Result<Option<Answers>, Error> {
        let reply = reply.map_err(|error| self.refused(error))?;
        let reply = reply.reply();
        if self.primary.is_none() {
            self.primary = Some(self.read_primary(reply)?);
            return Ok(None);
        }
        if self.wants_replicas && self.replicas.is_none() {
            self.replicas = Some(self.read(reply, Listed::Replicas)?);
            return Ok(None);
        }
        let sentinels = self.read(reply, Listed::Sentinels)?;
        let primary = self.primary.take().ok_or_else(|| Error::offline(None))?;
        Ok(Some(Answers {
            primary,
            replicas: self.replicas.take().unwrap_or_default(),
            sentinels,
        }))
    }

    fn read_primary(&self, reply: Reply<'_>) -> Result<NodeAddress, Error> {
        match primary(reply) {
            Ok(Some(address)) => Ok(address),
            Ok(None) => Err(self.unknown_name()),
            Err(problem) => Err(self.bad(problem)),
        }
    }

    fn read(&self, reply: Reply<'_>, listed: Listed) -> Result<Vec<NodeAddress>, Error> {
        servers(reply, listed).map_err(|problem| self.bad(problem))
    }

    /// A sentinel answers with an error if it forgot the name in between.
    fn refused(&self, error: Error) -> Error {
        let server = error.server().filter(|_| error.refusal().is_none());
        match server {
            Some(server) if server.message().starts_with("No such") => self.unknown_name(),
            _ => error,
        }
    }

    fn unknown_name(&self) -> Error {
        Error::sentinel_error(SentinelError::UnknownName {
            name: self.name.clone(),
            sentinel: self.sentinel.clone(),
        })
    }

    fn bad(&self, problem: String) -> Error {
        Error::sentinel_error(SentinelError::BadAnswer {
            sentinel: self.sentinel.clone(),
            problem,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{text, with_reply};

    fn query(wants_replicas: bool) -> Query {
        let sentinel = NodeAddress::new(b"10.0.0.1", 26_379).unwrap();
        Query::new(&sentinel, "main", wants_replicas)
    }

    fn owned(bytes: &[u8]) -> Result<OwnedReply, Error> {
        with_reply(bytes, |reply| match reply.as_error() {
            Some(text) => Err(Error::server_error(text)),
            None => Ok(reply.detach().unwrap()),
        })
    }

    const ADDRESS: &[u8] = b"*2\r\n$8\r\n10.0.0.2\r\n$4\r\n6379\r\n";

    #[test]
    fn a_sentinel_is_asked_for_all_that_is_needed() {
        let mut query = query(true);
        assert!(text(&query.command()).contains("GET-MASTER-ADDR-BY-NAME $4 main"));
        assert!(query.answered(owned(ADDRESS)).unwrap().is_none());
        assert!(text(&query.command()).contains("REPLICAS $4 main"));
        assert!(query.answered(owned(b"*0\r\n")).unwrap().is_none());
        assert!(text(&query.command()).contains("SENTINELS $4 main"));
        let answers = query.answered(owned(b"*0\r\n")).unwrap().unwrap();
        assert_eq!(
            answers.primary,
            NodeAddress::new(b"10.0.0.2", 6379).unwrap()
        );
    }

    #[test]
    fn replicas_are_asked_for_only_if_they_are_wanted() {
        let mut query = query(false);
        query.answered(owned(ADDRESS)).unwrap();
        assert!(text(&query.command()).contains("SENTINELS"));
        assert!(query.answered(owned(b"*0\r\n")).unwrap().is_some());
    }

    #[test]
    fn an_unknown_name_is_told_from_a_wrong_answer() {
        for unknown in [
            &b"*-1\r\n"[..],
            b"_\r\n",
            b"-ERR No such master with that name\r\n",
        ] {
            let error = query(false).answered(owned(unknown)).unwrap_err();
            let sentinel = error.sentinel();
            assert!(
                matches!(sentinel, Some(SentinelError::UnknownName { name, .. }) if name == "main"),
                "{error}"
            );
        }
        for wrong in [
            &b"+OK\r\n"[..],
            b"*1\r\n$1\r\na\r\n",
            b"*2\r\n$1\r\na\r\n$1\r\n0\r\n",
            b"*2\r\n$0\r\n\r\n$1\r\n1\r\n",
        ] {
            let error = query(false).answered(owned(wrong)).unwrap_err();
            assert!(
                matches!(error.sentinel(), Some(SentinelError::BadAnswer { .. })),
                "{error}"
            );
        }
        let error = query(false).answered(owned(b"-NOPERM no\r\n")).unwrap_err();
        assert!(error.server().is_some());
    }
}
