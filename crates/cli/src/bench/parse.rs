//! `onecopy bench parse`: replies in memory, without a kernel.

mod stream;

use std::io::{Read, Write};

use onecopy_resp_proto::{Client, Frame, Limits, Message, ProtocolError, Reply};
use onecopy_wire::{BufferConfig, Buffers, Core, Meter, Step, WireError};
use serde::Serialize;

use super::failure::Failure;
use super::usage::{Moment, Usage};
use crate::json_object::{JsonObject, nanos, rounded, to_text};
use stream::{Source, Stream};

/// Requests that are outstanding at once.
const PIPELINE: u64 = 1 << 10;

/// Parse a stream of replies in memory, in chunks of 16 KiB, and print the cost per unit.
///
/// A warm-up, until the buffers have their size, is not counted.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The stream.
    stream: Stream,
    /// Repetitions of the stream's pattern [default: as many as fit in about a second].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// Read the kind and length of every element, not only of the reply itself.
    #[arg(long)]
    elements: bool,
    /// Convert each reply into an owned one, and drop it.
    #[arg(long, conflicts_with = "elements")]
    owned: bool,
    /// Print a JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// Do not parse; write one repetition of the pattern (of a large bulk its header) to stdout, for other parsers.
    #[arg(long)]
    turn: bool,
}

/// The slice that large bulks are read into.
const SLICE: usize = 16 << 10;

/// As small as keeps whole chunks: the buffer stays in the cache next to the processor, as that of the peers does.
const CONFIG: BufferConfig = BufferConfig {
    initial_read: 16 << 10,
    max_read: 32 << 10,
    max_buffer: 64 << 20,
    idle_keep: 256 << 10,
};

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if args.turn {
        std::io::stdout().write_all(&args.stream.bytes())?;
        return Ok(());
    }
    let turns = args
        .iterations
        .unwrap_or_else(|| args.stream.default_turns());
    if args.owned && args.stream == Stream::Large {
        return Err(Failure::said(
            "the stream 'large' is read in pieces; it can't be combined with --owned",
        ));
    }
    let depth = match (args.elements, args.owned) {
        (true, _) => Depth::Elements,
        (_, true) => Depth::Owned,
        _ => Depth::Reply,
    };
    let mut parser = Parser::new(args.stream, depth);
    parser.run(warm_up(args.stream))?;
    let (before, moment) = (parser.buffers.meter(), Moment::now());
    parser.run(turns)?;
    let outcome = Outcome {
        stream: args.stream,
        turns,
        usage: moment.usage(),
        meter: parser.buffers.meter().since(&before),
        checksum: parser.checksum,
    };
    if args.json {
        println!("{}", outcome.json());
    } else {
        print!("{}", outcome.table());
    }
    Ok(())
}

/// Turns until buffers and lists have their size.
fn warm_up(stream: Stream) -> u64 {
    match stream {
        Stream::Large => 1,
        _ => 100,
    }
}

/// What is done with each reply.
#[derive(Debug, Clone, Copy)]
enum Depth {
    /// Its kind and length are asked for.
    Reply,
    /// Those of all that it holds are, too.
    Elements,
    /// It is detached from the buffers.
    Owned,
}

/// One of them: code of its own, so that what is not done costs nothing.
trait Look {
    fn look(client: &Client, frame: Frame, buffers: &mut Buffers) -> Result<u64, WireError>;
}

struct AtReply;
struct AtElements;
struct Owning;

impl Look for AtReply {
    #[inline(always)]
    fn look(client: &Client, frame: Frame, buffers: &mut Buffers) -> Result<u64, WireError> {
        Ok(shallow(client.reply(frame, buffers)))
    }
}

impl Look for AtElements {
    #[inline(always)]
    fn look(client: &Client, frame: Frame, buffers: &mut Buffers) -> Result<u64, WireError> {
        let reply = client.reply(frame, buffers);
        Ok(fold(shallow(reply), reply))
    }
}

impl Look for Owning {
    #[inline(always)]
    fn look(client: &Client, frame: Frame, buffers: &mut Buffers) -> Result<u64, WireError> {
        // Where it was made: to move it would be a part of what is measured.
        match &client.detach(frame, buffers) {
            Ok(owned) => Ok(shallow(owned.reply())),
            Err(error) => Err(*error),
        }
    }
}

/// A client's core and its buffers, fed from memory.
struct Parser {
    stream: Stream,
    depth: Depth,
    source: Source,
    client: Client,
    buffers: Buffers,
    checksum: u64,
}

impl Parser {
    fn new(stream: Stream, depth: Depth) -> Self {
        Self {
            stream,
            depth,
            source: Source::new(stream),
            client: Client::new(Limits::default()),
            buffers: Buffers::new(CONFIG),
            checksum: 0,
        }
    }

    fn run(&mut self, turns: u64) -> Result<(), Failure> {
        let replies = turns * self.stream.turn().replies;
        let done = match (self.stream, self.depth) {
            (Stream::Large, _) => self.stream_bulks(turns),
            (_, Depth::Reply) => self.lend::<AtReply>(replies),
            (_, Depth::Elements) => self.lend::<AtElements>(replies),
            (_, Depth::Owned) => self.lend::<Owning>(replies),
        };
        done.map_err(|error| Failure::said(error.to_string()))
    }

