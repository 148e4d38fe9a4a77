//! Threads that watch what changes by itself: files of certificates, names' addresses; and the clock of a drain.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use onecopy_net::{Endpoint, TlsAcceptor, TlsCache, TlsConnector, TlsError};

use crate::config::{Config, LogLevel};
use crate::lock::lock;
use crate::resolve::resolve;
use crate::running::Running;

/// How often a thread looks whether it is to watch at all.
const OFF: Duration = Duration::from_secs(1);

/// The threads.
#[derive(Debug)]
pub(crate) struct Watch {
    running: Arc<Running>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts them.
    pub(crate) fn start(running: &Arc<Running>) -> io::Result<Self> {
        let (sender, closings) = channel();
        *lock(&running.closings) = Some(sender);
        let watched = Arc::clone(running);
        let thread = std::thread::Builder::new()
            .name("watch".into())
            .spawn(move || watch_files(&watched, &closings))?;
        // A look-up may take as long as the system's resolver lets it: this thread is not waited for at the end.
        let watched = Arc::downgrade(running);
        std::thread::Builder::new()
            .name("look-up".into())
            .spawn(move || look_up(&watched))?;
        Ok(Self {
            running: Arc::clone(running),
            thread: Some(thread),
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        *lock(&self.running.closings) = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Looks at the files now and then, until nobody could say when to close any more.
fn watch_files(running: &Running, closings: &Receiver<Instant>) {
    let mut close_at: Option<Instant> = None;
    let mut said = String::new();
    loop {
        let interval = running.in_force().config.certificate_interval;
        let pause = interval.unwrap_or(OFF);
        let until_close =
            close_at.map(|when: Instant| when.saturating_duration_since(Instant::now()));
        let pause = until_close.map_or(pause, |close| close.min(pause));
        match closings.recv_timeout(pause) {
            Ok(when) => close_at = Some(close_at.map_or(when, |before| before.min(when))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if close_at.is_some_and(|when| Instant::now() >= when) {
            close_at = None;
            running.close();
        }
        if interval.is_none() || running.is_draining() {
            continue;
        }
        let problem = match renewed(&running.in_force().config) {
            Ok(None) => String::new(),
            Ok(Some(config)) => match running.install(config) {
                Ok(changes) => {
                    for line in changes.lines() {
                        running.tell(LogLevel::Info, line);
                    }
                    String::new()
                }
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        // Once, not every few seconds: the certificates that are there continue.
        if problem != said && !problem.is_empty() {
            let line = format!("certificates can't be reloaded: {problem}");
            running.tell(LogLevel::Warn, &line);
        }
        said = problem;
    }
}

/// The same configuration with TLS made again where files have changed; `None` where none has.
fn renewed(config: &Config) -> Result<Option<Config>, TlsError> {
    let mut new = None;
    for (l, listener) in config.listeners.iter().enumerate() {
        if let Some(tls) = listener.tls.as_ref().filter(|tls| tls.is_stale()) {
            let tls = TlsAcceptor::new(tls.options())?;
            new.get_or_insert_with(|| config.clone()).listeners[l].tls = Some(tls);
        }
        for (b, backend) in listener.backends.iter().enumerate() {
            if let Some(tls) = backend.tls.as_ref().filter(|tls| tls.is_stale()) {
                let name = tls.server_name();
                let tls = TlsConnector::new(tls.options(), &name, &TlsCache::default())?;
                let new = new.get_or_insert_with(|| config.clone());
                new.listeners[l].backends[b].tls = Some(tls);
            }
        }
    }
    Ok(new)
}

/// Looks names up again now and then, for as long as there is a proxy.
fn look_up(running: &Weak<Running>) {
    let mut next = None;
    loop {
        std::thread::sleep(OFF);
        let Some(running) = running.upgrade() else {
            return;
        };
        let now = running.in_force();
        let Some(interval) = now.config.dns_interval else {
            next = None;
            continue;
        };
        if is_due(&mut next, Instant::now(), interval) {
            look_all_up(&running);
            next = Some(Instant::now() + interval);
        }
    }
}

/// Whether it is time for a look; the first one comes an interval after the first question.
fn is_due(next: &mut Option<Instant>, now: Instant, interval: Duration) -> bool {
    now >= *next.get_or_insert(now + interval)
}

/// Looks all names up; those that are not found stay where they are.
fn look_all_up(running: &Running) {
    let now = running.in_force();
    let all = now.listeners.iter();
    for backend in all.flat_map(|listener| listener.backends.all()) {
        let Endpoint::Tcp { host, .. } = &backend.config.endpoint else {
            continue;
        };
        if host.parse::<std::net::IpAddr>().is_ok() {
            continue;
        }
        let Ok(found) = resolve(&backend.config.endpoint) else {
            continue;
        };
        if let Some(change) = backend.move_to(&found) {
            running.tell(LogLevel::Info, &change);
            running.watch_commands();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_looked_up_an_interval_after_the_start_and_not_before() {
        let (start, interval) = (Instant::now(), Duration::from_secs(30));
        let mut next = None;
        assert!(!is_due(&mut next, start, interval));
        assert!(!is_due(&mut next, start + interval / 2, interval));
        assert!(is_due(&mut next, start + interval, interval));
    }
}
