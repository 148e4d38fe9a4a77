#![allow(clippy::unwrap_used)]

use onecopy_mysql_proto::Capabilities;

use super::*;
use crate::backend::Part;
use crate::config::PoolConfig;
use crate::pooling::pool::Pool;

/// A line, and keys of users in it.
struct Users {
    line: Line<&'static str>,
    keys: Vec<Arc<Key>>,
    next: u64,
    now: Instant,
}

/// A connection that is old enough for everything, and can be replaced.
const OLD: Free = Free {
    age: Duration::from_secs(10),
    idle: Duration::ZERO,
    makes_room: true,
};

impl Users {
    fn new(names: &[&str]) -> Self {
        let pool = Pool::new(PoolConfig::default());
        let mut line = Line::default();
        let key = |name: &&str| {
            line.user(name.as_bytes());
            pool.key(name.as_bytes(), Capabilities::PROTOCOL_41, 45, Part::All)
        };
        let keys = names.iter().map(key).collect();
        Self {
            line,
            keys,
            next: 1,
            now: Instant::now(),
        }
    }

    /// A session of a user waits.
    fn wait(&mut self, user: usize, place: &'static str) -> u64 {
        let number = self.next;
        self.next += 1;
        let waiting = Waiting {
            number,
            key: Arc::clone(&self.keys[user]),
            since: self.now,
            place,
        };
        self.line.enter(waiting, true);
        number
    }

    fn takes(&mut self, user: usize, count: usize) {
        (0..count).for_each(|_| self.line.takes(user));
    }

    /// What becomes of a connection of a user that is free: who gets it, "" if it is closed, `None` if nobody does.
    fn release(&mut self, user: usize, free: Free) -> Option<&'static str> {
        let key = Arc::clone(&self.keys[user]);
        match self.line.next_for(&key, free, |_| false, self.now) {
            Next::Nobody => None,
            Next::Close => {
                self.line.gives_back(user);
                Some("")
            }
            Next::Session(one) => Some(one.place),
        }
    }

    /// The session that a new connection is for gets one.
    fn connect(&mut self) -> Option<&'static str> {
        let first = self.line.first(self.now)?;
        let (user, number, place) = (first.key.user_at, first.number, first.place);
        self.line.takes(user);
        self.line.leave(user, number);
        Some(place)
    }

    fn later(&mut self, time: Duration) {
        self.now += time;
    }
}

#[test]
fn sessions_of_one_user_are_served_in_their_order() {
    let mut users = Users::new(&["a"]);
    users.takes(0, 1);
    for place in ["1", "2", "3"] {
        users.wait(0, place);
    }
    for place in ["1", "2", "3"] {
        assert_eq!(users.release(0, OLD), Some(place));
    }
    assert_eq!(users.release(0, OLD), None);
}

#[test]
fn one_client_of_a_user_does_not_wait_behind_a_thousand_of_another() {
    let mut users = Users::new(&["many", "one"]);
    users.takes(0, 16);
    for _ in 0..1_000 {
        users.wait(0, "many");
    }
    users.wait(1, "one");
    assert_eq!(users.release(0, OLD), Some(""), "the first that is free");
    assert_eq!(users.connect(), Some("one"));
    // Its own connection is its own from then on, although hundreds wait.
    for _ in 0..100 {
        users.wait(1, "one");
        assert_eq!(users.release(1, OLD), Some("one"));
        assert_eq!(users.release(0, OLD), Some("many"));
    }
}

#[test]
fn places_go_to_users_in_turn_until_all_have_as_many() {
    let mut users = Users::new(&["a", "b", "c"]);
    users.takes(0, 9);
    for _ in 0..100 {
        users.wait(0, "a");
        users.wait(1, "b");
        users.wait(2, "c");
    }
    let mut made = Vec::new();
    while users.release(0, OLD) == Some("") {
        made.push(users.connect().unwrap());
    }
    assert_eq!(made, ["b", "c", "b", "c", "b", "c"]);
    let held = [0, 1, 2].map(|user| users.line.held(user));
    assert_eq!(held, [3, 3, 3]);
    // From then on each keeps its own.
    for (user, place) in [(0, "a"), (1, "b"), (2, "c"), (0, "a")] {
        assert_eq!(users.release(user, OLD), Some(place));
    }
}

