//! The stop behind a proxy: the same server, directly and through it.

use std::io::{self, IsTerminal};
use std::net::SocketAddr;

use indicatif::HumanCount;
use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, Endpoint, SslMode};
use onecopy_net::Endpoint as Way;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::{BackendConfig, Config as ProxyConfig, ListenerConfig};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::super::cost::{Cost, ours};
use super::super::print::{gap, item, plain, shown, title};
use super::super::table;
use crate::bench::failure::Failure;
use crate::bench::shape::ROWS_TABLE;

/// Small queries of one run.
const QUERIES: u32 = 2_000;

/// What the way through a proxy costs.
pub(super) fn show(config: &Config) -> Result<(), Failure> {
    title("6. The proxy");
    if !may_pass(config) {
        plain(
            "Left out: it would be between you and a server of which you want to be sure that nobody is.",
        );
        return Ok(());
    }
    Stop::start(config)?.compare(config)
}

/// Leaves a proxy up until Ctrl-C, where somebody is there to type it.
pub(super) fn stay(url: &str) -> Result<(), Failure> {
    let config = Config::from_url(url)?;
    if io::stdout().is_terminal() && may_pass(&config) {
        return Stop::start(&config)?.stay(url);
    }
    Ok(())
}

/// Whether the proxy, which speaks no TLS here, changes nothing for the worse: neither the way to the server nor a password
/// that a plugin sends only where nobody can listen.
fn may_pass(config: &Config) -> bool {
    let wants_tls = !matches!(
        config.ssl_mode,
        None | Some(SslMode::Disabled | SslMode::Preferred)
    );
    let Ok(mut conn) = Connection::connect_with(config) else {
        return false;
    };
    let plugin = value(
        &mut conn,
        "SELECT plugin FROM mysql.user WHERE CONCAT(user, '@', host) = CURRENT_USER()",
    );
    let is_plain = plugin.is_none_or(|plugin| !plugin.contains("sha2"));
    config.endpoint.is_local() && !wants_tls && is_plain
}

/// A value as text, where it can be had.
fn value(conn: &mut Connection, sql: &str) -> Option<String> {
    let mut rows = conn.query(sql).ok()?;
    let row = rows.next().ok()??;
    Some(String::from_utf8_lossy(row.bytes(0).ok()??).into_owned())
}

/// A proxy in front of the tour's server.
struct Stop {
    proxy: Proxy,
    /// The client's way through it.
    through: Config,
    address: SocketAddr,
}

impl Stop {
    /// Starts a proxy on a port of the loopback address.
    fn start(config: &Config) -> Result<Self, Failure> {
        let server = match &config.endpoint {
            Endpoint::Unix(path) => Way::Unix(path.clone()),
            Endpoint::Tcp { host, port } => Way::Tcp {
                host: host.clone(),
                port: *port,
            },
        };
        let listen = Way::Tcp {
            host: "127.0.0.1".to_owned(),
            port: 0,
        };
        let proxy = Proxy::start(ProxyConfig {
            listeners: vec![ListenerConfig {
                listen: vec![listen],
                backends: vec![BackendConfig::new(server)],
                ..ListenerConfig::default()
            }],
            ..ProxyConfig::default()
        })
        .map_err(|error| Failure::said(error.to_string()))?;
        let address = proxy
            .tcp_address()
            .ok_or_else(|| Failure::said("the proxy listens nowhere"))?;
        let mut through = config.clone();
        through.endpoint = Endpoint::Tcp {
            host: address.ip().to_string(),
            port: address.port(),
        };
        Ok(Self {
            proxy,
            through,
            address,
        })
    }

    /// What the way through it costs beside the direct one.
    fn compare(&self, config: &Config) -> Result<(), Failure> {
        plain(&format!(
            "`onecopy proxy` in front of the same server, over TCP, its threads in this process. First {} small queries, one \
             after the other.",
            HumanCount(QUERIES.into())
        ));
        let small = "SELECT 1";
        let direct = queries(config, small, QUERIES)?;
        let through = queries(&self.through, small, QUERIES)?;
        table::costs(&[("direct", &direct), ("through the proxy", &through)]);
        plain("Then the whole table of big rows.");
        let rows = format!("SELECT * FROM {ROWS_TABLE}");
        let direct = queries(config, &rows, 1)?;
        let before = self.proxy.snapshot(false).meter;
        let through = queries(&self.through, &rows, 1)?;
        let meter = self.proxy.snapshot(false).meter.since(&before);
        table::costs(&[("direct", &direct), ("through the proxy", &through)]);
        shown(&format!(
            "The proxy carried {} bytes and moved or copied {} of them in user space.",
            HumanCount(meter.bytes_read),
            HumanCount(meter.copied()),
        ));
        plain(
            "Each byte is sent from the buffer it was read into; of a row only the header of its packet is looked at. A session \
             that is idle holds no buffer.",
        );
        Ok(())
    }

    /// Leaves the proxy up until Ctrl-C, where somebody is there to type it.
    fn stay(mut self, url: &str) -> Result<(), Failure> {
        let (port, user) = (self.address.port(), &self.through.user);
        let password = password_of_private(url);
        title("The proxy stays up until Ctrl-C");
        item(
            "the client, through it",
            &format!("mariadb -h 127.0.0.1 -P {port} -u {user} -p{password}"),
        );
        item(
            "a load, through it",
            &format!(
                "sysbench oltp_point_select --mysql-host=127.0.0.1 --mysql-port={port} --mysql-user={user} \
                 --mysql-password={password} --mysql-db=test prepare, then run"
            ),
        );
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        signals.forever().next();
        gap();
        let snapshot = self.proxy.snapshot(false);
        plain(&format!(
            "{} clients came, with {} commands; {} bytes were carried, {} moved or copied in user space.",
            HumanCount(snapshot.counters.accepted()),
            HumanCount(snapshot.counters.commands()),
            HumanCount(snapshot.meter.bytes_read),
            HumanCount(snapshot.meter.copied()),
        ));
        self.proxy.stop();
        Ok(())
    }
}

/// The password of a private server, which nobody knows who does not read it here; nothing for a server of the user's own.
fn password_of_private(url: &str) -> &str {
    if std::env::var("ONECOPY_URL").as_deref() != Ok(url) {
        return "";
    }
    let login = url
        .split_once("://")
        .and_then(|(_, rest)| rest.split_once('@'));
    login
        .and_then(|(login, _)| login.split_once(':'))
        .map_or("", |(_, password)| password)
}

/// So many queries one after the other, every value of every row looked at.
fn queries(config: &Config, sql: &str, count: u32) -> Result<Cost, Failure> {
    let run = |conn: &mut Connection, (): &mut ()| -> Result<(), Failure> {
        for _ in 0..count {
            let mut rows = conn.query(sql)?;
            while let Some(row) = rows.next()? {
                for index in 0..row.len() {
                    row.value(index)?;
                }
            }
        }
        Ok(())
    };
    ours(config, |_| Ok(()), run)
}
