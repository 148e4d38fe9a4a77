//! Runs a command beside private servers.
#![forbid(unsafe_code)]

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;

use onecopy_testkit::certificate::Authority;
use onecopy_testkit::server::{self, Server, StartError};
use onecopy_testkit::valkey;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

const HELP: &str = "\
Runs a command beside a private MariaDB or MySQL, a private Valkey or Redis, or several of them, and stops them afterwards.

Usage: with-server [--mysql] [--valkey] [--cluster] [--pair] [--option OPTION]... -- COMMAND [ARGUMENT...]

  --mysql          start a MariaDB or MySQL; this is what happens where nothing is asked for
  --valkey         start a Valkey or Redis
  --cluster        start a cluster of three Valkey or Redis
  --pair           start two more MariaDB or MySQL with binary logs, for replication, which the command sets up
  --option OPTION  one more option for MariaDB or MySQL: --option --log-bin=binlog

In an argument {URL} becomes the first one's URL over its Unix socket, {VALKEY_URL} the second one's, {CLUSTER_URL} the
cluster's, {PRIMARY_URL} and {REPLICA_URL} those of the pair over TCP. COMMAND also finds them in the environment:
  ONECOPY_URL             mysql://root:PASSWORD@localhost/test?socket=PATH
  ONECOPY_TCP_URL         mysql://root:PASSWORD@127.0.0.1:PORT/test
  ONECOPY_TLS_URL         the same over TLS, ?ssl-mode=verify-full&ssl-ca=PATH
  ONECOPY_VALKEY_URL      redis+unix:///PATH
  ONECOPY_VALKEY_TCP_URL  redis://127.0.0.1:PORT
  ONECOPY_VALKEY_TLS_URL  rediss://127.0.0.1:PORT?tls-ca=PATH
  ONECOPY_CLUSTER_URL     redis+cluster://127.0.0.1:PORT,127.0.0.1:PORT,127.0.0.1:PORT
  ONECOPY_PRIMARY_URL     mysql://root:PASSWORD@127.0.0.1:PORT/test
  ONECOPY_REPLICA_URL     the same of the other one

MariaDB has an empty database, test; Valkey is empty and stores nothing. Each lives in a temporary folder that is removed
with it, also when with-server is killed. The exit status is COMMAND's; 128 and the signal's number where a signal ended
it; 127 where COMMAND does not run; 1 where no server can be had.

Read from the environment:
  ONECOPY_TEST_SERVER         the mariadbd or mysqld to use
  ONECOPY_TEST_VALKEY_SERVER  the valkey-server or redis-server to use
  ONECOPY_NO_INSTALL          1: never install one from the distribution's packages

Examples:
  with-server -- onecopy sql {URL} 'SELECT version()'
  with-server --valkey -- onecopy valkey {VALKEY_URL} PING
