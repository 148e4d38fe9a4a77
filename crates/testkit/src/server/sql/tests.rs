use super::*;

#[test]
fn a_password_cannot_leave_its_quotes_or_its_line() {
    assert_eq!(quoted("it's"), "'it''s'");
    assert_eq!(quoted("a\\'; DROP\nb"), "'a\\\\''; DROP\\nb'");
    assert_eq!(quoted("größe"), "'größe'");
}

#[test]
fn a_share_folder_without_scripts_is_an_error_that_names_the_script() {
    let error = mariadb(Path::new("/nonexistent"), "").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot read /nonexistent/mariadb_system_tables.sql: ")
    );
}
