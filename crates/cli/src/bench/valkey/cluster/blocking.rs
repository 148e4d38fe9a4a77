//! The blocking API: a thread for each client, which has a connection to each node.

use std::thread;
use std::time::Instant;

use onecopy_valkey::Meter;
use onecopy_valkey::blocking::Cluster;
use onecopy_valkey::cluster::ClusterConfig;

use super::described;
use crate::bench::failure::Failure;
use crate::bench::valkey::blocking::joined;
use crate::bench::valkey::latency::{Latency, Recorder};
use crate::bench::valkey::plan::{Names, Plan};
use crate::bench::valkey::workload::{self, Request, Visitor};
use crate::bench::valkey::{Done, Outcome, Stretch, meters, server};

pub(super) fn run(config: &ClusterConfig, plan: Plan) -> Result<Outcome, Failure> {
    let mut clusters = Vec::new();
    let mut version = String::new();
    for _ in 0..plan.clients {
        let mut cluster = Cluster::connect_with(config)?;
        let primaries = cluster.primaries();
        for address in &primaries {
            // No request waits for a connection that is made.
            let session = cluster.on_node(address)?.session();
            version = described(primaries.len(), &server(session));
        }
        clusters.push(cluster);
    }
    let stretch = Stretch::start();
    let done = workload::visit(
        &plan,
        All {
            plan: &plan,
            clusters,
            latency: &stretch.latency,
        },
    )?;
    Ok(stretch.end("blocking", version, plan, &done))
}

struct All<'p> {
    plan: &'p Plan,
    clusters: Vec<Cluster>,
    latency: &'p Latency,
}

impl Visitor for All<'_> {
    type Output = Result<Vec<Done>, Failure>;

    fn visit<R: Request>(self, request: R) -> Self::Output {
        let (plan, request, latency) = (self.plan, &request, self.latency);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(self.clusters)
                .map(|(client, cluster)| {
                    scope.spawn(move || one(cluster, plan, client, request, latency.recorder()))
                })
                .collect();
            threads.into_iter().map(joined).collect()
        })
    }
}

/// All requests of one client.
fn one<R: Request>(
    mut cluster: Cluster,
    plan: &Plan,
    client: u32,
    request: &R,
    mut latency: Recorder,
) -> Result<Done, Failure> {
    let mut names = plan.names(client);
    let (mut left, mut misses) = (plan.share(client), 0);
    let before = meter(&mut cluster);
    while left > 0 {
        let count = left.min(plan.depth.into());
        let began = Instant::now();
        misses += match count {
            1 => single(&mut cluster, &mut names, request)?,
            _ => batch(&mut cluster, count, &mut names, request)?,
        };
        latency.record(began);
        left -= count;
    }
    let meter = meter(&mut cluster).since(&before);
    Ok(Done { meter, misses })
}

fn single<R: Request>(
    cluster: &mut Cluster,
    names: &mut Names,
    request: &R,
) -> Result<u64, Failure> {
    let response = cluster.run(&request.command(names.next()))?;
    Ok(u64::from(!request.check(response.get()?)?))
}

fn batch<R: Request>(
    cluster: &mut Cluster,
    count: u64,
    names: &mut Names,
    request: &R,
) -> Result<u64, Failure> {
    let mut pipeline = cluster.pipeline();
    for _ in 0..count {
        pipeline.push(&request.command(names.next()))?;
    }
    let responses = pipeline.run()?;
    let mut misses = 0;
    for position in 0..responses.len() {
        let output = responses.get::<R::Command<'_>>(position)?;
        misses += u64::from(!request.check(output)?);
    }
    Ok(misses)
}

/// Of the connections to all primaries.
fn meter(cluster: &mut Cluster) -> Meter {
    let primaries = cluster.primaries();
    let meter = |address| Some(cluster.on_node(address).ok()?.meter());
    meters::sum(primaries.iter().filter_map(meter))
}
