use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;
use std::time::Duration;

use onecopy_resp_proto::{Client, Message};
use onecopy_wire::{BufferConfig, Buffers, Core, Step};

use super::super::limits::Offline;
use onecopy_resp_proto::OwnedReply;
use std::time::Instant;

use super::super::group::Pieces;
use super::super::slab::Index;
use super::*;

/// `replies` inline PINGs, padded to `len` bytes.
struct Ping {
    len: usize,
    replies: u32,
    is_atomic: bool,
}

const PING: Ping = Ping {
    len: 6,
    replies: 1,
    is_atomic: true,
};

impl Encode for Ping {
    fn encode(&self, queue: &mut WriteQueue, _: &mut Vec<Bytes>) -> Result<(), Failure> {
        queue.begin_here();
        queue.push(&vec![b'p'; self.len]);
        Ok(queue.end()?)
    }

    fn copied(&self) -> Result<Pieces, Failure> {
        panic!("nothing is large")
    }

    fn replies(&self) -> u32 {
        self.replies
    }

    fn is_atomic(&self) -> bool {
        self.is_atomic
    }
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A caller: its place, and how often it was woken.
struct Caller {
    command: Ping,
    index: Option<Index>,
    count: Arc<Count>,
}

impl Caller {
    fn new(command: Ping) -> Self {
        Self {
            command,
            index: None,
            count: Arc::default(),
        }
    }

    fn woken(&self) -> usize {
        self.count.0.load(Ordering::Relaxed)
    }
}

/// The queue, with a clock of its own.
struct Bench {
    queue: Queue,
    now: Instant,
    sent: u64,
}

impl Bench {
    fn new(change: impl FnOnce(&mut Limits)) -> Self {
        let mut limits = Limits {
            max_in_flight: 100,
            max_unsent_bytes: 1 << 20,
            command_timeout: None,
            offline: Some(Offline {
                max_commands: 10,
                max_bytes: 1000,
                max_wait: Duration::from_secs(5),
            }),
        };
        change(&mut limits);
        let mut queue = Queue::new(limits);
        queue.connected();
        Self {
            queue,
            now: Instant::now(),
            sent: 0,
        }
    }

    fn poll(&mut self, caller: &mut Caller) -> Poll<Result<Outcome, Failure>> {
        let now = self.now;
        let waker = Waker::from(Arc::clone(&caller.count));
        let polled = self
            .queue
            .poll(&mut caller.index, &caller.command, &waker, || now);
        self.wake();
        polled
    }

    /// A caller whose first poll is pending.
    fn asks(&mut self, command: Ping) -> Caller {
        let mut caller = Caller::new(command);
        assert!(self.poll(&mut caller).is_pending());
        caller
    }

    fn leaves(&mut self, caller: Caller) {
        if let Some(index) = caller.index {
            self.queue.leave(index);
        }
        self.wake();
    }

