//! All sessions of a server leave it for another one while they are used.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;
use onecopy_proxy::config::Mode;

use crate::lost::is_soak;
use crate::pair::{Pair, client, client_of, connects};
use crate::replication::until;

/// In a process of clients: the port of the proxy, which process it is, and how many sessions each has.
const CLIENTS: &str = "ONECOPY_TEST_CLIENTS";

const PROCESSES: usize = 4;

/// Before the move, while it lasts, and behind it.
const PHASES: [&str; 3] = ["before", "during", "after"];

#[test]
fn all_sessions_are_moved_under_load() {
    if let Ok(clients) = std::env::var(CLIENTS) {
        return use_in_turn(&clients);
    }
    let at_most = |soak: usize, test: usize| if is_soak() { soak } else { test };
    // In the second mode the proxy needs two descriptors for each, and the server one: many systems allow 20,000.
    for (mode, sessions_in_all, connections) in [
        (Mode::Transaction, at_most(10_000, 200), 64),
        (Mode::Session, at_most(1_000, 100), 1_000),
    ] {
        let pair = Pair::start_apart_with(mode, connections);
        let mut admin = pair.admin();
        admin.run("DRAIN BACKEND two").unwrap();
        let Endpoint::Tcp { port, .. } = client(&pair.proxy).endpoint else {
            panic!("the proxy has a port");
        };
        let mut clients: Vec<_> = (0..PROCESSES)
            .map(|at| Clients::start(port, at, sessions_in_all / PROCESSES))
            .collect();
        await_round(&clients, 2);
        let before = connects(&mut admin);
        let start = Instant::now();
        enter(&mut clients, 1);
        admin.run("RESUME BACKEND two").unwrap();
        admin.run("DRAIN BACKEND one").unwrap();
        until("all have left", || {
            crate::planned::sessions(&pair.primary) == 0
        });
        let left = start.elapsed();
        // Each comes to the other server with its next statement.
        await_round(&clients, last_round(&clients) + 2);
        let took = start.elapsed();
        let made = connects(&mut admin) - before;
        enter(&mut clients, 2);
        await_round(&clients, last_round(&clients) + 2);
        enter(&mut clients, PHASES.len());
        println!(
            "{mode:?}: {sessions_in_all} sessions left in {left:?}, and were used at the other server within {took:?}, by \
             {made} connects"
        );
        let times: Vec<_> = clients.into_iter().flat_map(Clients::end).collect();
        for (phase, name) in PHASES.into_iter().enumerate() {
            let of_phase = times.iter().filter(|(at, _)| *at == phase);
            let mut times: Vec<_> = of_phase.map(|(_, time)| *time).collect();
            times.sort_unstable();
            let slow = times.get(times.len() * 99 / 100);
            println!(
                "{name} the move: {} statements, 99 % within {slow:?}",
                times.len()
            );
        }
    }
}

/// What a statement took, and in which phase.
type Time = (usize, Duration);

/// Sessions in a process of their own, which are used in turn.
struct Clients {
    process: Child,
    /// Takes the phases.
    phases: ChildStdin,
    /// How often all of them have been used.
    rounds: Arc<AtomicUsize>,
    times: JoinHandle<Vec<Time>>,
}

impl Clients {
    fn start(port: u16, at: usize, sessions: usize) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "moved::all_sessions_are_moved_under_load",
                "--nocapture",
            ])
            .env(CLIENTS, format!("{port} {at} {sessions}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (phases, output) = (process.stdin.take(), process.stdout.take());
        let rounds = Arc::new(AtomicUsize::new(0));
        let said = Arc::clone(&rounds);
        let listen = move || {
            let mut times = Vec::new();
            for line in BufReader::new(output.unwrap()).lines() {
                let line = line.unwrap();
                let words: Vec<_> = line.split(' ').collect();
                match words[..] {
                    [.., "round", round] => said.store(round.parse().unwrap(), SeqCst),
                    [.., "time", phase, micros] => {
                        let micros = Duration::from_micros(micros.parse().unwrap());
                        times.push((phase.parse().unwrap(), micros));
                    }
                    _ => {}
                }
            }
            times
        };
        Self {
            process,
            phases: phases.unwrap(),
            rounds,
            times: std::thread::spawn(listen),
        }
    }

    /// Returns when it has ended.
    fn end(mut self) -> Vec<Time> {
        drop(self.phases);
        let times = self.times.join().unwrap();
        assert!(self.process.wait().unwrap().success());
        times
    }
}

fn await_round(clients: &[Clients], least: usize) {
    until("a round of all sessions", || {
        assert!(clients.iter().all(|one| !one.times.is_finished()));
        let mut rounds = clients.iter().map(|one| one.rounds.load(SeqCst));
        rounds.all(|round| round >= least)
    });
}

fn last_round(clients: &[Clients]) -> usize {
    let rounds = clients.iter().map(|one| one.rounds.load(SeqCst));
    rounds.max().unwrap_or_default()
}

fn enter(clients: &mut [Clients], phase: usize) {
    for one in clients {
        writeln!(one.phases, "{phase}").unwrap();
    }
}

/// In a process of clients. Each session has a variable of its own.
fn use_in_turn(clients: &str) {
    let mut numbers = clients.split(' ').map(|number| number.parse().unwrap());
    let mut next = || numbers.next().unwrap();
    let (port, at, count): (u64, u64, u64) = (next(), next(), next());
    let config = client_of(u16::try_from(port).unwrap());
    let phase = Arc::new(AtomicUsize::new(0));
    let heard = Arc::clone(&phase);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            heard.store(line.unwrap().parse().unwrap(), SeqCst);
        }
        // The one that asks has ended.
        heard.store(PHASES.len(), SeqCst);
    });
    let open = |number: u64| {
        let mut conn = Connection::connect_with(&config).unwrap();
        conn.run(format!("SET SESSION lock_wait_timeout = {number}"))
            .unwrap();
        (number, conn)
    };
    let first = 1_000 + at * count;
    let mut all: Vec<_> = (first..first + count).map(open).collect();
    let mut times: Vec<Time> = Vec::new();
    for round in 1_usize.. {
        for (number, conn) in &mut all {
            let now = phase.load(SeqCst);
            if now >= PHASES.len() {
                for (phase, time) in times {
                    println!("time {phase} {}", time.as_micros());
                }
                return;
            }
            let start = Instant::now();
            let sql = "SELECT @@lock_wait_timeout";
            let found = conn.query_opt::<(u64,)>(sql).unwrap().unwrap();
            times.push((now, start.elapsed()));
            assert_eq!(found, (*number,));
        }
        println!("round {round}");
    }
}
