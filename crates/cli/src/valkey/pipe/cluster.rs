//! `--pipe` to a cluster: batches, split by node.

use std::io::{self, BufReader};

use onecopy_valkey::blocking::{Cluster, ClusterPipeline};

use super::source::Source;
use super::{Count, READ};
use crate::failure::Failure;
use crate::valkey::session::command;

/// Commands that are sent together, and bytes of the input: memory for both is held meanwhile.
const BATCH: usize = 1_000;
const BATCH_BYTES: u64 = 1 << 20;

pub(super) fn load(cluster: &mut Cluster, count: &mut Count) -> Result<(), Failure> {
    let mut source = Source::new(BufReader::with_capacity(READ, io::stdin().lock()));
    loop {
        let begun = source.bytes();
        let mut batch = cluster.pipeline();
        let mut ended = None;
        while ended.is_none() && batch.len() < BATCH && source.bytes() - begun < BATCH_BYTES {
            // The program that writes the commands may wait for their effect.
            if source.is_drained() && !batch.is_empty() {
                break;
            }
            ended = match source.next() {
                Ok(Some(words)) => match command(words).map(|command| batch.push(&command).err()) {
                    // Its keys are on several nodes, for example: the others are executed all the same.
                    Some(Some(error)) => Some(End::Refused(error.to_string())),
                    _ => None,
                },
                Ok(None) => Some(End::Input),
                Err(failure) => Some(End::Mistake(failure)),
            };
        }
        count.bytes.set(source.bytes());
        run(batch, count)?;
        match ended {
            None => {}
            Some(End::Refused(text)) => count.refused(&text),
            Some(End::Input) => return Ok(()),
            Some(End::Mistake(failure)) => return Err(failure),
        }
    }
}

/// Why a batch is over before it is full.
enum End {
    Input,
    Mistake(Failure),
    Refused(String),
}

fn run(batch: ClusterPipeline<'_>, count: &mut Count) -> Result<(), Failure> {
    if batch.is_empty() {
        return Ok(());
    }
    let replies = batch.run()?;
    for position in 0..replies.len() {
        if let Some(reply) = replies.reply(position)? {
            count.reply(reply);
        }
    }
    Ok(())
}
