//! The mirror, packet by packet: the same random script, run on a server directly and through a proxy. Every packet of every reply has to
//! be equal.
//!
//! Steps run one after the other, so that both runs see the same data; sessions take turns at random, and their transactions
//! interleave. At most as many sessions as there are connections less one keep a connection at the same time: the others would wait
//! for them for ever.
//!
//! | variable                    | meaning                                                        |
//! |-----------------------------|----------------------------------------------------------------|
//! | `ONECOPY_MIRROR_STATEMENTS` | how many steps a run has                                       |
//! | `ONECOPY_MIRROR_SEED`       | another script                                                 |
//! | `ONECOPY_MIRROR_WITHOUT`    | names of items that are left out, with commas between them     |
//! | `ONECOPY_MIRROR_ONLY`       | the only items that are taken                                  |
//! | `ONECOPY_MIRROR_HISTORY`    | how many steps before a difference are shown                   |
#![allow(clippy::unwrap_used)]

mod reply;
mod script;
mod side;
mod step;
mod wire;

use onecopy_mysql_proto::Capabilities;
use onecopy_proxy::config::{Mode, PoolConfig};

use reply::Reply;
use script::Script;
use side::Side;
use step::{Execution, Step};

/// Sessions at the same time, and connections that they share.
const SESSIONS: usize = 100;
const CONNECTIONS: usize = 4;

/// How many steps a run has, unless the environment says otherwise; a run between two servers is there to try the script itself.
const STEPS: usize = 10_000;
const OWN_STEPS: usize = 2_000;

/// Items whose replies are not those of a connection of one's own where connections are shared.
const DIFFERENT: &[&str] = &[
    // Its OK packet does not report the schema, and an unknown schema is an error of the first statement.
    "change of user",
    "kept change of user",
    // It is the proxy that asks for it.
    "what is tracked",
    // The id is put where a statement's text asks for it.
    "hidden insert id",
];

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// The first difference between the two, in words.
fn difference(
    seed: u64,
    steps: usize,
    direct: &mut Side,
    mirror: &mut Side,
    without: &[&str],
    is_shared: bool,
) -> Option<String> {
    let mut script = Script::new(seed, SESSIONS, CONNECTIONS - 1, direct.kind(), without);
    let mut past: Vec<(usize, String)> = Vec::new();
    let depth = number("ONECOPY_MIRROR_HISTORY", 14);
    let mut lost = 0;
    for at in 0..steps {
        let (session, item, step) = script.next();
        if !direct.is_connected(session) {
            let database = script.database_of_a_new_one(session);
            direct.connect(session, database);
            mirror.connect(session, database);
            past.push((session, format!("(connects with {database:?})")));
        }
        direct.send(session, &step);
        mirror.send(session, &step);
        let (wanted, status) = direct.receive(session, &step);
        let (found, _) = mirror.receive(session, &step);
        past.push((
            session,
            format!("{item}: {}", shortened(&format!("{step:?}"))),
        ));
        // Warnings of a statement that others were served after: the proxy says that it does not know them any more.
        let is_lost = found.says_that_it_is_lost();
        lost += usize::from(is_lost);
        if wanted != found && !is_lost {
            let what = shortened(&format!("{step:?}"));
            return Some(format!(
                "seed {seed}, step {at}, session {session}, {item}: {what}\n  {}\n  its last steps:\n    {}\n  all last \
                 steps:\n    {}\n  connections in use:{}",
                wanted.first_difference(&found),
                last(&past, depth, |one| one == session),
                last(&past, depth, |_| true),
                in_use(mirror, &past)
            ));
        }
        script.done(session, &step, &wanted, status);
        if !script.is_keeping(session) {
            let pins = mirror.pins_of(session);
            if !pins.is_empty() {
                script.pin(session, item, pins);
            }
        }
        if is_shared {
            let keeping = mirror.keeping();
            let most = CONNECTIONS - 1;
            if let Some(&last) = keeping
                .iter()
                .filter(|_| keeping.len() > most)
                .max_by_key(|&&at| (!script.is_keeping(at), at == session))
            {
                script.end_next(last);
            }
        }
    }
    println!("seed {seed}: {lost} lost warnings, {}", script.account());
    assert!(lost * 100 <= steps, "{lost} lost warnings in {steps} steps");
    None
}

/// Runs steps of sessions that share one connection, which have to give what they give on a connection of one's own; returns what they gave.
fn run_both(having: Having, schema: &[String], steps: &[(usize, Step)]) -> Vec<Reply> {
    let pool = PoolConfig { max: 1, ..shared() };
    let capabilities = each(having);
    let mut direct = Side::direct(&capabilities, schema);
    let mut pooled = Side::proxied(Mode::Transaction, pool, &capabilities, schema);
    let mut replies = Vec::new();
    for (at, (session, step)) in steps.iter().enumerate() {
        let [wanted, found] = [&mut direct, &mut pooled].map(|side| {
            if !side.is_connected(*session) {
                side.connect(*session, Some("test"));
            }
            side.send(*session, step);
            side.receive(*session, step).0
        });
        assert_eq!(wanted, found, "step {at}, session {session}: {step:?}");
        replies.push(wanted);
    }
    replies
}

/// The last steps of some sessions, the oldest first.
fn last(past: &[(usize, String)], most: usize, of: impl Fn(usize) -> bool) -> String {
    let theirs = past.iter().rev().filter(|(session, _)| of(*session));
    let mut lines: Vec<_> = theirs
        .take(most)
        .map(|(session, step)| format!("{session}: {step}"))
        .collect();
    lines.reverse();
    lines.join("\n    ")
}

