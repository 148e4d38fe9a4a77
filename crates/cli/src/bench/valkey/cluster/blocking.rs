//! The blocking API: a thread for each client, which has a connection to each node.

use onecopy_valkey::Meter;
use onecopy_valkey::blocking::Cluster;
use onecopy_valkey::cluster::ClusterConfig;

use super::described;
use crate::bench::failure::Failure;
use crate::bench::valkey::blocking::{Client, by_threads};
use crate::bench::valkey::plan::{Names, Plan};
use crate::bench::valkey::workload::Request;
use crate::bench::valkey::{Outcome, Stretch, meters, server};

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
    let done = by_threads(&plan, clusters, &stretch.latency)?;
    Ok(stretch.end("blocking", version, plan, &done))
}

impl Client for Cluster {
    fn meter(&mut self) -> Meter {
        let primaries = self.primaries();
        let meter = |address| Some(self.on_node(address).ok()?.meter());
        meters::sum(primaries.iter().filter_map(meter))
    }

    fn single<R: Request>(&mut self, names: &mut Names, request: &R) -> Result<u64, Failure> {
        let response = self.run(&request.command(names.next()))?;
        Ok(u64::from(!request.check(response.get()?)?))
    }

    fn batch<R: Request>(
        &mut self,
        count: u64,
        names: &mut Names,
        request: &R,
    ) -> Result<u64, Failure> {
        let mut pipeline = self.pipeline();
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
}
