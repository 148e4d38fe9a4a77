//! What the audit log has of sessions: their logins and their ends.

use std::sync::Arc;

use crate::failure::Reason;
use crate::session::{Context, End, Phase, Session};
use crate::statement_log::{Event, Login, Logout, Who};
use crate::stats::Taken;

impl Session {
    /// Who it is, for its lines.
    pub(super) fn logged_who(&mut self) -> Arc<Who> {
        if let Some(who) = self.counted.logged().and_then(|logged| logged.who.clone()) {
            return who;
        }
        let who = self.who();
        if let Some(logged) = self.counted.logged() {
            logged.who = Some(Arc::clone(&who));
        }
        who
    }

    fn who(&self) -> Arc<Who> {
        Arc::new(Who {
            listener: self.listener.config.name.clone(),
            user: self.user.clone(),
            client: self.address.to_string(),
            session: self.connection_id(),
        })
    }

    /// The client is in, or is somebody else from now on. `database`: the one that it has asked for.
    #[cold]
    pub(in crate::session) fn log_login(
        &mut self,
        database: Option<Box<[u8]>>,
        is_change: bool,
        context: &mut Context<'_>,
    ) {
        if let Some(logged) = self.counted.logged() {
            logged.who = None;
        }
        let logs = &context.digests.logs;
        if let Some(watched) = logs.of_logins(&self.user) {
            let login = Login {
                backend: self.backend_name().to_owned(),
                database: database.clone(),
                is_tls: self.client.stream.is_tls(),
                is_change,
                refused: None,
                error: 0,
            };
            watched.audit(self.who(), Event::Login(login));
        }
        if logs.has_statements() && matches!(self.phase, Phase::Transit) {
            self.counted.log().database = database;
        }
    }

    /// A change of user was refused: the session ends by that, or is the same user's as before.
    #[cold]
    pub(in crate::session) fn log_refused_change(&self, user: &[u8], context: &Context<'_>) {
        let Some(watched) = context.digests.logs.of_logins(user) else {
            return;
        };
        let who = Who {
            listener: self.listener.config.name.clone(),
            user: user.into(),
            client: self.address.to_string(),
            session: self.connection_id(),
        };
        let login = Login {
            backend: self.backend_name().to_owned(),
            is_tls: self.client.stream.is_tls(),
            is_change: true,
            refused: Some(Reason::Refused.name()),
            error: self.relay.error_sent().map_or(0, |(code, _)| code),
            ..Login::default()
        };
        watched.audit(Arc::new(who), Event::Login(login));
    }

    /// The session ends. `code`: the error that the client is told; 0 where it is told none.
    #[cold]
    pub(in crate::session) fn log_end(&mut self, end: &End, code: u16, context: &mut Context<'_>) {
        self.log_unanswered(context);
        let Some(watched) = context.digests.logs.of_logins(&self.user) else {
            return;
        };
        let reason = match end {
            End::Clean => None,
            End::Failed(failure) => Some(failure.reason.name()),
            End::Told(reason) => Some(reason.name()),
        };
        let backend = self.backend_name().to_owned();
        let event = match &self.phase {
            Phase::Farewell(_) => return,
            Phase::Transit | Phase::Pooled(_) => {
                let age = context.now.saturating_duration_since(self.began);
                Event::Logout(Logout {
                    backend,
                    reason,
                    duration_us: Taken::from(age).micros,
                    commands: self.relay.commands(),
                })
            }
            // One that said nothing of who it is is a check of a balancer.
            _ if self.user.is_empty() => return,
            Phase::Login(_) | Phase::PooledLogin(_) => Event::Login(Login {
                backend,
                is_tls: self.client.stream.is_tls(),
                refused: reason.or(Some("client_left")),
                error: code,
                ..Login::default()
            }),
        };
        watched.audit(self.who(), event);
    }
}
