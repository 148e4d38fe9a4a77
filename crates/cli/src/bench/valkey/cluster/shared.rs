//! The tokio API: all tasks on one connection to each node, on a runtime of one thread.

use std::sync::Arc;
use std::time::Instant;

use onecopy_valkey::Meter;
use onecopy_valkey::aio::{Cluster, Connection, SharedOptions};
use onecopy_valkey::cluster::ClusterConfig;
use onecopy_valkey::{Config, Endpoint};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::described;
use crate::bench::failure::Failure;
use crate::bench::valkey::latency::{Latency, Recorder};
use crate::bench::valkey::plan::{Names, Plan};
use crate::bench::valkey::tokio::{joined, runtime};
use crate::bench::valkey::workload::{self, Request, Visitor};
use crate::bench::valkey::{Done, Outcome, Stretch, server};

pub(super) fn run(config: &ClusterConfig, plan: Plan) -> Result<Outcome, Failure> {
    let runtime = runtime()?;
    let cluster = runtime.block_on(Cluster::connect_with(config, SharedOptions::default()))?;
    let version = runtime.block_on(connect_all(&cluster, &config.node))?;
    let plan = Arc::new(plan);
    let stretch = Stretch::start();
    let mut done = workload::visit(
        &plan,
        All {
            runtime: &runtime,
            plan: &plan,
            cluster: &cluster,
            latency: &stretch.latency,
        },
    )?;
    done.extend(runtime.block_on(meters(&cluster))?);
    let outcome = stretch.end("shared", version, Plan::clone(&plan), &done);
    runtime.block_on(cluster.close());
    Ok(outcome)
}

/// Connects to all primaries, so that no request waits for that.
async fn connect_all(cluster: &Cluster, node: &Config) -> Result<String, Failure> {
    let primaries = cluster.primaries();
    for address in &primaries {
        cluster.on_node(address).await?;
    }
    let Some(first) = primaries.first() else {
        return Err(Failure::said("the cluster has no primary with slots"));
    };
    let mut config = node.clone();
    config.endpoint = Endpoint::Tcp {
        host: first.host().to_owned(),
        port: first.port(),
    };
    let connection = Connection::connect_with(&config).await?;
    Ok(described(primaries.len(), &server(connection.session())))
}

/// Includes some hundred bytes of each connection's login.
async fn meters(cluster: &Cluster) -> Result<Vec<Done>, Failure> {
    let mut meters = Vec::new();
    for address in cluster.primaries() {
        let shared = cluster.on_node(&address).await?;
        meters.push(Done {
            meter: shared.meter().plus(&shared.dedicated_meter()),
            misses: 0,
        });
    }
    Ok(meters)
}

struct All<'p> {
    runtime: &'p Runtime,
    plan: &'p Arc<Plan>,
    cluster: &'p Cluster,
    latency: &'p Latency,
}

impl Visitor for All<'_> {
    type Output = Result<Vec<Done>, Failure>;

    fn visit<R: Request>(self, request: R) -> Self::Output {
        let request = Arc::new(request);
        self.runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for client in 0..self.plan.clients {
                let (plan, request) = (self.plan.clone(), request.clone());
                let cluster = self.cluster.clone();
                let latency = self.latency.recorder();
                tasks.spawn(async move { one(&cluster, &plan, client, &*request, latency).await });
            }
            joined(tasks).await
        })
    }
}

/// All requests of one task.
async fn one<R: Request>(
    cluster: &Cluster,
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
            1 => single(cluster, &mut names, request).await?,
            _ => batch(cluster, count, &mut names, request).await?,
        };
        latency.record(began);
        left -= count;
    }
    Ok(Done {
        meter: Meter::default(),
        misses,
    })
}

async fn single<R: Request>(
    cluster: &Cluster,
    names: &mut Names,
    request: &R,
) -> Result<u64, Failure> {
    let response = cluster.run(&request.command(names.next())).await?;
    Ok(u64::from(!request.check(response.get()?)?))
}

async fn batch<R: Request>(
    cluster: &Cluster,
    count: u64,
    names: &mut Names,
    request: &R,
) -> Result<u64, Failure> {
    let mut pipeline = cluster.pipeline();
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
