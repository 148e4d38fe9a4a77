//! The floor that the proxy is measured against: a relay without a protocol.
//!
//! `relay LISTEN=SERVER`, addresses of TCP. The same streams, buffers and one event loop per CPU as the proxy has; what
//! one side sends goes to the other as it comes, and nobody looks at it.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};

use mio::{Events, Poll, Token, Waker};
use onecopy_net::SocketOptions;
use onecopy_net::evented::{Address, Listener, ListenerOptions, ReadOutcome, Stream, connect};
use onecopy_wire::{BufferConfig, Buffers};

const WAKE: Token = Token(usize::MAX);
const EVENTS: usize = 256;

fn main() -> ExitCode {
    let Some((listen, server)) = std::env::args().nth(1).as_deref().and_then(way) else {
        eprintln!("usage: relay ADDRESS:PORT=ADDRESS:PORT");
        return ExitCode::from(2);
    };
    match run(listen, server) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("relay: {error}");
            ExitCode::FAILURE
        }
    }
}

fn way(text: &str) -> Option<(SocketAddr, SocketAddr)> {
    let (listen, server) = text.split_once('=')?;
    Some((listen.parse().ok()?, server.parse().ok()?))
}

/// Accepts, and hands each client to the next loop.
fn run(listen: SocketAddr, server: SocketAddr) -> io::Result<()> {
    let listener = Listener::bind(&Address::Tcp(listen), &ListenerOptions::default())?;
    eprintln!("listening on {}", listener.address()?);
    let mut poll = Poll::new()?;
    listener.register(poll.registry(), Token(0))?;
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let loops: Vec<_> = (0..count)
        .map(|_| Loop::start(Address::Tcp(server)))
        .collect::<io::Result<_>>()?;
    let mut turns = loops.iter().cycle();
    let mut events = Events::with_capacity(1);
    loop {
        if let Err(error) = poll.poll(&mut events, None)
            && error.kind() != io::ErrorKind::Interrupted
        {
            return Err(error);
        }
        while let Ok(Some((stream, _))) = listener.accept() {
            if let Some((clients, waker)) = turns.next() {
                // A loop never ends.
                let _ = clients.send(stream);
                waker.wake()?;
            }
        }
    }
}

struct End {
    stream: Stream,
    is_readable: bool,
    is_writable: bool,
}

/// A client and its server, and what is in flight between them.
struct Pair {
    ends: [End; 2],
    on_way: [Option<Box<Buffers>>; 2],
}

struct Loop {
    poll: Poll,
    clients: Receiver<Stream>,
    server: Address,
    pairs: Vec<Option<Box<Pair>>>,
    free: Vec<usize>,
    /// Freed in this turn: events of the pairs before may still be on the list.
    freed: Vec<usize>,
    pool: Pool,
}

impl Loop {
    fn start(server: Address) -> io::Result<(Sender<Stream>, Waker)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let (sender, clients) = channel();
        let mut own = Self {
            poll,
            clients,
            server,
            pairs: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
            pool: Pool::default(),
        };
        std::thread::Builder::new()
            .name("loop".into())
            .spawn(move || own.run())?;
        Ok((sender, waker))
    }

    fn run(&mut self) {
        let mut events = Events::with_capacity(EVENTS);
        loop {
            if self.poll.poll(&mut events, None).is_err() {
                continue;
            }
            for event in &events {
                let Token(token) = event.token();
                if event.token() == WAKE {
                    self.take_clients();
                } else if let Some(Some(pair)) = self.pairs.get_mut(token / 2) {
                    let end = &mut pair.ends[token % 2];
                    end.stream.observe(event);
                    end.is_readable |= event.is_readable() || event.is_read_closed();
                    end.is_writable |= event.is_writable();
                    self.carry(token / 2);
                }
            }
            self.free.append(&mut self.freed);
        }
    }

    fn take_clients(&mut self) {
        while let Ok(client) = self.clients.try_recv() {
            // A client without a server is dropped.
            let Ok(server) = connect(&self.server) else {
                continue;
            };
            let index = self.free.pop().unwrap_or_else(|| {
                self.pairs.push(None);
                self.pairs.len() - 1
            });
            let ends = [client, server].map(|stream| End {
                stream,
                is_readable: false,
                is_writable: false,
            });
            let mut pair = Pair {
                ends,
                on_way: [None, None],
            };
            // The client has them from the listener.
            let [_, server] = &pair.ends;
            let _ = server.stream.set_options(&SocketOptions::default());
            for (side, end) in pair.ends.iter_mut().enumerate() {
                let _ = end
                    .stream
                    .register(self.poll.registry(), Token(2 * index + side));
            }
            self.pairs[index] = Some(Box::new(pair));
        }
    }

    fn carry(&mut self, index: usize) {
        let Some(Some(pair)) = self.pairs.get_mut(index) else {
            return;
        };
        let pool = &mut self.pool;
        if (pair
            .carry_from(0, pool)
            .and_then(|()| pair.carry_from(1, pool)))
        .is_err()
        {
            self.pairs[index] = None;
            self.freed.push(index);
        }
    }
}

impl Pair {
    /// Forwards from one end until it has no more, or the other takes no more.
    fn carry_from(&mut self, from: usize, pool: &mut Pool) -> io::Result<()> {
        let [first, second] = &mut self.ends;
        let (from, to, on_way) = match from {
            0 => (first, second, &mut self.on_way[0]),
            _ => (second, first, &mut self.on_way[1]),
        };
        loop {
            if let Some(buffers) = on_way {
                while !buffers.pending().is_empty() {
                    if !to.is_writable {
                        return Ok(());
                    }
                    match to.stream.write(&[IoSlice::new(buffers.pending())])? {
                        Some(n) => buffers.forward(n),
                        None => to.is_writable = false,
                    }
                }
            }
            if !from.is_readable {
                if let Some(buffers) = on_way.take() {
                    pool.0.push(buffers);
                }
                return Ok(());
            }
            let buffers = on_way.get_or_insert_with(|| pool.take());
            buffers.need(1, 0);
            match from.stream.read(buffers)? {
                ReadOutcome::Bytes { is_drained, .. } => from.is_readable = !is_drained,
                ReadOutcome::WouldBlock => from.is_readable = false,
                ReadOutcome::Closed => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }
}

/// Buffers that nobody needs now. Of the proxy's sizes.
#[derive(Default)]
struct Pool(
    #[allow(clippy::vec_box)] // they go from hand to hand
    Vec<Box<Buffers>>,
);

impl Pool {
    fn take(&mut self) -> Box<Buffers> {
        self.0.pop().unwrap_or_else(|| {
            Box::new(Buffers::new(BufferConfig {
                initial_read: 16 << 10,
                max_read: 256 << 10,
                max_buffer: 512 << 10,
                idle_keep: 256 << 10,
            }))
        })
    }
}