#[test]
fn a_single_place_goes_round_and_not_more_often_than_is_worth_it() {
    let mut users = Users::new(&["a", "b", "c"]);
    users.takes(0, 1);
    for _ in 0..100 {
        users.wait(0, "a");
        users.wait(1, "b");
        users.wait(2, "c");
    }
    let mut served = Vec::new();
    let mut holder = 0;
    let mut made = users.now;
    for _ in 0..40 {
        let free = Free {
            age: users.now - made,
            ..OLD
        };
        match users.release(holder, free).unwrap() {
            "" => {
                made = users.now;
                let place = users.connect().unwrap();
                holder = ["a", "b", "c"]
                    .iter()
                    .position(|one| *one == place)
                    .unwrap();
                served.push(place);
            }
            place => served.push(place),
        }
        users.later(QUANTUM / 2);
    }
    // Two statements of half a quantum each, and the one that the connection was made for.
    assert_eq!(&served[..11].join(""), "aabbccaabbc");
    for name in ["a", "b", "c"] {
        let count = served.iter().filter(|one| **one == name).count();
        assert!((12..=15).contains(&count), "{served:?}");
    }
}

#[test]
fn nothing_is_closed_for_another_user_while_no_new_connection_may_be_made() {
    let mut users = Users::new(&["a", "b"]);
    users.takes(0, 8);
    users.wait(0, "a");
    users.wait(1, "b");
    let free = Free {
        makes_room: false,
        ..OLD
    };
    assert_eq!(users.release(0, free), Some("a"));
    assert_eq!(users.release(0, free), None);
    assert_eq!(users.release(0, OLD), Some(""));
}

#[test]
fn the_last_connection_of_a_user_stays_a_moment_while_others_wait() {
    let mut users = Users::new(&["a", "b"]);
    users.takes(0, 4);
    users.takes(1, 1);
    users.wait(0, "a");
    assert_eq!(users.release(1, OLD), None, "b may come back at once");
    let idle = Free {
        idle: QUANTUM,
        ..OLD
    };
    assert_eq!(users.release(1, idle), Some(""));
    assert_eq!(users.connect(), Some("a"));
    // More than the others have goes at once.
    users.takes(1, 7);
    users.wait(0, "a");
    assert_eq!(users.release(1, OLD), Some(""));
}

#[test]
fn a_user_whose_logins_are_refused_waits_for_its_own_and_makes_others_wait_for_nothing() {
    let mut users = Users::new(&["a", "b"]);
    users.takes(0, 1);
    let blocked = users.wait(0, "a");
    let other = users.wait(1, "b");
    users.takes(1, 3);
    let until = users.now + Duration::from_secs(1);
    users.line.block(0, until);
    assert!(users.line.may_connect(Some(other), users.now));
    assert!(!users.line.may_connect(Some(blocked), users.now));
    assert_eq!(users.release(0, OLD), Some("a"), "its own");
    users.wait(0, "a");
    // It has none any more: it has to hear why.
    users.line.gives_back(0);
    assert_eq!(users.connect(), Some("a"));
}

#[test]
fn who_comes_now_may_take_what_nobody_else_waits_for() {
    let mut users = Users::new(&["a", "b"]);
    users.takes(0, 4);
    users.takes(1, 1);
    let first = users.wait(0, "1");
    let second = users.wait(0, "2");
    let (a, b) = (Arc::clone(&users.keys[0]), Arc::clone(&users.keys[1]));
    assert!(users.line.may_take(&b, None), "nobody of b waits");
    assert!(!users.line.may_connect(None, users.now));
    assert!(!users.line.may_take(&a, None));
    assert!(users.line.may_take(&a, Some(first)) && !users.line.may_take(&a, Some(second)));
    assert!(users.line.leave(0, first), "the next one has to look again");
    assert!(users.line.may_take(&a, Some(second)));
    assert!(!users.line.leave(0, first), "it has left");
    users.line.leave(0, second);
    assert!(users.line.may_connect(None, users.now) && users.line.len() == 0);
}

#[test]
fn a_session_that_lost_its_place_without_fault_takes_it_again() {
    let mut users = Users::new(&["a"]);
    users.takes(0, 1);
    let first = users.wait(0, "1");
    users.wait(0, "2");
    users.line.leave(0, first);
    let again = Waiting {
        number: first,
        key: Arc::clone(&users.keys[0]),
        since: users.now,
        place: "1",
    };
    users.line.enter(again, false);
    assert_eq!(users.release(0, OLD), Some("1"));
    assert_eq!(users.line.info()[0].counts.waits, 2);
}

