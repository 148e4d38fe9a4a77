//! What is shown, and what was chosen: changed by reports of proxies and by keys, read by the view.

use std::time::{Duration, Instant};

use super::action::{Action, Verb};
use super::poller::Report;
use super::proxy::Proxy;
use super::screen::Screen;
use super::table::{Order, Row, Table};
use super::value::{Shown, Tone};

/// What keys are for at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Table,
    /// A filter is being typed. The one before comes back if it is given up.
    Filter {
        before: String,
    },
    /// Whether this shall be done.
    Question(Action),
    Help,
    /// All values of the chosen row, from this line on.
    Details(u16),
}

/// A line that is shown until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) text: Shown,
    pub(super) tone: Tone,
}

/// The row that is chosen on a screen, and the first one that is visible.
#[derive(Debug, Clone, Default)]
struct Place {
    row: usize,
    first: usize,
    /// The proxy and id of the row, which may move.
    id: Option<(usize, String)>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) proxies: Vec<Proxy>,
    pub(super) screen: Screen,
    pub(super) mode: Mode,
    pub(super) filter: String,
    pub(super) interval: Duration,
    pub(super) is_paused: bool,
    /// Whether keys may change anything on a proxy.
    pub(super) is_read_only: bool,
    pub(super) has_colours: bool,
    pub(super) message: Option<Message>,
    /// Those of the screen; the first one is the main one.
    pub(super) tables: Vec<Table>,
    /// The order that was chosen for a screen, which may be none.
    orders: [Option<Option<Order>>; Screen::ALL.len()],
    places: [Place; Screen::ALL.len()],
}

impl State {
    pub(super) fn new(proxies: Vec<Shown>, screen: Screen, interval: Duration) -> Self {
        let mut state = Self {
            proxies: proxies.into_iter().map(Proxy::new).collect(),
            screen,
            mode: Mode::Table,
            filter: String::new(),
            interval,
            is_paused: false,
            is_read_only: false,
            has_colours: false,
            message: None,
            tables: Vec::new(),
            orders: [None; Screen::ALL.len()],
            places: Default::default(),
        };
        state.refresh();
        state
    }

    /// What a proxy has told.
    pub(super) fn report(&mut self, proxy: usize, report: Report) {
        let Some(one) = self.proxies.get_mut(proxy) else {
            return;
        };
        match report {
            Report::Answers(answers) => one.answered(answers, self.interval),
            Report::Lost { why, retry_at } => one.lost(why, retry_at),
            Report::Done(Ok(done)) => return self.say(done, Tone::Good),
            Report::Done(Err(why)) => return self.say(why, Tone::Bad),
        }
        self.refresh();
    }

    pub(super) fn say(&mut self, text: Shown, tone: Tone) {
        self.message = Some(Message { text, tone });
    }

    /// Makes the tables anew.
    pub(super) fn refresh(&mut self) {
        self.tables = self.screen.tables(&self.proxies);
        let order = self.order();
        if let Some(main) = self.tables.first_mut() {
            main.sort(order);
            main.filter(&self.filter);
        }
        self.follow();
    }

    /// Keeps the chosen row chosen where it is now; one that is gone leaves its place to the next one.
    fn follow(&mut self) {
        let rows = self.tables.first().map_or(&[][..], |table| &table.rows);
        let place = &mut self.places[self.screen.number()];
        if let Some((proxy, id)) = &place.id {
            let is_it = |row: &Row| row.proxy == *proxy && row.id == *id;
            place.row = rows.iter().position(is_it).unwrap_or(place.row);
        }
        place.row = place.row.min(rows.len().saturating_sub(1));
        place.first = place.first.min(place.row);
    }

    pub(super) fn main(&self) -> Option<&Table> {
        self.tables.first()
    }

    /// The number of the chosen row.
    pub(super) fn chosen(&self) -> usize {
        self.places[self.screen.number()].row
    }

    pub(super) fn chosen_row(&self) -> Option<&Row> {
        self.main()?.rows.get(self.chosen())
    }

    /// Chooses another row. From then on it is that one, wherever it moves.
    pub(super) fn choose(&mut self, row: usize) {
        let rows = self.tables.first().map_or(&[][..], |table| &table.rows);
        let row = row.min(rows.len().saturating_sub(1));
        let id = rows.get(row).map(|row| (row.proxy, row.id.clone()));
        let place = &mut self.places[self.screen.number()];
        place.row = row;
        // The top stays the top.
        place.id = id.filter(|_| row > 0);
    }

    /// The first of so many visible rows, so that the chosen one is among them.
    pub(super) fn first(&self, visible: usize) -> usize {
        let place = &self.places[self.screen.number()];
        let last = (place.row + 1).saturating_sub(visible.max(1));
        place.first.clamp(last, place.row)
    }

    /// Remembers what [`first`](Self::first) came to, so that the rows move only if they must.
    pub(super) fn scrolled(&mut self, first: usize) {
        self.places[self.screen.number()].first = first;
    }

    /// The order of the main table.
    pub(super) fn order(&self) -> Option<Order> {
        let chosen = self.orders[self.screen.number()];
        let columns = self.main().map_or(&[][..], |table| &table.columns);
        chosen.unwrap_or_else(|| self.screen.order(columns))
    }

    /// The next column to the right or left; beyond the last one rows are as the proxy lists them.
    pub(super) fn sort_by_next(&mut self, is_right: bool) {
        let columns = self.main().map_or(&[][..], |table| &table.columns);
        let last = columns.len().checked_sub(1);
        let next = match (self.order(), is_right) {
            (None, true) => last.map(|_| 0),
            (None, false) => last,
            (Some(order), true) => Some(order.column + 1).filter(|&next| Some(next) <= last),
            (Some(order), false) => order.column.checked_sub(1),
        };
        let order = next.map(|column| Order::by(columns, column));
        self.orders[self.screen.number()] = Some(order);
        self.refresh();
    }

    pub(super) fn reverse(&mut self) {
        let order = self.order().map(|order| Order {
            is_descending: !order.is_descending,
            ..order
        });
        self.orders[self.screen.number()] = Some(order);
        self.refresh();
    }

    pub(super) fn switch(&mut self, screen: Screen) {
        self.screen = screen;
        self.refresh();
    }

    /// Asks whether this shall be done with the chosen row, or says why it can't be.
    pub(super) fn ask(&mut self, verb: Verb) {
        if self.is_read_only {
            let text = Shown::new("--read-only: nothing can be changed");
            return self.say(text, Tone::Warning);
        }
        let action = match self.chosen_row() {
            None => Err("there is no row to do this with"),
            Some(row) => Action::new(verb, row, &self.proxies),
        };
        match action {
            Ok(action) => self.mode = Mode::Question(action),
            Err(why) => self.say(Shown::new(why), Tone::Warning),
        }
    }

    /// When the screen changes though nobody has said anything: a countdown is shown.
    pub(super) fn next_tick(&self, now: Instant) -> Option<Duration> {
        use super::proxy::Link;
        let is_down =
            |proxy: &Proxy| matches!(&proxy.link, Link::Down { retry_at, .. } if *retry_at > now);
        let is_down = self.proxies.iter().any(is_down);
        is_down.then_some(Duration::from_secs(1))
    }
}
