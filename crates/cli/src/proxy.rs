//! `onecopy proxy`: in front of one or several servers.

mod activation;
mod service;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onecopy_net::Endpoint;
use onecopy_net::evented::Address;
use onecopy_proxy::config::{
    BackendConfig, Changes, Config, DEFAULTS, ListenerConfig, LogFormat, LogLevel, endpoint,
};
use onecopy_proxy::{Log, Proxy, Sockets, SuccessorCommand, Takeover, raise_open_files};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::say;
use service::Service;

/// Run a transparent proxy for MySQL and MariaDB
///
/// Clients log in with the servers' own users; the proxy stores no passwords. Each client gets its own server connection. A new
/// session goes to the server with the fewest sessions relative to its weight.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Read this configuration file, and again on SIGHUP; `--print-config` prints one with every key
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ways", "workers", "max_connections", "drain_timeout"])]
    config: Option<PathBuf>,
    /// Validate the configuration and print what would be served, then exit
    #[arg(long)]
    check: bool,
    /// Take over from the running proxy at `upgrade.socket`; `onecopy upgrade` does this
    #[arg(long, requires = "config", conflicts_with = "check")]
    take_over: bool,
    /// Print a configuration file with every key, its explanation and its default
    #[arg(long, conflicts_with_all = ["config", "ways", "check"])]
    print_config: bool,
    /// Listen address and servers: HOST:PORT or the path of a Unix socket; separate servers with commas
    #[arg(long = "mysql", value_name = "LISTEN=SERVER[,SERVER...]", required_unless_present_any = ["config", "print_config"], value_parser = way)]
    ways: Vec<Way>,
    /// Worker threads; 0 = one per CPU
    #[arg(long, value_name = "N", default_value_t = 0)]
    workers: usize,
    /// Maximum number of clients; more are refused with error 1040
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_connections: usize,
    /// Seconds that sessions have to finish their transactions on shutdown
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    drain_timeout: u64,
}

const EXAMPLES: &str = "\
Examples:
  onecopy proxy --mysql 127.0.0.1:3307=127.0.0.1:3306
  onecopy proxy --mysql 0.0.0.0:3307=db1:3306,db2:3306
  onecopy proxy --mysql /run/proxy.sock=/run/mysqld/mysqld.sock
  onecopy proxy --print-config > proxy.toml
  onecopy proxy --config proxy.toml --check
  onecopy proxy --config proxy.toml

Signals:
  SIGHUP           reload the file; an invalid file changes nothing, and the
                   log says why
  SIGTERM, SIGINT  finish open transactions, then stop; a second signal stops
                   at once";

/// How long the program waits at its end for its last lines to be written.
const LAST_LINES: Duration = Duration::from_secs(1);

/// How often it is looked whether sessions have ended.
const LOOK: Duration = Duration::from_millis(20);

/// How the proxy comes to its listening sockets.
enum Start {
    /// These are there; others are made.
    With(Sockets),
    /// It takes them over.
    InPlaceOfAnother,
}

/// What the main thread waits for.
enum Wake {
    Signal(i32),
    /// This process has taken over.
    HandedOver(u32),
}

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

