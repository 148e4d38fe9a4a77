//! `onecopy proxy`: in front of one or several servers.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use onecopy_net::{Endpoint, TlsAcceptor};
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{BackendConfig, Config, ListenerConfig};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// A MySQL and MariaDB proxy: as transparent as a wire
///
/// Clients log in with the servers' own users: the proxy knows no password. A session is one client and one server; which
/// server is decided when the client connects, by the fewest sessions for its weight.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Where to listen, and the servers behind it: HOST:PORT or the path of a Unix socket; several servers with commas
    #[arg(long = "mysql", value_name = "LISTEN=SERVER[,SERVER...]", required = true, value_parser = way)]
    ways: Vec<Way>,
    /// Event loops, each a thread; 0 is one a processor
    #[arg(long, value_name = "N", default_value_t = 0)]
    workers: usize,
    /// Clients in all; more are refused with error 1040
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_connections: usize,
    /// When stopped, how many seconds sessions have to end their transactions
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    drain_timeout: u64,
}

const EXAMPLES: &str = "\
Examples:
  onecopy proxy --mysql 127.0.0.1:3307=127.0.0.1:3306
  onecopy proxy --mysql 0.0.0.0:3307=db1:3306,db2:3306
  onecopy proxy --mysql /run/proxy.sock=/run/mysqld/mysqld.sock";

/// One listener and its servers.
#[derive(Debug, Clone)]
struct Way {
    listen: Endpoint,
    servers: Vec<Endpoint>,
}

fn way(text: &str) -> Result<Way, String> {
    let (listen, servers) = text
        .split_once('=')
        .ok_or("say where to listen and where to connect to: 127.0.0.1:3307=127.0.0.1:3306")?;
    Ok(Way {
        listen: endpoint(listen)?,
        servers: servers.split(',').map(endpoint).collect::<Result<_, _>>()?,
    })
}

fn endpoint(text: &str) -> Result<Endpoint, String> {
    if text.contains('/') {
        return Ok(Endpoint::Unix(text.into()));
    }
    let (host, port) = text
        .rsplit_once(':')
        .ok_or_else(|| format!("`{text}` has no port; a Unix socket's path has a `/` in it"))?;
    let port = port.parse().map_err(|_| format!("`{port}` is no port"))?;
    let host = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    Ok(Endpoint::Tcp { host, port })
}

pub(crate) fn run(args: Args) -> ExitCode {
    let config = Config {
        workers: args.workers,
        max_connections: args.max_connections,
        listeners: args.ways.into_iter().map(listener).collect(),
        ..Config::default()
    };
    let mut proxy = match Proxy::start_logging(config, std::io::stderr()) {
        Ok(proxy) => proxy,
        Err(error) => {
            anstream::eprintln!("onecopy: {error}");
            return ExitCode::FAILURE;
        }
    };
    for address in proxy.addresses() {
        anstream::eprintln!("listening on {address}");
    }
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else {
        return ExitCode::FAILURE;
    };
    signals.forever().next();
    let sessions = proxy.sessions();
    anstream::eprintln!(
        "stopping; {sessions} sessions may end their transactions, for {} seconds",
        args.drain_timeout
    );
    proxy.drain();
    let deadline = Instant::now() + Duration::from_secs(args.drain_timeout);
    while proxy.sessions() > 0 && Instant::now() < deadline && signals.pending().next().is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
    proxy.stop();
    ExitCode::SUCCESS
}

fn listener(way: Way) -> ListenerConfig {
    ListenerConfig {
        name: way.listen.to_string(),
        listen: vec![way.listen],
        tls: None::<TlsAcceptor>,
        backends: way.servers.into_iter().map(BackendConfig::new).collect(),
        ..ListenerConfig::default()
    }
}
