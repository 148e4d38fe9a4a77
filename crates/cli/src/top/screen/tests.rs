use super::*;
use crate::top::fixture::state;
use crate::top::table::Subject;

/// A table's row by the text of its first column, as columns of programs and values.
fn row(tables: &[Table], plain: &str, name: &str) -> Vec<(&'static str, String)> {
    let table = tables.iter().find(|table| table.plain == plain).unwrap();
    let mut rows = table.rows.iter();
    let row = rows.find(|row| row.values[0].plain() == name).unwrap();
    let values = row.values.iter().map(Value::plain);
    table
        .columns
        .iter()
        .map(|column| column.plain)
        .zip(values)
        .collect()
}

fn value(row: &[(&str, String)], column: &str) -> String {
    let found = row.iter().find(|(name, _)| *name == column);
    found
        .unwrap_or_else(|| panic!("{column} in {row:?}"))
        .1
        .clone()
}

fn assert_values(row: &[(&str, String)], expected: &[(&str, &str)]) {
    for (column, expected) in expected {
        assert_eq!(value(row, column), *expected, "{column}");
    }
}

#[test]
fn the_overview_has_rates_clients_and_server_connections() {
    let state = state(Screen::Overview, &["a"]);
    assert_values(
        &row(&state.tables, "proxies", "a"),
        &[
            ("State", "up"),
            ("Commands/s", "1000.0"),
            ("Clients", "12"),
            ("Server_connections", "12"),
            ("Bytes_read/s", "1048576.0"),
            ("Bytes_moved/s", "1024.0"),
            ("Bytes_moved_percent", "0.10"),
            ("P50_us", "75"),
            ("P99_us", "2500"),
            ("Errors/s", "10.0"),
            ("Buffer_bytes", "1048576"),
        ],
    );
    assert_values(
        &row(&state.tables, "listeners", "front"),
        &[
            ("State", "open"),
            ("Commands/s", "1000.0"),
            ("Mode", "transaction"),
            ("Accepted", "1500"),
        ],
    );
    assert_values(
        &row(&state.tables, "listeners", "plain"),
        &[
            ("Commands/s", "0.0"),
            ("P99_us", "-"),
            ("Mode", "pass"),
            ("TLS", "offered"),
        ],
    );
}

#[test]
fn backends_have_lag_errors_and_their_pools() {
    let state = state(Screen::Backends, &["a"]);
    assert_values(
        &row(&state.tables, "backends", "db2"),
        &[
            ("State", "lagging"),
            ("Role", "replica"),
            ("Lag_s", "125"),
            ("Lag_transactions", "4000"),
            ("Connections", "4"),
            ("Read_only", "yes"),
            ("Last_error", "Access denied for user 'onecopy_health'"),
        ],
    );
    assert_values(
        &row(&state.tables, "pools", "front"),
        &[
            ("In_use", "7"),
            ("Idle", "5"),
            ("Max", "16"),
            ("Waiting", "2"),
            ("Waits/s", "5.0"),
        ],
    );
    let main = state.main().unwrap();
    assert_eq!(main.rows[0].subject, Subject::Backend("db1".into()));
}

#[test]
fn sessions_are_sorted_by_their_commands_and_ids_are_numbers() {
    let mut state = state(Screen::Sessions, &["a"]);
    let users = |state: &crate::top::state::State| {
        let rows = &state.main().unwrap().rows;
        rows.iter()
            .map(|row| row.values[0].plain())
            .collect::<Vec<_>>()
    };
    assert_eq!(users(&state)[0], "9");
    assert_values(
        &row(&state.tables, "sessions", "9"),
        &[("Commands/s", "1000.0"), ("In_transaction", "yes")],
    );
    // To the left: state, user, id.
    for _ in 0..3 {
        state.sort_by_next(false);
    }
    assert_eq!(users(&state), ["11", "10", "9"]);
    state.reverse();
    assert_eq!(users(&state), ["9", "10", "11"]);
}