";

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let mut wanted = Wanted::default();
    loop {
        match arguments.next() {
            Some(option) if option == "--mysql" => wanted.mysql = true,
            Some(option) if option == "--valkey" => wanted.valkey = true,
            Some(option) if option == "--cluster" => wanted.cluster = true,
            Some(option) if option == "--pair" => wanted.pair = true,
            Some(option) if option == "--option" => {
                match arguments.next().map(OsString::into_string) {
                    Some(Ok(option)) => wanted.options.push(option),
                    _ => return usage_error(),
                }
            }
            Some(option) if option == "--" => break,
            Some(option) if option == "--help" || option == "-h" => {
                print!("{HELP}");
                return ExitCode::SUCCESS;
            }
            _ => return usage_error(),
        }
    }
    let Some(program) = arguments.next() else {
        return usage_error();
    };
    wanted.mysql |= !wanted.valkey && !wanted.cluster && !wanted.pair;
    match Servers::start(wanted) {
        Ok(servers) => run(&mut servers.command(&program, arguments)),
        Err(error) => {
            eprintln!("with-server: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What is to be started.
#[derive(Default)]
struct Wanted {
    mysql: bool,
    valkey: bool,
    cluster: bool,
    pair: bool,
    options: Vec<String>,
}

/// The servers that were asked for.
struct Servers {
    mysql: Option<Server>,
    valkey: Option<valkey::Server>,
    cluster: Option<valkey::Cluster>,
    pair: Option<[Server; 2]>,
}

impl Servers {
    fn start(wanted: Wanted) -> Result<Self, StartError> {
        let authority = Authority::new("with-server");
        let certificate = authority.server(&["127.0.0.1", "localhost"]);
        let mut servers = Self {
            mysql: None,
            valkey: None,
            cluster: None,
            pair: None,
        };
        // Beside the others: their start is mostly waiting.
        let pair = wanted
            .pair
            .then(|| [1, 2].map(|id| thread::spawn(move || one_of_pair(id))));
        if wanted.mysql {
            let server = Server::builder().tls(&authority, certificate.clone());
            let options = wanted.options.into_iter();
            let server = options.fold(server, server::Builder::argument);
            let server = servers.mysql.insert(server.start()?);
            tell(&server.kind().to_string(), server.version(), server.port());
        }
        if wanted.valkey {
            let server = valkey::Server::builder().tls(&authority, certificate);
            let server = servers.valkey.insert(server.start()?);
            let product = if server.is_valkey() {
                "Valkey"
            } else {
                "Redis"
            };
            tell(product, server.version(), server.port());
        }
        if wanted.cluster {
            let cluster = servers.cluster.insert(valkey::Cluster::start(3, 0)?);
            for at in 0..3 {
                let node = cluster.node(at);
                tell("a node of the cluster", node.version(), node.port());
            }
        }
        if let Some(starting) = pair {
            let [first, second] = starting.map(thread::JoinHandle::join);
            let [Ok(first), Ok(second)] = [first, second] else {
                panic!("a thread that starts a server has panicked");
            };
            let pair = servers.pair.insert([first?, second?]);
            for server in pair {
                tell(&server.kind().to_string(), server.version(), server.port());
            }
        }
        Ok(servers)
    }

    fn command(&self, program: &OsStr, arguments: impl Iterator<Item = OsString>) -> Command {
        let mut command = Command::new(program);
        let mut places = Vec::new();
        if let Some(server) = &self.mysql {
            let url = server.socket_url();
            command
                .env("ONECOPY_URL", &url)
                .env("ONECOPY_TCP_URL", server.url())
                .env("ONECOPY_TLS_URL", server.tls_url().unwrap_or_default());
            places.push(("{URL}", url));
        }
        if let Some(server) = &self.valkey {
            let url = server.socket_url();
            command
                .env("ONECOPY_VALKEY_URL", &url)
                .env("ONECOPY_VALKEY_TCP_URL", server.url())
                .env(
                    "ONECOPY_VALKEY_TLS_URL",
                    server.tls_url().unwrap_or_default(),
                );
            places.push(("{VALKEY_URL}", url));
        }
        if let Some(cluster) = &self.cluster {
            command.env("ONECOPY_CLUSTER_URL", cluster.url());
            places.push(("{CLUSTER_URL}", cluster.url()));
        }
        if let Some(pair) = &self.pair {
            let [primary, replica] = pair.each_ref().map(Server::url);
            command
                .env("ONECOPY_PRIMARY_URL", &primary)
                .env("ONECOPY_REPLICA_URL", &replica);
            places.push(("{PRIMARY_URL}", primary));
            places.push(("{REPLICA_URL}", replica));
        }
        command.args(arguments.map(|argument| {
            places.iter().fold(argument, |argument, (place, url)| {
                with_url(&argument, place, url)
            })
        }));
        command
    }
}

/// A server that can be a primary or a replica.
fn one_of_pair(id: u32) -> Result<Server, StartError> {
    let server = Server::builder()
        .argument("--log-bin=binlog")
        .argument("--log-slave-updates=1")
        .argument("--skip-slave-start=1");
    server.argument(format!("--server-id={id}")).start()
}

fn tell(product: &str, version: &str, port: u16) {
    eprintln!("with-server: {product} {version} on 127.0.0.1:{port}");
}

fn usage_error() -> ExitCode {
    eprintln!(
        "with-server: usage: with-server [--mysql] [--valkey] [--cluster] [--pair] [--option OPTION]... -- COMMAND [ARGUMENT...] (--help says more)"
    );
    ExitCode::from(2)
}

/// Puts the URL into each place; arguments need not be UTF-8.
fn with_url(argument: &OsString, place: &str, url: &str) -> OsString {
    let mut rest = argument.as_bytes();
    let mut result = Vec::with_capacity(rest.len() + url.len());
    while let Some(at) = rest
        .windows(place.len())
        .position(|window| window == place.as_bytes())
    {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(url.as_bytes());
        rest = &rest[at + place.len()..];
    }
    result.extend_from_slice(rest);
    OsString::from_vec(result)
}

/// Runs the command to its end. The terminal sends Ctrl-C to the command as well, which decides what it means; other
/// requests to end are passed on. Until here, and whenever we die, the servers' watchdogs stop them.
fn run(command: &mut Command) -> ExitCode {
    let signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP]);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!(
                "with-server: cannot run {}: {error}",
                command.get_program().display()
            );
            return ExitCode::from(127);
        }
    };
    if let Ok(mut signals) = signals {
        let child = child.id();
        thread::spawn(move || {
            for signal in signals
                .forever()
                .filter(|signal| [SIGTERM, SIGHUP].contains(signal))
            {
                pass_on(signal, child);
            }
        });
    }
    match child.wait() {
        Ok(status) => exit_code(status),
        Err(error) => {
            eprintln!("with-server: cannot wait for the command: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Sends a signal without `unsafe`: the shell has `kill` built in.
fn pass_on(signal: i32, process: u32) {
    let _ = Command::new("/bin/sh")
        .args([
            "-c",
            "kill -\"$1\" \"$2\"",
            "kill",
            &signal.to_string(),
            &process.to_string(),
        ])
        .status();
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let number = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    number
        .and_then(|number| u8::try_from(number).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from)
}
