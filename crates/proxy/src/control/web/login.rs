//! Who may do something: the administrator, after a login.
//!
//! A login is a cookie with a random number that no script sees and that no request from another site has, and a token of its own in each
//! form, so that no other page can have the browser send one. Both end with the proxy.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};

use crate::config::AdminConfig;

/// The name of the cookie.
const COOKIE: &str = "onecopy-session";

/// Logins at a time; the oldest one ends for another one.
const MAX_LOGINS: usize = 16;

/// How long one lasts after its last request.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// How long one lasts.
const AGE: Duration = Duration::from_secs(12 * 3600);

/// Wrong logins of an address before it has to wait.
const FREE_TRIES: u32 = 3;

/// The first wait, and the longest one.
const WAITS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Addresses with wrong logins that are kept; the oldest one is forgotten for another one.
const MAX_ADDRESSES: usize = 256;

/// After this time without a wrong login an address is as any other.
const FORGIVEN: Duration = Duration::from_secs(600);

/// The account of the configuration: hashes, so that comparing takes the same time whatever is given.
#[derive(Debug)]
pub(super) struct Administrator {
    user: String,
    hashes: [Hash; 2],
}

type Hash = [u8; 32];

/// 256 random bits in hexadecimal.
type Number = String;

impl Administrator {
    pub(super) fn new(config: &AdminConfig) -> Self {
        Self {
            user: config.user.clone(),
            hashes: [hash(config.user.as_bytes()), hash(config.password.expose())],
        }
    }

    pub(super) fn user(&self) -> &str {
        &self.user
    }

    fn is_it(&self, user: &str, password: &str) -> bool {
        let given = [hash(user.as_bytes()), hash(password.as_bytes())];
        verify_slices_are_equal(given.as_flattened(), self.hashes.as_flattened()).is_ok()
    }
}

fn hash(bytes: &[u8]) -> Hash {
    let mut hash = Hash::default();
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

/// One that is logged in.
struct Login {
    number: Number,
    token: Number,
    began: Instant,
    seen: Instant,
}

/// An address that has given wrong passwords.
struct Wrong {
    address: Option<IpAddr>,
    count: u32,
    last: Instant,
}

/// All that are logged in, of one listener.
#[derive(Default)]
pub(super) struct Logins {
    logins: RefCell<VecDeque<Login>>,
    wrong: RefCell<VecDeque<Wrong>>,
}

/// What becomes of a login.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The value of `Set-Cookie`.
    In(String),
    /// The user or the password is wrong.
    Wrong,
    /// It was not looked at: after this time it is.
    Wait(Duration),
    /// There are no random numbers.
    Failed,
}

impl Logins {
    pub(super) fn log_in(
        &self,
        administrator: &Administrator,
        (user, password): (&str, &str),
        client: &str,
        now: Instant,
    ) -> Outcome {
        let address = address(client);
        let mut wrong = self.wrong.borrow_mut();
        wrong.retain(|one| now.duration_since(one.last) < FORGIVEN);
        let at = wrong.iter().position(|one| one.address == address);
        if let Some(known) = at.and_then(|at| wrong.get(at)) {
            let left = (known.last + wait(known.count)).saturating_duration_since(now);
            if !left.is_zero() {
                return Outcome::Wait(left);
            }
        }
        if !administrator.is_it(user, password) {
            let before = at.and_then(|at| wrong.remove(at));
            wrong.push_back(Wrong {
                address,
                count: before.map_or(0, |before| before.count) + 1,
                last: now,
            });
            if wrong.len() > MAX_ADDRESSES {
                wrong.pop_front();
            }
            return Outcome::Wrong;
        }
        at.and_then(|at| wrong.remove(at));
        let (Some(number), Some(token)) = (random(), random()) else {
            return Outcome::Failed;
        };
        let cookie = format!("{COOKIE}={number}; Path=/; HttpOnly; SameSite=Strict");
        let mut logins = self.logins.borrow_mut();
        logins.push_back(Login {
            number,
            token,
            began: now,
            seen: now,
        });
        if logins.len() > MAX_LOGINS {
            logins.pop_front();
        }
        Outcome::In(cookie)
    }

    /// The token of the login that a request's cookies are of.
    pub(super) fn token(&self, cookies: &str, now: Instant) -> Option<String> {
        let mut logins = self.logins.borrow_mut();
        logins.retain(|login| {
            now.duration_since(login.seen) < IDLE && now.duration_since(login.began) < AGE
        });
        let login = logins.iter_mut().find(|login| has(cookies, login))?;
        login.seen = now;
        Some(login.token.clone())
    }

    /// Ends a login; the value of `Set-Cookie` that removes the cookie.
    pub(super) fn log_out(&self, cookies: &str) -> String {
        self.logins
            .borrow_mut()
            .retain(|login| !has(cookies, login));
        format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    }
}

/// Whether one of these cookies is the login's.
fn has(cookies: &str, login: &Login) -> bool {
    let mut values = cookies.split(';').filter_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == COOKIE).then_some(value)
    });
    values.any(|value| is_same(value, &login.number))
}

/// Whether two secrets are the same, in a time that does not say how far they are.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    verify_slices_are_equal(one.as_bytes(), other.as_bytes()).is_ok()
}