#[test]
fn other_screens_show_what_their_statements_say() {
    let tables = |screen| state(screen, &["a"]).tables;
    let digests = tables(Screen::Digests);
    let statement = digests[0].rows[0].values[0].plain();
    assert!(
        statement.starts_with("SELECT * FROM `product`"),
        "{statement}"
    );
    assert_values(
        &row(&digests, "digests", &statement),
        &[
            ("Share_percent", "75.00"),
            ("Count/s", "1000.0"),
            ("P99_us", "2500"),
            ("Digest", "00aa"),
        ],
    );
    // Those that are not kept by digest.
    assert_values(
        &row(&digests, "digests", "-"),
        &[("Count", "5"), ("Running", "-")],
    );
    let pins = tables(Screen::Pins);
    assert_values(&row(&pins, "pins", "9"), &[("Backend_id", "77")]);
    for reason in ["user_variable", "temporary_table"] {
        assert_values(&row(&pins, "pin_reasons", reason), &[("Sessions", "1")]);
    }
    let rules = tables(Screen::Rules);
    assert_values(
        &row(&rules, "rules", "no deletes"),
        &[
            ("Statements/s", "0.0"),
            ("Rejected", "12"),
            ("Starts_with", "DELETE"),
            ("User", "-"),
        ],
    );
    let users = tables(Screen::Users);
    assert_values(
        &row(&users, "users", "app"),
        &[("Mean_wait_us", "250"), ("Waiting", "2")],
    );
    let commands = tables(Screen::Commands);
    assert_eq!(
        commands[0].rows.len(),
        1,
        "kinds that nobody uses are left out"
    );
    assert_values(
        &row(&commands, "commands", "query"),
        &[("Commands/s", "1000.0")],
    );
    let buffers = tables(Screen::Buffers);
    assert_values(
        &row(&buffers, "buffers", "bytes_moved"),
        &[("Now/s", "1024.0"), ("Percent_of_bytes_read", "0.10")],
    );
    assert_values(
        &row(&buffers, "buffers", "buffer_bytes"),
        &[("Now/s", "-"), ("Value", "1048576")],
    );
}

#[test]
fn with_several_proxies_each_row_names_its_own_and_one_that_is_lost_has_none() {
    let mut state = state(Screen::Backends, &["a", "b"]);
    let main = state.main().unwrap();
    assert_eq!((main.columns[1], main.rows.len()), (PROXY, 6));
    let owners: Vec<_> = main.rows.iter().map(|row| row.values[1].plain()).collect();
    assert_eq!(owners.iter().filter(|owner| *owner == "b").count(), 3);
    let retry_at = std::time::Instant::now();
    let why = Shown::new("connection refused");
    state.report(0, crate::top::poller::Report::Lost { why, retry_at });
    let main = state.main().unwrap();
    assert!(main.rows.iter().all(|row| row.proxy == 1) && main.rows.len() == 3);
    state.switch(Screen::Overview);
    assert_values(
        &row(&state.tables, "proxies", "a"),
        &[("State", "down"), ("Commands/s", "-")],
    );
}

#[test]
fn every_screen_asks_for_what_it_shows_and_has_an_order_that_exists() {
    for screen in Screen::ALL {
        let needs = Screen::needs(&[screen]);
        assert!(needs.len() <= ALWAYS.len() + 1);
        let state = state(screen, &["a", "b"]);
        for table in &state.tables {
            assert!(!table.rows.is_empty(), "{screen:?}");
            assert!(
                table
                    .rows
                    .iter()
                    .all(|row| row.values.len() == table.columns.len())
            );
            for column in &table.columns {
                assert!(!column.plain.contains(' '), "{}", column.plain);
            }
        }
        let has_order = screen.order(&state.main().unwrap().columns).is_some();
        assert_eq!(
            has_order,
            !matches!(screen, Screen::Rules | Screen::Buffers),
            "{screen:?}"
        );
    }
}
