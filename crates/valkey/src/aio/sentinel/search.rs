//! One search for the primary: asks one sentinel after the other until one leads to it.

use onecopy_net::DriveError;
use tokio::time::timeout;

use super::inner::Inner;
use crate::Error;
use crate::aio::{Connection, Shared};
use crate::cluster::NodeAddress;
use crate::command::server;
use crate::sentinel::{Answers, Failures, Query, Role, SentinelError, VERIFY_TIMEOUT};

/// Searches once.
///
/// # Errors
/// Fails with what is most telling of why none leads to it.
pub(super) async fn search(inner: &Inner) -> Result<(), Error> {
    let mut failures = Failures::default();
    for sentinel in inner.begin_search() {
        match by(inner, &sentinel).await {
            Ok(answers) => {
                inner.learn(&sentinel, &answers);
                return Ok(());
            }
            Err(error) => {
                inner.misled(&sentinel);
                failures.add(error);
            }
        }
    }
    Err(failures.into_error())
}

async fn by(inner: &Inner, sentinel: &NodeAddress) -> Result<Answers, Error> {
    let answers = ask(inner, sentinel).await?;
    let address = &answers.primary;
    if let Some(current) = inner.current()
        && current.address == *address
    {
        match role_of(&current.shared).await {
            Ok(Role::Primary) => return Ok(answers),
            // It is busy with something, and nobody says that it is not the primary any more.
            Err(error) if error.is_timeout() => return Ok(answers),
            Ok(role) => {
                inner.leave(current.number);
                return Err(not_primary(address, role));
            }
            // It is lost: perhaps it is there again.
            Err(_) => inner.leave(current.number),
        }
    }
    let (config, options) = inner.server_config(address);
    let shared = Shared::connect_with(&config, options).await?.quiet();
    inner.system.copy(shared.system());
    match role_of(&shared).await? {
        Role::Primary => {
            inner.use_primary(address, shared);
            Ok(answers)
        }
        role => Err(not_primary(address, role)),
    }
}

async fn ask(inner: &Inner, sentinel: &NodeAddress) -> Result<Answers, Error> {
    let config = &inner.config;
    let mut query = Query::new(sentinel, &config.name, config.reads_from_replicas());
    let mut connection = Connection::connect_with(&query.config(&config.sentinel)).await?;
    loop {
        let reply = connection.run_quietly(&query.command()).await;
        if let Some(answers) = query.answered(reply)? {
            return Ok(answers);
        }
    }
}

/// What a server says that it is.
pub(super) async fn role_of(shared: &Shared) -> Result<Role, Error> {
    let role = server::role();
    match timeout(VERIFY_TIMEOUT, shared.run(&role)).await {
        Ok(reply) => Ok(Role::of(reply?.reply())),
        Err(_) => Err(DriveError::Timeout.into()),
    }
}

fn not_primary(server: &NodeAddress, role: Role) -> Error {
    Error::sentinel_error(SentinelError::NotPrimary {
        server: server.clone(),
        role: role.name(),
    })
}
