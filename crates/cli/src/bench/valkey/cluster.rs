//! The requests to a cluster: each goes to the node of its key.

mod blocking;
mod shared;

use onecopy_valkey::cluster::ClusterConfig;

use super::plan::Plan;
use super::{Driver, Outcome};
use crate::bench::failure::Failure;

pub(super) fn run(
    config: &ClusterConfig,
    plan: Plan,
    driver: Driver,
    is_floor: bool,
) -> Result<Outcome, Failure> {
    match driver {
        _ if is_floor => Err(Failure::said(
            "--floor measures one server: give the url of a node, without +cluster",
        )),
        Driver::Blocking => blocking::run(config, plan),
        Driver::Shared => shared::run(config, plan),
        Driver::Tokio => Err(Failure::said(
            "a cluster's client in tokio shares one connection to each node among all tasks: use --driver shared",
        )),
    }
}

/// How a report names the cluster.
fn described(primaries: usize, first: &str) -> String {
    format!("a cluster of {primaries} primaries, {first}")
}
