//! Whether the proxy is alive, healthy and ready: what `/live`, `/health` and `/ready` say.

use std::sync::Arc;

use super::View;
use crate::listener::Listener;

/// What is said of the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    Fine,
    /// It works, and somebody should look.
    Warned(String),
    /// And why not.
    Not(&'static str),
}

/// Whether the process is intact. Backends and drains don't matter: restarting the proxy would not help there.
pub(super) fn live(view: &View) -> Condition {
    match view.failure() {
        Some(_) => Condition::Not("a thread of the proxy has died"),
        None => Condition::Fine,
    }
}

/// Whether new sessions can be served at all.
pub(super) fn health(view: &View) -> Condition {
    if let not @ Condition::Not(_) = live(view) {
        return not;
    }
    if view.is_draining() {
        return Condition::Not("draining");
    }
    if !view.backends().iter().any(|(_, backend)| backend.is_up()) {
        return Condition::Not("no backend is up");
    }
    let mut listeners = view.listeners().into_iter();
    if !listeners.any(|listener| listener.backends.serve()) {
        return Condition::Not("no backend is up and eligible by its role");
    }
    let backends = view.backends();
    let mut second = backends.iter().filter(|(_, backend)| backend.is_second());
    if let Some((listener, backend)) = second.next() {
        let name = backend.name();
        return Condition::Warned(format!(
            "backend '{name}' of listener '{listener}' takes writes while another one is the primary"
        ));
    }
    Condition::Fine
}

/// Whether new sessions can be served on every listener.
pub(super) fn ready(view: &View) -> Condition {
    let has_backend = |listener: &Arc<Listener>| listener.backends.serve();
    match health(view) {
        Condition::Fine | Condition::Warned(_) if !view.listeners().iter().all(has_backend) => {
            Condition::Not("a listener has no backend that is up and eligible by its role")
        }
        condition => condition,
    }
}
