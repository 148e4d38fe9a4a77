//! The thread that sends spans to the collector.
//!
//! It waits a second for more of them. While the collector cannot be reached, as many wait as the queue is long; others are lost, and
//! counted.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use aws_lc_rs::rand::fill;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use onecopy_mysql_proto::digest::Digester;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

use super::line::Line;
use super::span::{self, Ids};
use super::writer::DIGEST_BYTES;
use super::{Shared, State, WAITING, Which};
use crate::config::{CollectorUrl, LogLevel, TracesConfig};
use crate::lock::lock;
use crate::log::{self, Log};

/// Statements in one request.
const BATCH: usize = 512;

/// So long a statement waits for others.
const LINGER: Duration = Duration::from_secs(1);

/// A collector that takes longer to answer is tried again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Times between tries: they double.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// More of an answer is not read.
const MOST_ANSWER: usize = 64 << 10;

pub(super) enum Message {
    Statement(Arc<Line>),
    /// There is another collector, or none.
    Config,
    /// Everything before was sent, or lost.
    Flush(Sender<()>),
}

/// A request that has failed.
#[derive(Debug)]
enum Failed {
    /// It is tried again.
    Later(String),
    /// The collector does not take it.
    Refused(String),
}

pub(super) struct Exporter {
    messages: Receiver<Message>,
    shared: Arc<Shared>,
    log: Log,
    digester: Digester,
    config: Option<TracesConfig>,
    waiting: Vec<Arc<Line>>,
    /// Since when the first of them waits.
    since: Option<Instant>,
    /// The last request failed: the next one is made then, after so long.
    retry: Option<(Instant, Duration)>,
    /// Made for the first request.
    client: Option<Client>,
}

/// A connection to the collector, which is kept.
struct Client {
    runtime: Runtime,
    connection: Option<SendRequest<String>>,
}

struct Random;

impl Ids for Random {
    fn fill(&mut self, id: &mut [u8]) {
        // Without random bytes it is all zeros, which the collector refuses.
        let _ = fill(id);
    }
}

impl Exporter {
    pub(super) fn new(messages: Receiver<Message>, shared: Arc<Shared>, log: Log) -> Self {
        Self {
            messages,
            shared,
            log,
            digester: Digester::new(DIGEST_BYTES),
            config: None,
            waiting: Vec::new(),
            since: None,
            retry: None,
            client: None,
        }
    }

    pub(super) fn run(&mut self) {
        loop {
            let message = match self.due() {
                None => self
                    .messages
                    .recv()
                    .map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => {
                    let wait = due.saturating_duration_since(Instant::now());
                    self.messages.recv_timeout(wait)
                }
            };
            let next = lock(&self.shared.next_traces).take();
            if let Some(config) = next {
                self.send_all();
                self.set(config);
            }
            match message {
                Ok(Message::Statement(line)) => self.add(line),
                Ok(Message::Config) => {}
                Ok(Message::Flush(done)) => {
                    self.send_all();
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.send_all(),
            }
            while self.due().is_some_and(|due| due <= Instant::now()) {
                self.send();
            }
        }
    }

    /// When the next request is to be made.
    fn due(&self) -> Option<Instant> {
        let since = self.since?;
        let due = match self.waiting.len() < BATCH {
            true => since + LINGER,
            false => since,
        };
        Some(match self.retry {
            Some((retry, _)) => due.max(retry),
            None => due,
        })
    }

    fn add(&mut self, line: Arc<Line>) {
        if self.config.is_none() {
            return;
        }
        if self.waiting.len() >= WAITING {
            self.counts().dropped.fetch_add(1, Relaxed);
            return;
        }
        self.since.get_or_insert_with(Instant::now);
        self.waiting.push(line);
    }

    fn set(&mut self, config: Option<TracesConfig>) {
        let url = config.as_ref().and_then(|config| config.endpoint.as_ref());
        *lock(&self.shared.states[Which::Traces as usize]) = State {
            place: url.map(ToString::to_string),
            error: None,
        };
        self.config = config;
        (self.client, self.retry) = (None, None);
    }

    /// Once: what is refused then is lost.
    fn send_all(&mut self) {
        while !self.waiting.is_empty() && self.send() {}
        let lost = self.waiting.len();
        self.counts().failed.fetch_add(lost as u64, Relaxed);
        (self.waiting, self.since) = (Vec::new(), None);
    }

    /// Makes a request; returns whether the collector has answered.
    fn send(&mut self) -> bool {
        let batch = self.waiting.len().min(BATCH);
        let result = self.post(batch);
        let counts = self.counts();
        match result {
            Ok(()) => {
                counts.written.fetch_add(batch as u64, Relaxed);
                self.recovered();
            }
            Err(Failed::Refused(why)) => {
                counts.failed.fetch_add(batch as u64, Relaxed);
                self.failed(&why);
            }
            Err(Failed::Later(why)) => {
                self.failed(&why);
                let wait = self
                    .retry
                    .map_or(FIRST_RETRY, |(_, wait)| (2 * wait).min(LAST_RETRY));
                self.retry = Some((Instant::now() + wait, wait));
                return false;
            }
        }
        self.waiting.drain(..batch);
        self.since = (!self.waiting.is_empty()).then(Instant::now);
        true
    }

    fn post(&mut self, batch: usize) -> Result<(), Failed> {
        let Some(config) = &self.config else {
            return Ok(());
        };
        let Some(url) = &config.endpoint else {
            return Ok(());
        };
        let lines = self.waiting.get(..batch).unwrap_or_default();
        let body = span::request(lines, config, &mut Random, &mut self.digester);
        let client = match &mut self.client {
            Some(client) => client,
            None => {
                let client = Client::new().map_err(|error| Failed::Later(error.to_string()))?;
                self.client.insert(client)
            }
        };
        client.post(url, body)
    }

    fn counts(&self) -> &super::Counts {
        &self.shared.counts[Which::Traces as usize]
    }

    /// Says so once, and not again before the collector has taken something.
    fn failed(&mut self, why: &str) {
        let place = self.place();
        let mut state = lock(&self.shared.states[Which::Traces as usize]);
        let is_first = state.error.replace(why.to_owned()).is_none();
        drop(state);
        if is_first {
            let what = format!("the collector {place} does not take traces: {why}");
            self.say(LogLevel::Warn, what);
        }
    }

    fn recovered(&mut self) {
        self.retry = None;
        let before = lock(&self.shared.states[Which::Traces as usize])
            .error
            .take();
        if before.is_some() {
            let what = format!("the collector {} takes traces again", self.place());
            self.say(LogLevel::Info, what);
        }
    }

    fn place(&self) -> String {
        let url = self
            .config
            .as_ref()
            .and_then(|config| config.endpoint.as_ref());
        url.map(ToString::to_string).unwrap_or_default()
    }

    fn say(&self, level: LogLevel, what: String) {
        let table = Which::Traces.table();
        self.log
            .event(log::Event::StatementLog { level, table, what });
    }
}

impl Client {
    fn new() -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        Ok(Self {
            runtime,
            connection: None,
        })
    }

