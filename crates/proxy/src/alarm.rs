//! A thread that others depend on and that has died: the proxy must not continue silently.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock};

use crate::lock::lock;
use crate::log::{Event, Log};

type Hook = Box<dyn Fn(&str) + Send>;

/// Rung once, by the first such thread.
#[derive(Clone)]
pub(crate) struct Alarm(Arc<Inner>);

struct Inner {
    why: OnceLock<String>,
    hook: Mutex<Option<Hook>>,
    log: Log,
}

impl Alarm {
    pub(crate) fn new(log: &Log) -> Self {
        Self(Arc::new(Inner {
            why: OnceLock::new(),
            hook: Mutex::default(),
            log: log.clone(),
        }))
    }

    /// What a thread does until it is told to end. Where it dies before, why; `ring` is to follow, when what the thread held is
    /// put in order, as the hook may ask for anything.
    pub(crate) fn watch(run: impl FnOnce() -> io::Result<()>) -> Option<String> {
        // What the thread leaves behind is dropped and never looked at again.
        Some(match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => return None,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
                (Some(text), _) => (*text).to_owned(),
                (_, Some(text)) => text.clone(),
                _ => "it panicked".to_owned(),
            },
        })
    }

    /// A thread has died.
    pub(crate) fn ring(&self, name: &str, why: &str) {
        self.0.log.event(Event::ThreadDied {
            thread: name.to_owned(),
            why: why.to_owned(),
        });
        let whole = format!("thread {name} has died: {why}");
        let hook = lock(&self.0.hook);
        if self.0.why.set(whole).is_ok()
            && let (Some(hook), Some(why)) = (&*hook, self.0.why.get())
        {
            hook(why);
        }
    }

    /// Why it was rung.
    pub(crate) fn why(&self) -> Option<&str> {
        self.0.why.get().map(String::as_str)
    }

    /// Has `hook` told; at once where it was rung already.
    pub(crate) fn on_ring(&self, hook: Hook) {
        let mut place = lock(&self.0.hook);
        if let Some(why) = self.why() {
            hook(why);
        }
        *place = Some(hook);
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Alarm").field(&self.0.why.get()).finish()
    }
}
