//! Looks at statements, without a server.

use super::*;
use crate::pooling::state::{Baseline, State};

fn look(text: &[u8]) -> Look {
    super::look(text, Reading::default())
}

fn mentions(sql: &str) -> Vec<Mention> {
    use Mention::*;
    let look = look(sql.as_bytes());
    [
        LastInsertId,
        SetsLastInsertId,
        RowCount,
        FoundRows,
        CalcFoundRows,
        Warnings,
        ConnectionId,
        UserVariable,
        AssignsUserVariable,
        NamedLock,
        Temporary,
        Sequence,
        SessionTrack,
        FreshVariable,
        Role,
        SetStatement,
        BareVariable,
        Release,
        HiddenInsertId,
    ]
    .into_iter()
    .filter(|mention| look.mentions(*mention))
    .collect()
}

#[test]
fn a_statement_is_what_its_first_word_says_behind_comments() {
    for (sql, expected) in [
        ("SELECT 1", Kind::Select),
        ("  -- a\n/* b */ (select 1)", Kind::Select),
        ("# x\n/*!50000 SET */ a = 1", Kind::Set),
        ("lock tables t write", Kind::Lock),
        ("FLUSH TABLES WITH READ LOCK", Kind::Flush),
        ("ANALYZE TABLE t", Kind::Other),
        ("FLUSH PRIVILEGES", Kind::Other),
        ("FLUSH TABLES t FOR EXPORT", Kind::Flush),
        ("LOCK INSTANCE FOR BACKUP", Kind::Backup),
        ("UNLOCK INSTANCE", Kind::Other),
        ("EXECUTE IMMEDIATE 'SELECT 1'", Kind::Prepare),
        ("--\u{1}it's\nLOAD DATA INFILE 'x' INTO TABLE t", Kind::Load),
        ("ROLLBACK", Kind::End),
        ("rollback to savepoint s", Kind::Other),
        ("", Kind::Other),
        ("get diagnostics @a = row_count", Kind::GetDiagnostics),
    ] {
        assert_eq!(look(sql.as_bytes()).kind, expected, "{sql}");
    }
}

#[test]
fn names_are_found_outside_of_strings_quoted_names_and_comments() {
    use Mention::*;
    for (sql, expected) in [
        (
            "SELECT 'LAST_INSERT_ID()', `row_count`, \"found_rows\" /* GET_LOCK */ -- @a",
            vec![],
        ),
        ("select last_insert_id()", vec![LastInsertId]),
        (
            "select last_insert_id( id + 1)",
            vec![LastInsertId, SetsLastInsertId],
        ),
        (
            "select @@identity, @@session.last_insert_id",
            vec![LastInsertId],
        ),
        (
            "set last_insert_id = 4",
            vec![LastInsertId, SetsLastInsertId],
        ),
        ("SELECT 'it''s', 'a\\'b', ROW_COUNT()", vec![RowCount]),
        (
            "SELECT SQL_CALC_FOUND_ROWS * FROM t; SELECT FOUND_ROWS()",
            vec![FoundRows, CalcFoundRows],
        ),
        ("show warnings", vec![Warnings]),
        ("SHOW COUNT(*) ERRORS", vec![Warnings]),
        ("SELECT @a", vec![UserVariable]),
        ("SELECT @a := 1", vec![UserVariable, AssignsUserVariable]),
        (
            "SELECT 1 INTO @`a b`",
            vec![UserVariable, AssignsUserVariable],
        ),
        ("SET @a = 1", vec![UserVariable, AssignsUserVariable]),
        ("SELECT @@sql_mode", vec![]),
        ("CREATE TEMPORARY TABLE t (a INT)", vec![Temporary]),
        ("SELECT NEXT VALUE FOR s", vec![Sequence]),
        ("SET timestamp = 1", vec![FreshVariable]),
        ("SET @@session . `timestamp` = 1", vec![FreshVariable]),
        (
            "SELECT connection_id, row_count, t.identity FROM temporary",
            vec![],
        ),
        ("SELECT `GET_LOCK`('a', 1)", vec![NamedLock]),
        ("SELECT ROW_COUNT /* why */ ()", vec![RowCount]),
        ("SELECT @@warning_count", vec![Warnings]),
        ("CALL p(@out)", vec![UserVariable, AssignsUserVariable]),
        (
            "GET DIAGNOSTICS @n = NUMBER",
            vec![UserVariable, AssignsUserVariable],
        ),
        (
            "LOAD DATA INFILE 'x' INTO TABLE t (a, @b) SET c = @b",
            vec![UserVariable, AssignsUserVariable],
        ),
        (
            "BEGIN NOT ATOMIC SET @a = 1; END",
            vec![UserVariable, AssignsUserVariable],
        ),
        ("UPDATE t SET a = @a", vec![UserVariable]),
        ("GRANT SELECT ON *.* TO 'a'@'b'", vec![]),
        ("SELECT s.nextval", vec![Sequence]),
        ("SELECT SETVAL(s, 3)", vec![Sequence]),
        ("SET ROLE r", vec![Role]),
        ("COMMIT WORK RELEASE", vec![Release]),
        ("rollback release", vec![Release]),
        ("COMMIT AND CHAIN NO RELEASE", vec![]),
        ("RELEASE SAVEPOINT s", vec![]),
        (
            "INSERT INTO t VALUES (1) RETURNING id",
            vec![HiddenInsertId],
        ),
        ("ANALYZE INSERT INTO t VALUES (1)", vec![HiddenInsertId]),
        ("CREATE TABLE t SELECT 1", vec![HiddenInsertId]),
        ("SET RESOURCE GROUP g", vec![Role]),
        (
            "SET STATEMENT max_statement_time = 1 FOR SELECT 1",
            vec![SetStatement],
        ),
        (
            "SET STATEMENT max_statement_time = 1 FOR CALL p()",
            vec![FreshVariable, SetStatement],
        ),
        ("SET session_track_schema = OFF", vec![SessionTrack]),
        ("SET @@autocommit = OFF", vec![BareVariable]),
        ("set a = 1, @@`sql_mode` := ''", vec![BareVariable]),
        ("SET @@session.autocommit = OFF, a = @@b", vec![]),
        ("SELECT @@autocommit = 1", vec![]),
        ("SELECT 2*/* GET_LOCK() */3", vec![]),
        ("SELECT timestamp FROM t", vec![]),
        ("SELECT CONNECTION_ID()", vec![ConnectionId]),
        (
            "/*!40101 SET @OLD=@@TIME_ZONE */",
            vec![UserVariable, AssignsUserVariable],
        ),
    ] {
        assert_eq!(mentions(sql), expected, "{sql}");
    }
}