    fn post(&mut self, url: &CollectorUrl, body: String) -> Result<(), Failed> {
        let Self {
            runtime,
            connection,
        } = self;
        let done = runtime.block_on(async {
            // Most collectors close a connection that was idle for a while: then a new one is made.
            let kept = connection.take();
            let is_new = kept.is_none();
            match tokio::time::timeout(PATIENCE, post(kept, url, body.clone())).await {
                Ok(Err(Failed::Later(_))) if !is_new => {
                    tokio::time::timeout(PATIENCE, post(None, url, body)).await
                }
                done => done,
            }
        });
        *connection = done.unwrap_or_else(|_| {
            let why = format!("it did not answer within {} s", PATIENCE.as_secs());
            Err(Failed::Later(why))
        })?;
        Ok(())
    }
}

/// Makes a request, and returns the connection where it can be used again.
async fn post(
    kept: Option<SendRequest<String>>,
    url: &CollectorUrl,
    body: String,
) -> Result<Option<SendRequest<String>>, Failed> {
    let later = |error: &dyn std::error::Error| Failed::Later(error.to_string());
    let mut connection = match kept {
        Some(connection) => connection,
        None => {
            let stream = TcpStream::connect((&*url.host, url.port)).await;
            let stream = stream.map_err(|error| later(&error))?;
            let (connection, driver) =
                (handshake(TokioIo::new(stream)).await).map_err(|error| later(&error))?;
            tokio::spawn(driver);
            connection
        }
    };
    let request = Request::post(&*url.path)
        .header(header::HOST, url.authority())
        .header(header::CONTENT_TYPE, "application/json")
        .header(
            header::USER_AGENT,
            concat!("onecopy-proxy/", env!("CARGO_PKG_VERSION")),
        )
        .body(body);
    // A path that was checked is one.
    let request = request.map_err(|error| Failed::Refused(error.to_string()))?;
    let answer = connection
        .send_request(request)
        .await
        .map_err(|error| later(&error))?;
    let status = answer.status();
    let connection = is_over(answer.into_body()).await.then_some(connection);
    match status {
        status if status.is_success() => Ok(connection),
        // Those that OTLP says to try again.
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => Err(Failed::Later(format!("HTTP status {status}"))),
        status => Err(Failed::Refused(format!("HTTP status {status}"))),
    }
}

/// Reads an answer to its end; `false` where the connection cannot be used again.
async fn is_over(mut answer: Incoming) -> bool {
    let mut most = MOST_ANSWER;
    loop {
        match poll_fn(|context| Pin::new(&mut answer).poll_frame(context)).await {
            None => return true,
            Some(Err(_)) => return false,
            Some(Ok(frame)) => {
                let length = frame.data_ref().map_or(0, |data| data.len());
                match most.checked_sub(length) {
                    Some(left) => most = left,
                    None => return false,
                }
            }
        }
    }
}
