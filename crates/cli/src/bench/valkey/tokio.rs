//! The requests through the tokio API, a task for each connection, on a runtime of one thread.

use std::sync::Arc;
use std::time::Instant;

use onecopy_valkey::Config;
use onecopy_valkey::aio::Connection;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use super::latency::{Latency, Recorder};
use super::plan::{Names, Plan};
use super::workload::{self, Request, Visitor};
use super::{Done, Outcome, Stretch, server};
use crate::bench::failure::Failure;

pub(super) fn run(config: &Config, plan: Plan) -> Result<Outcome, Failure> {
    let runtime = runtime()?;
    let connections = runtime.block_on(connect(config, plan.clients))?;
    let version = connections.first().map(|conn| server(conn.session()));
    let plan = Arc::new(plan);
    let stretch = Stretch::start();
    let done = workload::visit(
        &plan,
        All {
            runtime: &runtime,
            plan: &plan,
            connections,
            latency: &stretch.latency,
        },
    )?;
    Ok(stretch.end(
        "tokio",
        version.unwrap_or_default(),
        Plan::clone(&plan),
        &done,
    ))
}

pub(super) fn runtime() -> Result<Runtime, Failure> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

async fn connect(config: &Config, clients: u32) -> Result<Vec<Connection>, Failure> {
    let mut connections = Vec::with_capacity(clients as usize);
    for _ in 0..clients {
        connections.push(Connection::connect_with(config).await?);
    }
    Ok(connections)
}

/// What all tasks came to.
pub(super) async fn joined(
    mut tasks: JoinSet<Result<Done, Failure>>,
) -> Result<Vec<Done>, Failure> {
    let mut all = Vec::with_capacity(tasks.len());
    while let Some(done) = tasks.join_next().await {
        all.push(done.unwrap_or_else(|_| Err(Failure::said("a task of the benchmark panicked")))?);
    }
    Ok(all)
}

struct All<'p> {
    runtime: &'p Runtime,
    plan: &'p Arc<Plan>,
    connections: Vec<Connection>,
    latency: &'p Latency,
}

impl Visitor for All<'_> {
    type Output = Result<Vec<Done>, Failure>;

    fn visit<R: Request>(self, request: R) -> Self::Output {
        let request = Arc::new(request);
        self.runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for (client, conn) in (0..).zip(self.connections) {
                let (plan, request) = (self.plan.clone(), request.clone());
                let latency = self.latency.recorder();
                tasks.spawn(async move { one(conn, &plan, client, &*request, latency).await });
            }
            joined(tasks).await
        })
    }
}

/// All requests of one client.
async fn one<R: Request>(
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
            1 => single(&mut conn, &mut names, request).await?,
            _ => batch(&mut conn, count, &mut names, request).await?,
        };
        latency.record(began);
        left -= count;
    }
    let meter = conn.meter().since(&before);
    conn.close();
    Ok(Done { meter, misses })
}

async fn single<R: Request>(
    conn: &mut Connection,
    names: &mut Names,
    request: &R,
) -> Result<u64, Failure> {
    let command = request.command(names.next());
    let output = conn.run(&command).await?;
    Ok(u64::from(!request.check(output)?))
}

async fn batch<R: Request>(
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
    while let Some(output) = replies.next::<R::Command<'_>>().await? {
        misses += u64::from(!request.check(output)?);
    }
    Ok(misses)
}
