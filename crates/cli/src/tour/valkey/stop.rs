//! The stops: what is done, what it cost, and what that shows.

use std::io::BufRead;

use indicatif::HumanCount;
use onecopy_valkey::aio::{Shared, SharedOptions};
use onecopy_valkey::blocking::Connection;
use onecopy_valkey::command::string;
use onecopy_valkey::{Config, aio as face, raw};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use super::super::print::{plain, shown, title};
use super::KEYS;
use super::cost::{Cost, Measure, copied, fastest};
use super::table;
use crate::bench::failure::Failure;
use crate::bench::shape::{BLOB, Blob};
use crate::bench::valkey::floor::{Exchange, Floor};
use crate::bench::valkey::meters;

/// Pairs of a SET and a GET that leave together.
const TOGETHER: u64 = 100;

/// Bytes of a small value.
const SMALL: usize = 1 << 10;

/// Tasks that share a connection.
const TASKS: u64 = 32;

/// Small commands, many at once.
pub(super) fn pipeline(config: &Config, pairs: u64) -> Result<(), Failure> {
    let commands = HumanCount(2 * pairs);
    title(&format!("1. {commands} commands in pipelines"));
    plain(&format!(
        "SET and GET of {SMALL} bytes, {} at once on one connection, every reply read as its command's type.",
        2 * TOGETHER
    ));
    let value = vec![b'v'; SMALL];
    let batches = pairs.div_ceil(TOGETHER);
    let mut conn = Connection::connect_with(config)?;
    let ours = measured(&mut conn, |conn| {
        (0..batches).try_for_each(|_| batch(conn, &value))
    })?;
    let floor = floor(config, batches, |conn| batch(conn, &value))?;
    table::costs(&[("onecopy", &ours), ("floor", &floor)]);
    shown(&format!(
        "Of {} bytes of replies {} were copied in user space, of {} bytes of commands {}.",
        HumanCount(ours.bytes_read),
        HumanCount(ours.copied - ours.copied_out),
        HumanCount(ours.bytes_written),
        HumanCount(ours.copied_out),
    ));
    plain(
        "Small values are gathered for one write; those of 16 KiB and more are sent from where they lie. The replies were \
         looked at where the kernel put them.",
    );
    Ok(())
}

fn batch(conn: &mut Connection, value: &[u8]) -> Result<(), Failure> {
    let mut pipeline = conn.pipeline()?;
    for _ in 0..TOGETHER {
        pipeline.push(&string::set(KEYS[0], value))?;
        pipeline.push(&string::get(KEYS[0]))?;
    }
    let mut replies = pipeline.replies();
    while replies.next::<string::Set<'_>>()?.is_some() {
        let got = replies.next::<string::Get<'_>>()?.flatten();
        if got.is_none_or(|got| got.len() != value.len()) {
            return Err(Failure::said(
                "a key of the tour's has another value; does anyone else write to it?",
            ));
        }
    }
    Ok(())
}

/// A large value in memory of its own, in memory that is used again, and as a stream.
pub(super) fn large_value(config: &Config, bytes: u64) -> Result<(), Failure> {
    title(&format!("2. A value of {} MiB, three ways", bytes >> 20));
    let mut conn = Connection::connect_with(config)?;
    let blob = Blob { bytes, ..BLOB };
    conn.run_from(&raw("SET").arg(KEYS[1]), bytes, blob.reader())?;
    let get = string::get(KEYS[1]);
    let owned = measured(&mut conn, |conn| {
        let value = conn.run_owned(&get)?.into_bytes();
        whole(value.len() as u64, bytes)
    })?;
    let mut into = Vec::new();
    let reused = measured(&mut conn, |conn| {
        let len = conn.run_into(&get, &mut into)?;
        whole(len.unwrap_or_default() as u64, bytes)
    })?;
    drop(into);
    let streamed = measured(&mut conn, |conn| {
        let Some(mut value) = conn.run_streaming(&get)? else {
            return whole(0, bytes);
        };
        let mut passed = 0;
        loop {
            let piece = value.fill_buf()?.len();
            if piece == 0 {
                return whole(passed, bytes);
            }
            passed += piece as u64;
            value.consume(piece);
        }
    })?;
    let floor = floor(config, 1, |conn| Ok(conn.run(&get).map(|_| ())?))?;
    table::costs(&[
        ("owned", &owned),
        ("reused", &reused),
        ("streamed", &streamed),
        ("floor", &floor),
    ]);
    shown(&copied(&owned));
    plain(
        "It is read from the socket straight into its one allocation, fresh or used again; or borrowed piece by piece from the \
         read buffer, in as much memory as that takes.",
    );
    Ok(())
}