pub(crate) fn run(args: Args) -> ExitCode {
    if args.print_config {
        return match std::io::stdout().write_all(DEFAULTS.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let config = match &args.config {
        Some(path) => Config::from_file(path),
        None => Ok(of_flags(&args)),
    };
    let config = config.map_err(|error| error.to_string());
    let config = config.and_then(|config| match (config.check(), &args.config) {
        (Ok(()), _) => Ok(config),
        (Err(error), Some(path)) => Err(format!("{}: {error}", path.display())),
        (Err(error), None) => Err(error.to_string()),
    });
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            say(&format!("onecopy: {error}"));
            return ExitCode::FAILURE;
        }
    };
    if args.check {
        say(&format!(
            "the configuration is valid\n{}",
            describe(&config)
        ));
        return ExitCode::SUCCESS;
    }
    // Before there is another thread.
    let passed = Service::from_environment().and_then(|service| {
        let sockets = activation::sockets()?;
        Ok((service, sockets))
    });
    let (service, sockets) = match passed {
        Ok(passed) => passed,
        Err(error) => {
            say(&format!("onecopy: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let log = match Log::start(&config.log, std::io::stderr()) {
        Ok(log) => log,
        Err(error) => {
            say(&format!("onecopy: can't start the log's thread: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let start = match (args.take_over, sockets.is_empty()) {
        (false, _) => Start::With(sockets),
        (true, true) => Start::InPlaceOfAnother,
        (true, false) => {
            say(
                "onecopy: --take-over gets its sockets from the running proxy; start it without LISTEN_FDS",
            );
            return ExitCode::FAILURE;
        }
    };
    let served = serve(config, args.config, (service, start), &log);
    if let Err(error) = &served {
        log.note(LogLevel::Error, &format!("onecopy: {error}"));
    }
    log.flush(LAST_LINES);
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// From here on only the log's thread writes to standard error: if nobody reads it, a thread that writes blocks forever, and so does
/// every other one that wants to write. This includes the report of a panic.
fn take_panics(log: &Log, format: LogFormat) {
    let log = log.clone();
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed");
        let mut text = format!("thread '{name}' {panic}");
        let backtrace = Backtrace::capture();
        if format == LogFormat::Json {
            text = text.replace('\n', " ");
        } else if backtrace.status() == BacktraceStatus::Captured {
            text = format!("{text}\n{backtrace}");
        }
        log.note(LogLevel::Error, &text);
        if name == "main" {
            // The process ends with it.
            log.flush(LAST_LINES);
        }
    }));
}

fn serve(
    config: Config,
    file: Option<PathBuf>,
    (service, start): (Service, Start),
    log: &Log,
) -> Result<(), Box<dyn Error>> {
    take_panics(log, config.log.format);
    let info = |text: &str| log.note(LogLevel::Info, text);
    // Before anybody can come in: a signal must never find its default.
    let (sender, wakes) = channel();
    forward_signals(sender.clone())?;
    let service = Arc::new(service);
    let description = describe(&config);
    if let Err(error) = raise_open_files() {
        let text = format!("the limit of open files can't be raised: {error}");
        log.note(LogLevel::Warn, &text);
    }
    let proxy = match start {
        Start::With(sockets) => Proxy::start_with_sockets(config, sockets, log)?,
        Start::InPlaceOfAnother => {
            let takeover = Takeover::begin(&config)?;
            Proxy::take_over(config, takeover, log)?
        }
    };
    let proxy = Arc::new(proxy);
    proxy.set_successor(successor());
    let manager = Arc::clone(&service);
    proxy.on_handover(move |process| {
        manager.is_now(process);
        // The main thread that would take it has ended.
        let _ = sender.send(Wake::HandedOver(process));
    });
    let (itself, read_again) = (Arc::downgrade(&proxy), file.clone());
    let refused = Arc::new(Refused::default());
    let refused_here = Arc::clone(&refused);
    proxy.on_reload(move || {
        let proxy = itself.upgrade().ok_or("the proxy is stopping")?;
        let changes = reload(&proxy, read_again.as_deref(), &refused_here)?;
        Ok(changes.to_string())
    });
    // A proxy that has lost a thread lets its sessions end and is restarted by its supervisor.
    proxy.on_failure(|_| {
        let _ = signal_hook::low_level::raise(SIGTERM);
    });
    info(&description);
    for address in proxy.addresses() {
        info(&format!("listening on {address}"));
    }
    match proxy.web_address() {
        Some(Address::Tcp(address)) => info(&format!("live page at http://{address}/")),
        Some(socket) => info(&format!("live page on {socket}")),
        None => {}
    }
    if let Some(address) = proxy.admin_address() {
        info(&format!("admin listener on {address}"));
    }
    service.ready(&status(&proxy, &refused));
    loop {
        match next(&wakes, &service, &proxy, &refused) {
            Wake::Signal(SIGHUP) => {}
            Wake::Signal(_) => break,
            Wake::HandedOver(process) => return stay(&proxy, process, &wakes, log),
        }
        service.reloading();
        match reload(&proxy, file.as_deref(), &refused) {
            Ok(changes) if changes.is_empty() => info("reloaded: nothing has changed"),
            Ok(changes) => info(&format!("reloaded:\n{changes}")),
            Err(error) => {
                let text = format!("not reloaded, nothing has changed: {error}");
                log.note(LogLevel::Warn, &text);
            }
        }
        service.ready(&status(&proxy, &refused));
    }
    let text = farewell(&proxy);
    info(&text);
    service.stopping(&text);
    drain(&proxy, &wakes)
}

/// Another process is the service now: this one stays until its sessions have ended.
fn stay(
    proxy: &Proxy,
    process: u32,
    wakes: &Receiver<Wake>,
    log: &Log,
) -> Result<(), Box<dyn Error>> {
    let text = format!(
        "process {process} has taken over; {} sessions stay here until they end, for at most {:?}; a signal ends them after their \
         transactions",
        proxy.sessions(),
        proxy.config().upgrade.stay_timeout
    );
    log.note(LogLevel::Info, &text);
    while proxy.sessions() > 0 {
        match wakes.recv_timeout(LOOK) {
            Ok(Wake::Signal(signal)) if signal != SIGHUP => {
                log.note(LogLevel::Info, &farewell(proxy));
                return drain(proxy, wakes);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            _ => {}
        }
    }
    proxy.stop();
    proxy.failure().map_or(Ok(()), |why| Err(why.into()))
}

fn farewell(proxy: &Proxy) -> String {
    format!(
        "shutting down: {} sessions have up to {:?} to finish; signal again to stop now",
        proxy.sessions(),
        proxy.config().drain.timeout
    )
}

/// Lets sessions end, and stops. At another signal it stops at once.
fn drain(proxy: &Proxy, wakes: &Receiver<Wake>) -> Result<(), Box<dyn Error>> {
    proxy.drain();
    while !proxy.is_drained() {
        match wakes.recv_timeout(LOOK) {
            Ok(Wake::Signal(SIGHUP) | Wake::HandedOver(_)) | Err(RecvTimeoutError::Timeout) => {}
            Ok(_) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    proxy.stop();
    proxy.failure().map_or(Ok(()), |why| Err(why.into()))
}

/// How another process is started that takes over: this program again, as it was called, by a process that ends afterwards.
fn successor() -> SuccessorCommand {
    let mut own: Vec<OsString> = std::env::args_os().collect();
    if !own.iter().any(|argument| argument == "--take-over") {
        own.push("--take-over".into());
    }
    let program = own.first().cloned().unwrap_or_else(|| "onecopy".into());
    let mut arguments: Vec<OsString> = vec!["upgrade".into(), "--".into()];
    arguments.append(&mut own);
    SuccessorCommand { program, arguments }
}

/// Forwards the signals that this program acts on.
fn forward_signals(sender: Sender<Wake>) -> Result<(), Box<dyn Error>> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            let mut all = signals.forever().map(Wake::Signal);
            all.try_for_each(|signal| sender.send(signal))
        })?;
    Ok(())
}

/// Waits for what is to be done next, and tells the service manager meanwhile how the proxy is.
fn next(wakes: &Receiver<Wake>, service: &Service, proxy: &Proxy, refused: &Refused) -> Wake {
    const GONE: Wake = Wake::Signal(SIGTERM);
    let Some(interval) = service.interval() else {
        return wakes.recv().unwrap_or(GONE);
    };
    loop {
        match wakes.recv_timeout(interval) {
            Ok(wake) => return wake,
            Err(RecvTimeoutError::Disconnected) => return GONE,
            Err(RecvTimeoutError::Timeout) => {}
        }
        service.status(&status(proxy, refused));
        // A proxy whose workers do not answer is restarted by the manager.
        if service.is_watched() && proxy.is_responsive() {
            service.alive();
        }
    }
}

/// How the proxy is, in a line.
fn status(proxy: &Proxy, refused: &Refused) -> String {
    let servers = proxy.servers();
    let up = servers.iter().filter(|(_, _, is_up, _)| *is_up).count();
    let (sessions, all) = (proxy.sessions(), servers.len());
    let mut text = format!("{sessions} sessions, {up} of {all} backends up");
    let left = proxy.sessions_left_behind();
    if left > 0 {
        text += &format!("; {left} more sessions with the process before");
    }
    let refused = refused.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(line) = refused.as_deref().and_then(|why| why.lines().next()) {
        text += &format!("; the last reload changed nothing: {line}");
    }
    text
}

/// Why the last reload has changed nothing. `systemctl reload` does not notice that: it only sends a signal.
type Refused = Mutex<Option<String>>;

fn reload(proxy: &Proxy, file: Option<&Path>, refused: &Refused) -> Result<Changes, String> {
    let done = file
        .ok_or_else(|| "there is no file: the proxy was started without --config".to_owned())
        .and_then(|file| Config::from_file(file).map_err(|error| error.to_string()))
        .and_then(|config| proxy.reload(config).map_err(|error| error.to_string()));
    *refused.lock().unwrap_or_else(PoisonError::into_inner) = done.as_ref().err().cloned();
    done
}

fn of_flags(args: &Args) -> Config {
    let mut config = Config {
        workers: args.workers,
        max_connections: args.max_connections,
        listeners: args.ways.iter().cloned().map(listener).collect(),
        ..Config::default()
    };
    config.drain.timeout = Duration::from_secs(args.drain_timeout);
    config
}

/// What a configuration does, a line for each listener.
fn describe(config: &Config) -> String {
    let listener = |listener: &ListenerConfig| {
        let list = |endpoints: Vec<String>| endpoints.join(", ");
        let listen = list(listener.listen.iter().map(ToString::to_string).collect());
        let server = |backend: &BackendConfig| {
            let tls = if backend.tls.is_some() { " (tls)" } else { "" };
            format!("{}{tls}", backend.endpoint)
        };
        let tls = match (&listener.tls, listener.requires_tls) {
            (None, _) => "",
            (Some(_), false) => " (tls offered)",
            (Some(_), true) => " (tls required)",
        };
        let servers = list(listener.backends.iter().map(server).collect());
        format!("mysql '{}': {listen}{tls} -> {servers}", listener.name)
    };
    let lines: Vec<_> = config.listeners.iter().map(listener).collect();
    lines.join("\n")
}

fn listener(way: Way) -> ListenerConfig {
    ListenerConfig {
        name: way.listen.to_string(),
        listen: vec![way.listen],
        backends: way.servers.into_iter().map(BackendConfig::new).collect(),
        ..ListenerConfig::default()
    }
}
