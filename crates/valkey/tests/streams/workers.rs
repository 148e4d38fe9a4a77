//! Workers of a group whose connections are closed, whose futures are dropped and which crash: every entry is processed, and none is
//! acknowledged that was not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onecopy_testkit::valkey::Server;
use onecopy_valkey::blocking::Connection;
use onecopy_valkey::command::stream;
use onecopy_valkey::streams::{ConsumerOptions, EntryId};
use onecopy_valkey::{Error, aio, blocking, raw};
use tokio::time::timeout;

use crate::common::{Random, count, seed};

const KEY: &str = "stream";
const WORKERS: usize = 4;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// What all workers have done: how often each entry was processed.
struct Work {
    processed: Vec<AtomicU32>,
    /// Entries that were processed at least once.
    done: AtomicUsize,
    crashes: AtomicUsize,
    is_over: AtomicBool,
}

impl Work {
    fn new(entries: usize) -> Arc<Self> {
        Arc::new(Self {
            processed: (0..entries).map(|_| AtomicU32::new(0)).collect(),
            done: AtomicUsize::new(0),
            crashes: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        })
    }

    /// Processes an entry, whose field `n` is its number.
    fn process(&self, n: &[u8]) {
        let n: usize = std::str::from_utf8(n).unwrap().parse().unwrap();
        if self.processed[n].fetch_add(1, Ordering::Relaxed) == 0 {
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

fn options(name: String, random: &mut Random) -> ConsumerOptions {
    let mut options = ConsumerOptions::new(KEY, "group", name);
    options.batch = 1 + usize::try_from(random.below(100)).unwrap();
    options.ack_batch = 1 + usize::try_from(random.below(20)).unwrap();
    options.claim_min_idle = Some(Duration::from_millis(200));
    options.claim_interval = Duration::from_millis(100);
    options.block = Duration::from_millis(50);
    options.backoff.base = Duration::from_millis(5);
    options.backoff.cap = Duration::from_millis(50);
    options
}

fn add(conn: &mut Connection, entries: std::ops::Range<usize>) {
    let mut refused = 0;
    let mut pipe = conn
        .pipe(|reply| refused += u32::from(reply.as_error().is_some()))
        .unwrap();
    for n in entries {
        pipe.push(&stream::xadd(KEY, "*", ("n", n))).unwrap();
    }
    pipe.finish().unwrap();
    assert_eq!(refused, 0);
}

/// Adds the entries, closes connections, and waits until all is processed and acknowledged.
fn disturb(url: &str, work: &Work) {
    // A killer must not be killed: it is another user's connection.
    let mut admin = Connection::connect(url).unwrap();
    let half = work.processed.len() / 2;
    add(&mut admin, 0..half);
    add(&mut admin, half..work.processed.len());
    let begun = Instant::now();
    let mut kills = 0;
    loop {
        let done = work.done.load(Ordering::Relaxed);
        let (pending, ..) = admin.run(&stream::xpending(KEY, "group")).unwrap();
        if done == work.processed.len() && pending == 0 {
            break;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{done} processed, {pending} pending"
        );
        if done < work.processed.len() {
            let kill = raw("CLIENT").args(["KILL", "TYPE", "normal", "SKIPME", "yes"]);
            kills += admin.run(&kill).unwrap().as_i64().unwrap();
        }
        thread::sleep(Duration::from_millis(15));
    }
    work.is_over.store(true, Ordering::Relaxed);
    let times: u32 = work
        .processed
        .iter()
        .map(|times| times.load(Ordering::Relaxed))
        .sum();
    let crashes = work.crashes.load(Ordering::Relaxed);
    println!(
        "{done} entries were processed {times} times, {kills} connections closed, {crashes} crashes, {:?}",
        begun.elapsed(),
        done = work.processed.len(),
    );
    assert!(kills > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_process_every_entry_at_least_once() {
    let server = Server::start().unwrap();
    let work = Work::new(count(10_000, 1_000_000));
    let seed = seed();
    let mut tasks = Vec::new();
    // The group is there before the first entry is looked at.
    let made = ConsumerOptions::new(KEY, "group", "maker");
    drop(aio::Consumer::connect(&server.url(), made).await.unwrap());
    for task in 0..WORKERS {
        let random = Random::new((seed + task as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        tasks.push(tokio::spawn(task_of(
            server.url(),
            task,
            random,
            Arc::clone(&work),
        )));
    }
    let (url, disturbed) = (server.url(), Arc::clone(&work));
    let disturbing = tokio::task::spawn_blocking(move || disturb(&url, &disturbed));
    disturbing.await.unwrap();
    for task in tasks {
        task.await.unwrap();
    }
}

/// A worker, which begins anew under another name when it crashes.
async fn task_of(url: String, task: usize, mut random: Random, work: Arc<Work>) {
    for life in 0.. {
        if work.is_over() {
            return;
        }
        let options = options(format!("{task}-{life}"), &mut random);
        let Ok(consumer) = aio::Consumer::connect(&url, options).await else {
            continue; // closed in the middle of the handshake
        };
        match life_of(consumer, &mut random, &work).await {
            Ok(()) => {
                work.crashes.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Until it crashes, or all is over.
async fn life_of(
    mut consumer: aio::Consumer,
    random: &mut Random,
    work: &Work,
) -> Result<(), Error> {
    while !work.is_over() {
        if random.below(2_000) == 0 {
            return Ok(()); // without its acknowledgements
        }
        let wait = match random.below(4) {
            0 => Duration::from_micros(random.below(500)),
            _ => Duration::from_millis(100),
        };
        let id = match timeout(wait, consumer.next()).await {
            Err(_) => continue,
            Ok(entry) => {
                let entry = entry?;
                work.process(entry.get("n").unwrap());
                entry.id
            }
        };
        let wait = Duration::from_micros(random.below(300));
        match random.below(50) {
            0 => drop(consumer.release(id)),
            1 => drop(timeout(wait, consumer.ack(id)).await),
            _ => consumer.ack(id).await?,
        }
    }
    consumer.close().await
}

#[test]
fn threads_process_every_entry_at_least_once() {
    let server = Server::start().unwrap();
    let work = Work::new(count(3_000, 100_000));
    let seed = seed();
    let made = ConsumerOptions::new(KEY, "group", "maker");
    drop(blocking::Consumer::connect(&server.url(), made).unwrap());
    let threads: Vec<_> = (0..WORKERS)
        .map(|number| {
            let mut random =
                Random::new((seed + number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let (url, work) = (server.url(), Arc::clone(&work));
            thread::spawn(move || {
                for life in 0.. {
                    if work.is_over() {
                        return;
                    }
                    let options = options(format!("{number}-{life}"), &mut random);
                    if let Ok(consumer) = blocking::Consumer::connect(&url, options) {
                        live(consumer, &mut random, &work).unwrap();
                        work.crashes.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    disturb(&server.url(), &work);
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Until it crashes, or all is over.
fn live(mut consumer: blocking::Consumer, random: &mut Random, work: &Work) -> Result<(), Error> {
    while !work.is_over() {
        if random.below(1_000) == 0 {
            return Ok(());
        }
        let wait = Duration::from_millis(random.below(50));
        let id: EntryId = match consumer.next_timeout(wait)? {
            None => continue,
            Some(entry) => {
                work.process(entry.get("n").unwrap());
                entry.id
            }
        };
        match random.below(50) {
            0 => drop(consumer.release(id)),
            _ => consumer.ack(id)?,
        }
    }
    consumer.close()
}
