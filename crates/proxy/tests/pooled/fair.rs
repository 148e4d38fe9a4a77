//! Users that share what there is.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use onecopy_mysql::blocking::Connection;

use crate::common::{Pooled, text};

const MANY: usize = 40;

#[test]
fn one_client_of_a_user_is_served_while_many_of_another_wait() {
    for max in [1, 2, 4] {
        let pooled = Pooled::start_for(&["fair_many", "fair_one"], max, |_| {});
        let (served, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..MANY {
                scope.spawn(|| {
                    let mut client = pooled.connect_as("fair_many");
                    while !is_over.load(SeqCst) {
                        client.run("DO SLEEP(0.005)").unwrap();
                        served.fetch_add(1, SeqCst);
                    }
                });
            }
            let mut one = pooled.connect_as("fair_one");
            // All of them wait by then.
            while served.load(SeqCst) < 2 * MANY {}
            for _ in 0..5 {
                let before = served.load(SeqCst);
                assert_eq!(text(&mut one, "SELECT 1"), "1");
                let meanwhile = served.load(SeqCst) - before;
                assert!(
                    meanwhile < MANY,
                    "{meanwhile} statements of the other user came first, with {max} connections"
                );
            }
            is_over.store(true, SeqCst);
        });
    }
}

#[test]
fn users_that_want_more_than_there_is_get_as_much_each() {
    const MAX: usize = 6;
    let names = ["fair_a", "fair_b", "fair_c"];
    let pooled = Pooled::start_for(&names, MAX, |_| {});
    let served = [const { AtomicUsize::new(0) }; 3];
    let is_over = AtomicBool::new(false);
    let held = |direct: &mut Connection| {
        names.map(|name| {
            let sql = format!(
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '{name}'"
            );
            text(direct, &sql).parse::<usize>().unwrap()
        })
    };
    std::thread::scope(|scope| {
        for (user, clients) in [30, 10, 5].into_iter().enumerate() {
            for _ in 0..clients {
                let (pooled, served, is_over) = (&pooled, &served[user], &is_over);
                scope.spawn(move || {
                    let mut client = pooled.connect_as(names[user]);
                    while !is_over.load(SeqCst) {
                        client.run("DO SLEEP(0.005)").unwrap();
                        served.fetch_add(1, SeqCst);
                    }
                });
            }
        }
        let mut direct = pooled.direct();
        // They come to it, whoever came first.
        let since = std::time::Instant::now();
        while held(&mut direct) != [MAX / 3; 3] {
            assert!(since.elapsed().as_secs() < 30, "{:?}", held(&mut direct));
        }
        is_over.store(true, SeqCst);
    });
    assert!(served.iter().all(|served| served.load(SeqCst) > 0));
}

#[test]
fn one_connection_is_closed_for_one_client_of_another_user() {
    const MAX: usize = 4;
    let pooled = Pooled::start_for(&["closed_many", "closed_one"], MAX, |_| {});
    let mut clients: Vec<_> = (0..MAX).map(|_| pooled.connect_as("closed_many")).collect();
    for client in &mut clients {
        client.run("BEGIN").unwrap();
    }
    for client in &mut clients {
        client.run("COMMIT").unwrap();
    }
    let mut one = pooled.connect_as("closed_one");
    assert_eq!(text(&mut one, "SELECT 1"), "1");
    let count = |direct: &mut Connection, user: &str| {
        let sql =
            format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '{user}'");
        text(direct, &sql).parse::<usize>().unwrap()
    };
    let mut direct = pooled.direct();
    let since = std::time::Instant::now();
    while count(&mut direct, "closed_many") != MAX - 1 {
        assert!(since.elapsed().as_secs() < 30);
    }
    assert_eq!(count(&mut direct, "closed_one"), 1);
}
