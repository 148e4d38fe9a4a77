use super::*;

fn text(sql: &[u8]) -> Text<'_> {
    Text {
        sql,
        is_whole: true,
        database: b"shop",
        has_no_escapes: false,
        error: 0,
    }
}

fn shown(text: &Text<'_>) -> String {
    let mut digester = Digester::new(4 << 10);
    let hash = digest(text, &mut digester);
    assert_eq!(hash, digester.hash());
    digester.text().to_owned()
}

/// What must be nowhere.
const PASSWORD: &str = "hunter2";

/// Statements with a password, as people write them: rightly, wrongly, and in disguise.
const STATEMENTS: [&str; 37] = [
    "CREATE USER bob IDENTIFIED BY 'hunter2'",
    "create user bob@'%' identified by \"hunter2\"",
    "CREATE USER bob IDENTIFIED/* a comment */BY 'hunter2'",
    "CREATE USER bob IDENTIFIED -- a comment\nBY 'hunter2'",
    "/*!50706 CREATE USER bob IDENTIFIED BY 'hunter2' */",
    "CREATE USER bob IDENTIFIED WITH mysql_native_password BY 'hunter2'",
    "CREATE USER bob IDENTIFIED VIA ed25519 USING PASSWORD('hunter2')",
    "CREATE USER bob IDENTIFIED VIA mysql_native_password USING PASSWORD('hunter2') OR unix_socket",
    "CREATE USER bob IDENTIFIED BY hunter2",
    "CREATE USER bob IDENTIFIED BY 'hunter2",
    "CREATE USER bob IDENTIFIED BY ''hunter2''",
    "CREATE USER bob IDENTIFIED BY 'it's hunter2'",
    "ALTER USER USER() IDENTIFIED BY 'new' REPLACE 'hunter2'",
    "ALTER USER bob IDENTIFIED BY 'hunter2' RETAIN CURRENT PASSWORD",
    "GRANT ALL ON *.* TO bob IDENTIFIED BY 'hunter2'",
    "SET PASSWORD = 'hunter2'",
    "SET PASSWORD = hunter2",
    "SET PASSWORD FOR bob = PASSWORD('hunter2')",
    "set password for 'bob'@'%' = old_password(\"hunter2\")",
    "SET PASSWORD FOR bob TO RANDOM; SET PASSWORD = 'hunter2'",
    "SELECT PASSWORD('hunter2')",
    "SELECT ENCRYPT('hunter2'), AES_ENCRYPT('x', 'hunter2')",
    "UPDATE mysql.user SET authentication_string = 'hunter2' WHERE user = 'bob'",
    "INSERT INTO mysql . user VALUES ('%', 'bob', 'hunter2')",
    "INSERT INTO `mysql`.`user` VALUES ('%', 'bob', 'hunter2')",
    "UPDATE mysql.global_priv SET Priv = '{\"a\": \"hunter2\"}'",
    "CHANGE MASTER TO MASTER_USER = 'r', MASTER_PASSWORD = 'hunter2'",
    "CHANGE MASTER TO MASTER_PASSWORD = hunter2",
    "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD='hunter2'",
    "START REPLICA USER='r' PASSWORD='hunter2'",
    "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'hunter2')",
    "CLONE INSTANCE FROM 'u'@'h':3306 IDENTIFIED BY 'hunter2'",
    "CREATE TABLE f (a INT) ENGINE=FEDERATED CONNECTION='mysql://u:hunter2@h/d/t'",
    "PREPARE s FROM 'CREATE USER bob IDENTI\\FIED BY ''hunter2'''",
    "EXECUTE  IMMEDIATE 'CREATE USER bob IDENTI\\FIED BY ''hunter2'''",
    "INSERT INTO app_users (name, password) VALUES ('bob', 'hunter2')",
    "SELECT 1 FROM dual; CREATE USER bob IDENTIFIED BY 'hunter2'; SELECT 'after'",
];

