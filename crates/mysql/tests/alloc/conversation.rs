//! One conversation, again and again, each time with another allocation that fails.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use onecopy_mysql::Error;
use onecopy_testkit::alloc::Watch;
use onecopy_testkit::script::{Delivery, Player, Script, noise};

use crate::LARGE;

/// What became of the call in which memory could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// Nothing was sent: the same call again succeeds.
    NotSent,
    /// It was sent, and a copy of what came is missing. The connection continues.
    Lost,
    /// The connection is closed.
    Closed,
}

/// What a conversation does next.
pub(crate) enum Next<T> {
    Done(T),
    Again,
    /// The call gave nothing; the next one is as good as ever.
    Lost,
    /// The connection must say that it is closed.
    Closed,
}

/// The server's part, and what fails.
pub(crate) struct Stage {
    pub(crate) watch: Watch,
    pub(crate) player: Player,
    /// What the client had sent when the call under way began.
    before: Cell<usize>,
    /// The server refuses the login: by an ERR of this code, or where it is 0 by what no client accepts.
    refusal: Option<u16>,
    fate: RefCell<Option<(Fate, String)>>,
}

/// The client's part, once for each driver.
#[derive(Clone, Copy)]
pub(crate) struct Conversation {
    pub(crate) blocking: fn(&Stage),
    pub(crate) tokio: fn(Rc<Stage>) -> Later,
}

/// A conversation that is still to come.
type Later = Pin<Box<dyn Future<Output = ()>>>;

impl Stage {
    fn new(script: &Arc<Script>, nth: usize, refusal: Option<u16>) -> Self {
        Self {
            watch: Watch::above(LARGE).failing(nth),
            player: Player::new(Arc::clone(script), Delivery::Whole, None),
            before: Cell::new(0),
            refusal,
            fate: RefCell::new(None),
        }
    }

    pub(crate) fn begin(&self) {
        self.before.set(self.player.sent());
    }

    /// Judges a call by its result; `is_closed` is what its connection says.
    pub(crate) fn end<T>(&self, result: Result<T, Error>, is_closed: bool) -> Next<T> {
        let error = match result {
            Ok(value) => return Next::Done(value),
            Err(error) => error,
        };
        assert!(self.watch.failed().is_some(), "{error:?}");
        assert!(error.is_out_of_memory(), "{error:?}");
        assert_eq!(is_closed, error.is_closed(), "{error:?}");
        let is_sent = self.player.sent() > self.before.get();
        let (fate, next) = match (is_closed, is_sent) {
            (true, _) => (Fate::Closed, Next::Closed),
            (false, true) => (Fate::Lost, Next::Lost),
            (false, false) => (Fate::NotSent, Next::Again),
        };
        let before = self.fate.replace(Some((fate, error.to_string())));
        assert!(before.is_none(), "one failure gave two: {before:?}");
        next
    }

    /// A login that gave no connection: for want of memory, or because it is refused.
    pub(crate) fn no_login(&self, error: &Error) {
        if self.watch.failed().is_none() {
            let code = error.server().map_or(0, |error| error.code);
            assert_eq!(Some(code), self.refusal, "{error:?}");
            return;
        }
        assert!(self.watch.failed().is_some(), "{error:?}");
        assert!(error.is_out_of_memory(), "{error:?}");
        let fate = (Fate::Closed, error.to_string());
        assert!(self.fate.replace(Some(fate)).is_none());
    }

    /// A connection that closed says so to every further call.
    pub(crate) fn assert_closed(&self, again: Result<(), Error>) {
        let again = again.expect_err("a closed connection does nothing");
        assert!(again.is_closed() && !again.is_out_of_memory(), "{again:?}");
        assert!(self.player.is_shut(), "its stream is closed too");
    }
}

impl Conversation {
    /// Plays it over both drivers until every large allocation has failed once. `fates` is what becomes of them in all.
    pub(crate) fn run(self, script: &Script, fates: &[Fate]) {
        self.play(script, None, fates);
    }

    /// The same of a login that the server refuses by an ERR of this code, or where it is 0 by what no client accepts.
    pub(crate) fn run_refused(self, script: &Script, code: u16) {
        self.play(script, Some(code), &[Fate::Closed]);
    }

