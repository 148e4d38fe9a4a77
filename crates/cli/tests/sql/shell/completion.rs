//! Tab.

use super::{Session, prepare};

#[test]
fn tables_and_columns_are_completed_and_new_ones_too() {
    prepare(&[
        "DROP TABLE IF EXISTS shell_fruit, shell_new",
        "CREATE TABLE shell_fruit (fruit_id INT, fruit_name TEXT)",
        "INSERT INTO shell_fruit VALUES (1, 'apple')",
    ]);
    let mut shell = Session::start("completion");
    shell.type_keys("SELECT * FROM shell_fru\t");
    shell.shows("shell_fruit");
    let shown = shell.run(";");
    assert!(shown.contains("| apple"), "{shown}");
    // Two columns begin so: the common start, then the list.
    shell.type_keys("sele\t fru\t");
    shell.shows("select");
    shell.shows("fruit_");
    shell.type_keys("\t");
    shell.shows("fruit_id");
    shell.shows("fruit_name");
    shell.type_keys("n\t from shell_fruit;\r");
    shell.shows("| fruit_name |");
    shell.answer();
    shell.run("CREATE TABLE shell_new (newest_column INT);");
    // Read in the background: one of the next times it is there.
    for attempt in 0.. {
        shell.type_keys("SELECT newe\t");
        std::thread::sleep(std::time::Duration::from_millis(50));
        let shown = shell.run(" FROM shell_new;");
        if shown.contains("newest_column |") {
            break;
        }
        assert!(attempt < 50, "{shown}");
    }
    shell.leave();
}

#[test]
fn commands_and_their_arguments_are_completed() {
    prepare(&["CREATE DATABASE IF NOT EXISTS shell_database_of_this"]);
    let mut shell = Session::start("completed-commands");
    shell.type_keys("\\tim\t off\r");
    shell.shows("timing is off");
    shell.answer();
    shell.type_keys("use shell_database_of\t\r");
    shell.shows("/shell_database_of_this> ");
    shell.run("DROP DATABASE shell_database_of_this;");
    shell.leave();
}

#[test]
fn candidates_are_listed_above_a_statement_of_several_lines() {
    prepare(&[
        "DROP TABLE IF EXISTS shell_several",
        "CREATE TABLE shell_several (several_a INT, several_b INT)",
    ]);
    let mut shell = Session::start_with("several", crate::url(), 80, |_| {});
    shell.type_keys(
        "SELECT 'a line that is longer than the terminal is wide, so that it takes two', \r",
    );
    shell.type_keys("several_\x1b[D\x1b[C FROM shell_several;\x1b[D");
    for _ in 0.." FROM shell_several".len() {
        shell.type_keys("\x1b[D");
    }
    shell.type_keys("\t");
    shell.shows("several_a  several_b\r\n");
    // The statement is drawn again below.
    shell.shows("SELECT 'a line");
    shell.type_keys("b\r");
    shell.shows("| several_b |");
    shell.answer();
    shell.leave();
}
