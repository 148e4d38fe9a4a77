//! The tokio API: all tasks on one connection to each node, on a runtime of one thread.

use std::sync::Arc;

use onecopy_valkey::aio::{Cluster, Connection, SharedOptions};
use onecopy_valkey::cluster::ClusterConfig;
use onecopy_valkey::{Config, Endpoint};

use super::described;
use crate::bench::failure::Failure;
use crate::bench::valkey::plan::{Names, Plan};
use crate::bench::valkey::shared::{Handle, by_tasks};
use crate::bench::valkey::tokio::runtime;
use crate::bench::valkey::workload::Request;
use crate::bench::valkey::{Done, Outcome, Stretch, server};

pub(super) fn run(config: &ClusterConfig, plan: Plan) -> Result<Outcome, Failure> {
    let runtime = runtime()?;
    let cluster = runtime.block_on(Cluster::connect_with(config, SharedOptions::default()))?;
    let version = runtime.block_on(connect_all(&cluster, &config.node))?;
    let plan = Arc::new(plan);
    let stretch = Stretch::start();
    let mut done = by_tasks(&runtime, &plan, &cluster, &stretch.latency)?;
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

impl Handle for Cluster {
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
