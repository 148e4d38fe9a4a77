use super::*;
use crate::top::fixture::state;

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn type_keys(state: &mut State, keys: &str) -> Effect {
    let effects = keys
        .chars()
        .map(|typed| press(state, key(KeyCode::Char(typed))));
    effects.last().unwrap_or(Effect::Nothing)
}

fn control(state: &mut State, typed: char) -> Effect {
    press(
        state,
        KeyEvent::new(KeyCode::Char(typed), KeyModifiers::CONTROL),
    )
}

#[test]
fn screens_are_switched_by_number_and_tab() {
    let mut state = state(Screen::Overview, &["a"]);
    assert_eq!(type_keys(&mut state, "3"), Effect::Watch);
    assert_eq!(state.screen, Screen::Sessions);
    assert_eq!(type_keys(&mut state, "3"), Effect::Nothing);
    press(&mut state, key(KeyCode::Tab));
    assert_eq!(state.screen, Screen::Digests);
    press(&mut state, key(KeyCode::BackTab));
    press(&mut state, key(KeyCode::BackTab));
    assert_eq!(state.screen, Screen::Backends);
    type_keys(&mut state, "1");
    press(&mut state, key(KeyCode::BackTab));
    assert_eq!(state.screen, Screen::Buffers);
    press(&mut state, key(KeyCode::Tab));
    assert_eq!(state.screen, Screen::Overview);
}

#[test]
fn only_y_does_what_was_asked() {
    for answer in ["n", "q", " ", "K"] {
        let mut state = state(Screen::Sessions, &["a"]);
        type_keys(&mut state, "K");
        let Mode::Question(action) = &state.mode else {
            panic!("{:?}", state.mode);
        };
        assert_eq!(action.sql, "KILL 'front':9");
        assert_eq!(type_keys(&mut state, answer), Effect::Nothing);
        assert_eq!(state.mode, Mode::Table);
        assert_eq!(state.message.unwrap().text.as_str(), "nothing was done");
    }
    let mut state = state(Screen::Sessions, &["a"]);
    // The question is about the row that was chosen, whatever comes in between.
    type_keys(&mut state, "K");
    state.sort_by_next(true);
    let Effect::Do(action) = type_keys(&mut state, "y") else {
        panic!();
    };
    assert_eq!(action.sql, "KILL 'front':9");
}

#[test]
fn keys_that_change_something_fit_their_screens() {
    for (screen, typed, sql) in [
        (Screen::Backends, "D", "DRAIN BACKEND 'db1'"),
        (Screen::Backends, "R", "RESUME BACKEND 'db1'"),
        (Screen::Backends, "M", "MOVE BACKEND 'db1'"),
        (Screen::Overview, "P", "PAUSE 'front'"),
        (Screen::Overview, "R", "RESUME 'front'"),
        (Screen::Pins, "K", "KILL 'front':9"),
    ] {
        let mut state = state(screen, &["a"]);
        type_keys(&mut state, typed);
        let Effect::Do(action) = type_keys(&mut state, "y") else {
            panic!("{screen:?} {typed}");
        };
        assert_eq!(action.sql, sql);
    }
    let mut refused = state(Screen::Rules, &["a"]);
    type_keys(&mut refused, "K");
    assert!(refused.message.is_some() && refused.mode == Mode::Table);
    let mut read_only = state(Screen::Sessions, &["a"]);
    read_only.is_read_only = true;
    type_keys(&mut read_only, "K");
    assert!(
        read_only
            .message
            .unwrap()
            .text
            .as_str()
            .contains("--read-only")
    );
    assert_eq!(read_only.mode, Mode::Table);
}