#[test]
fn no_text_makes_a_look_fail() {
    let pieces = [
        "'", "\"", "`", "/*", "*/", "/*!", "--", "#", "@", "@@", ":=", "(", ";", "\\", "\u{e9}",
        " ", "SET", "\n",
    ];
    let mut state = 7_u32;
    for _ in 0..20_000 {
        let mut sql = String::new();
        for _ in 0..12 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            sql.push_str(pieces[(state >> 16) as usize % pieces.len()]);
        }
        for bits in 0..8 {
            let reading = Reading {
                plain_backslash: bits & 1 != 0,
                quoted_names: bits & 2 != 0,
                two_bytes: bits & 4 != 0,
            };
            super::look(sql.as_bytes(), reading);
        }
    }
}

#[test]
fn each_statement_of_a_text_counts() {
    let found = look(b"SELECT 1; LOCK TABLES t WRITE; COMMIT");
    assert!(found.has(Kind::Select) && found.has(Kind::Lock) && found.has(Kind::End));
    assert!(found.is_several && !found.is_only(Kind::End));
    let found = look(b"UNLOCK TABLES;");
    assert!(found.is_only(Kind::Unlock) && !found.is_several);
    assert!(!look(b"FLUSH STATUS; SELECT 1").has(Kind::Flush));
    assert!(look(b"FLUSH STATUS; FLUSH TABLES WITH READ LOCK").has(Kind::Flush));
}

#[test]
fn quotes_are_read_as_the_server_does() {
    let normal = Reading::default();
    let plain = Reading {
        plain_backslash: true,
        ..normal
    };
    let names = Reading {
        quoted_names: true,
        ..normal
    };
    let two_bytes = Reading {
        two_bytes: true,
        ..normal
    };
    for (sql, reading, is_found) in [
        (&b"SELECT 'a\\', GET_LOCK('x', 1), '\\'"[..], normal, false),
        (b"SELECT 'a\\', GET_LOCK('x', 1), '\\'", plain, true),
        (b"SELECT \"a\\\", GET_LOCK(\"x\", 1), \"\\\"", normal, false),
        (b"SELECT \"a\\\", GET_LOCK('x', 1), \"\\\"", names, true),
        // The second byte of a character is a backslash, or a quote of names.
        (b"SELECT '\x95\\', GET_LOCK('x', 1)", normal, false),
        (b"SELECT '\x95\\', GET_LOCK('x', 1)", two_bytes, true),
        (b"SELECT \x95`, GET_LOCK('x', 1)", two_bytes, true),
    ] {
        let found = super::look(sql, reading).mentions(Mention::NamedLock);
        assert_eq!(
            found,
            is_found,
            "{} {reading:?}",
            String::from_utf8_lossy(sql)
        );
    }
}

