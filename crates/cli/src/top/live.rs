//! The view on a terminal: one loop that draws, and waits for keys, signals and reports of proxies.

use std::env;
use std::process::{self, ExitCode};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, raise};
use ratatui::crossterm::event::{self, Event, KeyEvent};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::keys::{Effect, press};
use super::poller::{self, Order, Plan, Report};
use super::screen::Screen;
use super::state::State;
use super::target::Target;
use super::terminal::{Taken, give_back, give_back_settings};
use super::{Args, view};
use crate::failure::Failure;

/// Reports that wait until the screen is drawn. Those who report wait then: a terminal that takes nothing must not fill the memory.
const WAITING: usize = 16;

/// A terminal that takes nothing does not keep the process from ending.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the loop waits for.
enum Message {
    Key(KeyEvent),
    Resized,
    /// The terminal can't be read any more.
    NoInput(String),
    Signal(i32),
    Report(usize, Report),
    /// A thread has panicked, and said so.
    Died,
}

/// Why it is over.
enum End {
    Quit,
    Signal(i32),
    Died,
    Failed(Failure),
}

/// The threads that report.
struct Pollers {
    orders: Vec<Sender<Order>>,
    messages: Receiver<Message>,
    sender: SyncSender<Message>,
}

pub(super) fn run(targets: Vec<Target>, args: &Args) -> Result<(), ExitCode> {
    let names = targets.iter().map(|target| target.name.clone()).collect();
    let screen = args.screens.first().copied().unwrap_or(Screen::Overview);
    let mut state = State::new(names, screen, args.interval);
    state.filter = args.filter.clone().unwrap_or_default();
    state.is_read_only = args.read_only;
    state.has_colours = has_colours();
    let pollers = start(targets, &state).map_err(|failure| failure.report(None))?;
    if let Err(failures) = first_answer(&pollers, &mut state) {
        for failure in failures {
            failure.report(None);
        }
        return Err(ExitCode::FAILURE);
    }
    let ended = show(&pollers, &mut state);
    give_back();
    match ended {
        End::Quit => Ok(()),
        End::Signal(number) => Err(ExitCode::from(128 + u8::try_from(number).unwrap_or(0))),
        End::Died => Err(ExitCode::from(101)),
        End::Failed(failure) => Err(failure.report(None)),
    }
}

fn has_colours() -> bool {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

fn start(targets: Vec<Target>, state: &State) -> Result<Pollers, Failure> {
    let (sender, messages) = sync_channel(WAITING);
    let mut orders = Vec::new();
    for (at, target) in targets.into_iter().enumerate() {
        let sender = Guarded(sender.clone());
        let report = move |report| sender.0.send(Message::Report(at, report)).is_ok();
        let plan = Plan {
            shows: Screen::needs(&[state.screen]),
            interval: state.interval,
            is_paused: false,
        };
        orders.push(poller::start(target.config, plan, report)?);
    }
    Ok(Pollers {
        orders,
        messages,
        sender,
    })
}

/// Tells the loop if its thread panics.
struct Guarded(SyncSender<Message>);

impl Drop for Guarded {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = self.0.send(Message::Died);
        }
    }
}

/// Waits until one proxy has answered. If none does, there is nothing to be shown: a wrong password is said at once.
fn first_answer(pollers: &Pollers, state: &mut State) -> Result<(), Vec<Failure>> {
    let mut failures = Vec::new();
    let mut is_lost = vec![false; state.proxies.len()];
    while let Ok(message) = pollers.messages.recv() {
        let Message::Report(at, report) = message else {
            continue;
        };
        let failure = match &report {
            Report::Lost { why, .. } => {
                let name = state.proxies.get(at).map(|proxy| proxy.name.clone());
                Some(format!("{}: {why}", name.unwrap_or_default()))
            }
            _ => None,
        };
        state.report(at, report);
        let Some(failure) = failure else {
            return Ok(());
        };
        if let Some(is_lost) = is_lost.get_mut(at).filter(|is_lost| !**is_lost) {
            *is_lost = true;
            failures.push(Failure::other(failure));
        }
        if failures.len() == is_lost.len() {
            break;
        }
    }
    Err(failures)
}

