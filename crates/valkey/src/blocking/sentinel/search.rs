//! One search for the primary: asks one sentinel after the other until one leads to it.

use std::time::Instant;

use super::Sentinel;
use super::servers::{Primary, role_of};
use crate::Error;
use crate::blocking::Connection;
use crate::cluster::NodeAddress;
use crate::sentinel::{
    Answers, Failures, Query, Role, SentinelConfig, SentinelError, server_config,
};

impl Sentinel {
    /// Searches once.
    ///
    /// # Errors
    /// Fails with what is most telling of why none leads to it, which is remembered.
    pub(super) fn search(&mut self) -> Result<(), Error> {
        self.pace.begin(Instant::now());
        self.searches += 1;
        let mut failures = Failures::default();
        for sentinel in self.book.candidates() {
            match self.search_by(&sentinel) {
                Ok(()) => {
                    self.pace.succeeded();
                    self.last_error = None;
                    return Ok(());
                }
                Err(error) => {
                    self.book.failed(&sentinel);
                    failures.add(error);
                }
            }
        }
        self.pace.failed();
        let error = failures.into_error();
        self.last_error = Some(error.clone());
        Err(error)
    }

    fn search_by(&mut self, sentinel: &NodeAddress) -> Result<(), Error> {
        let answers = ask(sentinel, &self.config)?;
        self.connect_to(&answers.primary)?;
        self.book.led_to_it(sentinel);
        self.book.learn(sentinel, &answers.sentinels);
        self.replicas.learn(&answers.replicas, &answers.primary);
        Ok(())
    }

    fn connect_to(&mut self, address: &NodeAddress) -> Result<(), Error> {
        // The connection that there is stays, if it is the right one: it may have an open transaction.
        let is_it = |primary: &Primary| primary.address == *address;
        if let Some(primary) = self.primary.as_mut().filter(|primary| is_it(primary))
            && let Ok(role) = role_of(&mut primary.connection)
        {
            if role == Role::Primary {
                return Ok(());
            }
            self.primary = None;
            return Err(not_primary(address, role));
        }
        self.primary = None;
        let config = server_config(address, &self.config.server);
        let mut connection = Connection::connect_with(&config)?;
        self.system.learn(connection.session());
        match role_of(&mut connection)? {
            Role::Primary => {
                let address = address.clone();
                self.primary = Some(Primary {
                    address,
                    connection,
                });
                Ok(())
            }
            role => Err(not_primary(address, role)),
        }
    }
}

fn ask(sentinel: &NodeAddress, config: &SentinelConfig) -> Result<Answers, Error> {
    let mut query = Query::new(sentinel, &config.name, config.reads_from_replicas());
    let mut connection = Connection::connect_with(&query.config(&config.sentinel))?;
    loop {
        let reply = connection.run_quietly(&query.command());
        if let Some(answers) = query.answered(reply)? {
            return Ok(answers);
        }
    }
}

fn not_primary(server: &NodeAddress, role: Role) -> Error {
    Error::sentinel_error(SentinelError::NotPrimary {
        server: server.clone(),
        role: role.name(),
    })
}
