//! The thread that makes what clients ask for.
//!
//! It asks the workers, which may take a while, and makes each thing once for all who wait for it: a page of metrics for all requests
//! that had come when it was begun, an event a second for all who watch the same page. Without clients it sleeps.

use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use tokio::sync::{oneshot, watch};

use super::client_list::{Commands, Filter, Session, Sessions};
use super::html::{self, Html};
use super::now::Now;
use super::sample::{History, INTERVAL, Sample};
use super::table::Shown;
use super::{overview, session_page};
use crate::control::{View, metrics, spawn};

/// How long a sample is good for other requests than those that it was taken for: no number of requests asks the workers more often.
const FRESH: Duration = Duration::from_millis(100);

/// How long samples are taken after the last request for a page: a page without the script asks again every five seconds.
const INTEREST: Duration = Duration::from_secs(15);

/// What a page or its JSON is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Topic {
    Overview,
    Sessions(Filter),
    Session { listener: String, id: u32 },
}

/// What is asked for.
enum Order {
    /// The page of metrics.
    Metrics(oneshot::Sender<Bytes>),
    /// A topic as JSON; `None` if there is no such thing.
    Json(Topic, oneshot::Sender<Option<Bytes>>),
    Page(Topic, bool, oneshot::Sender<Page>),
    /// The events of a topic.
    Watch(Topic, bool, oneshot::Sender<watch::Receiver<Bytes>>),
}

/// What a page has that is the same for all who look at it.
pub(super) struct Page {
    pub(super) shown: Shown,
    pub(super) content: Html,
    /// Whether there is such a thing.
    pub(super) is_found: bool,
}

/// Who has it made. Clones are the same one, and the thread ends when the last one is dropped.
#[derive(Clone)]
pub(super) struct Maker(Sender<Order>);

impl Maker {
    /// Starts the thread.
    pub(super) fn start(view: &Arc<View>) -> io::Result<Self> {
        let (orders, inbox) = channel();
        let view = Arc::clone(view);
        spawn("web-maker", move || {
            let mut thread = Thread {
                view: &view,
                history: History::default(),
                watched: HashMap::new(),
                wanted_until: None,
                last: None,
                recent: None,
            };
            thread.run(&inbox);
        })?;
        Ok(Self(orders))
    }

    async fn ask<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.0.send(order(reply)).ok()?;
        answer.await.ok()
    }

    /// `None` if the thread has died.
    pub(super) async fn metrics(&self) -> Option<Bytes> {
        self.ask(Order::Metrics).await
    }

    /// The same; within it `None` if there is no such thing.
    pub(super) async fn json(&self, topic: Topic) -> Option<Option<Bytes>> {
        self.ask(|reply| Order::Json(topic, reply)).await
    }

    pub(super) async fn page(&self, topic: Topic, has_actions: bool) -> Option<Page> {
        self.ask(|reply| Order::Page(topic, has_actions, reply))
            .await
    }

    pub(super) async fn watch(
        &self,
        topic: Topic,
        has_actions: bool,
    ) -> Option<watch::Receiver<Bytes>> {
        self.ask(|reply| Order::Watch(topic, has_actions, reply))
            .await
    }
}

/// The thread.
struct Thread<'v> {
    view: &'v View,
    history: History,
    /// Events by topic, and whether they have links to actions.
    watched: HashMap<(Topic, bool), watch::Sender<Bytes>>,
    /// Until when samples are taken although nobody watches.
    wanted_until: Option<Instant>,
    /// When the last sample was taken for those who watch.
    last: Option<Instant>,
    /// The last sample that was taken for requests.
    recent: Option<Rc<Sample>>,
}