/// How long an address waits after so many wrong logins.
fn wait(count: u32) -> Duration {
    match count.checked_sub(FREE_TRIES) {
        None => Duration::ZERO,
        Some(more) => WAITS.0.saturating_mul(1 << more.min(16)).min(WAITS.1),
    }
}

/// The address of a client, without its port; that of a Unix socket is none.
fn address(client: &str) -> Option<IpAddr> {
    client
        .parse::<SocketAddr>()
        .ok()
        .map(|it| it.ip().to_canonical())
}

fn random() -> Option<Number> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use onecopy_mysql_proto::auth::Secret;

    use super::*;

    fn administrator() -> Administrator {
        Administrator::new(&AdminConfig {
            password: Secret::new("secret"),
            ..AdminConfig::default()
        })
    }

    const RIGHT: (&str, &str) = ("admin", "secret");
    const WRONG: (&str, &str) = ("admin", "secre");

    fn cookie(outcome: &Outcome) -> String {
        let Outcome::In(cookie) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(
            cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"),
            "{cookie}"
        );
        cookie.split(';').next().unwrap().to_owned()
    }

    #[test]
    fn only_the_cookie_of_a_login_has_its_token() {
        let (logins, administrator, now) = (Logins::default(), administrator(), Instant::now());
        let log_in = || cookie(&logins.log_in(&administrator, RIGHT, "unix", now));
        let (one, other) = (log_in(), log_in());
        let tokens = [&one, &other].map(|cookie| logins.token(cookie, now).unwrap());
        assert_ne!(tokens[0], tokens[1]);
        assert_eq!(tokens[0].len(), 64);
        let among = format!("a=b; {one}; c");
        assert_eq!(logins.token(&among, now).as_ref(), Some(&tokens[0]));
        for wrong in [
            "",
            COOKIE,
            "onecopy-session=",
            "onecopy-session=00",
            &one[1..],
        ] {
            assert_eq!(logins.token(wrong, now), None, "{wrong}");
        }
        assert!(logins.log_out(&one).contains("Max-Age=0"));
        assert_eq!(logins.token(&one, now), None);
        assert_eq!(logins.token(&other, now).as_ref(), Some(&tokens[1]));
    }

    #[test]
    fn a_login_ends() {
        let (logins, administrator, began) = (Logins::default(), administrator(), Instant::now());
        let log_in = || cookie(&logins.log_in(&administrator, RIGHT, "unix", began));
        let first = log_in();
        assert!(
            logins.token(&first, began + IDLE).is_none(),
            "nothing came of it"
        );
        let used = log_in();
        let mut now = began;
        while now - began + IDLE / 2 < AGE {
            now += IDLE / 2;
            assert!(logins.token(&used, now).is_some());
        }
        assert!(logins.token(&used, began + AGE).is_none(), "it is old");
        let oldest = log_in();
        let others: Vec<_> = (0..MAX_LOGINS).map(|_| log_in()).collect();
        assert!(logins.token(&oldest, began).is_none());
        assert!(others.iter().all(|one| logins.token(one, began).is_some()));
    }

    #[test]
    fn an_address_with_wrong_passwords_waits_and_others_do_not() {
        let (logins, administrator) = (Logins::default(), administrator());
        let mut now = Instant::now();
        let try_at =
            |account, client: &str, now| logins.log_in(&administrator, account, client, now);
        for _ in 0..FREE_TRIES {
            assert_eq!(try_at(WRONG, "10.0.0.1:5", now), Outcome::Wrong);
        }
        // The right password is not looked at either, from any port.
        assert_eq!(try_at(RIGHT, "10.0.0.1:6", now), Outcome::Wait(WAITS.0));
        assert!(matches!(try_at(RIGHT, "10.0.0.2:5", now), Outcome::In(_)));
        assert!(matches!(try_at(RIGHT, "unix", now), Outcome::In(_)));
        let mut waits = Vec::new();
        for _ in 0..10 {
            let Outcome::Wait(wait) = try_at(WRONG, "10.0.0.1:5", now) else {
                panic!("it does not wait");
            };
            waits.push(wait);
            now += wait;
            assert_eq!(try_at(WRONG, "10.0.0.1:5", now), Outcome::Wrong);
        }
        assert!(
            waits.is_sorted() && waits.last() == Some(&WAITS.1),
            "{waits:?}"
        );
        now += WAITS.1;
        assert!(matches!(try_at(RIGHT, "10.0.0.1:5", now), Outcome::In(_)));
        assert_eq!(
            try_at(WRONG, "10.0.0.1:5", now),
            Outcome::Wrong,
            "it begins anew"
        );
        for other in 0..2 * MAX_ADDRESSES {
            let client = format!("10.1.{}.{}:5", other / 256, other % 256);
            assert_eq!(try_at(WRONG, &client, now), Outcome::Wrong);
        }
        assert_eq!(logins.wrong.borrow().len(), MAX_ADDRESSES);
    }

    #[test]
    fn every_other_account_is_wrong() {
        let administrator = administrator();
        for (user, password) in [
            ("", ""),
            ("admin", ""),
            ("", "secret"),
            ("Admin", "secret"),
            ("admins", "ecret"),
        ] {
            assert!(!administrator.is_it(user, password), "{user} {password}");
        }
        assert!(administrator.is_it("admin", "secret"));
    }
}