fn show(pollers: &Pollers, state: &mut State) -> End {
    if let Err(failure) = watch_signals(pollers.sender.clone()) {
        return End::Failed(failure);
    }
    let mut taken = match Taken::take() {
        Ok(taken) => taken,
        Err(error) => return End::Failed(terminal_failed(&error)),
    };
    if let Err(failure) = read_keys(pollers.sender.clone()) {
        return End::Failed(failure);
    }
    loop {
        let mut first = 0;
        let drawn = taken.terminal.draw(|frame| {
            first = view::draw(frame, state, Instant::now());
        });
        if let Err(error) = drawn {
            return End::Failed(terminal_failed(&error));
        }
        state.scrolled(first);
        let message = match state.next_tick(Instant::now()) {
            Some(time) => pollers.messages.recv_timeout(time),
            None => pollers
                .messages
                .recv()
                .map_err(|_| RecvTimeoutError::Disconnected),
        };
        let mut next = match message {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return End::Died,
        };
        // Everything that has come before it is drawn.
        while let Some(message) = next {
            if let Some(end) = handle(pollers, state, &mut taken, message) {
                return end;
            }
            next = pollers.messages.try_recv().ok();
        }
    }
}

fn handle(
    pollers: &Pollers,
    state: &mut State,
    taken: &mut Taken,
    message: Message,
) -> Option<End> {
    match message {
        Message::Key(key) => return obey(pollers, state, taken, key),
        Message::Resized => {}
        Message::Report(at, report) => state.report(at, report),
        Message::NoInput(why) => {
            let why = format!("can't read from the terminal: {why}");
            return Some(End::Failed(Failure::other(why)));
        }
        // Somebody else had the terminal in between.
        Message::Signal(SIGCONT) => {
            if let Err(error) = taken.enter() {
                return Some(End::Failed(terminal_failed(&error)));
            }
        }
        Message::Signal(number) => return Some(End::Signal(number)),
        Message::Died => return Some(End::Died),
    }
    None
}

fn obey(pollers: &Pollers, state: &mut State, taken: &mut Taken, key: KeyEvent) -> Option<End> {
    let effect = press(state, key);
    let all = |order: fn(&State) -> Order| {
        for orders in &pollers.orders {
            // One that has died has said so.
            let _ = orders.send(order(state));
        }
    };
    match effect {
        Effect::Nothing => {}
        Effect::Quit => return Some(End::Quit),
        Effect::Watch => all(|state| Order::Watch(Screen::needs(&[state.screen]))),
        Effect::Interval => all(|state| Order::Interval(state.interval)),
        Effect::Pause => all(|state| Order::Pause(state.is_paused)),
        Effect::Do(action) => {
            let order = Order::Do {
                sql: action.sql,
                done: action.done,
            };
            if let Some(orders) = pollers.orders.get(action.proxy) {
                let _ = orders.send(order);
            }
        }
        Effect::Redraw => {
            if let Err(error) = taken.redraw() {
                return Some(End::Failed(terminal_failed(&error)));
            }
        }
        Effect::Suspend => {
            give_back();
            // SIGCONT takes it again.
            let _ = raise(Signal::SIGTSTP);
        }
    }
    None
}

fn terminal_failed(error: &std::io::Error) -> Failure {
    Failure::other(format!("can't write to the terminal: {error}"))
}

fn read_keys(sender: SyncSender<Message>) -> Result<(), Failure> {
    let read = move || {
        let sender = Guarded(sender);
        loop {
            let message = match event::read() {
                Ok(Event::Key(key)) => Message::Key(key),
                Ok(Event::Resize(..)) => Message::Resized,
                Ok(_) => continue,
                Err(error) => Message::NoInput(error.to_string()),
            };
            let is_last = matches!(message, Message::NoInput(_));
            if sender.0.send(message).is_err() || is_last {
                return;
            }
        }
    };
    spawn(read)
}

fn watch_signals(sender: SyncSender<Message>) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGCONT])
        .map_err(|error| Failure::other(format!("can't watch for signals: {error}")))?;
    let watch = move || {
        for number in signals.forever() {
            let is_sent = sender.try_send(Message::Signal(number)).is_ok();
            if number == SIGCONT {
                continue;
            }
            thread::sleep(if is_sent { PATIENCE } else { Duration::ZERO });
            // The loop has not ended the process: it waits for the terminal.
            give_back_settings();
            process::exit(128 + number);
        }
    };
    spawn(watch)
}

fn spawn(run: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let thread = thread::Builder::new().name("top".to_owned()).spawn(run);
    thread
        .map(|_| ())
        .map_err(|error| Failure::other(format!("can't start a thread: {error}")))
}
