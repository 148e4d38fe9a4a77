//! The bars of long transfers, on a real terminal.

use crate::terminal::Terminal;
use crate::{Folder, connect, create, onecopy, run};

/// Rows that take two seconds at least: half of that time is shown.
const SLOW: &str = "SELECT seq AS id, SLEEP(0.001) AS slept FROM seq_1_to_5000 WHERE seq <= 2500";

#[test]
fn a_long_dump_shows_how_far_it_is_and_then_its_summary() {
    let folder = Folder::new("dump-progress");
    let file = folder.path("a.tsv");
    for (options, is_shown) in [(&[][..], true), (&["-q"], false)] {
        let arguments = [&[SLOW, "-o", &file], options].concat();
        let mut terminal = Terminal::start(&mut onecopy("dump", &arguments));
        if is_shown {
            // Of a query nobody knows how many rows it has.
            let shown = terminal.shows("2,500 rows in ");
            assert!(shown.contains(" rows/s, "), "{shown:?}");
        }
        terminal.ends();
        assert_eq!(terminal.all().is_empty(), !is_shown);
    }
}

#[test]
fn a_long_load_shows_a_bar_with_the_time_that_is_left() {
    let mut conn = connect();
    let folder = Folder::new("load-progress");
    let table = create(&mut conn, "(id INT, slept INT)");
    let text: String = (1..=2_500).map(|id| format!("{id}\t0\n")).collect();
    let file = folder.file("a.tsv", format!("id\tslept\n{text}"));
    // Each row takes a millisecond.
    conn.run(format!(
        "CREATE TRIGGER {table}_slow BEFORE INSERT ON {table} FOR EACH ROW SET NEW.slept = SLEEP(0.001)"
    ))
    .unwrap();
    let arguments = [&*table, &file, "--batch", "100"];
    let mut terminal = Terminal::start(&mut onecopy("load", &arguments));
    terminal.ends();
    let shown = terminal.all();
    for part in [
        "█",
        "% ",
        " KiB of ",
        " rows/s, ",
        " to go",
        "2,500 rows in ",
    ] {
        assert!(shown.contains(part), "{part}: {shown:?}");
    }
    // The bar is gone at the end.
    let (_, last) = shown.rsplit_once("to go").unwrap();
    assert!(!last.contains('█'), "{last:?}");
    assert_eq!(
        run("dump", &[&table, "-N"])
            .split(|&byte| byte == b'\n')
            .count(),
        2_501
    );
    conn.run(format!("DROP TABLE {table}")).unwrap();
}
