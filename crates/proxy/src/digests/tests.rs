use std::time::Duration;

use super::*;

fn outcome(micros: u64) -> Outcome {
    Outcome {
        taken: Duration::from_micros(micros).into(),
        tally: Tally {
            rows: 2,
            affected_rows: 3,
            warnings: 1,
        },
        failed: false,
        bytes_from_client: 10,
        bytes_from_backend: 100,
    }
}

/// Statements of one session.
struct Client {
    digests: Digests,
    hint: Hint,
    now: Instant,
}

impl Client {
    fn new(max: usize) -> Self {
        Self {
            digests: Digests::new(max),
            hint: Hint::default(),
            now: Instant::now(),
        }
    }

    fn begin(&mut self, sql: &str) -> Place {
        let (sql, now) = (sql.as_bytes(), self.now);
        self.digests.begin(sql, true, &mut self.hint, now)
    }

    fn run(&mut self, sql: &str, micros: u64) {
        let place = self.begin(sql);
        self.digests.end(place, &outcome(micros), self.now);
    }

    /// Texts with what was counted, those that took most time first.
    fn counts(&self) -> Vec<(String, u64, u64)> {
        let summary = self.digests.summary(self.now);
        let summary = DigestSummary::of_all([summary].into_iter());
        let digests = summary.digests.iter();
        digests
            .map(|info| {
                let counts = &info.counts;
                let text = info.digest.text.to_string();
                (text, counts.statements(), counts.latency.sum)
            })
            .collect()
    }
}

#[test]
fn statements_are_counted_by_digest_whatever_their_literals_are() {
    let mut client = Client::new(10);
    for id in 0..50 {
        client.run(&format!("SELECT a FROM t WHERE id = {id}"), 10);
        client.run(&format!("select a from t where id={id}"), 10);
        client.run("DELETE FROM t", 1);
    }
    assert_eq!(
        client.counts(),
        [
            ("SELECT `a` FROM `t` WHERE `id` = ?".to_owned(), 100, 1_000),
            ("DELETE FROM `t`".to_owned(), 50, 50),
        ]
    );
    let summary = client.digests.summary(client.now);
    let select = &summary.digests[0].counts;
    assert_eq!((select.rows, select.affected_rows), (200, 300));
    assert_eq!((select.warnings, select.errors, select.max), (100, 0, 10));
    assert_eq!(
        (select.bytes_from_clients, select.bytes_from_backends),
        (1_000, 10_000)
    );
}

#[test]
fn those_that_take_most_time_stay_and_nothing_is_lost() {
    let mut client = Client::new(8);
    for round in 0..200 {
        client.run("SELECT slow", 1_000);
        client.run("SELECT slower", 2_000);
        client.run(&format!("SELECT once_{round}"), 1);
    }
    let counts = client.counts();
    assert_eq!(counts.len(), 8);
    assert_eq!(counts[0], ("SELECT `slower`".to_owned(), 200, 400_000));
    assert_eq!(counts[1], ("SELECT `slow`".to_owned(), 200, 200_000));
    let summary = client.digests.summary(client.now);
    let kept: u64 = counts.iter().map(|(_, count, _)| count).sum();
    assert_eq!(kept + summary.others.statements(), 600);
    assert_eq!(summary.displaced, 194);
}

#[test]
fn a_statement_under_way_keeps_its_place() {
    let mut client = Client::new(2);
    let slow = client.begin("SELECT slow");
    for round in 0..20 {
        client.run(&format!("SELECT once_{round}"), 1_000);
    }
    client.digests.end(slow, &outcome(5), client.now);
    assert!(
        client
            .counts()
            .contains(&("SELECT `slow`".to_owned(), 1, 5))
    );
}

#[test]
fn where_all_places_are_in_use_statements_count_with_the_others() {
    let mut client = Client::new(1);
    let first = client.begin("SELECT a");
    let second = client.begin("SELECT b");
    client.digests.end(second, &outcome(7), client.now);
    client.digests.end(first, &outcome(9), client.now);
    assert_eq!(client.counts(), [("SELECT `a`".to_owned(), 1, 9)]);
    let others = client.digests.summary(client.now).others;
    assert_eq!((others.statements(), others.latency.sum), (1, 7));
}

#[test]
fn a_prepared_statement_whose_digest_has_left_comes_again() {
    let mut client = Client::new(1);
    let now = client.now;
    let mut known = client.digests.know(b"SELECT ?", true, now);
    client.run("SELECT a", 1);
    let place = client.digests.begin_known(&mut known, now);
    client.digests.end(place, &outcome(3), now);
    assert_eq!(client.counts(), [("SELECT ?".to_owned(), 1, 3)]);
}

#[test]
fn a_statement_under_way_is_not_counted_behind_a_reset() {
    let mut client = Client::new(4);
    let place = client.begin("SELECT 1");
    client.digests.reset(4);
    client.run("SELECT a", 1);
    client.digests.end(place, &outcome(3), client.now);
    client.digests.forget(place);
    assert_eq!(client.counts(), [("SELECT `a`".to_owned(), 1, 1)]);
}

#[test]
fn nothing_is_kept_where_it_is_off() {
    let mut client = Client::new(0);
    assert!(!client.digests.is_on());
    client.run("SELECT 1", 1);
    assert_eq!(client.counts(), []);
}

#[test]
fn what_workers_counted_is_put_together_by_digest() {
    let mut clients = [Client::new(4), Client::new(4)];
    clients[0].run("SELECT 1", 5);
    clients[1].run("SELECT 2", 6);
    clients[1].run("SELECT a", 1);
    let all = clients.iter();
    let all = all.map(|client| client.digests.summary(client.now));
    let sum = DigestSummary::of_all(all);
    let counts: Vec<_> = sum
        .digests
        .iter()
        .map(|info| info.counts.statements())
        .collect();
    assert_eq!(counts, [2, 1]);
    assert_eq!(sum.digests[0].counts.max, 6);
}
