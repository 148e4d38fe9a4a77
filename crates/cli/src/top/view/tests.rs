use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::top::fixture::state;
use crate::top::poller::Report;

fn drawn(state: &State, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| {
            draw(frame, state, Instant::now());
        })
        .unwrap();
    terminal.backend().buffer().clone()
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width).max(1);
    let rows = buffer.content().chunks(width);
    let text =
        |row: &[ratatui::buffer::Cell]| row.iter().map(|cell| cell.symbol()).collect::<String>();
    rows.map(|row| text(row).trim_end().to_owned()).collect()
}

fn text(state: &State, width: u16, height: u16) -> String {
    lines(&drawn(state, width, height)).join("\n")
}

#[test]
fn the_overview_fits_80_columns() {
    let lines = lines(&drawn(
        &state(Screen::Overview, &["127.0.0.1:6032"]),
        80,
        24,
    ));
    let expected = [
        "1Overview 2Backends 3Sessions 4Digests 5Pins 6Rules 7Users 8Commands 9Buffers",
        "127.0.0.1:6032 | 1,000 commands/s | 12 clients | every 1s",
        " Proxy          State Cmds/s Clients Servers   50 %   99 % Carried   Moved     >",
        " 127.0.0.1:6032 up     1,000      12      12  75 µs 2.5 ms 1 MiB/s 1 KiB/s",
        "",
        " Listener▲ State Cmds/s Clients   50 %   95 %   99 %        In       Out       >",
        ">front     open   1,000      12  75 µs 2.5 ms 2.5 ms 512 KiB/s 512 KiB/s",
        " plain     open       0       0      –      –      –     0 B/s     0 B/s",
    ];
    assert_eq!(&lines[..expected.len()], expected);
    assert_eq!(
        lines[23],
        "P pause  R resume  ? help  / filter  < > sort  Enter details  q quit"
    );
}

#[test]
fn backends_show_the_error_of_the_chosen_one_and_the_pools() {
    let mut state = state(Screen::Backends, &["a"]);
    let shown = text(&state, 80, 24);
    for part in ["lagging", "2m05s", "4,000", "Pool", "transaction"] {
        assert_eq!(
            shown.contains(part),
            part != "transaction",
            "{part} in\n{shown}"
        );
    }
    assert!(!shown.contains("Access denied"));
    state.choose(2);
    assert_eq!(state.chosen_row().unwrap().values[1].plain(), "lagging");
    assert!(text(&state, 80, 24).contains("Last error: Access denied for user 'onecopy_health'"));
    let wide = text(&state, 200, 24);
    assert!(wide.contains("10.0.0.2:3306"), "{wide}");
}

#[test]
fn rows_that_somebody_should_look_at_have_a_mark() {
    let lines = lines(&drawn(&state(Screen::Backends, &["a"]), 80, 24));
    let marks: Vec<_> = lines[3..6]
        .iter()
        .map(|line| line.chars().next().unwrap())
        .collect();
    // Sorted by name: db1 is up on one listener and down on the other one, db2 is lagging.
    assert_eq!(marks, ['>', '!', '!'], "{lines:?}");
}

#[test]
fn a_narrow_terminal_has_the_name_of_the_screen_that_is_shown() {
    let lines = lines(&drawn(&state(Screen::Buffers, &["a"]), 40, 5));
    assert_eq!(lines[0], "1 2 3 4 5 6 7 8 9Buffers");
    assert!(lines[4].starts_with(" buffer_bytes"), "{lines:?}");
}

#[test]
fn wide_characters_keep_columns_in_place() {
    let lines = lines(&drawn(&state(Screen::Sessions, &["a"]), 120, 24));
    let header = lines.iter().find(|line| line.contains("Cmds/s")).unwrap();
    let row = lines.iter().find(|line| line.contains("語")).unwrap();
    // Cells behind a wide character are blank in the buffer.
    let before = row.split("idle").next().unwrap();
    let column = header.find("State").unwrap();
    assert_eq!(before.chars().count(), column, "{header}\n{row}");
}

