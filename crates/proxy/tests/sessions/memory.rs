//! What sessions hold, and what they leave.

use crate::basics::text;
use crate::common::{connect, start, until};

#[test]
fn idle_sessions_hold_no_buffers() {
    let proxy = start(|_| {});
    let mut conns: Vec<_> = (0..50).map(|_| connect(&proxy)).collect();
    assert_eq!(proxy.snapshot(false).buffers_lent, 0);
    for conn in &mut conns {
        assert_eq!(text(conn, "SELECT REPEAT('r', 90000)").len(), 90_000);
    }
    let snapshot = proxy.snapshot(false);
    assert_eq!((snapshot.sessions, snapshot.buffers_lent), (50, 0));
    until("the return of the memory", || {
        proxy.snapshot(false).buffer_bytes <= 256 << 10
    });
}

#[test]
fn sessions_wait_for_their_turn_where_memory_is_short() {
    let proxy = start(|config| config.memory = 64 << 10);
    let threads: Vec<_> = (0..16)
        .map(|_| {
            let mut conn = connect(&proxy);
            std::thread::spawn(move || {
                for _ in 0..20 {
                    assert_eq!(text(&mut conn, "SELECT REPEAT('r', 200000)").len(), 200_000);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(proxy.snapshot(false).buffers_lent, 0);
}
