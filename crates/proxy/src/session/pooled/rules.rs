//! The rules of the listener, applied to the statement that is next.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use onecopy_mysql_proto::digest::Digester;
use onecopy_mysql_proto::frame::HEADER_BYTES;
use onecopy_mysql_proto::packet::CommandByte;

use super::Pooled;
use super::timeout::QueryTimeout;
use crate::pooling::look::Reading;
use crate::pooling::refusals::Refused;
use crate::pooling::rules::{DIGEST_BYTES, Rule, Subject};
use crate::session::{Phase, Session};

/// `ER_AUDIT_API_ABORT`: a statement that something beside the server does not let pass.
const NOT_ALLOWED: u16 = 3164;

/// `ER_USER_LIMIT_REACHED`.
const LIMIT_REACHED: u16 = 1226;

thread_local! {
    /// One a worker: its memory is used again.
    static DIGESTER: RefCell<Digester> = RefCell::new(Digester::new(DIGEST_BYTES));
}

impl Session {
    /// Finds the rule for the statement that is next, once; `false` where it refuses it. `id`: of a prepared statement; `whole`: the length
    /// of the command otherwise.
    #[inline]
    pub(super) fn is_allowed(
        &mut self,
        command: CommandByte,
        id: Option<u32>,
        whole: usize,
        now: Instant,
    ) -> bool {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return true;
        };
        let generation = pooled.pool.rules_generation();
        if generation == 0 || pooled.is_ruled {
            return true;
        }
        self.apply_rules(command, id, whole, generation, now)
    }

    #[cold]
    fn apply_rules(
        &mut self,
        command: CommandByte,
        id: Option<u32>,
        whole: usize,
        generation: u64,
        now: Instant,
    ) -> bool {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return true;
        };
        let is_statement = matches!(
            command,
            CommandByte::QUERY | CommandByte::STMT_PREPARE | CommandByte::STMT_EXECUTE
        );
        if !is_statement {
            return true;
        }
        let reading = Reading::of(self.relay.status(), &pooled.wanted, pooled.key.collation);
        (pooled.is_ruled, pooled.ruled) = (true, generation);
        pooled.rule = match id {
            Some(id) => pooled.rule_of_statement(id, generation, reading),
            None => {
                let bytes = self.up.pending();
                let sql = bytes.get(HEADER_BYTES + 1..whole.min(bytes.len()));
                pooled.find_rule(sql.unwrap_or_default(), pooled.wanted.schema(), reading)
            }
        };
        let timeout = pooled.rule.as_ref().and_then(|rule| rule.config.timeout);
        QueryTimeout::limit_next(&mut pooled.timeout, timeout);
        let refused = (pooled.rule.as_ref()).and_then(|rule| refusal(rule, command, now));
        pooled.refused = refused.map(Box::new);
        pooled.refused.is_none()
    }
}

impl Pooled {
    fn find_rule(&self, sql: &[u8], schema: Option<&[u8]>, reading: Reading) -> Option<Arc<Rule>> {
        let subject = Subject {
            user: &self.key.user,
            schema,
            sql,
            reading,
        };
        let rules = self.pool.rules();
        DIGESTER.with_borrow_mut(|digester| rules.find(subject, digester).map(Arc::clone))
    }

    /// That of a prepared statement, which is looked for again only where the rules are others.
    fn rule_of_statement(
        &mut self,
        id: u32,
        generation: u64,
        reading: Reading,
    ) -> Option<Arc<Rule>> {
        let statement = self.statements.get_mut(id)?;
        if statement.ruled != generation {
            let text = Arc::clone(&statement.text);
            let rule = self.find_rule(&text.sql, text.meaning.schema(), reading);
            let statement = self.statements.get_mut(id)?;
            (statement.rule, statement.ruled) = (rule, generation);
            return statement.rule.clone();
        }
        statement.rule.clone()
    }
}

/// Counts a statement of a rule; what it is answered with where it is not sent.
fn refusal(rule: &Rule, command: CommandByte, now: Instant) -> Option<Refused> {
    let config = &rule.config;
    let name = &config.name;
    rule.statements.fetch_add(1, Relaxed);
    if let Some(text) = &config.reject {
        rule.rejected.fetch_add(1, Relaxed);
        return Some(Refused {
            code: NOT_ALLOWED,
            sql_state: *b"HY000",
            message: format!("{text} (rule '{name}' of the proxy)"),
            is_end: false,
        });
    }
    if command == CommandByte::STMT_PREPARE {
        return None;
    }
    let rate = rule.limiter.take(now).err()?;
    rule.limited.fetch_add(1, Relaxed);
    let per_second = rate.per_second;
    Some(Refused {
        code: LIMIT_REACHED,
        sql_state: *b"42000",
        message: format!(
            "Statements of rule '{name}' of the proxy are limited to {per_second} a second"
        ),
        is_end: false,
    })
}
