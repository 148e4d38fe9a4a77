//! Commands by kind. Times are of all since the start of the proxy, as `SHOW STATS` has them.

use super::Head;
use crate::top::grid::{Record, Show};
use crate::top::proxy::Proxy;
use crate::top::table::{Row, Table, number, text};
use crate::top::value::Value;

const COMMANDS: Head = Head {
    title: "Commands since the start",
    plain: "commands",
    none: "No client has sent a command yet.",
    columns: &[
        text("Command", "Command"),
        text("Listener", "Listener"),
        text("Backend", "Backend"),
        number("Cmds/s", "Commands/s"),
        number("Commands", "Commands"),
        number("Mean", "Mean_us"),
        number("50 %", "P50_us"),
        number("99 %", "P99_us"),
        number("Replies", "Replies"),
    ],
};

pub(super) fn table(proxies: &[Proxy]) -> Table {
    COMMANDS.table(proxies, Show::Stats, |proxy, grid| {
        let keys = &["Listener", "Backend", "Command"];
        let commands = proxy.earlier(Show::Stats, keys, "Commands");
        let row = |record: Record<'_>| {
            let names = keys.map(|key| record.text(key));
            let [listener, backend, command] = names;
            let count = |column| Value::of(record.number(column), Value::Count);
            let micros = |column| Value::of(record.number(column), Value::Micros);
            Row::new(
                &names,
                [
                    Value::text(command),
                    Value::text(listener),
                    Value::text(backend),
                    commands.rate(&record),
                    count("Commands"),
                    micros("Mean_us"),
                    micros("P50_us"),
                    micros("P99_us"),
                    count("Replies"),
                ],
            )
        };
        let used = |record: &Record<'_>| record.number("Commands") > Some(0);
        grid.records().filter(used).map(row).collect()
    })
}
