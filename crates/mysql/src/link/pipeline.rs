//! Several statements that are sent ahead, also if their results are dropped.

mod observed;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::client::Params;
use onecopy_wire::{Borrowed, WriteQueue};

use self::observed::Observed;
use super::Link;
use crate::{Error, Param, ServerError, Statement};

/// Bytes that are encoded ahead of what was sent: 256 KiB, the most that one write sends.
const MAX_BYTES: usize = 256 << 10;

/// The maximum number of commands encoded ahead of their replies: enough that the server is never idle.
const MAX_COMMANDS: usize = 8 << 10;

/// The maximum number of statements prepared in one write.
const PREPARED_TOGETHER: usize = 64;

/// The commands of a pipeline that are queued or sent, and have no reply yet.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Where each begins, in bytes since the connection was opened.
    starts: VecDeque<u64>,
    /// What waits to be sent, while rows are read.
    aside: Option<WriteQueue>,
    /// What each is observed as, if statements are.
    observed: Option<VecDeque<Observed>>,
}

/// The statements of a pipeline that are not encoded yet, and all their texts and parameters.
#[derive(Debug, Default)]
pub(crate) struct Batch<'a> {
    statements: VecDeque<Planned>,
    texts: Vec<u8>,
    params: Vec<Param<'a>>,
}

#[derive(Debug)]
enum Planned {
    /// A text as it is.
    Query(Range<usize>),
    /// A text with parameters, whose statement is not known yet.
    Exec {
        text: Range<usize>,
        params: Range<usize>,
    },
    Execute {
        statement: Statement,
        params: Range<usize>,
    },
    /// It could not be prepared.
    Failed(ServerError),
}

/// The state of an encoded statement: its reply is outstanding, or why it was not sent.
pub(crate) type Outcome = Result<(), Error>;

/// Gives access to the parameters of all statements, by their index.
impl Borrowed for Batch<'_> {
    fn part(&self, index: u32) -> &[u8] {
        let param = self.params.get(index as usize);
        param.and_then(Param::as_bytes).unwrap_or_default()
    }
}

impl<'a> Batch<'a> {
    /// Statements that are not encoded yet.
    pub(crate) fn len(&self) -> usize {
        self.statements.len()
    }

    pub(crate) fn query(&mut self, sql: &[u8]) -> Result<(), Error> {
        let text = self.keep_text(sql)?;
        self.keep(Planned::Query(text))
    }

