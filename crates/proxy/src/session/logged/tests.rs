use super::*;

#[test]
fn the_database_of_use_is_found() {
    let used = |sql: &str| {
        let name = used(sql.as_bytes());
        name.map(|name| String::from_utf8(name.into()).unwrap())
    };
    for (sql, name) in [
        ("USE shop", "shop"),
        (" use\tshop ; ", "shop"),
        ("USE`sh``op`", "sh`op"),
        ("Use ` shop `", " shop "),
    ] {
        assert_eq!(used(sql).as_deref(), Some(name), "{sql}");
    }
    for sql in ["", "USE", "USE ", "USER shop", "SELECT 1", "USED shop"] {
        assert_eq!(used(sql), None, "{sql}");
    }
}
