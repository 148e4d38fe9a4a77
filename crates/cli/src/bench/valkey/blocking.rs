//! The requests through the blocking API, a thread for each connection.

use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use onecopy_valkey::blocking::Connection;
use onecopy_valkey::{Config, Meter};

use super::latency::{Latency, Recorder};
use super::plan::{Names, Plan};
use super::workload::{self, Request, Visitor};
use super::{Done, Outcome, Stretch, server};
use crate::bench::failure::Failure;

pub(super) fn run(config: &Config, plan: Plan) -> Result<Outcome, Failure> {
    let connections = (0..plan.clients)
        .map(|_| Connection::connect_with(config))
        .collect::<Result<Vec<_>, _>>()?;
    let version = connections.first().map(|conn| server(conn.session()));
    let stretch = Stretch::start();
    let done = by_threads(&plan, connections, &stretch.latency)?;
    Ok(stretch.end("blocking", version.unwrap_or_default(), plan, &done))
}

/// What a thread came to.
pub(super) fn joined(thread: ScopedJoinHandle<'_, Result<Done, Failure>>) -> Result<Done, Failure> {
    thread
        .join()
        .unwrap_or_else(|_| Err(Failure::said("a thread of the benchmark panicked")))
}

/// What one client sends its requests through.
pub(super) trait Client: Send {
    /// Of all of its connections.
    fn meter(&mut self) -> Meter;

    /// One request; gives the number of misses.
    fn single<R: Request>(&mut self, names: &mut Names, request: &R) -> Result<u64, Failure>;

    /// So many at once.
    fn batch<R: Request>(
        &mut self,
        count: u64,
        names: &mut Names,
        request: &R,
    ) -> Result<u64, Failure>;
}

/// Has a thread for each client do its requests.
pub(super) fn by_threads<C: Client>(
    plan: &Plan,
    clients: Vec<C>,
    latency: &Latency,
) -> Result<Vec<Done>, Failure> {
    let all = All {
        plan,
        clients,
        latency,
    };
    workload::visit(plan, all)
}

struct All<'p, C> {
    plan: &'p Plan,
    clients: Vec<C>,
    latency: &'p Latency,
}

impl<C: Client> Visitor for All<'_, C> {
    type Output = Result<Vec<Done>, Failure>;

    fn visit<R: Request>(self, request: R) -> Self::Output {
        let (plan, request, latency) = (self.plan, &request, self.latency);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(self.clients)
                .map(|(number, client)| {
                    scope.spawn(move || one(client, plan, number, request, latency.recorder()))
                })
                .collect();
            threads.into_iter().map(joined).collect()
        })
    }
}

/// All requests of one client.
fn one<C: Client, R: Request>(
    mut client: C,
    plan: &Plan,
    number: u32,
    request: &R,
    mut latency: Recorder,
) -> Result<Done, Failure> {
    let mut names = plan.names(number);
    let (mut left, mut misses) = (plan.share(number), 0);
    let before = client.meter();
    while left > 0 {
        let count = left.min(plan.depth.into());
        let began = Instant::now();
        misses += match count {
            1 => client.single(&mut names, request)?,
            _ => client.batch(count, &mut names, request)?,
        };
        latency.record(began);
        left -= count;
    }
    let meter = client.meter().since(&before);
    Ok(Done { meter, misses })
}

impl Client for Connection {
    fn meter(&mut self) -> Meter {
        Connection::meter(self)
    }

    #[inline]
    fn single<R: Request>(&mut self, names: &mut Names, request: &R) -> Result<u64, Failure> {
        let output = self.run(&request.command(names.next()))?;
        Ok(u64::from(!request.check(output)?))
    }

    #[inline]
    fn batch<R: Request>(
        &mut self,
        count: u64,
        names: &mut Names,
        request: &R,
    ) -> Result<u64, Failure> {
        let mut pipeline = self.pipeline()?;
        for _ in 0..count {
            pipeline.push(&request.command(names.next()))?;
        }
        let mut replies = pipeline.replies();
        let mut misses = 0;
        while let Some(output) = replies.next::<R::Command<'_>>()? {
            misses += u64::from(!request.check(output)?);
        }
        Ok(misses)
    }
}
