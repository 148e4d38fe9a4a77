//! What the replies to commands of the proxy's own say of the connection, and what goes on behind them.

use std::sync::Arc;

use super::After;
use crate::pooling::look::Mention;
use crate::session::{Context, End, Phase, Session};

impl Session {
    /// The proxy's own commands have their replies.
    pub(super) fn exchanged(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        let Phase::Pooled(pooled) = &mut self.phase else {
            return Ok(());
        };
        let Some(mut exchange) = pooled.exchange.take() else {
            return Ok(());
        };
        let after = pooled.after;
        if after == After::Wait {
            self.waited_for_own(&exchange, context);
            return Ok(());
        }
        if after == After::CatchUp {
            return self.caught_up(exchange, context);
        }
        // The barrier is there to be hit.
        if after != After::Barrier && exchange.error().is_some() {
            return self.exchange_failed(exchange, after, context);
        }
        let Some(connection) = &mut pooled.connection else {
            return Ok(());
        };
        if exchange.leaves_warnings() {
            connection.has_diagnostics = true;
            pooled.last.has_own_diagnostics = false;
        }
        match after {
            After::Reply | After::Wait | After::CatchUp => {}
            After::Barrier => {
                if let Some(timeout) = &mut pooled.timeout {
                    timeout.is_asking_for_rest = false;
                }
            }
            After::Trackers => {
                pooled.has_unreported = false;
                let value = exchange.value.as_deref();
                let schema = value.filter(|value| !value.is_empty()).map(Box::from);
                pooled.wanted = Arc::new(pooled.wanted.with_schema(schema));
                connection.actual = Arc::clone(&pooled.wanted);
            }
            After::Command => {
                if exchange.unprepared().is_some() {
                    return self.prepare_failed(exchange, context);
                }
                if let (Some(id), Some(text)) = (exchange.prepared, pooled.current.preparing.take())
                {
                    let most = connection.most_statements(&pooled.pool.config());
                    connection.prepared.insert(&text, id, most);
                }
            }
            After::Collation | After::Mode => {
                pooled.found_meaning(&after, exchange.value.as_deref());
            }
            After::Switches => {
                pooled.has_switches = false;
                let values = exchange.value.as_deref().unwrap_or_default();
                let (state, pin) = pooled.wanted.with_switches(&connection.baseline, values);
                if state != *pooled.wanted {
                    pooled.wanted = Arc::new(state);
                }
                connection.actual = Arc::clone(&pooled.wanted);
                if let Some(pin) = pin {
                    pooled.pin(pin);
                }
            }
            After::Ended => {
                for payload in exchange.changes() {
                    pooled.note_payload(payload);
                }
                pooled.end_characteristics(exchange.status());
                self.note_transaction(&exchange);
            }
            After::Status => {
                pooled.may_be_in_transaction = false;
                for payload in exchange.changes() {
                    pooled.note_payload(payload);
                }
                if let Some(connection) = &mut pooled.connection {
                    connection.actual = Arc::clone(&pooled.wanted);
                }
                self.note_transaction(&exchange);
            }
            After::Schema => {
                pooled.has_unreported = false;
                let value = exchange.value.as_deref();
                let schema = value.filter(|value| !value.is_empty()).map(Box::from);
                if pooled.wanted.schema() != schema.as_deref() {
                    pooled.wanted = Arc::new(pooled.wanted.with_schema(schema));
                }
                for payload in exchange.changes() {
                    pooled.note_payload(payload);
                }
                if let Some(connection) = &mut pooled.connection {
                    connection.actual = Arc::clone(&pooled.wanted);
                }
            }
            After::OwnChange => pooled.found_own_change(exchange.value.as_deref()),
            After::Forgotten => connection.last_insert_id = Some(0),
            After::InsertId => {
                let value = exchange
                    .value
                    .as_deref()
                    .and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
                if let Some(value) = value {
                    // A free connection has none: then the statement has made none, unless it was to be none.
                    if pooled.is_own_insert_id
                        || value != 0
                        || pooled.current.look.mentions(Mention::SetsLastInsertId)
                    {
                        pooled.last_insert_id = value;
                    }
                    connection.last_insert_id = Some(value);
                }
                pooled.has_insert_id = false;
            }
        }
        if let Phase::Pooled(pooled) = &mut self.phase
            && let Some(connection) = &mut pooled.connection
        {
            connection.keep_exchange(exchange);
        }
        // Where the next command waits, it goes on by itself.
        if !matches!(after, After::Reply | After::Command | After::Ended) {
            self.settle(context)?;
        }
        Ok(())
    }
}
