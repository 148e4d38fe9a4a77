//! Callers that walk away and time out under load, with connections that are cut: nobody gets another's reply.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use onecopy_valkey::aio::Shared;
use onecopy_valkey::raw;

use crate::common::{Random, connect_with, count, options, until, url};
use crate::relay::Relay;

const TASKS: usize = 64;

#[derive(Default)]
struct Tally {
    answered: AtomicUsize,
    dropped: AtomicUsize,
    timed_out: AtomicUsize,
    lost: AtomicUsize,
}

/// Polls at most `polls` times; `None` when that was not enough.
async fn polled<F: Future>(work: F, mut polls: u64) -> Option<F::Output> {
    let mut work = std::pin::pin!(work);
    poll_fn(|context| {
        if polls == 0 {
            return Poll::Ready(None);
        }
        polls -= 1;
        match work.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending if polls == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// A text that no other operation has, of a length that is now and then large.
fn unique(task: usize, round: usize, random: &mut Random) -> String {
    let len = match random.below(100) {
        0 => 100_000,
        1..5 => 20_000,
        _ => random.below(1_000),
    };
    let mut text = format!("{task}:{round}:");
    text.extend(std::iter::repeat_n('x', usize::try_from(len).unwrap()));
    text
}

async fn single(shared: &Shared, text: &str) -> Result<(), onecopy_valkey::Error> {
    let response = shared.run(&raw("ECHO").arg(text)).await?;
    assert!(response.reply().as_str() == Some(text), "another's reply");
    Ok(())
}

async fn group(shared: &Shared, text: &str) -> Result<(), onecopy_valkey::Error> {
    let mut pipeline = shared.pipeline();
    for part in 0..3 {
        pipeline.push(&raw("ECHO").arg(format!("{part}{text}")))?;
    }
    let replies = pipeline.run().await?;
    assert_eq!(replies.len(), 3);
    for (part, reply) in replies.iter().enumerate() {
        assert!(
            reply.as_str() == Some(&*format!("{part}{text}")),
            "another's reply"
        );
    }
    Ok(())
}

async fn operate(shared: Shared, task: usize, rounds: usize, tally: Arc<Tally>) {
    let mut random = Random::new(task as u64 + 1);
    for round in 0..rounds {
        let text = unique(task, round, &mut random);
        let work = async {
            if random.below(10) == 0 {
                group(&shared, &text).await
            } else {
                single(&shared, &text).await
            }
        };
        let done = match (task + round) % 4 {
            0 => polled(work, 1 + (round as u64 / 4) % 3).await,
            1 => {
                let limit = Duration::from_micros(50 * (round as u64 % 40));
                tokio::time::timeout(limit, work).await.ok()
            }
            _ => Some(work.await),
        };
        let counter = match done {
            None => &tally.dropped,
            Some(Ok(())) => &tally.answered,
            Some(Err(error)) if error.is_timeout() => &tally.timed_out,
            Some(Err(error)) => {
                assert!(error.is_closed() || error.is_offline(), "{error}");
                &tally.lost
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

async fn run(operations: usize, cuts: bool) {
    let relay = Relay::to(&url());
    let mut config = relay.config();
    config.command_timeout = Some(Duration::from_millis(if cuts { 40 } else { 2_000 }));
    let options = options(|options| {
        options.max_in_flight = 48;
        options.max_unsent_bytes = 64 << 10;
        options.backoff.base = Duration::from_millis(5);
        options.backoff.cap = Duration::from_millis(20);
    });
    let shared = connect_with(&config, options).await;
    let tally = Arc::<Tally>::default();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (shared, tally) = (shared.clone(), Arc::clone(&tally));
            tokio::spawn(operate(shared, task, operations / TASKS, tally))
        })
        .collect();
    let all = async {
        for task in tasks {
            task.await.unwrap();
        }
    };
    tokio::pin!(all);
    let mut random = Random::new(99);
    loop {
        let pause = Duration::from_millis(50 + random.below(100));
        tokio::select! {
            () = &mut all => break,
            () = tokio::time::sleep(pause), if cuts => match random.below(3) {
                0 => relay.cut(),
                _ => {
                    // Longer than a command waits: those that are sent now come late.
                    relay.hold();
                    tokio::time::sleep(Duration::from_millis(60)).await;
                    relay.release();
                }
            },
        }
    }
    let load = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    eprintln!(
        "{} answered, {} dropped, {} timed out, {} lost, {} connections",
        load(&tally.answered),
        load(&tally.dropped),
        load(&tally.timed_out),
        load(&tally.lost),
        relay.accepted()
    );
    assert!(load(&tally.dropped) > operations / 100);
    // How many of those are answered in time that have 40 ms depends on the machine.
    if cuts {
        let all = [&tally.answered, &tally.timed_out, &tally.lost];
        assert!(all.into_iter().all(|count| load(count) > 0));
    } else {
        assert!(load(&tally.answered) > operations / 4);
    }
    // What was left behind is answered too, to nobody.
    until(|| async { shared.load() == (0, 0) }).await;
    single(&shared, "the end").await.unwrap();
}

#[tokio::test]
async fn random_drops_under_load_give_nobody_another_reply() {
    run(count(100_000, 1_000_000), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_drops_timeouts_and_cuts_under_load_give_nobody_another_reply() {
    run(count(50_000, 1_000_000), true).await;
}

#[tokio::test]
async fn a_large_reply_that_nobody_waits_for_takes_no_memory() {
    const LEN: usize = 32 << 20;
    let relay = Relay::to(&url());
    let shared = connect_with(&relay.config(), options(|_| {})).await;
    let key = "nobody_waits";
    let fill = raw("SETRANGE").arg(key).arg(LEN as u64 - 1).arg("x");
    shared.run(&fill).await.unwrap();
    for _ in 0..3 {
        relay.hold();
        let came = relay.came();
        let get = tokio::spawn({
            let shared = shared.clone();
            async move { shared.run(&raw("GET").arg(key)).await.map(drop) }
        });
        until(|| async { relay.came() > came }).await;
        get.abort();
        assert!(get.await.unwrap_err().is_cancelled());
        relay.release();
        single(&shared, "behind it").await.unwrap();
    }
    let meter = shared.meter();
    assert!(meter.bytes_read > 3 * LEN as u64);
    assert!(meter.peak_capacity < 2 << 20, "{meter:?}");
    assert_eq!(shared.load(), (0, 0));
    shared.run(&raw("DEL").arg(key)).await.unwrap();
}
