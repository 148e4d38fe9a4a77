//! The commands between MULTI and EXEC for a cluster. Nothing is sent before EXEC, as only the keys say to which node.

use std::io::Write;

use onecopy_valkey::blocking::{Cluster, TransactionResponses};
use onecopy_valkey::cluster::key_slot;
use onecopy_valkey::{Command, Raw, raw};

use super::Transaction;
use crate::failure::Failure;
use crate::output::Out;
use crate::valkey::format::{self, FormatName};
use crate::valkey::peer::admit_to_cluster;

/// Commands that wait for EXEC.
#[derive(Debug, Default)]
pub(super) struct Queue {
    commands: Vec<Vec<Vec<u8>>>,
    /// A key of them, whose slot all have.
    key: Option<Vec<u8>>,
    /// A command was refused, so that EXEC executes nothing.
    is_refused: bool,
}

/// What is answered without the server, or by EXEC.
#[derive(Debug)]
pub(in crate::valkey) enum Answered {
    Word(&'static str),
    Executed(TransactionResponses),
}

impl Answered {
    pub(in crate::valkey) fn write(self, format: FormatName, out: &mut Out) -> Result<(), Failure> {
        match self {
            Self::Executed(responses) => format::write(format, responses.reply(), out),
            Self::Word(word) if format == FormatName::Json => Ok(writeln!(out, "\"{word}\"")?),
            Self::Word(word) if format == FormatName::Csv => Ok(write!(out, "{word}\r\n")?),
            Self::Word(word) => Ok(writeln!(out, "{word}")?),
        }
    }
}

impl Transaction {
    /// Takes MULTI, EXEC, DISCARD and what is between them; `None` for any other command.
    pub(in crate::valkey) fn take_for_cluster(
        &mut self,
        words: &[&[u8]],
        command: &Raw<'_>,
        cluster: &mut Cluster,
    ) -> Result<Option<Answered>, Failure> {
        let alone = match words {
            [name] => name.to_ascii_uppercase(),
            _ => Vec::new(),
        };
        let answered = match (&alone[..], &mut self.queue) {
            (b"MULTI", None) => {
                self.queue = Some(Queue::default());
                Answered::Word("OK")
            }
            (b"MULTI", Some(_)) => {
                return Err(Failure::other(
                    "MULTI inside of MULTI; EXEC or DISCARD ends the first",
                ));
            }
            (b"EXEC" | b"DISCARD", None) => {
                return Err(Failure::other("there is no MULTI before this"));
            }
            (b"DISCARD", Some(_)) => {
                self.queue = None;
                Answered::Word("OK")
            }
            (b"EXEC", Some(_)) => {
                let queue = self.queue.take().unwrap_or_default();
                Answered::Executed(queue.execute(cluster)?)
            }
            (_, Some(queue)) => {
                queue
                    .add(words, command)
                    .inspect_err(|_| queue.is_refused = true)?;
                Answered::Word("QUEUED")
            }
            (_, None) => return Ok(None),
        };
        Ok(Some(answered))
    }
}

impl Queue {
    fn add(&mut self, words: &[&[u8]], command: &Raw<'_>) -> Result<(), Failure> {
        admit_to_cluster(command)?;
        let (mut first, mut other) = (self.key.take(), None);
        command.each_key(&mut |key| match &first {
            None => first = Some(key.to_vec()),
            Some(first) if key_slot(first) != key_slot(key) => other = Some(key.to_vec()),
            Some(_) => {}
        });
        if let (Some(first), Some(other)) = (&first, &other) {
            let problem = format!(
                "a transaction is executed by one node: `{}` and `{}` have different slots; names with the same {{part}} in \
                 braces have the same",
                first.escape_ascii(),
                other.escape_ascii()
            );
            self.key = Some(first.clone());
            return Err(Failure::other(problem));
        }
        self.key = first;
        self.commands
            .push(words.iter().map(|word| word.to_vec()).collect());
        Ok(())
    }

    fn execute(self, cluster: &mut Cluster) -> Result<TransactionResponses, Failure> {
        if self.is_refused {
            return Err(Failure::other(
                "a command of the transaction was refused, so nothing of it was executed",
            ));
        }
        let mut transaction = cluster.transaction();
        for words in &self.commands {
            if let Some((name, arguments)) = words.split_first() {
                let arguments = arguments.iter().map(Vec::as_slice);
                transaction.push(&raw(name.as_slice()).args(arguments))?;
            }
        }
        Ok(transaction.exec()?)
    }
}