fn whole(came: u64, bytes: u64) -> Result<(), Failure> {
    if came == bytes {
        return Ok(());
    }
    Err(Failure::said(
        "the value has another length than was written; does anyone else write to it?",
    ))
}

/// Many tasks, each with a connection, and all on one.
pub(super) fn many_tasks(config: &Config, pairs: u64) -> Result<(), Failure> {
    let each = (pairs / TASKS).max(1);
    title(&format!("3. {TASKS} tasks on one connection"));
    plain(&format!(
        "Each does {} GETs one after the other: over one shared handle, and over a connection each.",
        HumanCount(each)
    ));
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let shared = on_one(&runtime, config, each)?;
    let own = on_their_own(&runtime, config, each)?;
    table::costs(&[("all on one", &shared), ("one each", &own)]);
    shown(&format!(
        "{} requests left in {} writes: what the tasks ask for while the connection is busy goes out together.",
        HumanCount(each * TASKS),
        HumanCount(shared.writes)
    ));
    Ok(())
}

fn on_one(runtime: &Runtime, config: &Config, each: u64) -> Result<Cost, Failure> {
    fastest(|| {
        // A new one each time: its meter begins with it.
        let shared = runtime.block_on(Shared::connect_with(config, SharedOptions::default()))?;
        let measure = Measure::start();
        runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for _ in 0..TASKS {
                let shared = shared.clone();
                tasks.spawn(async move {
                    for _ in 0..each {
                        shared.run(&string::get(KEYS[0])).await?.get()?;
                    }
                    Ok(())
                });
            }
            joined(tasks).await
        })?;
        let measured = measure.end();
        let meter = shared.meter();
        runtime.block_on(shared.close());
        Ok(measured.cost(&[meter]))
    })
}

fn on_their_own(runtime: &Runtime, config: &Config, each: u64) -> Result<Cost, Failure> {
    fastest(|| {
        let mut conns = Vec::new();
        for _ in 0..TASKS {
            conns.push(runtime.block_on(face::Connection::connect_with(config))?);
        }
        let before = meters::sum(conns.iter().map(face::Connection::meter));
        let measure = Measure::start();
        let conns = runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for mut conn in conns {
                tasks.spawn(async move {
                    for _ in 0..each {
                        conn.run(&string::get(KEYS[0])).await?;
                    }
                    Ok(conn)
                });
            }
            joined(tasks).await
        })?;
        let measured = measure.end();
        let after = meters::sum(conns.iter().map(face::Connection::meter));
        Ok(measured.cost(&[after.since(&before)]))
    })
}

async fn joined<T: 'static>(
    mut tasks: JoinSet<Result<T, onecopy_valkey::Error>>,
) -> Result<Vec<T>, Failure> {
    let mut all = Vec::new();
    while let Some(done) = tasks.join_next().await {
        all.push(done.map_err(|_| Failure::said("a task of the tour panicked"))??);
    }
    Ok(all)
}

/// The client's way: once ahead, then measured.
fn measured(
    conn: &mut Connection,
    mut run: impl FnMut(&mut Connection) -> Result<(), Failure>,
) -> Result<Cost, Failure> {
    run(conn)?;
    fastest(|| {
        let (before, measure) = (conn.meter(), Measure::start());
        run(conn)?;
        let measured = measure.end();
        Ok(measured.cost(&[conn.meter().since(&before)]))
    })
}

/// The floor of what `run` does, so many times over.
fn floor(
    config: &Config,
    times: u64,
    run: impl FnOnce(&mut Connection) -> Result<(), Failure>,
) -> Result<Cost, Failure> {
    let mut floor = Floor::connect(config)?;
    let exchange: Exchange = floor.record(run)?;
    fastest(|| {
        let (before, measure) = (floor.meter(), Measure::start());
        for _ in 0..times {
            floor.run(&exchange)?;
        }
        let measured = measure.end();
        Ok(measured.cost(&[floor.meter().since(&before)]))
    })
}
