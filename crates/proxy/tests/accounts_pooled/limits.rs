//! Limits of a user's sessions, and clients that are killed.

use onecopy_proxy::config::Mode;

use crate::common::{connect, on_server, pooled, said, until, user};
use crate::sides::Way;

#[test]
fn a_user_with_too_many_sessions_is_told_so_in_place_of_ok() {
    on_server("limited", "secret");
    for mode in [Mode::Session, Mode::Transaction] {
        let front = pooled(&[("limited", "secret")], |listener| {
            listener.mode = mode;
            listener.max_user_connections = Some(1);
        });
        let config = front.config_of(Way::Plain, "limited", "secret");
        let mut first = connect(&config).unwrap();
        for _ in 0..3 {
            assert_eq!(said(&connect(&config).unwrap_err()).0, 1203);
        }
        assert_eq!(user(&mut first), "limited@%");
        drop(first);
        until("the end of the first", || front.proxy.sessions() == 0);
        assert_eq!(user(&mut connect(&config).unwrap()), "limited@%");
    }
}

#[test]
fn a_client_that_has_its_ok_can_be_killed_by_another_one() {
    on_server("killed", "secret");
    let front = pooled(&[("killed", "secret")], |_| {});
    let config = front.config_of(Way::Plain, "killed", "secret");
    let mut killer = connect(&config).unwrap();
    for _ in 0..50 {
        // It has sent nothing yet.
        let mut idle = connect(&config).unwrap();
        killer
            .run(format!("KILL {}", idle.connection_id()))
            .unwrap();
        assert!(idle.ping().is_err());
    }
}