    fn play(self, script: &Script, refusal: Option<u16>, fates: &[Fate]) {
        noise(0); // Made once for all tests, outside of any watch.
        let script = Arc::new(script.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let stage = |nth| Rc::new(Stage::new(&script, nth, refusal));
        let fates = fates.iter().copied().collect();
        assert_eq!(
            each("blocking", stage, |stage| (self.blocking)(&stage)),
            fates
        );
        let tokio = |stage| runtime.block_on((self.tokio)(stage));
        assert_eq!(each("tokio", stage, tokio), fates);
    }
}

/// Fails one allocation after the other; gives what became of them.
fn each(
    face: &str,
    stage: impl Fn(usize) -> Rc<Stage>,
    play: impl Fn(Rc<Stage>),
) -> BTreeSet<Fate> {
    let mut seen = BTreeSet::new();
    for nth in 1.. {
        let stage = stage(nth);
        play(Rc::clone(&stage));
        let fate = stage.fate.take();
        match (stage.watch.failed(), fate) {
            (Some(bytes), Some((fate, error))) => {
                println!("{face} {nth}: {bytes} bytes, {fate:?}: {error}");
                seen.insert(fate);
                if fate != Fate::Closed {
                    stage.player.finished().unwrap();
                }
            }
            // Memory that is nice to have, such as a smaller buffer to be idle with.
            (Some(bytes), None) => {
                println!("{face} {nth}: {bytes} bytes were not missed");
                stage.player.finished().unwrap();
            }
            (None, _) => {
                stage.player.finished().unwrap();
                assert_eq!(stage.watch.large(), nth - 1);
                break;
            }
        }
    }
    seen
}

/// Makes a [`Conversation`] of one body. In it `step!` is one call of the client's under watch: it gives what the call
/// gives, or `None` where that was lost; a call that was not sent is made again. `wait!` waits on either API.
macro_rules! conversation {
    ($config:expr, |$conn:ident, $step:ident, $wait:ident| $body:block) => {{
        use onecopy_mysql::Error;

        #[allow(unused_imports, unused_mut)]
        fn blocking(stage: &$crate::conversation::Stage) {
            use $crate::conversation::{
                blocking_read as read, blocking_step as $step, blocking_wait as $wait,
            };

            let (config, stream) = ($config, stage.player.blocking_stream());
            let login = || onecopy_mysql::blocking::Connection::from_stream(&config, stream);
            let mut connection = match stage.watch.run(login) {
                Ok(connection) => connection,
                Err(error) => return stage.no_login(&error),
            };
            // Nothing is kept from the login, so that each call needs all of its memory.
            connection.release(0);
            let mut $conn = $crate::conversation::Under {
                conn: &mut connection,
                stage,
            };
            $body
        }

        #[allow(unused_imports, unused_mut)]
        async fn tokio(stage: std::rc::Rc<$crate::conversation::Stage>) {
            use $crate::conversation::{
                tokio_read as read, tokio_step as $step, tokio_wait as $wait,
            };

            let (config, stream) = ($config, stage.player.tokio_stream());
            let login = onecopy_mysql::aio::Connection::from_stream(&config, stream);
            let mut connection = match stage.watch.poll(login).await {
                Ok(connection) => connection,
                Err(error) => return stage.no_login(&error),
            };
            // Nothing is kept from the login, so that each call needs all of its memory.
            connection.release(0);
            let mut $conn = $crate::conversation::Under {
                conn: &mut connection,
                stage: &stage,
            };
            $body
        }

        $crate::conversation::Conversation {
            blocking,
            tokio: |stage| Box::pin(tokio(stage)),
        }
    }};
}

/// A connection under watch.
pub(crate) struct Under<'s, C> {
    pub(crate) conn: &'s mut C,
    pub(crate) stage: &'s Stage,
}

macro_rules! blocking_step {
    (|$conn:ident| $call:block) => {{
        use $crate::conversation::Next;
        let (under, stage) = (&mut *$conn.conn, $conn.stage);
        loop {
            stage.begin();
            let result = stage.watch.run(|| -> Result<_, Error> {
                let $conn = &mut *under;
                $call
            });
            match stage.end(result, under.is_closed()) {
                Next::Done(value) => break Some(value),
                Next::Again => {}
                Next::Lost => break None,
                Next::Closed => return stage.assert_closed(under.ping()),
            }
        }
    }};
}

macro_rules! tokio_step {
    (|$conn:ident| $call:block) => {{
        use $crate::conversation::Next;
        let (under, stage) = (&mut *$conn.conn, $conn.stage);
        loop {
            stage.begin();
            let result: Result<_, Error> = {
                let $conn = &mut *under;
                stage.watch.poll(async { $call }).await
            };
            match stage.end(result, under.is_closed()) {
                Next::Done(value) => break Some(value),
                Next::Again => {}
                Next::Lost => break None,
                Next::Closed => return stage.assert_closed(under.ping().await),
            }
        }
    }};
}

macro_rules! blocking_wait {
    ($call:expr) => {
        $call
    };
}

macro_rules! tokio_wait {
    ($call:expr) => {
        $call.await
    };
}

/// The next bytes of a streamed value.
pub(crate) fn blocking_read(
    column: &mut onecopy_mysql::blocking::ColumnReader<'_>,
    into: &mut [u8],
) -> Result<usize, Error> {
    std::io::Read::read(column, into).map_err(unwrap_io)
}

/// The next bytes of a streamed value.
pub(crate) async fn tokio_read(
    column: &mut onecopy_mysql::aio::ColumnReader<'_>,
    into: &mut [u8],
) -> Result<usize, Error> {
    tokio::io::AsyncReadExt::read(column, into)
        .await
        .map_err(unwrap_io)
}

/// A reader's error is ours in an envelope.
fn unwrap_io(error: std::io::Error) -> Error {
    let inner = error.into_inner().unwrap();
    *inner.downcast().unwrap()
}

pub(crate) use {blocking_step, blocking_wait, tokio_step, tokio_wait};
