//! The requests through the blocking API, a thread for each connection.

use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use onecopy_valkey::Config;
use onecopy_valkey::blocking::Connection;

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
    let done = workload::visit(
        &plan,
        All {
            plan: &plan,
            connections,
            latency: &stretch.latency,
        },
    )?;
    Ok(stretch.end("blocking", version.unwrap_or_default(), plan, &done))
}

/// What a thread came to.
pub(super) fn joined(thread: ScopedJoinHandle<'_, Result<Done, Failure>>) -> Result<Done, Failure> {
    thread
        .join()
        .unwrap_or_else(|_| Err(Failure::said("a thread of the benchmark panicked")))
}

struct All<'p> {
    plan: &'p Plan,
    connections: Vec<Connection>,
    latency: &'p Latency,
}

impl Visitor for All<'_> {
    type Output = Result<Vec<Done>, Failure>;

    fn visit<R: Request>(self, request: R) -> Self::Output {
        let (plan, request, latency) = (self.plan, &request, self.latency);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(self.connections)
                .map(|(client, conn)| {
                    scope.spawn(move || one(conn, plan, client, request, latency.recorder()))
                })
                .collect();
            threads.into_iter().map(joined).collect()
        })
    }
}

/// All requests of one client.
fn one<R: Request>(
    mut conn: Connection,
    plan: &Plan,
    client: u32,
    request: &R,
    mut latency: Recorder,
) -> Result<Done, Failure> {
    let mut names = plan.names(client);
    let (mut left, mut misses) = (plan.share(client), 0);
    let before = conn.meter();
    while left > 0 {
        let count = left.min(plan.depth.into());
        let began = Instant::now();
        misses += match count {
            1 => single(&mut conn, &mut names, request)?,
            _ => batch(&mut conn, count, &mut names, request)?,
        };
        latency.record(began);
        left -= count;
    }
    let meter = conn.meter().since(&before);
    conn.close();
    Ok(Done { meter, misses })
}

#[inline]
fn single<R: Request>(
    conn: &mut Connection,
    names: &mut Names,
    request: &R,
) -> Result<u64, Failure> {
    let output = conn.run(&request.command(names.next()))?;
    Ok(u64::from(!request.check(output)?))
}

#[inline]
fn batch<R: Request>(
    conn: &mut Connection,
    count: u64,
    names: &mut Names,
    request: &R,
) -> Result<u64, Failure> {
    let mut pipeline = conn.pipeline()?;
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