/// Who has a shared connection, and what each has done before.
fn in_use(mirror: &Side, past: &[(usize, String)]) -> String {
    let keepers = mirror.keepers().into_iter();
    let lines = keepers.map(|(session, text)| {
        let steps = last(past, 5, |one| Some(one) == session);
        format!("\n   {session:?}: {text}\n    {steps}")
    });
    lines.collect()
}

fn shortened(text: &str) -> String {
    text.chars().take(400).collect()
}

/// What clients have beside the usual capabilities, one session after the other.
type Having = &'static [Capabilities];

/// The oldest form of replies.
const PLAIN: Having = &[Capabilities::empty()];
/// The newest: the end of rows is an OK packet, and changes are reported.
const NEWEST: Having = &[Capabilities::DEPRECATE_EOF.union(Capabilities::SESSION_TRACK)];
/// Each of the forms, beside one another.
const ALL: Having = &[
    Capabilities::DEPRECATE_EOF,
    Capabilities::SESSION_TRACK,
    Capabilities::DEPRECATE_EOF.union(Capabilities::FOUND_ROWS),
];

fn each(having: Having) -> Vec<Capabilities> {
    having.iter().copied().cycle().take(SESSIONS).collect()
}

fn mirror(seed: u64, steps: usize, having: Having, mode: Option<(Mode, PoolConfig)>) {
    let most = mode.as_ref().map_or(SESSIONS, |(_, pool)| pool.max);
    let is_shared = mode.as_ref().is_some_and(|(mode, _)| mode.is_pooled());
    let steps = number("ONECOPY_MIRROR_STATEMENTS", steps);
    let seed = number("ONECOPY_MIRROR_SEED", usize::try_from(seed).unwrap());
    let seed = u64::try_from(seed).unwrap();
    let capabilities = each(having);
    let schema = script::schema(SESSIONS);
    let mut direct = Side::direct(&capabilities, &schema);
    let mut other = match mode {
        None => Side::direct(&capabilities, &schema),
        Some((mode, pool)) => Side::proxied(mode, pool, &capabilities, &schema),
    };
    let without = if is_shared { DIFFERENT } else { &[] };
    if let Some(difference) = difference(
        seed,
        steps,
        &mut direct,
        &mut other,
        without,
        most < SESSIONS,
    ) {
        panic!("{difference}");
    }
}

/// Connections that are shared as hard as can be: nobody keeps one for long without need.
fn shared() -> PoolConfig {
    PoolConfig {
        max: CONNECTIONS,
        warning_hold: std::time::Duration::from_millis(1),
        ..PoolConfig::default()
    }
}

#[test]
fn two_servers_answer_the_script_alike() {
    mirror(11, OWN_STEPS, NEWEST, None);
}

#[test]
fn a_proxy_that_shares_nothing_passes_every_packet() {
    let mode = (Mode::Pass, PoolConfig::default());
    mirror(12, OWN_STEPS, ALL, Some(mode));
}

#[test]
fn sessions_that_share_connections_get_every_packet_as_they_would_alone() {
    mirror(13, STEPS, NEWEST, Some((Mode::Transaction, shared())));
}

#[test]
fn clients_whose_rows_end_with_eof_packets_get_the_same() {
    // Variables that stored functions set.
    mirror(203, OWN_STEPS, PLAIN, Some((Mode::Transaction, shared())));
}

#[test]
fn clients_of_several_kinds_share_a_listener() {
    mirror(15, OWN_STEPS, ALL, Some((Mode::Transaction, shared())));
}

#[test]
fn connections_that_keep_few_statements_prepare_them_again() {
    let pool = PoolConfig {
        statements: 4,
        ..shared()
    };
    mirror(16, OWN_STEPS, NEWEST, Some((Mode::Transaction, pool)));
}

#[test]
fn sessions_with_a_connection_each_leave_nothing_to_the_next() {
    let pool = PoolConfig {
        max: SESSIONS,
        ..PoolConfig::default()
    };
    mirror(17, OWN_STEPS, NEWEST, Some((Mode::Session, pool)));
}

/// MySQL says nothing of the variable behind such rows.
#[test]
fn what_a_stored_function_sets_is_its_clients_where_rows_end_with_eof_packets() {
    let schema = [
        "CREATE FUNCTION test.setting(n INT) RETURNS INT DETERMINISTIC NO SQL BEGIN SET SESSION lock_wait_timeout = n; RETURN n; END",
    ];
    let asks = || Step::Query("SELECT @@lock_wait_timeout".to_owned());
    let executes = Execution {
        slot: 0,
        cursor: false,
        with_types: false,
        parameters: Vec::new(),
    };
    let steps = [
        (0, Step::Query("SELECT setting(6161)".to_owned())),
        (1, asks()),
        (0, asks()),
        (0, Step::Prepare(0, "SELECT setting(6262)".to_owned())),
        (1, asks()),
        (0, Step::Execute(executes)),
        (1, asks()),
        (0, asks()),
    ];
    for having in [PLAIN, NEWEST] {
        let replies = run_both(having, &schema.map(str::to_owned), &steps);
        let has = |at: usize, value: &str| format!("{:?}", replies[at]).contains(value);
        assert!(has(2, "6161") && has(7, "6262"), "{replies:?}");
        assert!(!has(1, "6161") && !has(6, "6262"), "{replies:?}");
    }
}
