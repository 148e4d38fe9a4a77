//! The requests through the shared handle: a task for each client, all on one connection, on a runtime of one thread.

use std::sync::Arc;
use std::time::Instant;

use onecopy_valkey::aio::{Connection, Shared, SharedOptions};
use onecopy_valkey::{Config, Meter};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::latency::{Latency, Recorder};
use super::plan::{Names, Plan};
use super::tokio::{joined, runtime};
use super::workload::{self, Request, Visitor};
use super::{Done, Outcome, Stretch, server};
use crate::bench::failure::Failure;

pub(super) fn run(config: &Config, plan: Plan) -> Result<Outcome, Failure> {
    let runtime = runtime()?;
    let version = runtime.block_on(version(config))?;
    // The handle's own task is spawned here.
    let shared = runtime.block_on(Shared::connect_with(config, SharedOptions::default()))?;
    let plan = Arc::new(plan);
    let stretch = Stretch::start();
    let mut done = by_tasks(&runtime, &plan, &shared, &stretch.latency)?;
    // Includes some hundred bytes of the shared connection's login, because the handle reports them at any time; and large replies,
    // which have a separate connection.
    done.push(Done {
        meter: shared.meter().plus(&shared.dedicated_meter()),
        misses: 0,
    });
    let outcome = stretch.end("shared", version, Plan::clone(&plan), &done);
    runtime.block_on(shared.close());
    Ok(outcome)
}

async fn version(config: &Config) -> Result<String, Failure> {
    let conn = Connection::connect_with(config).await?;
    Ok(server(conn.session()))
}

/// What many tasks send their requests through.
pub(super) trait Handle: Clone + Send + Sync + 'static {
    /// One request; gives the number of misses.
    fn single<R: Request>(
        &self,
        names: &mut Names,
        request: &R,
    ) -> impl Future<Output = Result<u64, Failure>> + Send;

    /// So many at once.
    fn batch<R: Request>(
        &self,
        count: u64,
        names: &mut Names,
        request: &R,
    ) -> impl Future<Output = Result<u64, Failure>> + Send;
}

/// Has a task for each client do its requests.
pub(super) fn by_tasks<H: Handle>(
    runtime: &Runtime,
    plan: &Arc<Plan>,
    handle: &H,
    latency: &Latency,
) -> Result<Vec<Done>, Failure> {
    let all = All {
        runtime,
        plan,
        handle,
        latency,
    };
    workload::visit(plan, all)
}

struct All<'p, H> {
    runtime: &'p Runtime,
    plan: &'p Arc<Plan>,
    handle: &'p H,
    latency: &'p Latency,
}

impl<H: Handle> Visitor for All<'_, H> {
    type Output = Result<Vec<Done>, Failure>;

    fn visit<R: Request>(self, request: R) -> Self::Output {
        let request = Arc::new(request);
        self.runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for client in 0..self.plan.clients {
                let (plan, request) = (self.plan.clone(), request.clone());
                let handle = self.handle.clone();
                let latency = self.latency.recorder();
                tasks.spawn(async move { one(&handle, &plan, client, &*request, latency).await });
            }
            joined(tasks).await
        })
    }
}

/// All requests of one task.
async fn one<H: Handle, R: Request>(
    handle: &H,
    plan: &Plan,
    client: u32,
    request: &R,
    mut latency: Recorder,
) -> Result<Done, Failure> {
    let mut names = plan.names(client);
    let (mut left, mut misses) = (plan.share(client), 0);
    while left > 0 {
        let count = left.min(plan.depth.into());
        let began = Instant::now();
        misses += match count {
            1 => handle.single(&mut names, request).await?,
            _ => handle.batch(count, &mut names, request).await?,
        };
        latency.record(began);
        left -= count;
    }
    Ok(Done {
        meter: Meter::default(),
        misses,
    })
}

impl Handle for Shared {
    async fn single<R: Request>(&self, names: &mut Names, request: &R) -> Result<u64, Failure> {
        let response = self.run(&request.command(names.next())).await?;
        Ok(u64::from(!request.check(response.get()?)?))
    }

    async fn batch<R: Request>(
        &self,
        count: u64,
        names: &mut Names,
        request: &R,
    ) -> Result<u64, Failure> {
        let mut pipeline = self.pipeline();
        for _ in 0..count {
            pipeline.push(&request.command(names.next()))?;
        }
        let responses = pipeline.run().await?;
        let mut misses = 0;
        for position in 0..responses.len() {
            let output = responses.get::<R::Command<'_>>(position)?;
            misses += u64::from(!request.check(output)?);
        }
        Ok(misses)
    }
}