#[test]
fn how_quotes_are_read_is_known_from_the_session() {
    use onecopy_mysql_proto::StatusFlags;
    let fresh = State::default();
    let baseline = Baseline::from_rows([
        (b"character_set_client".to_vec(), b"utf8mb4".to_vec()),
        (b"sql_mode".to_vec(), Vec::new()),
    ]);
    let with = |name: &str, value: &str| {
        let state = fresh.with_variable(&baseline, name.as_bytes(), value.as_bytes());
        state.unwrap().unwrap()
    };
    let none = StatusFlags::empty();
    assert!(Reading::of(StatusFlags::NO_BACKSLASH_ESCAPES, &fresh, 45).plain_backslash);
    assert!(Reading::of(none, &with("sql_mode", "PIPES_AS_CONCAT,ANSI_QUOTES"), 45).quoted_names);
    assert!(Reading::of(none, &with("character_set_client", "gbk"), 45).two_bytes);
    assert!(Reading::of(none, &fresh, 28).two_bytes);
    let reading = Reading::of(none, &fresh, 45);
    assert!(!reading.two_bytes && !reading.quoted_names && !reading.plain_backslash);
}

#[test]
fn a_replica_gets_what_only_reads() {
    for (sql, expected) in [
        ("SELECT * FROM t", true),
        ("WITH a AS (SELECT 1) SELECT * FROM a", true),
        ("SELECT 1; SELECT 2", true),
        ("START TRANSACTION READ ONLY", true),
        (
            "start transaction with consistent snapshot, read only",
            true,
        ),
        ("SELECT 'FOR UPDATE', `into` FROM t", true),
        ("START TRANSACTION", false),
        ("START TRANSACTION READ WRITE", false),
        ("START TRANSACTION READ ONLY; SELECT 1", false),
        ("BEGIN", false),
        ("SELECT * FROM t FOR UPDATE", false),
        ("SELECT * FROM t FOR SHARE", false),
        ("SELECT * FROM t LOCK IN SHARE MODE", false),
        ("SELECT a INTO @a FROM t", false),
        ("SELECT a INTO OUTFILE 'x' FROM t", false),
        ("WITH a AS (SELECT 1) DELETE FROM t", false),
        ("SELECT @a := 1", false),
        ("SELECT @a", false),
        ("SELECT GET_LOCK('a', 1)", false),
        ("SELECT NEXTVAL(s)", false),
        ("SELECT NEXT VALUE FOR s", false),
        ("SELECT LAST_INSERT_ID()", false),
        ("SELECT SQL_CALC_FOUND_ROWS 1", false),
        ("SELECT 1; INSERT INTO t VALUES (1)", false),
        ("SHOW TABLES", false),
        ("INSERT INTO t SELECT 1", false),
        ("", false),
    ] {
        assert_eq!(look(sql.as_bytes()).only_reads(), expected, "{sql}");
    }
}

#[test]
fn a_comment_says_where_a_statement_is_to_run() {
    for (sql, primary, replica) in [
        ("/* onecopy: primary */ SELECT 1", true, false),
        ("SELECT /*onecopy:PRIMARY*/ 1", true, false),
        ("SELECT 1 /*  OneCopy: replica  */", false, true),
        ("/* onecopy: elsewhere */ SELECT 1", false, false),
        (
            "/* onecopy */ SELECT '/* onecopy: primary */'",
            false,
            false,
        ),
        ("/* onecopy: primary", false, false),
    ] {
        let look = look(sql.as_bytes());
        let found = (
            look.mentions(Mention::Primary),
            look.mentions(Mention::Replica),
        );
        assert_eq!(found, (primary, replica), "{sql}");
    }
}

#[test]
fn what_may_change_rows_is_known_by_more_than_its_first_word() {
    for changes in [
        "INSERT INTO t VALUES (1)",
        "BEGIN",
        "CALL p()",
        "SELECT 1; DELETE FROM t",
        "WITH x AS (SELECT 1) UPDATE t SET a = 1",
        "SELECT NEXT VALUE FOR s",
        "SET STATEMENT max_statement_time = 1 FOR UPDATE t SET a = 1",
    ] {
        assert!(look(changes.as_bytes()).may_change(), "{changes}");
    }
    for leaves in [
        "SELECT a FROM t",
        "SHOW TABLES",
        "SET @a = 1",
        "SELECT 1; SHOW WARNINGS",
    ] {
        assert!(!look(leaves.as_bytes()).may_change(), "{leaves}");
    }
    assert!(
        Look::default().may_change(),
        "a statement whose text is not known"
    );
}
