use onecopy_resp_proto::{HandshakeReply, Protocol};
use onecopy_wire::Buffers;

use super::*;
use crate::command::{connection, list};

fn feed(buffers: &mut Buffers, bytes: &[u8]) {
    buffers.need(bytes.len(), 0);
    buffers.prepare().unwrap();
    buffers.targets().as_mut()[0][..bytes.len()].copy_from_slice(bytes);
    buffers.commit(bytes.len());
}

/// All that is queued leaves.
fn send(buffers: &mut Buffers) {
    let len = buffers.output().len();
    buffers.commit_output(len);
}

/// A connection after its handshake.
fn link() -> Link {
    let config = Config {
        protocol: Some(Protocol::Resp2),
        client_info: false,
        ..Config::default()
    };
    let (mut buffers, mut core) = handshake(&config);
    loop {
        match core.advance(&mut buffers).unwrap() {
            Step::Message(reply @ HandshakeReply::Done) => {
                return Link::shaken(reply, core, buffers, &config).unwrap();
            }
            Step::NeedInput(_) => {
                send(&mut buffers);
                feed(&mut buffers, b"+OK\r\n");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_has_left_may_have_been_executed_also_after_all_of_it_has() {
    let (mut link, mut parts) = (link(), Parts::new());
    link.begin().unwrap();
    link.queue(&connection::ping(), &mut parts).unwrap();
    assert!(!link.has_left(), "it is only queued");
    send(&mut link.buffers);
    link.all_left();
    assert!(link.has_left());
    link.all_left();
    assert!(link.has_left(), "nothing was queued since");
}

#[test]
fn a_blocking_command_has_its_own_time_until_it_does_not_block_after_all() {
    let (mut link, mut parts) = (link(), Parts::new());
    let timeout = Duration::from_secs(60);
    link.set_command_timeout(Some(timeout));
    link.begin().unwrap();
    link.queue(&list::blpop("key", 1000.0), &mut parts).unwrap();
    let in_time = Instant::now() + timeout;
    let deadline = |link: &Link| link.deadline().unwrap();
    assert!(deadline(&link) > in_time + Duration::from_secs(900));
    link.never_blocks();
    assert!(deadline(&link) <= Instant::now() + timeout);
}

#[test]
fn one_that_its_caller_has_closed_takes_no_command_and_says_so() {
    let mut link = link();
    link.closed();
    assert!(link.is_closed());
    let error = link.begin().unwrap_err().to_string();
    assert!(error.contains("it was closed"), "{error}");
}

#[test]
fn debug_shows_how_many_replies_are_outstanding() {
    let (mut link, mut parts) = (link(), Parts::new());
    link.begin().unwrap();
    link.queue(&connection::ping(), &mut parts).unwrap();
    let shown = format!("{link:?}");
    assert!(shown.contains("in_flight: 1"), "{shown}");
}

#[test]
fn memory_that_many_calls_did_not_need_is_given_back() {
    let mut link = link();
    let call = |link: &mut Link, len: usize| {
        let mut parts = Parts::new();
        link.begin().unwrap();
        link.queue_owned(&connection::ping(), &mut parts).unwrap();
        send(&mut link.buffers);
        let reply = format!("${len}\r\n{}\r\n", "x".repeat(len));
        feed(&mut link.buffers, reply.as_bytes());
        let step = link.core.advance(&mut link.buffers).unwrap();
        assert!(matches!(step, Step::Message(Message::Reply(_))));
    };
    call(&mut link, 60_000);
    let held = link.capacity();
    assert!(held >= 60_000);
    for _ in 0..QUIET_CALLS {
        call(&mut link, 3_000);
    }
    link.begin().unwrap();
    assert!(link.capacity() < held / 2, "{} of {held}", link.capacity());
}

/// As many as it takes to learn that less is needed, and some more.
const QUIET_CALLS: u32 = 40;
