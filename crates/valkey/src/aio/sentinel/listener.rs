//! The task that hears of new primaries: subscribed on one sentinel, and on another when that one fails.

use std::sync::Arc;
use std::time::Duration;

use super::inner::Inner;
use crate::aio::race::{First, first};
use crate::aio::{Subscriber, clock};
use crate::backoff::Pauses;
use crate::cluster::NodeAddress;
use crate::pubsub::{Delivery, SubscriberOptions};
use crate::sentinel::{Query, Switch};
use crate::{Backoff, Error};

/// A sentinel that has listened for so long was a good one: the next pause is a short one.
const GOOD: Duration = Duration::from_secs(10);

/// Runs until the handle is closed.
pub(super) async fn run(inner: Arc<Inner>) {
    let mut pauses = Pauses::new(Backoff::default());
    while !inner.is_closed() {
        let begun = clock::now();
        let Some(sentinel) = inner.sentinels().into_iter().next() else {
            return; // there is at least one
        };
        let listened = first(listen(&inner, &sentinel), inner.closing.notified()).await;
        match listened {
            First::One(Err(_)) => inner.misled(&sentinel),
            First::One(Ok(never)) => match never {},
            First::Other(()) => return,
        }
        if clock::now() >= begun + GOOD {
            pauses.reset();
        }
        let pause = tokio::time::sleep(pauses.next());
        if let First::Other(()) = first(pause, inner.closing.notified()).await {
            return;
        }
    }
}

enum Never {}

/// Listens on one sentinel until that fails.
async fn listen(inner: &Inner, sentinel: &NodeAddress) -> Result<Never, Error> {
    let config = &inner.config;
    let asked = Query::new(sentinel, &config.name, false).config(&config.sentinel);
    let options = SubscriberOptions {
        // Another sentinel may be well.
        max_attempts: Some(1),
        ..SubscriberOptions::default()
    };
    let mut subscriber = Subscriber::connect_with(&asked, &options).await?;
    subscriber.subscribe(Switch::CHANNEL).await?;
    // What was announced before is not heard.
    inner.want();
    loop {
        match subscriber.next().await? {
            Delivery::Message(message) => {
                if let Some(switch) = Switch::of(message.payload(), &config.name) {
                    inner.switched(&switch);
                }
            }
            Delivery::Gap(_) => return Err(Error::closed("the sentinel's connection was lost")),
        }
    }
}