#[test]
fn what_was_waited_is_counted_by_user() {
    let mut users = Users::new(&["a", "b"]);
    users.takes(0, 1);
    users.wait(0, "a");
    users.wait(1, "b");
    users.later(Duration::from_millis(3));
    assert_eq!(users.release(0, OLD), Some("a"));
    users.line.note_wait(1, Duration::from_millis(7), true);
    let counts: Vec<_> = users.line.info().iter().map(|user| user.counts).collect();
    let counted = |wait_micros, timeouts| UserCounts {
        waits: 1,
        wait_micros,
        timeouts,
        limited: 0,
    };
    assert_eq!(counts, [counted(3_000, 0), counted(7_000, 1)]);
}

/// Users whose clients send one statement after the other, on so many connections. Each turn one connection gets free, which one is drawn.
struct Shop {
    users: Users,
    /// By connection its user, and when it was made.
    connections: Vec<(usize, Instant)>,
    max: usize,
    seed: u64,
    /// By user, how many statements were served, and how many were when a client of it came that still waits.
    served: Vec<usize>,
}

impl Shop {
    fn draw(&mut self, below: usize) -> usize {
        // xorshift64
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        usize::try_from(self.seed % below as u64).unwrap()
    }

    /// Those that wait make connections, as long as there may be more.
    fn fill(&mut self) {
        while self.connections.len() < self.max {
            let Some(first) = self.users.line.first(self.users.now) else {
                return;
            };
            let (user, number) = (first.key.user_at, first.number);
            self.users.line.takes(user);
            assert!(self.users.line.leave(user, number));
            self.connections.push((user, self.users.now));
        }
    }

    /// One of them is done with its statement, and its client waits for the next one.
    fn turn(&mut self) {
        self.users.later(Duration::from_millis(1));
        let at = self.draw(self.connections.len());
        let (user, made) = self.connections[at];
        self.served[user] += 1;
        self.users.wait(user, "");
        let free = Free {
            age: self.users.now - made,
            idle: Duration::ZERO,
            makes_room: true,
        };
        let key = Arc::clone(&self.users.keys[user]);
        let next = self
            .users
            .line
            .next_for(&key, free, |_| false, self.users.now);
        match next {
            Next::Session(one) => assert_eq!(one.key.user_at, user),
            Next::Nobody => panic!("its own client waits"),
            Next::Close => {
                self.connections.swap_remove(at);
                self.users.line.gives_back(user);
            }
        }
        self.fill();
        assert_eq!(self.connections.len(), self.max, "none is left unused");
    }
}

#[test]
fn whatever_happens_users_come_to_equal_shares_and_are_served() {
    let names = ["a", "b", "c", "d", "e"];
    for max in 1..=12 {
        for seed in 1..=20 {
            let mut shop = Shop {
                users: Users::new(&names),
                connections: Vec::new(),
                max,
                seed: 0x9E37_79B9_7F4A_7C15 ^ seed,
                served: vec![0; names.len()],
            };
            // The first has come long before the others, and has many more clients.
            for (user, clients) in [(0, 100), (1, 13), (2, 13), (3, 13), (4, 13)] {
                for _ in 0..clients {
                    shop.users.wait(user, "");
                }
                shop.fill();
                (0..20).for_each(|_| shop.turn());
            }
            shop.served.fill(0);
            let turns = 4_000;
            (0..turns).for_each(|_| shop.turn());
            let held: Vec<_> = (0..names.len())
                .map(|user| shop.users.line.held(user))
                .collect();
            assert_eq!(held.iter().sum::<usize>(), max);
            let (least, most) = (held.iter().min().unwrap(), held.iter().max().unwrap());
            assert!(most - least <= 1, "{held:?} of {max}");
            // With fewer places than users they go round; with more, who has one more of them is served more.
            let fair = turns / names.len();
            for (user, &served) in shop.served.iter().enumerate() {
                assert!(
                    (fair / 3..fair * 3).contains(&served),
                    "{}: {served} of {turns} with {max} places, seed {seed}",
                    names[user]
                );
            }
        }
    }
}