#[test]
fn a_filter_is_typed_kept_given_up_and_cleared() {
    let mut state = state(Screen::Sessions, &["a"]);
    let rows = |state: &State| state.main().unwrap().rows.len();
    type_keys(&mut state, "/日");
    assert_eq!((rows(&state), state.filter.as_str()), (1, "日"));
    // Keys are text now.
    assert_eq!(type_keys(&mut state, "qK"), Effect::Nothing);
    assert_eq!((rows(&state), state.filter.as_str()), (0, "日qK"));
    press(&mut state, key(KeyCode::Backspace));
    press(&mut state, key(KeyCode::Backspace));
    press(&mut state, key(KeyCode::Enter));
    assert_eq!((rows(&state), state.mode.clone()), (1, Mode::Table));
    type_keys(&mut state, "/x");
    press(&mut state, key(KeyCode::Esc));
    assert_eq!((rows(&state), state.filter.as_str()), (1, "日"));
    press(&mut state, key(KeyCode::Esc));
    assert_eq!((rows(&state), state.filter.as_str()), (3, ""));
    type_keys(&mut state, "/abc");
    control(&mut state, 'u');
    assert_eq!(state.filter, "");
    type_keys(&mut state, &"x".repeat(1_000));
    assert_eq!(state.filter.len(), LONGEST_FILTER);
}

#[test]
fn a_chosen_row_is_followed_and_the_top_stays_the_top() {
    let mut state = state(Screen::Sessions, &["a"]);
    let id = |state: &State| state.chosen_row().unwrap().values[0].plain();
    assert_eq!((state.chosen(), id(&state).as_str()), (0, "9"));
    state.reverse();
    assert_eq!(state.chosen(), 0);
    assert_ne!(id(&state), "9");
    press(&mut state, key(KeyCode::End));
    let last = id(&state);
    assert_eq!((state.chosen(), last.as_str()), (2, "9"));
    state.reverse();
    assert_eq!((state.chosen(), id(&state)), (0, last));
    press(&mut state, key(KeyCode::PageDown));
    assert_eq!(state.chosen(), 2);
    press(&mut state, key(KeyCode::Up));
    press(&mut state, key(KeyCode::Home));
    press(&mut state, key(KeyCode::Up));
    assert_eq!(state.chosen(), 0);
}

#[test]
fn visible_rows_have_the_chosen_one_and_move_only_if_they_must() {
    let mut state = state(Screen::Sessions, &["a", "b", "c"]);
    assert_eq!(state.first(4), 0);
    state.choose(3);
    assert_eq!(state.first(4), 0);
    state.choose(5);
    assert_eq!(state.first(4), 2);
    state.scrolled(2);
    state.choose(4);
    assert_eq!(state.first(4), 2);
    state.choose(1);
    assert_eq!((state.first(4), state.first(0)), (1, 1));
}

#[test]
fn intervals_have_steps_and_ends() {
    let mut state = state(Screen::Overview, &["a"]);
    assert_eq!(type_keys(&mut state, "+"), Effect::Interval);
    assert_eq!(state.interval, Duration::from_secs(2));
    assert_eq!(type_keys(&mut state, "--"), Effect::Interval);
    assert_eq!(state.interval, SHORTEST);
    assert_eq!(type_keys(&mut state, "-"), Effect::Nothing);
    // One that was given on the command line.
    state.interval = Duration::from_millis(1_700);
    type_keys(&mut state, "+");
    assert_eq!(state.interval, Duration::from_secs(2));
    type_keys(&mut state, &"+".repeat(20));
    assert_eq!(state.interval, LONGEST);
}

#[test]
fn keys_for_the_program_itself() {
    let mut state = state(Screen::Overview, &["a"]);
    assert_eq!(type_keys(&mut state, " "), Effect::Pause);
    assert!(state.is_paused);
    assert_eq!(control(&mut state, 'l'), Effect::Redraw);
    assert_eq!(control(&mut state, 'z'), Effect::Suspend);
    type_keys(&mut state, "?");
    assert_eq!(state.mode, Mode::Help);
    assert_eq!(type_keys(&mut state, "q"), Effect::Nothing);
    press(&mut state, key(KeyCode::Enter));
    press(&mut state, key(KeyCode::Down));
    assert_eq!(state.mode, Mode::Details(1));
    press(&mut state, key(KeyCode::Esc));
    assert_eq!(type_keys(&mut state, "q"), Effect::Quit);
    for mode in [
        Mode::Help,
        Mode::Details(0),
        Mode::Filter {
            before: String::new(),
        },
    ] {
        state.mode = mode;
        assert_eq!(control(&mut state, 'c'), Effect::Quit);
    }
}
