//! The workloads' floor.

use onecopy_mysql::Config;

use super::{Job, Outcome, Stretch, WARM_UP, blocking};
use crate::bench::failure::Failure;
use crate::bench::floor::Floor;

pub(super) fn run(config: &Config, job: &Job<'_>) -> Result<Outcome, Failure> {
    let mut floor = Floor::connect(config)?;
    let statement = blocking::prepare(floor.conn(), job)?;
    let mut value = Vec::new();
    for _ in 0..WARM_UP {
        blocking::once(floor.conn(), job, statement.as_ref(), &mut value)?;
    }
    floor.record(1, |conn| {
        blocking::once(conn, job, statement.as_ref(), &mut value).map(|_| ())
    })?;
    drop(value);

    let mut progress = job.progress();
    let server = floor.conn().server_version().to_owned();
    let stretch = Stretch::start(&server, floor.meter());
    for _ in 0..job.iterations {
        floor.run()?;
        progress.add(1);
    }
    Ok(stretch.end(job.iterations, floor.meter(), None))
}