impl Thread<'_> {
    fn run(&mut self, inbox: &Receiver<Order>) {
        loop {
            let order = match self.next() {
                Some(next) => inbox.recv_timeout(next.saturating_duration_since(Instant::now())),
                None => {
                    // It may have 100,000 clients.
                    self.recent = None;
                    inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
                }
            };
            match order {
                Ok(order) => self.answer(order, inbox),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.next().is_some_and(|next| Instant::now() >= next) {
                self.tick();
            }
        }
    }

    /// When the next sample is taken, if one is.
    fn next(&self) -> Option<Instant> {
        let now = Instant::now();
        let is_wanted = self.wanted_until.is_some_and(|until| now < until);
        (is_wanted || !self.watched.is_empty())
            .then(|| self.last.map_or(now, |last| last + INTERVAL))
    }

    /// Answers all that has come.
    fn answer(&mut self, first: Order, inbox: &Receiver<Order>) {
        let orders: Vec<_> = std::iter::once(first).chain(inbox.try_iter()).collect();
        let mut text: Option<Bytes> = None;
        for order in orders {
            let topic = match &order {
                Order::Metrics(_) => None,
                Order::Json(topic, _) | Order::Page(topic, ..) | Order::Watch(topic, ..) => {
                    Some(topic)
                }
            };
            let sample = topic.map(|topic| self.sample(*topic != Topic::Overview));
            // Who asked may have gone.
            match (order, &sample) {
                (Order::Metrics(reply), _) => {
                    let text = text.get_or_insert_with(|| metrics::text(self.view).into());
                    let _ = reply.send(text.clone());
                }
                (Order::Json(topic, reply), Some(sample)) => {
                    let _ = reply.send(self.json(&topic, sample));
                }
                (Order::Page(topic, has_actions, reply), Some(sample)) => {
                    let _ = reply.send(self.page(&topic, has_actions, sample));
                }
                (Order::Watch(topic, has_actions, reply), Some(sample)) => {
                    let key = (topic, has_actions);
                    let events = self.watched.get(&key).map(watch::Sender::subscribe);
                    let events = events.unwrap_or_else(|| {
                        let first = event(&self.shown(&key.0, has_actions, sample).0);
                        let (sender, events) = watch::channel(first);
                        self.watched.insert(key, sender);
                        events
                    });
                    let _ = reply.send(events);
                }
                (_, None) => {}
            }
        }
    }

    /// One that is fresh.
    fn sample(&mut self, has_clients: bool) -> Rc<Sample> {
        self.wanted_until = Some(Instant::now() + INTEREST);
        let is_fit = |sample: &&Rc<Sample>| {
            sample.at.elapsed() <= FRESH && (sample.has_clients || !has_clients)
        };
        if let Some(recent) = self.recent.as_ref().filter(is_fit) {
            return Rc::clone(recent);
        }
        let sample = Rc::new(Sample::take(self.view, has_clients));
        self.history.keep(&sample);
        self.recent = Some(Rc::clone(&sample));
        sample
    }

    /// Makes an event for each topic that is watched.
    fn tick(&mut self) {
        self.watched.retain(|_, events| events.receiver_count() > 0);
        self.last = Some(Instant::now());
        self.recent = None;
        if self.next().is_none() {
            return;
        }
        let mut topics = self.watched.keys();
        let has_clients = topics.any(|(topic, _)| *topic != Topic::Overview);
        let sample = Sample::take(self.view, has_clients);
        for ((topic, has_actions), events) in &self.watched {
            events.send_replace(event(&self.shown(topic, *has_actions, &sample).0));
        }
        self.history.keep(&sample);
    }

    fn now(&self, sample: &Sample) -> Now {
        Now::new(self.view, sample, &self.history)
    }

    fn before(&self, sample: &Sample) -> Option<&Commands> {
        self.history.commands(sample.at)
    }

    fn json(&self, topic: &Topic, sample: &Sample) -> Option<Bytes> {
        let before = self.before(sample);
        let json = match topic {
            Topic::Overview => serde_json::to_vec(&self.now(sample)),
            Topic::Sessions(filter) => serde_json::to_vec(&Sessions::new(sample, before, filter)),
            Topic::Session { listener, id } => {
                let session = Session::find(sample, before, listener, *id)?;
                serde_json::to_vec(&session)
            }
        };
        // Of structs and strings alone, which all can be written.
        json.ok().map(Bytes::from)
    }

    /// What is shown of a topic, and whether there is such a thing.
    fn shown(&self, topic: &Topic, has_actions: bool, sample: &Sample) -> (Shown, bool) {
        let now = self.now(sample);
        match topic {
            Topic::Overview => (overview::shown(&now, &self.history, has_actions), true),
            Topic::Sessions(filter) => {
                let sessions = Sessions::new(sample, self.before(sample), filter);
                (session_page::list(&now, &sessions), true)
            }
            Topic::Session { listener, id } => {
                let before = self.before(sample);
                let session = Session::find(sample, before, listener, *id);
                let shown = session_page::one(&now, session.as_ref(), has_actions);
                (shown, session.is_some())
            }
        }
    }

    fn page(&self, topic: &Topic, has_actions: bool, sample: &Sample) -> Page {
        let (shown, is_found) = self.shown(topic, has_actions, sample);
        let mut content = Html::default();
        if let Topic::Sessions(filter) = topic {
            content.html(&session_page::form(self.view, filter));
        }
        content.html(&html::content(&shown));
        Page {
            shown,
            content,
            is_found,
        }
    }
}

/// One event of a stream. JSON has no line ends of its own.
fn event(shown: &Shown) -> Bytes {
    let mut event = b"data: ".to_vec();
    // Of structs and strings alone, which all can be written.
    if serde_json::to_writer(&mut event, shown).is_err() {
        event.truncate(b"data: ".len());
    }
    event.extend_from_slice(b"\n\n");
    event.into()
}
