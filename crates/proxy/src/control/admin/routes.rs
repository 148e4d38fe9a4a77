//! What sessions of a listener did on a backend, for programs that compute rates and quantiles of a while from two answers.

use super::table::Table;
use super::table::Type::{Number, Text};
use crate::control::View;
use crate::stats::{Kind, Latency};

/// Counts that have no kind of command.
pub(super) fn traffic(view: &View) -> Table {
    let mut table = Table::new([
        ("Listener", Text),
        ("Backend", Text),
        ("Logins", Number),
        ("Commands", Number),
        ("Errors", Number),
        ("Bytes_in", Number),
        ("Bytes_out", Number),
    ]);
    for route in view.snapshot(false).counters.routes {
        table.row([
            route.listener.as_str().into(),
            route.backend.as_str().into(),
            route.logins.into(),
            route.commands.iter().sum::<u64>().into(),
            route.errors.into(),
            route.bytes_from_clients.into(),
            route.bytes_from_backend.into(),
        ]);
    }
    table
}

/// Replies by how long they took, in steps that are not summed up. Steps without a reply are left out; the last one has no bound.
pub(super) fn latencies(view: &View) -> Table {
    let mut table = Table::new([
        ("Listener", Text),
        ("Backend", Text),
        ("Command", Text),
        ("Up_to_us", Number),
        ("Replies", Number),
    ]);
    let bounds = || Latency::BOUNDS.iter().copied().map(Some).chain([None]);
    for route in view.snapshot(false).counters.routes {
        for kind in Kind::ALL {
            let buckets = &route.latency[kind as usize].buckets;
            let steps = bounds().zip(buckets).filter(|(_, replies)| **replies > 0);
            for (bound, replies) in steps {
                table.row([
                    route.listener.as_str().into(),
                    route.backend.as_str().into(),
                    kind.name().into(),
                    bound.into(),
                    (*replies).into(),
                ]);
            }
        }
    }
    table
}
