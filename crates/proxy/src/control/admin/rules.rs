//! Rules for statements: what they do, and which one applies.

use std::sync::atomic::Ordering::Relaxed;

use onecopy_mysql_proto::digest::Digester;

use super::statement::Question;
use super::table::Table;
use super::table::Type::{Number, Text};
use crate::control::View;
use crate::control::wording::rule_action;
use crate::pooling::look::{Reading, look};
use crate::pooling::rules::{DIGEST_BYTES, Subject};

pub(super) fn show(view: &View) -> Table {
    let mut table = Table::new([
        ("Listener", Text),
        ("Rule", Text),
        ("User", Text),
        ("Schema", Text),
        ("Starts_with", Text),
        ("Digest", Text),
        ("Action", Text),
        ("Statements", Number),
        ("Rejected", Number),
        ("Limited", Number),
    ]);
    for listener in view.listeners() {
        let Some(pool) = &listener.pool else { continue };
        for rule in pool.rules().all() {
            let config = &rule.config;
            table.row([
                listener.config.name.as_str().into(),
                config.name.as_str().into(),
                config.user.clone().into(),
                config.schema.clone().into(),
                config.starts_with.clone().into(),
                config.digest.clone().into(),
                rule_action(config).as_str().into(),
                rule.statements.load(Relaxed).into(),
                rule.rejected.load(Relaxed).into(),
                rule.limited.load(Relaxed).into(),
            ]);
        }
    }
    table
}

/// Of each rule of a listener, whether it applies to a statement; and the statement's digest.
pub(super) fn explain(view: &View, question: &Question) -> Table {
    let mut table = Table::new([
        ("Listener", Text),
        ("Rule", Text),
        ("Applies", Text),
        ("Why_not", Text),
        ("Action", Text),
        ("Only_reads", Text),
        ("Digest", Text),
    ]);
    let mut digester = Digester::new(DIGEST_BYTES);
    let reading = Reading::default();
    let subject = Subject {
        user: question.user.as_deref().unwrap_or_default().as_bytes(),
        schema: question.schema.as_deref().map(str::as_bytes),
        sql: question.sql.as_bytes(),
        reading,
    };
    let only_reads = look(subject.sql, reading).only_reads();
    let only_reads = if only_reads { "yes" } else { "no" };
    for listener in view.listeners() {
        let name = &listener.config.name;
        let is_asked_for = question.listener.as_ref().is_none_or(|asked| asked == name);
        let Some(pool) = listener.pool.as_ref().filter(|_| is_asked_for) else {
            continue;
        };
        let mut is_taken = false;
        for (rule, mismatch) in pool.rules().explain(subject, &mut digester) {
            let applies = mismatch.is_none() && !is_taken;
            let why_not = match (applies, mismatch) {
                (true, _) => None,
                (false, None) => Some("an earlier rule applies".to_owned()),
                (false, Some(mismatch)) => Some(format!("{} differs", mismatch.name())),
            };
            is_taken |= applies;
            table.row([
                name.as_str().into(),
                rule.config.name.as_str().into(),
                if applies { "yes" } else { "no" }.into(),
                why_not.into(),
                rule_action(&rule.config).as_str().into(),
                only_reads.into(),
                digester.text().into(),
            ]);
        }
    }
    table
}
