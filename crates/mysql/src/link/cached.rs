//! The statements that `exec` prepared.

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::client::{Params, StatementId};
use onecopy_wire::BORROWED_THRESHOLD;

use super::Link;
use super::placeholders::placeholders;
use crate::{Error, Statement};

/// Capabilities of servers that know the id -1 for the statement prepared last: MariaDB 10.2 and later.
const KNOWS_LAST_PREPARED: Capabilities =
    Capabilities::MARIADB_STMT_BULK_OPERATIONS.union(Capabilities::MARIADB_CACHE_METADATA);

impl Link {
    /// The statement of that text, if it is open.
    #[inline]
    pub(crate) fn cached(&mut self, sql: &[u8]) -> Option<StatementId> {
        let id = self.cache.find(sql)?.id;
        // A reset or a change of user has closed it.
        self.core.parameters(id).is_ok().then_some(id)
    }

    /// The same, to be kept by the caller.
    pub(crate) fn cached_statement(&mut self, sql: &[u8]) -> Option<Statement> {
        let statement = self.cache.find(sql)?;
        let is_open = self.core.parameters(statement.id).is_ok();
        is_open.then(|| statement.clone())
    }

    /// Keeps a statement that the caller keeps too.
    pub(crate) fn cache_statement(
        &mut self,
        sql: &[u8],
        statement: Statement,
    ) -> Result<(), Error> {
        Ok(self.cache.insert(sql, statement)?)
    }

    /// Keeps the statement that was prepared, if there is room for it. Otherwise it is closed once the caller drops it.
    pub(crate) fn cache(&mut self, sql: &[u8], id: StatementId) -> Result<Statement, Error> {
        let statement = self.statement(id)?;
        self.cache.insert(sql, statement.clone())?;
        Ok(statement)
    }

    /// The server does not know the statement any more.
    pub(crate) fn uncache(&mut self, sql: &[u8]) {
        self.cache.remove(sql);
    }

    /// Whether the execution can be sent together with the prepare. The parameters' number must be known for certain, and of text and
    /// parameters only one can be borrowed.
    pub(crate) fn sends_both(&self, sql: &[u8], params: Params<'_>) -> bool {
        let capabilities = self.core.session().capabilities;
        self.pipelining
            && capabilities.intersects(KNOWS_LAST_PREPARED)
            && sql.len() < BORROWED_THRESHOLD
            && placeholders(sql) == Some(params.0.len())
    }

    /// Queues the prepare and the execution.
    pub(crate) fn queue_both(&mut self, sql: &[u8], params: Params<'_>) -> Result<(), Error> {
        self.core.prepare(&mut self.buffers, sql)?;
        self.core.accept_more(true);
        let queued = self.core.execute_last_prepared(&mut self.buffers, params);
        self.core.accept_more(false);
        Ok(queued?)
    }
}