    /// Takes replies and pushes as they are borrowed.
    fn lend<L: Look>(&mut self, replies: u64) -> Result<(), ProtocolError> {
        let mut left = replies;
        while left > 0 {
            let batch = left.min(PIPELINE);
            self.client.expect(batch);
            left -= batch;
            let mut awaited = batch;
            while awaited > 0 {
                match self.client.advance(&mut self.buffers)? {
                    Step::Message(Message::Reply(frame)) => {
                        awaited -= 1;
                        let seen = L::look(&self.client, frame, &mut self.buffers)?;
                        self.checksum = self.checksum.wrapping_add(seen);
                    }
                    Step::Message(Message::Push(frame)) => {
                        let seen = L::look(&self.client, frame, &mut self.buffers)?;
                        self.checksum = self.checksum.wrapping_add(seen);
                    }
                    Step::NeedInput(_) => self.read()?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Reads each reply as a string in pieces: straight into a slice, but for what was read with its header.
    fn stream_bulks(&mut self, bulks: u64) -> Result<(), ProtocolError> {
        let mut into = [0; SLICE];
        for _ in 0..bulks {
            self.client.expect(1);
            self.client.stream_next();
            loop {
                while self.client.can_read_direct(&mut self.buffers) {
                    let piece = self.read_direct(&mut into)?;
                    self.checksum += piece as u64 + u64::from(into[0]);
                }
                match self.client.advance(&mut self.buffers)? {
                    Step::NeedInput(_) => self.read()?,
                    Step::Message(Message::Piece(piece)) => {
                        let bytes = self.buffers.bytes(piece);
                        let first = bytes.first().copied().unwrap_or_default();
                        self.checksum += bytes.len() as u64 + u64::from(first);
                    }
                    Step::Message(Message::BulkEnd) => break,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Gives how many bytes of the string came.
    fn read_direct(&mut self, into: &mut [u8]) -> Result<usize, WireError> {
        let left = usize::try_from(self.client.bulk_left()).unwrap_or(usize::MAX);
        let len = into.len().min(left);
        self.buffers.prepare_into(len, left - len)?;
        let mut targets = self.buffers.targets_into(&mut into[..len]);
        let n = self.source.read_vectored(targets.as_mut()).unwrap_or(0);
        let came = self.buffers.commit(n);
        self.client.direct_read(came);
        Ok(came)
    }

    fn read(&mut self) -> Result<(), WireError> {
        self.buffers.prepare()?;
        // A source in memory has bytes always.
        let n = self.source.read_vectored(self.buffers.targets().as_mut());
        self.buffers.commit(n.unwrap_or(0));
        Ok(())
    }
}

/// A reply's own kind and length.
#[inline(always)]
fn shallow(reply: Reply<'_>) -> u64 {
    reply.kind() as u64 + reply.bytes().len() as u64
}

/// Looks at all that a reply holds. Nesting is bounded by the streams'.
fn fold(mut sum: u64, reply: Reply<'_>) -> u64 {
    for child in reply.children() {
        sum = sum.wrapping_add(child.kind() as u64 + child.bytes().len() as u64);
        if !child.is_empty() {
            sum = fold(sum, child);
        }
    }
    sum
}

/// What came of a run.
struct Outcome {
    stream: Stream,
    turns: u64,
    usage: Usage,
    meter: Meter,
    checksum: u64,
}

impl Outcome {
    fn bytes(&self) -> u64 {
        self.turns * Source::turn_bytes(self.stream)
    }

    fn units(&self) -> u64 {
        self.turns * self.stream.turn().units
    }

    fn mb_per_second(&self) -> f64 {
        self.bytes() as f64 / 1e6 / self.usage.cpu().as_secs_f64().max(1e-9)
    }

    fn nanos_per_unit(&self) -> f64 {
        self.usage.cpu().as_secs_f64() * 1e9 / self.units() as f64
    }

    fn table(&self) -> String {
        let unit = self.stream.turn().unit;
        format!(
            "stream {}: {} bytes in chunks of 16 KiB, checksum {:016x}\n\n  \
             {:<26}{:>14}\n  {:<26}{:>14.0}\n  {:<26}{:>14.1}\n  {:<26}{:>14}\n  {:<26}{:>14}\n  {:<26}{:>14}\n",
            self.stream,
            self.bytes(),
            self.checksum,
            format!("units ({unit})"),
            self.units(),
            "MB a second of CPU",
            self.mb_per_second(),
            format!("ns a unit"),
            self.nanos_per_unit(),
            "bytes copied or moved",
            self.meter.copied(),
            "growths of the buffer",
            self.meter.growths,
            "peak capacity in bytes",
            self.meter.peak_capacity,
        )
    }

    fn json(&self) -> String {
        to_text(&Report {
            stream: self.stream.to_string(),
            unit: self.stream.turn().unit,
            units: self.units(),
            bytes: self.bytes(),
            checksum: format!("{:016x}", self.checksum),
            cpu_ns: nanos(self.usage.cpu()),
            mb_per_s: rounded(self.mb_per_second(), 1),
            ns_per_unit: rounded(self.nanos_per_unit(), 2),
            meter: JsonObject::of_meter(&self.meter),
        })
    }
}

/// One run as JSON.
#[derive(Serialize)]
struct Report {
    stream: String,
    unit: &'static str,
    units: u64,
    bytes: u64,
    checksum: String,
    cpu_ns: u64,
    mb_per_s: f64,
    ns_per_unit: f64,
    meter: JsonObject,
}