/// Of every screen and mode, whatever the names are.
#[test]
fn nothing_that_a_proxy_says_reaches_the_terminal_raw() {
    let hostile = "\x1b]0;owned\x07\x1b[2J\u{9b}31m\u{202e}\r\n\0";
    for screen in Screen::ALL {
        let mut state = state(screen, &[hostile, "b"]);
        let why = Shown::new(hostile);
        let retry_at = Instant::now() + Duration::from_secs(9);
        state.report(
            1,
            Report::Lost {
                why: why.clone(),
                retry_at,
            },
        );
        state.filter = String::new();
        for mode in [Mode::Table, Mode::Help, Mode::Details(0)] {
            state.mode = mode;
            for message in [false, true] {
                match message {
                    true => state.say(why.clone(), Tone::Bad),
                    false => state.message = None,
                }
                let buffer = drawn(&state, 200, 60);
                for cell in buffer.content() {
                    let is_harmless =
                        |c: char| !c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c);
                    assert!(
                        cell.symbol().chars().all(is_harmless),
                        "{:?}",
                        cell.symbol()
                    );
                }
            }
        }
    }
    let shown = text(&state(Screen::Sessions, &["a"]), 200, 24);
    assert!(
        shown.contains("\\u{1b}]0;owned\\u{7}\\u{1b}[31mevi"),
        "{shown}"
    );
}

#[test]
fn every_size_is_drawn_without_a_panic() {
    for screen in Screen::ALL {
        let mut state = state(screen, &["a", "b"]);
        let why = Shown::new(&"connection refused ".repeat(20));
        let retry_at = Instant::now();
        state.report(1, Report::Lost { why, retry_at });
        state.ask(crate::top::action::Verb::Kill);
        let question = std::mem::replace(&mut state.mode, Mode::Table);
        let filter = Mode::Filter {
            before: String::new(),
        };
        for mode in [Mode::Table, question, Mode::Help, Mode::Details(7), filter] {
            state.mode = mode;
            for height in (0..12).chain([24]) {
                for width in (0..12).chain([39, 80]) {
                    drawn(&state, width, height);
                }
            }
        }
    }
}

#[test]
fn questions_help_and_details_fit_80_by_24() {
    let mut state = state(Screen::Sessions, &["a", "b"]);
    state.ask(crate::top::action::Verb::Kill);
    let shown = text(&state, 80, 24);
    for part in [
        "Are you sure?",
        "Kill session 9 of user 'app' on listener 'front' of proxy a?",
        "y: yes",
    ] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
    state.mode = Mode::Help;
    let shown = text(&state, 80, 24);
    for part in ["screens", "nothing to measure"] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
    state.switch(Screen::Digests);
    state.mode = Mode::Details(0);
    let shown = text(&state, 80, 24);
    assert!(
        shown.contains("LIMIT ?") && shown.contains("2026-01-02T00:00:00Z"),
        "{shown}"
    );
    let shown = text(&state, 80, 10);
    assert!(
        shown.contains("more below") && !shown.contains("2026-01-02"),
        "{shown}"
    );
    state.mode = Mode::Details(u16::MAX);
    assert!(text(&state, 80, 10).contains("00aa"));
}

#[test]
fn states_are_words_and_colours_come_on_top() {
    let mut state = state(Screen::Backends, &["a"]);
    let colours = |state: &State| {
        let buffer = drawn(state, 80, 24);
        buffer
            .content()
            .iter()
            .filter(|cell| cell.fg != Color::Reset)
            .count()
    };
    assert_eq!(colours(&state), 0);
    let without = text(&state, 80, 24);
    state.has_colours = true;
    assert!(colours(&state) > 0);
    assert_eq!(text(&state, 80, 24), without);
}

#[test]
fn a_proxy_that_is_down_is_named_with_the_reason_and_the_others_go_on() {
    let mut state = state(Screen::Overview, &["10.0.0.1:6032", "10.0.0.2:6032"]);
    let now = Instant::now();
    let why = Shown::new("connection refused");
    let retry_at = now + Duration::from_secs(600);
    state.report(0, Report::Lost { why, retry_at });
    let shown = text(&state, 80, 24);
    for part in [
        "1 of 2 proxies | 1,000 commands/s",
        "10.0.0.1:6032 is down: connection refused; next try in 600s",
        "10.0.0.1:6032 down",
        "10.0.0.2:6032 up",
    ] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
    assert!(state.next_tick(now).is_some());
}

#[test]
fn pauses_filters_and_empty_tables_are_said() {
    let mut state = state(Screen::Sessions, &["a"]);
    state.is_paused = true;
    state.filter = "nobody".into();
    state.refresh();
    let shown = text(&state, 80, 24);
    assert!(shown.contains("filter: nobody | PAUSED | a | "), "{shown}");
    assert!(shown.contains("The filter hides all 3 rows"), "{shown}");
    let empty = State::new(vec![Shown::new("a")], Screen::Rules, Duration::from_secs(1));
    assert!(text(&empty, 80, 24).contains("Waiting for an answer."));
}
