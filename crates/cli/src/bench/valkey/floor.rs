//! The floor of cost: batches that are ready are sent, and their replies drained into one buffer, unread.
//!
//! Nothing that reads the protocol can be cheaper. What is sent and how long the reply is comes from our own client through a
//! [`Tap`], so both do the same work for the server.

use std::io;
use std::thread;
use std::time::Instant;

use onecopy_valkey::blocking::{Connection, Stream};
use onecopy_valkey::command::string;
use onecopy_valkey::{Config, Meter};

use super::blocking::joined;
use super::latency::Recorder;
use super::plan::{Plan, Test};
use super::workload::{self, Request, Visitor};
use super::{Done, Outcome, Stretch, server};
use crate::bench::failure::Failure;
use crate::bench::tap::{Notes, Socket, Tap};

/// The buffer that everything is drained into. More than a Unix socket holds at once is of no use.
const DRAIN: usize = 256 << 10;

pub(super) fn run(config: &Config, plan: Plan) -> Result<Outcome, Failure> {
    let mut floors = (0..plan.clients)
        .map(|_| Floor::connect(config))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(first) = floors.first_mut() else {
        return Err(Failure::said("the floor needs a connection"));
    };
    let exchange = first.record_plan(&plan)?;
    let version = server(first.conn.session());
    let stretch = Stretch::start();
    let done: Result<Vec<Done>, Failure> = thread::scope(|scope| {
        let (exchange, plan, latency) = (&exchange, &plan, &stretch.latency);
        let threads: Vec<_> = (0..)
            .zip(&mut floors)
            .map(|(client, floor)| {
                scope.spawn(move || {
                    floor.iterate(plan.share(client), plan.depth, exchange, latency.recorder())
                })
            })
            .collect();
        threads.into_iter().map(joined).collect()
    });
    Ok(stretch.end("floor", version, plan, &done?))
}

/// Requests that are ready, and how long their replies are.
#[derive(Debug)]
pub(crate) struct Exchange {
    requests: Vec<u8>,
    replies: u64,
}

impl Exchange {
    /// The same some times over, at once.
    fn times(&self, count: u64) -> Self {
        Self {
            requests: self
                .requests
                .repeat(usize::try_from(count).unwrap_or_default()),
            replies: self.replies * count,
        }
    }
}

/// One bare socket, logged in by the client through a tap, which stays open.
#[derive(Debug)]
pub(crate) struct Floor {
    conn: Connection,
    notes: Notes,
    socket: Socket,
    buffer: Vec<u8>,
    meter: Meter,
}

impl Floor {
    /// Logs in. A clear-text socket only: over TLS the floor would be that of the TLS library.
    pub(crate) fn connect(config: &Config) -> Result<Self, Failure> {
        if config.tls {
            return Err(Failure::said(
                "the floor is that of a plain socket; give a url without tls",
            ));
        }
        let socket = Socket::connect(&config.endpoint)?;
        let notes = Notes::default();
        let tap = Tap::new(socket.share()?, notes.clone());
        Ok(Self {
            conn: Connection::from_stream(config, Stream::own(tap))?,
            notes,
            socket,
            buffer: vec![0; DRAIN],
            meter: Meter::default(),
        })
    }

    /// Takes down what `run` sends, and how much it receives.
    pub(crate) fn record(
        &mut self,
        run: impl FnOnce(&mut Connection) -> Result<(), Failure>,
    ) -> Result<Exchange, Failure> {
        self.notes.take();
        run(&mut self.conn)?;
        let record = self.notes.take();
        // What the client needed for it is not the floor's.
        self.conn.release(0);
        Ok(Exchange {
            requests: record.sent,
            replies: record.received,
        })
    }

    /// Sends the requests, then drains their replies.
    #[inline]
    pub(crate) fn run(&mut self, exchange: &Exchange) -> io::Result<()> {
        self.send(&exchange.requests)?;
        self.drain(exchange.replies)
    }

    /// Reads and writes of the floor itself so far.
    pub(crate) fn meter(&self) -> Meter {
        Meter {
            peak_capacity: DRAIN as u64,
            capacity_now: DRAIN as u64,
            ..self.meter
        }
    }

    /// One request of the plan.
    fn record_plan(&mut self, plan: &Plan) -> Result<Exchange, Failure> {
        if !matches!(plan.test, Test::Ping | Test::Set | Test::Get) {
            return Err(Failure::said(
                "the floor knows the tests whose replies have one length: ping, set and get",
            ));
        }
        if plan.test == Test::Get {
            let name = plan.names(0).next().own.to_owned();
            self.conn.run(&string::set(&name, &plan.value))?;
        }
        self.record(|conn| workload::visit(plan, Once { conn, plan }))
    }

    fn iterate(
        &mut self,
        requests: u64,
        depth: u32,
        exchange: &Exchange,
        mut latency: Recorder,
    ) -> Result<Done, Failure> {
        let batch = exchange.times(depth.into());
        let mut left = requests;
        let before = self.meter();
        while left > 0 {
            let count = left.min(depth.into());
            let began = Instant::now();
            if count == u64::from(depth) {
                self.run(&batch)?;
            } else {
                self.run(&exchange.times(count))?;
            }
            latency.record(began);
            left -= count;
        }
        Ok(Done {
            meter: self.meter().since(&before),
            misses: 0,
        })
    }

    #[inline]
    fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let n = self.socket.write(bytes)?;
            self.meter.writes += 1;
            self.meter.bytes_written += n as u64;
            bytes = &bytes[n..];
        }
        Ok(())
    }

    #[inline]
    fn drain(&mut self, mut left: u64) -> io::Result<()> {
        while left > 0 {
            let most = self
                .buffer
                .len()
                .min(usize::try_from(left).unwrap_or(usize::MAX));
            match self.socket.read(&mut self.buffer[..most])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => {
                    self.meter.reads += 1;
                    self.meter.bytes_read += n as u64;
                    left -= n as u64;
                }
            }
        }
        Ok(())
    }
}

struct Once<'c> {
    conn: &'c mut Connection,
    plan: &'c Plan,
}

impl Visitor for Once<'_> {
    type Output = Result<(), Failure>;

    fn visit<R: Request>(self, request: R) -> Self::Output {
        let mut names = self.plan.names(0);
        let output = self.conn.run(&request.command(names.next()))?;
        request.check(output).map(|_| ())
    }
}
