//! Statements under a name.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Session;

#[test]
fn a_favourite_is_stored_run_completed_and_deleted() {
    let mut shell = Session::start("favourites");
    let file = shell.folder.join("onecopy/sql_favourites");
    let shown = shell.run("\\f");
    assert!(shown.contains("there are no favourites"), "{shown}");
    assert!(!file.exists());
    let shown = shell.run("\\fs both SELECT 1 AS first; SELECT 'a;b' AS second;");
    assert!(shown.contains("stored; \\f both runs it"), "{shown}");
    // The last statement, of two lines, with a delimiter of the session's.
    shell.run("DELIMITER //");
    shell.run("SELECT 'x\\\\y'\rAS third//");
    shell.run("\\fs lines");
    let shown = shell.run("\\f both");
    for part in ["> SELECT 1 AS first;", "| first |", "| a;b    |"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    shell.run("DELIMITER ;");
    let shown = shell.run("\\f lines");
    assert!(
        shown.contains("| third |") && shown.contains("| x\\y   |"),
        "{shown}"
    );
    let shown = shell.run("\\f");
    assert!(
        shown.contains("both   SELECT 1 AS first; SELECT 'a;b' AS second\r\n")
            && shown.contains("lines  SELECT 'x\\\\y'\\nAS third\r\n"),
        "{shown}"
    );
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");

    // Tab.
    shell.type_keys("\\f li\t");
    shell.shows("\\f lines");
    shell.type_keys("\r");
    let shown = shell.answer();
    assert!(shown.contains("| third |"), "{shown}");

    for (line, said) in [
        ("\\f nothing", "there is no favourite nothing"),
        ("\\fd nothing", "there is no favourite nothing"),
        ("\\fs bad \\! ls", "consists of statements"),
        ("\\fs bad SELECT 'open", "ends inside of '"),
        (
            "\\fs bad SET PASSWORD = PASSWORD('x')",
            "with a password are not stored",
        ),
        ("\\fs", "takes the name of a favourite"),
        ("\\fs both SELECT 2", "replaced"),
        ("\\fd both", "deleted"),
    ] {
        let shown = shell.run(line);
        assert!(shown.contains(said), "{line}: {shown}");
    }
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, "lines\tSELECT 'x\\\\\\\\y'\\nAS third\n");
    shell.leave();
}
