//! The screens: which statements they need, and which tables they make of the answers.

mod backends;
mod buffers;
mod commands;
mod digests;
mod overview;
mod pins;
mod rules;
mod sessions;
mod users;

use super::grid::{Grid, Show};
use super::proxy::Proxy;
use super::table::{Column, Order, PROXY, Row, Table};
use super::value::{Shown, Value};

/// A screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Screen {
    /// Proxies and their listeners
    Overview,
    /// Backends and the pools of their connections
    Backends,
    /// Sessions of clients
    Sessions,
    /// Statements by digest
    Digests,
    /// Sessions that keep a shared connection, and why
    Pins,
    /// Rules for statements
    Rules,
    /// Users of pooled listeners
    Users,
    /// Commands by kind
    Commands,
    /// Bytes carried, moved and copied; memory
    Buffers,
}

/// What every screen needs. These answers are small, whatever the proxy does.
const ALWAYS: [Show; 6] = [
    Show::Listeners,
    Show::Servers,
    Show::Pools,
    Show::Traffic,
    Show::Latencies,
    Show::Buffers,
];

impl Screen {
    pub(super) const ALL: [Self; 9] = [
        Self::Overview,
        Self::Backends,
        Self::Sessions,
        Self::Digests,
        Self::Pins,
        Self::Rules,
        Self::Users,
        Self::Commands,
        Self::Buffers,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Backends => "Backends",
            Self::Sessions => "Sessions",
            Self::Digests => "Digests",
            Self::Pins => "Pins",
            Self::Rules => "Rules",
            Self::Users => "Users",
            Self::Commands => "Commands",
            Self::Buffers => "Buffers",
        }
    }

    pub(super) fn number(self) -> usize {
        let at = Self::ALL.iter().position(|screen| *screen == self);
        at.unwrap_or_default()
    }

    /// What it adds to what every screen needs.
    fn own(self) -> Option<Show> {
        match self {
            Self::Overview | Self::Backends | Self::Buffers => None,
            Self::Sessions => Some(Show::Clients),
            Self::Digests => Some(Show::Digests),
            Self::Pins => Some(Show::Pins),
            Self::Rules => Some(Show::Rules),
            Self::Users => Some(Show::Users),
            Self::Commands => Some(Show::Stats),
        }
    }

    /// The statements that these screens need.
    pub(super) fn needs(screens: &[Self]) -> Vec<Show> {
        let own = screens.iter().filter_map(|screen| screen.own());
        ALWAYS.into_iter().chain(own).collect()
    }

    /// The order before anybody has chosen one, of [`main`](Self::tables) table.
    pub(super) fn order(self, columns: &[Column]) -> Option<Order> {
        let name = match self {
            Self::Overview => "Listener",
            Self::Backends => "Backend",
            Self::Sessions => "Commands/s",
            Self::Digests => "Total_us",
            Self::Pins => "Age_s",
            Self::Users => "Waiting",
            Self::Commands => "Commands/s",
            // The first rule that applies counts.
            Self::Rules | Self::Buffers => return None,
        };
        let at = columns.iter().position(|column| column.plain == name)?;
        Some(Order::by(columns, at))
    }

    /// Its tables; the first one is the main one, in which a row can be chosen.
    pub(super) fn tables(self, proxies: &[Proxy]) -> Vec<Table> {
        match self {
            Self::Overview => vec![overview::listeners(proxies), overview::proxies(proxies)],
            Self::Backends => vec![backends::backends(proxies), backends::pools(proxies)],
            Self::Sessions => vec![sessions::table(proxies)],
            Self::Digests => vec![digests::table(proxies)],
            Self::Pins => vec![pins::sessions(proxies), pins::reasons(proxies)],
            Self::Rules => vec![rules::table(proxies)],
            Self::Users => vec![users::table(proxies)],
            Self::Commands => vec![commands::table(proxies)],
            Self::Buffers => vec![buffers::table(proxies)],
        }
    }
}

/// What does not depend on the answers.
struct Head {
    title: &'static str,
    plain: &'static str,
    none: &'static str,
    columns: &'static [Column],
}

impl Head {
    /// The rows of all proxies that have answered. With several, their names are behind the first column.
    fn table(
        &self,
        proxies: &[Proxy],
        show: Show,
        rows: impl Fn(&Proxy, &Grid) -> Vec<Row>,
    ) -> Table {
        let mut table = Table {
            title: self.title,
            plain: self.plain,
            none: self.none,
            columns: self.columns.to_vec(),
            rows: Vec::new(),
            is_answered: false,
            hidden: 0,
            warnings: Vec::new(),
        };
        let has_several = proxies.len() > 1;
        if has_several {
            table.columns.insert(1, PROXY);
        }
        for (at, proxy) in proxies.iter().enumerate() {
            table.is_answered |= proxy.answer(show).is_some();
            let grid = match proxy.answer(show) {
                None => continue,
                Some(Ok(grid)) => grid,
                Some(Err(why)) => {
                    let warning = format!("{}: {}: {why}", proxy.name, show.sql());
                    table.warnings.push(Shown::new(&warning));
                    continue;
                }
            };
            if grid.is_cut {
                let kept = grid.records().count();
                let warning = format!("{}: only the first {kept} rows are shown", proxy.name);
                table.warnings.push(Shown::new(&warning));
            }
            for mut row in rows(proxy, grid) {
                row.proxy = at;
                if has_several {
                    row.values.insert(1, Value::Text(proxy.name.clone()));
                }
                debug_assert_eq!(row.values.len(), table.columns.len());
                table.rows.push(row);
            }
        }
        table
    }
}

#[cfg(test)]
mod tests;
