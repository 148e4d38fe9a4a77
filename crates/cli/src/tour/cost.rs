//! What one way of doing something cost.

use indicatif::HumanCount;
use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, Meter};

use crate::bench::failure::Failure;
use crate::bench::floor::Floor;
use crate::bench::usage::{Moment, Usage, forget_peak, peak_resident};

/// Each is done so often, and the fastest run shown: what is slower was held up by something else.
const RUNS: usize = 3;

/// Time, memory and what the meters of all its connections say of one run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    pub(super) usage: Usage,
    /// The most memory that was resident during the run, in bytes.
    pub(super) peak_resident: Option<u64>,
    pub(super) bytes_read: u64,
    pub(super) reads: u64,
    pub(super) bytes_written: u64,
    pub(super) writes: u64,
    /// Bytes copied or moved in user space.
    pub(super) copied: u64,
    /// Those of them that were copied in flight out.
    pub(super) copied_out: u64,
    /// Large values that were read straight into memory of their own.
    pub(super) large_values: u64,
}

/// The client's way, on a connection of its own: prepared and run once, then measured.
pub(super) fn ours<S>(
    config: &Config,
    prepare: impl FnOnce(&mut Connection) -> Result<S, Failure>,
    mut run: impl FnMut(&mut Connection, &mut S) -> Result<(), Failure>,
) -> Result<Cost, Failure> {
    let mut conn = Connection::connect_with(config)?;
    let mut prepared = prepare(&mut conn)?;
    run(&mut conn, &mut prepared)?;
    let cost = fastest(|| {
        let (before, measure) = (conn.meter(), Measure::start());
        run(&mut conn, &mut prepared)?;
        let measured = measure.end();
        Ok(measured.cost(&[conn.meter().since(&before)]))
    })?;
    conn.close()?;
    Ok(cost)
}

/// The floors' way, one after the other as if they were one.
pub(super) fn floors(floors: &mut [Floor]) -> Result<Cost, Failure> {
    fastest(|| {
        let before: Vec<Meter> = floors.iter().map(Floor::meter).collect();
        let measure = Measure::start();
        for floor in floors.iter_mut() {
            floor.run()?;
        }
        let measured = measure.end();
        let meters: Vec<Meter> = floors
            .iter()
            .zip(&before)
            .map(|(floor, before)| floor.meter().since(before))
            .collect();
        Ok(measured.cost(&meters))
    })
}

/// The floor of what `run` does, learnt from it.
pub(super) fn floor_of<S>(
    config: &Config,
    prepare: impl FnOnce(&mut Connection) -> Result<S, Failure>,
    mut run: impl FnMut(&mut Connection, &mut S) -> Result<(), Failure>,
) -> Result<Floor, Failure> {
    let mut floor = Floor::connect(config)?;
    let mut prepared = prepare(floor.conn())?;
    run(floor.conn(), &mut prepared)?;
    floor.record(1, |conn| run(conn, &mut prepared))?;
    Ok(floor)
}

pub(super) fn fastest(mut run: impl FnMut() -> Result<Cost, Failure>) -> Result<Cost, Failure> {
    let mut best = run()?;
    for _ in 1..RUNS {
        let cost = run()?;
        if cost.usage.wall < best.usage.wall {
            best = cost;
        }
    }
    Ok(best)
}

/// What of all bytes was copied, in a sentence.
pub(super) fn copied(cost: &Cost) -> String {
    let bytes = cost.bytes_read + cost.bytes_written;
    if cost.copied == 0 {
        return format!(
            "Of {} bytes not one was copied in user space.",
            HumanCount(bytes)
        );
    }
    let one_in = HumanCount(bytes / cost.copied);
    format!(
        "Of {} bytes {} were copied in user space: one in {one_in}.",
        HumanCount(bytes),
        HumanCount(cost.copied)
    )
}

/// A run that is under way.
pub(super) struct Measure(Moment);

/// A run that is over.
pub(super) struct Measured {
    usage: Usage,
    peak_resident: Option<u64>,
}

impl Measure {
    pub(super) fn start() -> Self {
        forget_peak();
        Self(Moment::now())
    }

    pub(super) fn end(self) -> Measured {
        Measured {
            usage: self.0.usage(),
            peak_resident: peak_resident(),
        }
    }
}

impl Measured {
    /// With what each connection counted over the run.
    pub(super) fn cost(self, meters: &[Meter]) -> Cost {
        let sum = |counter: fn(&Meter) -> u64| meters.iter().map(counter).sum();
        Cost {
            usage: self.usage,
            peak_resident: self.peak_resident,
            bytes_read: sum(|meter| meter.bytes_read),
            reads: sum(|meter| meter.reads),
            bytes_written: sum(|meter| meter.bytes_written),
            writes: sum(|meter| meter.writes),
            copied: sum(Meter::copied),
            copied_out: sum(|meter| meter.bytes_copied_to_output),
            large_values: sum(|meter| meter.large_values),
        }
    }
}