    pub(crate) fn exec(&mut self, sql: &[u8], params: &[Param<'a>]) -> Result<(), Error> {
        let text = self.keep_text(sql)?;
        let params = self.keep_params(params)?;
        self.keep(Planned::Exec { text, params })
    }

    pub(crate) fn execute(
        &mut self,
        statement: &Statement,
        params: &[Param<'a>],
    ) -> Result<(), Error> {
        let statement = statement.clone();
        let params = self.keep_params(params)?;
        self.keep(Planned::Execute { statement, params })
    }

    fn keep(&mut self, planned: Planned) -> Result<(), Error> {
        let bytes = (self.statements.len() + 1) * size_of::<Planned>();
        let reserved = self.statements.try_reserve(1);
        reserved.map_err(|_| out_of_memory(bytes))?;
        self.statements.push_back(planned);
        Ok(())
    }

    /// A text, which may be the one before it.
    fn keep_text(&mut self, sql: &[u8]) -> Result<Range<usize>, Error> {
        let last = match self.statements.back() {
            Some(Planned::Query(text) | Planned::Exec { text, .. }) => text.clone(),
            _ => 0..0,
        };
        if self.texts.get(last.clone()) == Some(sql) {
            return Ok(last);
        }
        let start = self.texts.len();
        let reserved = self.texts.try_reserve(sql.len());
        reserved.map_err(|_| out_of_memory(start + sql.len()))?;
        self.texts.extend_from_slice(sql);
        Ok(start..self.texts.len())
    }

    fn keep_params(&mut self, params: &[Param<'a>]) -> Result<Range<usize>, Error> {
        let start = self.params.len();
        let end = start + params.len();
        let reserved = self.params.try_reserve(params.len());
        reserved.map_err(|_| out_of_memory(end * size_of::<Param<'_>>()))?;
        self.params.extend_from_slice(params);
        Ok(start..end)
    }

    /// Forgets all statements: the connection is closed.
    pub(crate) fn clear(&mut self) {
        self.statements.clear();
    }
}

#[cold]
fn out_of_memory(bytes: usize) -> Error {
    let bytes = bytes as u64;
    ProtocolError::OutOfMemory { bytes }.into()
}

/// Texts that have to be prepared, each once, in their order.
#[derive(Debug, Default)]
pub(crate) struct Unprepared {
    texts: Vec<Range<usize>>,
    prepared: Vec<Result<Statement, ServerError>>,
}

impl Unprepared {
    /// The next ones to be prepared together.
    pub(crate) fn next(&self, link: &Link) -> Range<usize> {
        let begin = self.prepared.len();
        let together = if link.pipelining {
            PREPARED_TOGETHER
        } else {
            1
        };
        begin..self.texts.len().min(begin + together)
    }

    /// What became of the next one. An error that is not the server's is the connection's.
    pub(crate) fn add(&mut self, prepared: Result<Statement, Error>) -> Result<(), Error> {
        self.prepared.push(match prepared {
            Ok(statement) => Ok(statement),
            Err(error) => match error.server() {
                Some(server) if !error.is_closed() => Err(server.clone()),
                _ => return Err(error),
            },
        });
        Ok(())
    }
}

impl Link {
    /// Finds the statements of texts in the cache; gives those that are not there.
    pub(crate) fn find_statements(&mut self, batch: &mut Batch<'_>) -> Unprepared {
        let mut unprepared = Unprepared::default();
        let mut seen = HashMap::new();
        for planned in &mut batch.statements {
            let Planned::Exec { text, params } = planned else {
                continue;
            };
            let sql = batch.texts.get(text.clone()).unwrap_or_default();
            if let Some(mut statement) = self.cached_statement(sql) {
                if statement.digest.is_none() {
                    statement.digest = self.observed_digest(sql);
                }
                let params = params.clone();
                *planned = Planned::Execute { statement, params };
            } else if seen.insert(sql, ()).is_none() {
                unprepared.texts.push(text.clone());
            }
        }
        unprepared
    }

    /// Queues prepares, in one write.
    pub(crate) fn queue_prepares(
        &mut self,
        batch: &Batch<'_>,
        unprepared: &Unprepared,
        which: Range<usize>,
    ) -> Result<(), Error> {
        for text in unprepared.texts.get(which).unwrap_or_default() {
            let sql = batch.texts.get(text.clone()).unwrap_or_default();
            self.core.prepare_ahead(&mut self.buffers, sql)?;
        }
        Ok(())
    }

    /// Keeps a statement that was prepared for the pipeline.
    pub(crate) fn cache_of(
        &mut self,
        batch: &Batch<'_>,
        unprepared: &Unprepared,
        mut statement: Statement,
    ) -> Result<Statement, Error> {
        let text = unprepared.texts.get(unprepared.prepared.len()).cloned();
        let sql = text.and_then(|text| batch.texts.get(text));
        let sql = sql.unwrap_or_default();
        statement.digest = self.observed_digest(sql);
        self.cache_statement(sql, statement.clone())?;
        Ok(statement)
    }

    /// All texts are prepared, or have failed.
    pub(crate) fn take_statements(&self, batch: &mut Batch<'_>, unprepared: Unprepared) {
        let texts = unprepared.texts.into_iter();
        let known = texts.map(|text| batch.texts.get(text).unwrap_or_default());
        let known: HashMap<_, _> = known.zip(unprepared.prepared).collect();
        for planned in &mut batch.statements {
            let Planned::Exec { text, params } = planned else {
                continue;
            };
            let sql = batch.texts.get(text.clone()).unwrap_or_default();
            *planned = match known.get(sql) {
                Some(Ok(statement)) => Planned::Execute {
                    statement: statement.clone(),
                    params: params.clone(),
                },
                Some(Err(error)) => Planned::Failed(error.clone()),
                None => continue,
            };
        }
    }

    /// A pipeline begins.
    pub(crate) fn start_pipeline(&mut self) {
        let mut sent = Box::<Sent>::default();
        sent.observed = self.is_observed().then(VecDeque::new);
        self.sent_ahead = Some(sent);
    }

    /// Encodes statements ahead, up to the limit, behind those that wait for their replies. `outcomes` has all that were encoded and
    /// whose results were not returned yet.
    pub(crate) fn encode_ahead(
        &mut self,
        batch: &mut Batch<'_>,
        outcomes: &mut VecDeque<Outcome>,
    ) -> Result<(), Error> {
        let most = if self.pipelining { MAX_COMMANDS } else { 1 };
        // Rarely, and then many at once: examining the queue takes time.
        if outcomes.len() > most / 2 || batch.statements.is_empty() {
            return Ok(());
        }
        let output = self.buffers.output();
        let mut waiting = output.len();
        let mut end = output.sent() + waiting as u64;
        while outcomes.len() < most && waiting < MAX_BYTES {
            let Some(planned) = batch.statements.front() else {
                break;
            };
            outcomes
                .try_reserve(1)
                .map_err(|_| out_of_memory(outcomes.len() * size_of::<Outcome>()))?;
            let outcome = self.encode(planned, batch);
            if outcome.is_ok() {
                let len = self.buffers.output().command_len();
                if let Some(sent) = &mut self.sent_ahead {
                    sent.starts.push_back(end);
                    if let Some(observed) = &mut sent.observed {
                        observed.push_back(Observed::of(planned));
                    }
                }
                waiting += len;
                end += len as u64;
            }
            outcomes.push_back(outcome);
            batch.statements.pop_front();
        }
        Ok(())
    }

    fn encode(&mut self, planned: &Planned, batch: &Batch<'_>) -> Outcome {
        match planned {
            Planned::Query(text) => {
                let sql = batch.texts.get(text.clone()).unwrap_or_default();
                self.core.query_ahead(&mut self.buffers, sql)?;
            }
            Planned::Execute { statement, params } => {
                self.own(statement)?;
                let first = u32::try_from(params.start).map_err(|_| out_of_memory(params.start))?;
                let params = batch.params.get(params.clone()).unwrap_or_default();
                self.core.accept_more(true);
                let queued = self
                    .core
                    .execute(&mut self.buffers, statement.id, Params(params));
                self.core.accept_more(false);
                queued?;
                self.buffers.output().number_borrowed_from(first);
            }
            Planned::Failed(error) => {
                return Err(Error::server_error(error.clone()).of_preparing());
            }
            Planned::Exec { .. } => return Err(ProtocolError::StatementClosed.into()),
        }
        Ok(())
    }

    /// The wait for the next statement's reply begins.
    pub(crate) fn start_reply(&mut self, batch: &Batch<'_>) {
        self.start_statement();
        if let Some(sent) = &self.sent_ahead
            && let Some(start) = sent.starts.front()
        {
            (self.sent_before, self.queued_before) = (*start, 0);
        }
        self.observe_next(batch);
    }

    /// The reply came, or its first packet.
    pub(crate) fn replied(&mut self) {
        if let Some(sent) = &mut self.sent_ahead {
            sent.starts.pop_front();
            if let Some(observed) = &mut sent.observed {
                observed.pop_front();
            }
        }
    }

    /// Rows will be read; that must not wait until the server accepts the statements behind theirs.
    pub(crate) fn set_output_aside(&mut self) {
        if self.buffers.has_output()
            && let Some(sent) = &mut self.sent_ahead
        {
            sent.aside = Some(self.buffers.output().set_aside());
        }
    }

    /// The rows were read: what waits may be sent.
    pub(crate) fn put_output_back(&mut self) {
        if let Some(sent) = &mut self.sent_ahead
            && let Some(aside) = sent.aside.take()
        {
            self.buffers.output().put_back(aside);
        }
    }

    /// The results of a pipeline were dropped: statements of which nothing was sent are withdrawn.
    #[cold]
    pub(crate) fn leave_pipeline(&mut self) {
        self.put_output_back();
        let Some(sent) = self.sent_ahead.take() else {
            return;
        };
        let left = self.buffers.output().sent();
        let unsent = sent.starts.iter().rev().take_while(|&&at| at >= left);
        let unsent = unsent.count();
        let kept = sent.starts.len() - unsent;
        if let Some(&first) = sent.starts.get(kept) {
            let waiting = usize::try_from(first - left).unwrap_or(usize::MAX);
            self.buffers.output().truncate(waiting);
            self.core.withdraw_last(unsent);
        }
        // A partly sent statement is completed, or can't be; it is not withdrawn.
        if let Some(&start) = kept.checked_sub(1).and_then(|last| sent.starts.get(last)) {
            (self.sent_before, self.queued_before) = (start, 0);
        }
    }

    /// All results were returned.
    pub(crate) fn end_pipeline(&mut self) {
        if self.core.is_idle() {
            self.sent_ahead = None;
        }
    }
}