    fn wake(&mut self) {
        let mut wakers = Vec::new();
        self.queue.take_wakers(&mut wakers);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Takes what was written and sends it; gives its bytes and its requests.
    fn send(&mut self) -> (usize, u64) {
        let mut output = WriteQueue::new();
        let requests = self.queue.take(&mut output, &mut Vec::new());
        let bytes = output.len();
        self.sent += bytes as u64;
        self.queue.note_sent(self.sent);
        self.wake();
        (bytes, requests)
    }

    /// Replies come: integers, so that each tells which it is.
    fn reply(&mut self, numbers: impl IntoIterator<Item = i64>) {
        let mut replies = numbers
            .into_iter()
            .map(|number| Some(Ok(owned(number))))
            .collect();
        self.queue.deliver(&mut replies);
        self.wake();
    }

    fn loses(&mut self) {
        let sent = self.queue.sent;
        self.queue.lost(Error::closed("cut"), sent, self.now);
        self.wake();
    }

    fn connects(&mut self) {
        self.sent = 0;
        self.queue.connected();
        self.wake();
    }

    fn expires_after(&mut self, seconds: u64) -> Option<Instant> {
        self.now += Duration::from_secs(seconds);
        let now = self.now;
        let next = self.queue.expire(|| now);
        self.wake();
        next
    }

    /// What a caller has in the end.
    fn answer(&mut self, mut caller: Caller) -> Result<Vec<i64>, Failure> {
        match self.poll(&mut caller) {
            Poll::Ready(Ok(Outcome::One(reply))) => Ok(vec![number(&reply)]),
            Poll::Ready(Ok(Outcome::Group(replies))) => Ok(replies.iter().map(number).collect()),
            Poll::Ready(Err(failure)) => Err(failure),
            Poll::Pending => panic!("it has no answer"),
        }
    }
}

fn number(reply: &OwnedReply) -> i64 {
    reply.reply().as_i64().unwrap()
}

/// `:number`, as a connection would detach it.
fn owned(number: i64) -> OwnedReply {
    let mut buffers = Buffers::new(BufferConfig::default());
    let mut core = Client::new(onecopy_resp_proto::Limits::default());
    core.expect(1);
    let line = format!(":{number}\r\n");
    buffers.need(line.len(), 0);
    buffers.prepare().unwrap();
    buffers.targets().as_mut()[0][..line.len()].copy_from_slice(line.as_bytes());
    buffers.commit(line.len());
    match core.advance(&mut buffers).unwrap() {
        Step::Message(Message::Reply(frame)) => core.detach(frame, &mut buffers).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn replies_go_to_callers_in_the_order_of_their_commands() {
    let mut bench = Bench::new(|_| {});
    let callers: Vec<_> = (0..5).map(|_| bench.asks(PING)).collect();
    assert_eq!(bench.send(), (30, 5), "all that gathered leaves together");
    bench.reply([10, 11]);
    bench.reply([12, 13, 14]);
    for (caller, expected) in callers.into_iter().zip(10..) {
        assert_eq!(caller.woken(), 1);
        assert_eq!(bench.answer(caller).unwrap(), [expected]);
    }
    assert_eq!(bench.queue.entries.len(), 0);
}

#[test]
fn the_reply_of_a_caller_who_left_reaches_nobody() {
    let mut bench = Bench::new(|_| {});
    let first = bench.asks(PING);
    let gone_unsent = bench.asks(PING);
    let last = bench.asks(PING);
    bench.leaves(gone_unsent);
    assert_eq!(bench.send().1, 3, "what was written is sent");
    bench.leaves(first);
    let newcomer = bench.asks(PING);
    bench.send();
    bench.reply([1, 2, 3, 4]);
    assert_eq!(bench.answer(last).unwrap(), [3]);
    assert_eq!(bench.answer(newcomer).unwrap(), [4]);
    assert_eq!(bench.queue.entries.len(), 0);
}

#[test]
fn a_full_queue_lets_callers_wait_in_order_and_admits_as_many_as_replies_came() {
    let mut bench = Bench::new(|limits| limits.max_in_flight = 2);
    let written = [bench.asks(PING), bench.asks(PING)];
    let mut waiting: Vec<_> = (0..4).map(|_| bench.asks(PING)).collect();
    assert_eq!(bench.send(), (12, 2));
    bench.reply([0]);
    assert_eq!(
        waiting.iter().map(Caller::woken).collect::<Vec<_>>(),
        [1, 0, 0, 0]
    );
    bench.reply([1]);
    assert_eq!(
        waiting.iter().map(Caller::woken).collect::<Vec<_>>(),
        [1, 1, 0, 0]
    );
    let mut newcomer = Caller::new(PING);
    assert!(bench.poll(&mut newcomer).is_pending());
    for caller in &mut waiting[..2] {
        assert!(bench.poll(caller).is_pending());
    }
    assert_eq!(bench.send(), (12, 2), "the newcomer goes behind the others");
    bench.reply([2, 3]);
    for caller in &mut waiting[2..] {
        assert!(bench.poll(caller).is_pending());
    }
    bench.send();
    bench.reply([4, 5]);
    assert!(bench.poll(&mut newcomer).is_pending());
    bench.send();
    bench.reply([6]);
    let all = written.into_iter().chain(waiting).chain([newcomer]);
    for (caller, expected) in all.zip(0..) {
        assert_eq!(bench.answer(caller).unwrap(), [expected]);
    }
}

#[test]
fn bytes_that_were_not_sent_hold_further_commands_back() {
    let large = |len| Ping { len, ..PING };
    let mut bench = Bench::new(|limits| limits.max_unsent_bytes = 100);
    let first = bench.asks(large(60));
    let second = bench.asks(large(60));
    let mut third = bench.asks(large(7));
    assert_eq!(bench.send(), (120, 2), "the last one may exceed the bound");
    assert_eq!(third.woken(), 1, "what has left makes room");
    assert!(bench.poll(&mut third).is_pending());
    assert_eq!(bench.send(), (7, 1));
    bench.reply([0, 1, 2]);
    for (caller, expected) in [first, second, third].into_iter().zip(0..) {
        assert_eq!(bench.answer(caller).unwrap(), [expected]);
    }
}

#[test]
fn exactly_the_allowed_bytes_are_as_many_as_may_wait() {
    let len = |len| Ping { len, ..PING };
    let mut bench = Bench::new(|limits| limits.max_unsent_bytes = 100);
    let _first = bench.asks(len(99));
    let _second = bench.asks(len(1));
    let _third = bench.asks(len(1));
    assert_eq!(bench.send(), (100, 2), "the third waits");
}

#[test]
fn the_caller_of_a_large_reply_hears_of_it_once_before_it_has_come() {
    let mut bench = Bench::new(|_| {});
    let caller = bench.asks(PING);
    bench.send();
    for _ in 0..2 {
        bench.queue.announce_large();
        assert_eq!(bench.queue.has_wakers(), caller.woken() == 0);
        bench.wake();
        assert_eq!(caller.woken(), 1);
    }
    assert!(!bench.queue.has_wakers());
    bench.reply([7]);
    assert_eq!(bench.answer(caller).unwrap(), [7]);
}

#[test]
fn each_who_waits_for_the_end_hears_of_it_once() {
    let mut bench = Bench::new(|_| {});
    let counts = [Arc::new(Count::default()), Arc::new(Count::default())];
    for count in [&counts[0], &counts[0], &counts[1]] {
        let waker = Waker::from(Arc::clone(count));
        assert!(bench.queue.poll_closed(&waker).is_pending());
    }
    assert_eq!(bench.queue.closers.len(), 2);
}

#[test]
fn who_is_let_in_and_finds_it_full_again_keeps_his_turn() {
    let large = Ping { len: 80, ..PING };
    let mut bench = Bench::new(|limits| limits.max_unsent_bytes = 100);
    let mut callers: Vec<_> = (0..6)
        .map(|_| bench.asks(Ping { len: 80, ..large }))
        .collect();
    let mut sent = vec![bench.send().1];
    // All four are let in; the first two fill it, in whichever order the others ask.
    assert!(callers[2..].iter().all(|caller| caller.woken() == 1));
    for index in [2, 3, 5, 4] {
        assert!(bench.poll(&mut callers[index]).is_pending());
    }
    sent.push(bench.send().1);
    for index in [4, 5] {
        assert_eq!(callers[index].woken(), 2);
        assert!(bench.poll(&mut callers[index]).is_pending());
    }
    sent.push(bench.send().1);
    assert_eq!(sent, [2, 2, 2]);
    bench.reply(0..6);
    for (caller, expected) in callers.into_iter().zip(0..) {
        assert_eq!(bench.answer(caller).unwrap(), [expected]);
    }
}

#[test]
fn a_caller_who_leaves_before_he_is_let_in_leaves_no_trace() {
    let mut bench = Bench::new(|limits| limits.max_in_flight = 1);
    let first = bench.asks(PING);
    let gone = bench.asks(PING);
    let granted_and_gone = bench.asks(PING);
    let mut last = bench.asks(PING);
    bench.leaves(gone);
    bench.send();
    bench.reply([0]);
    assert_eq!((granted_and_gone.woken(), last.woken()), (1, 0));
    bench.leaves(granted_and_gone);
    assert_eq!(last.woken(), 1, "his turn goes to the next");
    assert!(bench.poll(&mut last).is_pending());
    assert_eq!(bench.send(), (6, 1));
    bench.reply([1]);
    assert_eq!(bench.answer(first).unwrap(), [0]);
    assert_eq!(bench.answer(last).unwrap(), [1]);
    assert_eq!(bench.queue.entries.len(), 0);
}

#[test]
fn a_group_has_all_its_replies_and_no_other() {
    let mut bench = Bench::new(|_| {});
    let before = bench.asks(PING);
    let group = bench.asks(Ping { replies: 3, ..PING });
    let gone = bench.asks(Ping { replies: 2, ..PING });
    let behind = bench.asks(PING);
    bench.leaves(gone);
    assert_eq!(bench.send().1, 7);
    bench.reply([0, 1, 2]);
    bench.reply([3, 4]);
    assert_eq!(group.woken(), 1, "once, when the last has come");
    bench.reply([5, 6]);
    assert_eq!(bench.answer(before).unwrap(), [0]);
    assert_eq!(bench.answer(group).unwrap(), [1, 2, 3]);
    assert_eq!(bench.answer(behind).unwrap(), [6]);
    assert_eq!(bench.queue.entries.len(), 0);
}

#[test]
fn a_late_reply_goes_to_nobody() {
    let mut bench = Bench::new(|limits| limits.command_timeout = Some(Duration::from_secs(2)));
    let sent = bench.asks(PING);
    bench.send();
    let unsent = bench.asks(PING);
    assert_eq!(
        bench.expires_after(1),
        Some(bench.now + Duration::from_secs(1))
    );
    let young = bench.asks(PING);
    assert_eq!(
        bench.expires_after(1),
        Some(bench.now + Duration::from_secs(1))
    );
    assert!(matches!(
        bench.answer(sent),
        Err(Failure::Timeout {
            maybe_executed: true
        })
    ));
    assert!(matches!(
        bench.answer(unsent),
        Err(Failure::Timeout {
            maybe_executed: false
        })
    ));
    bench.send();
    bench.reply([0, 1, 2]);
    assert_eq!(bench.answer(young).unwrap(), [2]);
    assert_eq!(bench.expires_after(10), None, "nothing is timed any more");
    assert_eq!(bench.queue.entries.len(), 0);
}

#[test]
fn a_reply_behind_a_timeout_that_nobody_saw_yet_changes_nothing() {
    let mut bench = Bench::new(|limits| limits.command_timeout = Some(Duration::from_secs(2)));
    let late = bench.asks(PING);
    bench.send();
    bench.expires_after(2);
    bench.reply([7]);
    assert!(matches!(bench.answer(late), Err(Failure::Timeout { .. })));
    assert_eq!(bench.queue.entries.len(), 0);
}

#[test]
fn a_timeout_ends_waiting_for_room_too() {
    let mut bench = Bench::new(|limits| {
        limits.max_in_flight = 1;
        limits.command_timeout = Some(Duration::from_secs(2));
    });
    let first = bench.asks(PING);
    let waiting = bench.asks(PING);
    bench.send();
    bench.expires_after(2);
    assert!(matches!(
        bench.answer(waiting),
        Err(Failure::Timeout {
            maybe_executed: false
        })
    ));
    drop(bench.answer(first));
    bench.reply([0]);
    assert_eq!(bench.queue.entries.len(), 0);
    assert!(bench.queue.has_room());
}

#[test]
fn a_loss_fails_what_was_sent_and_takes_back_what_was_not() {
    let mut bench = Bench::new(|_| {});
    let sent = bench.asks(PING);
    bench.send();
    let mut half = bench.asks(PING);
    let gone = bench.asks(PING);
    let mut fresh = bench.asks(PING);
    bench.leaves(gone);
    // Three bytes of the second one have left.
    bench.queue.note_sent(9);
    bench.loses();
    assert!(matches!(
        bench.answer(sent),
        Err(Failure::Lost {
            maybe_executed: true,
            ..
        })
    ));
    assert!(bench.poll(&mut half).is_pending() && bench.poll(&mut fresh).is_pending());
    assert_eq!(bench.queue.load(), (0, 2));
    bench.connects();
    assert_eq!((half.woken(), fresh.woken()), (1, 1));
    let _ = (bench.poll(&mut half), bench.poll(&mut fresh));
    assert_eq!(
        bench.send(),
        (12, 2),
        "written anew, without the one that nobody waits for"
    );
    bench.reply([1, 2]);
    assert_eq!(bench.answer(half).unwrap(), [1]);
    assert_eq!(bench.answer(fresh).unwrap(), [2]);
    assert_eq!(bench.queue.entries.len(), 0);
}

#[test]
fn part_of_a_group_may_have_been_executed_unless_it_is_atomic() {
    for is_atomic in [false, true] {
        let mut bench = Bench::new(|_| {});
        let mut group = bench.asks(Ping {
            len: 60,
            replies: 10,
            is_atomic,
        });
        bench.queue.note_sent(59);
        bench.loses();
        let polled = bench.poll(&mut group);
        if is_atomic {
            assert!(polled.is_pending());
        } else {
            assert!(matches!(
                polled,
                Poll::Ready(Err(Failure::Lost {
                    maybe_executed: true,
                    ..
                }))
            ));
        }
    }
}

#[test]
fn without_an_offline_queue_nobody_waits_for_a_connection() {
    let mut bench = Bench::new(|limits| limits.offline = None);
    let unsent = bench.asks(PING);
    bench.loses();
    assert!(matches!(
        bench.answer(unsent),
        Err(Failure::Offline(Some(_)))
    ));
    let newcomer = Caller::new(PING);
    assert!(matches!(
        bench.answer(newcomer),
        Err(Failure::Offline(Some(_)))
    ));
    assert_eq!(bench.queue.entries.len(), 0);
}

#[test]
fn the_offline_queue_is_bounded_in_commands_bytes_and_time() {
    let mut bench = Bench::new(|_| {});
    bench.loses();
    let long = bench.asks(Ping { len: 990, ..PING });
    let refused = Caller::new(Ping { len: 11, ..PING });
    assert!(matches!(
        bench.answer(refused),
        Err(Failure::OfflineFull {
            commands: 1,
            bytes: 990
        })
    ));
    bench.leaves(long);
    bench.now += Duration::from_secs(1);
    let mut waiting: Vec<_> = (0..10).map(|_| bench.asks(PING)).collect();
    let refused = Caller::new(PING);
    assert!(matches!(
        bench.answer(refused),
        Err(Failure::OfflineFull {
            commands: 10,
            bytes: 60
        })
    ));
    assert_eq!(
        bench.expires_after(4),
        Some(bench.now + Duration::from_secs(1))
    );
    bench.queue.still_offline(Error::closed("nobody listens"));
    assert_eq!(bench.expires_after(1), None);
    let Err(Failure::Offline(Some(cause))) = bench.answer(waiting.remove(0)) else {
        panic!("it has waited long enough");
    };
    assert!(
        cause.to_string().contains("nobody listens"),
        "the last attempt says why"
    );
    for caller in waiting {
        assert!(bench.answer(caller).is_err());
    }
    assert_eq!(
        (bench.queue.entries.len(), bench.queue.offline_bytes),
        (0, 0)
    );
}

#[test]
fn bytes_of_those_who_wait_are_counted_once_over_two_losses() {
    let mut bench = Bench::new(|limits| limits.max_in_flight = 1);
    bench.loses();
    let mut first = bench.asks(PING);
    let second = bench.asks(PING);
    assert_eq!(bench.queue.offline_bytes, 12);
    bench.connects();
    assert!(bench.poll(&mut first).is_pending());
    assert_eq!(
        bench.queue.offline_bytes, 6,
        "one is written, one waits for room"
    );
    bench.loses();
    assert_eq!(bench.queue.offline_bytes, 12);
    bench.leaves(first);
    bench.leaves(second);
    assert_eq!(
        (bench.queue.entries.len(), bench.queue.offline_bytes),
        (0, 0)
    );
}

#[test]
fn who_waited_for_room_is_counted_when_the_connection_is_lost() {
    let mut bench = Bench::new(|limits| limits.max_in_flight = 1);
    let long = || Ping { len: 600, ..PING };
    let sent = bench.asks(PING);
    bench.send();
    let mut fits = bench.asks(long());
    let (too_many, mut small) = (bench.asks(long()), bench.asks(PING));
    bench.loses();
    assert!(matches!(bench.answer(sent), Err(Failure::Lost { .. })));
    for caller in [&fits, &too_many, &small] {
        assert_eq!(caller.woken(), 1, "only he knows how long his command is");
    }
    assert!(bench.poll(&mut fits).is_pending());
    assert!(bench.poll(&mut fits).is_pending());
    assert_eq!(bench.queue.offline_bytes, 600);
    assert!(matches!(
        bench.answer(too_many),
        Err(Failure::OfflineFull {
            commands: 3,
            bytes: 600
        })
    ));
    assert!(bench.poll(&mut small).is_pending());
    assert_eq!(bench.queue.offline_bytes, 606);
    bench.connects();
    assert_eq!(bench.queue.offline_bytes, 6, "the first is let in");
    assert!(bench.poll(&mut fits).is_pending());
    // What was counted once is not counted by the next loss, nor asked for.
    bench.loses();
    assert_eq!(bench.queue.offline_bytes, 606);
    assert!(bench.poll(&mut fits).is_pending());
    assert_eq!(bench.queue.offline_bytes, 606);
    bench.leaves(fits);
    bench.leaves(small);
    assert_eq!(
        (bench.queue.entries.len(), bench.queue.offline_bytes),
        (0, 0)
    );
}

#[test]
fn who_has_a_connection_again_before_he_is_counted_waits_for_room() {
    let mut bench = Bench::new(|limits| limits.max_in_flight = 1);
    let sent = bench.asks(PING);
    bench.send();
    let mut waits = bench.asks(Ping { len: 2_000, ..PING });
    let mut behind = bench.asks(PING);
    bench.loses();
    bench.connects();
    assert!(bench.poll(&mut behind).is_pending());
    assert!(bench.poll(&mut waits).is_pending());
    assert_eq!(bench.queue.offline_bytes, 0);
    bench.send();
    bench.reply([1]);
    assert_eq!(bench.answer(waits).unwrap(), [1]);
    bench.leaves(behind);
    assert!(bench.answer(sent).is_err());
    assert_eq!(bench.queue.entries.len(), 0);
}

#[test]
fn what_comes_back_unsent_is_held_against_the_bounds_in_its_order() {
    let mut bench = Bench::new(|_| {});
    let first = bench.asks(Ping { len: 990, ..PING });
    let second = bench.asks(Ping { len: 20, ..PING });
    let third = bench.asks(PING);
    bench.loses();
    assert_eq!(bench.queue.offline_bytes, 996);
    assert!(matches!(
        bench.answer(second),
        Err(Failure::OfflineFull {
            commands: 1,
            bytes: 990
        })
    ));
    bench.leaves(first);
    bench.leaves(third);
    assert_eq!(
        (bench.queue.entries.len(), bench.queue.offline_bytes),
        (0, 0)
    );
}

#[test]
fn closing_refuses_newcomers_and_ends_when_all_is_finished() {
    let mut bench = Bench::new(|limits| limits.max_in_flight = 1);
    let first = bench.asks(PING);
    let mut second = bench.asks(PING);
    bench.queue.close(None);
    let newcomer = Caller::new(PING);
    assert!(matches!(bench.answer(newcomer), Err(Failure::Closed)));
    bench.send();
    bench.reply([0]);
    assert!(!bench.queue.is_over());
    assert!(bench.poll(&mut second).is_pending());
    bench.send();
    bench.reply([1]);
    assert!(bench.queue.is_over());
    bench.queue.end(&Failure::Closed);
    assert_eq!(bench.answer(first).unwrap(), [0]);
    assert_eq!(bench.answer(second).unwrap(), [1]);
}

#[test]
fn the_end_reaches_everybody_wherever_his_command_is() {
    let mut bench = Bench::new(|limits| limits.max_in_flight = 2);
    let sent = bench.asks(PING);
    bench.send();
    let unsent = bench.asks(PING);
    let granted = bench.asks(PING);
    let waiting = bench.asks(PING);
    bench.reply([0]);
    assert_eq!(granted.woken(), 1);
    bench.queue.end(&Failure::Closed);
    bench.wake();
    assert_eq!(bench.answer(sent).unwrap(), [0]);
    for caller in [unsent, granted, waiting] {
        assert!(matches!(bench.answer(caller), Err(Failure::Closed)));
    }
    assert_eq!(bench.queue.entries.len(), 0);
}

#[test]
fn the_end_tells_whose_command_the_server_may_have() {
    let mut bench = Bench::new(|limits| limits.max_in_flight = 2);
    let sent = bench.asks(PING);
    bench.send();
    let unsent = bench.asks(PING);
    let waiting = bench.asks(PING);
    bench.queue.end(&Failure::Closed);
    bench.wake();
    let mut tell = |caller| {
        let failure = bench.answer(caller).unwrap_err();
        Error::from(failure).maybe_executed()
    };
    assert_eq!(
        [tell(sent), tell(unsent), tell(waiting)],
        [true, false, false]
    );
}

#[test]
fn closing_gives_up_what_is_not_finished_in_time() {
    let mut bench = Bench::new(|_| {});
    let sent = bench.asks(PING);
    bench.send();
    let close_by = bench.now + Duration::from_secs(30);
    bench.queue.close(Some(close_by));
    assert_eq!(bench.expires_after(10), Some(close_by));
    bench
        .queue
        .close(Some(close_by + Duration::from_secs(1_000)));
    assert_eq!(
        bench.expires_after(19),
        Some(close_by),
        "the first one counts"
    );
    assert!(!bench.queue.is_over());
    bench.expires_after(1);
    assert!(bench.queue.is_over());
    bench.queue.end(&Failure::Closed);
    assert!(Error::from(bench.answer(sent).unwrap_err()).maybe_executed());
}

#[test]
fn closing_without_a_connection_ends_in_time_too() {
    let mut bench = Bench::new(|_| {});
    bench.loses();
    let waiting = bench.asks(PING);
    let close_by = bench.now + Duration::from_secs(3);
    bench.queue.close(Some(close_by));
    assert_eq!(bench.expires_after(1), Some(close_by));
    bench.expires_after(2);
    assert!(bench.queue.is_over());
    bench.queue.end(&Failure::Closed);
    let error = Error::from(bench.answer(waiting).unwrap_err());
    assert!(!error.maybe_executed(), "{error}");
}

#[test]
fn the_reply_to_a_probe_reaches_nobody() {
    let mut bench = Bench::new(|_| {});
    let first = bench.asks(PING);
    bench.send();
    bench.queue.probe(bench.sent);
    let second = bench.asks(PING);
    assert_eq!(bench.send().1, 3 - 1, "a probe and the second one");
    bench.reply([1]);
    assert!(bench.queue.is_first_forsaken());
    bench.queue.deliver(&mut vec![None]);
    bench.reply([2]);
    assert_eq!(bench.answer(first).unwrap(), [1]);
    assert_eq!(bench.answer(second).unwrap(), [2]);
    assert_eq!(bench.queue.entries.len(), 0);
}

#[test]
fn nothing_is_probed_where_commands_wait_to_be_sent() {
    let mut bench = Bench::new(|_| {});
    let _sent = bench.asks(PING);
    bench.send();
    let _unsent = bench.asks(PING);
    bench.queue.probe(bench.sent);
    assert_eq!(bench.send().1, 1);
}

#[test]
fn a_driver_with_enough_to_do_is_not_woken_for_each_command() {
    let mut bench = Bench::new(|_| {});
    let driver = Arc::<Count>::default();
    let woken = || driver.0.load(Ordering::Relaxed);
    let waker = Waker::from(Arc::clone(&driver));
    bench.queue.attend(&waker, false);
    let _first = (bench.asks(PING), bench.asks(PING));
    assert_eq!(woken(), 1, "the first of a batch wakes it");
    bench.queue.attend(&waker, true);
    let _second = bench.asks(PING);
    assert_eq!(woken(), 1);
}

/// A command with a large argument that is only borrowed.
struct Borrowed;

impl Encode for Borrowed {
    fn encode(&self, queue: &mut WriteQueue, _: &mut Vec<Bytes>) -> Result<(), Failure> {
        queue.begin_here();
        queue.push(b"head");
        queue.withdraw();
        Err(Failure::NeedsCopy)
    }

    fn copied(&self) -> Result<Pieces, Failure> {
        panic!("the caller's future makes it")
    }
}

#[test]
fn who_has_to_copy_first_keeps_his_turn_and_leaves_nothing_of_the_first_attempt() {
    let mut bench = Bench::new(|limits| limits.max_in_flight = 1);
    let first = bench.asks(PING);
    let mut borrows = Caller::new(PING);
    let waker = Waker::from(Arc::clone(&borrows.count));
    let now = bench.now;
    let attempt = |bench: &mut Bench, borrows: &mut Caller| {
        bench
            .queue
            .poll(&mut borrows.index, &Borrowed, &waker, || now)
    };
    assert!(attempt(&mut bench, &mut borrows).is_pending());
    let behind = bench.asks(PING);
    bench.send();
    bench.reply([0]);
    assert_eq!((borrows.woken(), behind.woken()), (1, 0));
    assert!(matches!(
        attempt(&mut bench, &mut borrows),
        Poll::Ready(Err(Failure::NeedsCopy))
    ));
    assert_eq!(bench.queue.load(), (0, 2), "the turn is still his");
    assert!(bench.poll(&mut borrows).is_pending());
    assert_eq!(bench.send(), (6, 1));
    bench.reply([1]);
    assert_eq!(bench.answer(first).unwrap(), [0]);
    assert_eq!(bench.answer(borrows).unwrap(), [1]);
    bench.leaves(behind);
    assert_eq!(bench.queue.entries.len(), 0);
}

#[test]
fn a_reply_that_is_passed_over_keeps_the_order_of_the_others() {
    let mut bench = Bench::new(|_| {});
    let gone = bench.asks(PING);
    let group = bench.asks(Ping { replies: 2, ..PING });
    let last = bench.asks(PING);
    bench.send();
    assert!(!bench.queue.is_first_forsaken());
    bench.leaves(gone);
    assert!(bench.queue.is_first_forsaken());
    bench.queue.deliver(&mut vec![None]);
    assert!(!bench.queue.is_first_forsaken());
    bench.reply([1]);
    bench.leaves(group);
    assert!(bench.queue.is_first_forsaken());
    bench.queue.deliver(&mut vec![None, Some(Ok(owned(3)))]);
    assert_eq!(bench.answer(last).unwrap(), [3]);
    assert_eq!((bench.queue.entries.len(), bench.queue.load()), (0, (0, 0)));
}

#[test]
fn replies_of_a_group_are_kept_for_nobody() {
    let group = || Ping { replies: 3, ..PING };
    let mut bench = Bench::new(|limits| limits.command_timeout = Some(Duration::from_secs(1)));
    let (gone, mut late) = (bench.asks(group()), bench.asks(group()));
    let kept = |bench: &Bench, index| {
        let entry = bench.queue.entries.get(index).unwrap();
        (entry.replies.len(), entry.replies.capacity())
    };
    let (first, second) = (gone.index.unwrap(), late.index.unwrap());
    bench.send();
    bench.reply([1, 2]);
    assert_eq!(kept(&bench, first), (2, 3));
    bench.leaves(gone);
    assert_eq!(kept(&bench, first), (0, 0), "dropped with its caller");
    bench.reply([3, 4, 5]);
    assert_eq!(kept(&bench, second), (2, 3));
    bench.expires_after(1);
    assert_eq!(kept(&bench, second), (0, 0), "it is out of time");
    bench.reply([6]);
    assert_eq!(kept(&bench, second), (0, 0));
    assert!(matches!(
        bench.poll(&mut late),
        Poll::Ready(Err(Failure::Timeout { .. }))
    ));
    assert_eq!(bench.queue.entries.len(), 0);
}

#[test]
fn who_is_let_in_and_does_not_ask_has_his_place_until_his_time_is_over() {
    let mut bench = Bench::new(|limits| {
        limits.max_in_flight = 1;
        limits.command_timeout = Some(Duration::from_secs(5));
    });
    let first = bench.asks(PING);
    bench.expires_after(3);
    let idle = bench.asks(PING);
    bench.expires_after(1);
    let mut next = bench.asks(PING);
    bench.send();
    bench.reply([1]);
    assert_eq!(bench.answer(first).unwrap(), [1]);
    assert_eq!((idle.woken(), next.woken()), (1, 0));
    bench.expires_after(4);
    assert_eq!(next.woken(), 1, "the place is the next one's");
    assert!(bench.poll(&mut next).is_pending());
    assert_eq!(bench.send(), (6, 1));
    bench.reply([2]);
    assert_eq!(bench.answer(next).unwrap(), [2]);
    assert!(matches!(
        bench.answer(idle),
        Err(Failure::Timeout {
            maybe_executed: false
        })
    ));
}
