//! Answers of a proxy, for tests.

use std::time::{Duration, Instant};

use super::grid::{Grid, Show};
use super::poller::Report;
use super::proxy::Answer;
use super::screen::Screen;
use super::state::State;
use super::value::Shown;

pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// An answer: names of columns, and rows of values with `|` between them. `NULL` is none.
pub(super) fn grid(at: Instant, columns: &str, rows: &[&str]) -> Grid {
    let split = |line: &str| line.split('|').map(str::to_owned).collect::<Vec<_>>();
    let mut grid = Grid::new(at, split(columns));
    for row in rows {
        let values = split(row)
            .into_iter()
            .map(|value| Some(value).filter(|value| value != "NULL"));
        grid.push(values.collect());
    }
    grid
}

/// What a proxy says after so many seconds under a load: each second 1,000 commands, 10 errors, 1 MiB.
pub(super) fn answers(began: Instant, seconds: u64) -> Vec<Answer> {
    let at = began + Duration::from_secs(seconds);
    let commands = seconds * 1_000;
    let ok = |show, columns: &str, rows: &[&str]| (show, Ok(grid(at, columns, rows)));
    vec![
        ok(
            Show::Listeners,
            "Listener|Address|Tls|Backends|Sessions|Accepted|Refused|Failed",
            &[
                "front|127.0.0.1:3307|no|2|12|1500|3|1",
                "plain|127.0.0.1:3308|offered|1|0|0|0|0",
            ],
        ),
        ok(
            Show::Servers,
            "Listener|Backend|Address|State|Role|Read_only|Lag|Lag_transactions|Weight|Sessions|Failed_connects|\
             Failed_checks|Last_error",
            &[
                "front|db1|10.0.0.1:3306|up|primary|0|NULL|NULL|1|8|0|0|NULL",
                "front|db2|10.0.0.2:3306|lagging|replica|1|125|4000|1|4|2|7|Access denied for user 'onecopy_health'",
                "plain|db1|10.0.0.1:3306|down|any|NULL|NULL|NULL|1|0|0|0|NULL",
            ],
        ),
        ok(
            Show::Pools,
            "Listener|Mode|Max|Connections|Idle|Waiting|Waits|Mean_wait_us|Timeouts|Connects|Failed_connects|\
             Delayed_connects|Refused_logins|Replays|Resets|Pinned|State",
            &[&format!(
                "front|transaction|16|12|5|2|{}|250|0|12|0|0|0|40|0|1|open",
                seconds * 5
            )],
        ),
        ok(
            Show::Traffic,
            "Listener|Backend|Logins|Commands|Errors|Bytes_in|Bytes_out",
            &[
                &format!(
                    "front|db1|8|{commands}|{}|{}|{}",
                    seconds * 10,
                    seconds << 19,
                    seconds << 19
                ),
                "plain|db1|0|0|0|0|0",
            ],
        ),
        ok(
            Show::Latencies,
            "Listener|Backend|Command|Up_to_us|Replies",
            &[
                &format!("front|db1|query|75|{}", commands / 10 * 9),
                &format!("front|db1|query|2500|{}", commands / 10),
            ],
        ),
        ok(
            Show::Buffers,
            "Name|Value|Meaning",
            &[
                "buffers_in_use|3|buffers in use by sessions; an idle session holds none",
                "buffer_bytes|1048576|memory of all buffers",
                &format!(
                    "bytes_read|{}|bytes forwarded, both directions",
                    seconds << 20
                ),
                &format!(
                    "bytes_moved|{}|bytes moved to the front of a buffer",
                    seconds << 10
                ),
            ],
        ),
        ok(
            Show::Clients,
            "Id|User|Client|Listener|Backend|State|Commands|Statements|In_transaction|Compression|Age|Idle",
            &[
                &format!("9|app|10.1.0.1:5000|front|db1|command|{commands}|2|1||60|0"),
                "10|日本語|10.1.0.2:5000|front|db1|idle|7|0|0||4000|40",
                "11|\x1b]0;owned\x07\x1b[31mevil\u{202e}|10.1.0.3:5000|plain|db1|idle|1|0|0|zstd/off|1|1",
            ],
        ),
        ok(
            Show::Digests,
            "Digest|Count|Total_us|Mean_us|P50_us|P99_us|Max_us|Rows|Affected|Bytes_in|Bytes_out|Errors|Warnings|\
             Running|First_seen|Last_seen|Statement",
            &[
                &format!(
                    "00aa|{commands}|3000000|300|200|2500|9000|{commands}|0|100|200|1|0|1|2026-01-01T00:00:00Z|\
                     2026-01-02T00:00:00Z|SELECT * FROM `product` WHERE `id` = ? AND `name` LIKE ? ORDER BY `price` LIMIT ?"
                ),
                "NULL|5|1000000|200|200|200|200|0|5|10|20|0|0|NULL|NULL|NULL|NULL",
            ],
        ),
        ok(
            Show::Pins,
            "Id|User|Client|Listener|Backend|Backend_id|Reasons|Age|Idle",
            &["9|app|10.1.0.1:5000|front|db1|77|user_variable, temporary_table|60|0"],
        ),
        ok(
            Show::Rules,
            "Listener|Rule|User|Schema|Starts_with|Digest|Action|Statements|Rejected|Limited",
            &["front|no deletes|NULL|NULL|DELETE|NULL|reject: a DELETE needs a WHERE|12|12|0"],
        ),
        ok(
            Show::Users,
            "Listener|User|Connections|Waiting|Waits|Mean_wait_us|Timeouts|Limited",
            &["front|app|7|2|50|250|0|0"],
        ),
        ok(
            Show::Stats,
            "Listener|Backend|Command|Commands|Replies|Mean_us|P50_us|P99_us",
            &[
                &format!("front|db1|query|{commands}|{commands}|310|75|2500"),
                "front|db1|fetch|0|0|NULL|NULL|NULL",
            ],
        ),
    ]
}

/// The state after two answers of each proxy, a second apart.
pub(super) fn state(screen: Screen, proxies: &[&str]) -> State {
    let names = proxies.iter().map(|name| Shown::new(name)).collect();
    let mut state = State::new(names, screen, INTERVAL);
    let began = Instant::now();
    for seconds in [10, 11] {
        for proxy in 0..proxies.len() {
            state.report(proxy, Report::Answers(answers(began, seconds)));
        }
    }
    state
}