#[test]
fn no_password_is_shown_even_where_literals_are_kept() {
    for sql in STATEMENTS {
        for error in [0, PARSE_ERROR] {
            let text = Text {
                error,
                ..text(sql.as_bytes())
            };
            let digest = shown(&text);
            assert!(!digest.contains(PASSWORD), "{sql}: {digest}");
            for literals in [Literals::Kept, Literals::Redacted] {
                assert_eq!(statement(&text, literals), None, "{sql}");
            }
            // Nor of what has arrived of it.
            for end in 0..sql.len() {
                let text = Text {
                    sql: &sql.as_bytes()[..end],
                    is_whole: false,
                    ..text
                };
                let digest = shown(&text);
                assert!(!digest.contains(PASSWORD), "{sql}: {digest}");
                let start = statement(&text, Literals::Kept).unwrap_or_default();
                let start = String::from_utf8_lossy(start);
                assert!(!start.contains(PASSWORD), "{sql}: {start}");
            }
        }
    }
}

#[test]
fn accounts_are_known_by_the_schema_too() {
    let sql = b"INSERT INTO user VALUES ('%', 'bob', 'hunter2')";
    let mysql = Text {
        database: b"MySQL",
        ..text(sql)
    };
    assert_eq!(statement(&mysql, Literals::Kept), None);
    assert_eq!(statement(&text(sql), Literals::Kept), Some(&sql[..]));
}

#[test]
fn ordinary_statements_are_shown_as_they_are_where_literals_are_kept() {
    for sql in [
        "SELECT name FROM product WHERE id = 7",
        "INSERT INTO t VALUES ('it''s', \"a\\\"b\", 1.5)",
        "SELECT * FROM page WHERE url = 'https://example.com/'",
    ] {
        let text = text(sql.as_bytes());
        assert_eq!(statement(&text, Literals::Kept), Some(sql.as_bytes()));
        assert_eq!(statement(&text, Literals::Redacted), None);
    }
}

#[test]
fn the_digest_is_that_of_the_table_where_the_statement_can_be_read() {
    for sql in [
        &b"SELECT name FROM product WHERE id = 7 AND a = 'it\\'s'"[..],
        b"SELECT '\xC3\xA9\\'', 1 /* UTF-8 */",
        b"SELECT '\xE9t\xE9', 'Latin 1'",
        b"SELECT id, password FROM account WHERE name = 'bob'",
        b"SELECT identified_by FROM find",
    ] {
        let mut digester = Digester::new(4 << 10);
        digester.digest(sql);
        assert_eq!(shown(&text(sql)), digester.text());
    }
}

#[test]
fn nothing_behind_a_string_is_shown_where_its_end_is_not_certain() {
    // The backslash is a character: the string is over behind it.
    let no_escapes = Text {
        has_no_escapes: true,
        ..text(b"SELECT a, 'x\\', hunter2, 'y'")
    };
    assert_eq!(shown(&no_escapes), "SELECT `a` ...");
    // The second byte of a character of Shift JIS.
    let shift_jis = text(b"SELECT a, '\x95\\', 'hunter2'");
    assert_eq!(shown(&shift_jis), "SELECT `a` ...");
    // A backtick as well: it would begin a name.
    let gbk = text(b"SELECT \x81`a, 'x', `hunter2`");
    assert!(!shown(&gbk).contains(PASSWORD));
    // A quote that was forgotten.
    let wrong = Text {
        error: PARSE_ERROR,
        ..text(b"INSERT INTO t VALUES (1, 'it's hunter2')")
    };
    assert_eq!(shown(&wrong), "INSERT INTO `t` VALUES ...");
    // Without one there is nothing to hide but numbers.
    let wrong = Text {
        error: PARSE_ERROR,
        ..text(b"SELEC 12345")
    };
    assert_eq!(shown(&wrong), "`SELEC` ?");
}
