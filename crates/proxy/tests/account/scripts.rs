//! What is played: each kind of command and reply, and what changes a session's state.

use onecopy_mysql_proto::Capabilities;
use onecopy_testkit::server::lacks;

use crate::raw::Raw;

const INIT_DB: u8 = 0x02;
const QUERY: u8 = 0x03;
const FIELD_LIST: u8 = 0x04;
const STATISTICS: u8 = 0x09;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const SEND_LONG_DATA: u8 = 0x18;
const CLOSE: u8 = 0x19;
const STMT_RESET: u8 = 0x1A;
const SET_OPTION: u8 = 0x1B;
const RESET_CONNECTION: u8 = 0x1F;
const BULK_EXECUTE: u8 = 0xFA;

/// COM_STMT_EXECUTE's flag for a cursor.
const READ_ONLY_CURSOR: u8 = 1;

/// The statement that MariaDB prepared last.
const LAST_PREPARED: [u8; 4] = [0xFF; 4];

/// One conversation behind the login.
pub(crate) struct Script {
    pub(crate) name: &'static str,
    pub(crate) play: fn(&mut Raw),
    /// Statements beyond one a command, which the server counts.
    pub(crate) more_statements: u64,
    /// Prepared statements, and whether a transaction is open.
    pub(crate) leaves: (usize, bool),
}

const fn script(name: &'static str, play: fn(&mut Raw)) -> Script {
    Script {
        name,
        play,
        more_statements: 0,
        leaves: (0, false),
    }
}

impl Script {
    const fn leaves(self, statements: usize, in_transaction: bool) -> Self {
        Self {
            leaves: (statements, in_transaction),
            ..self
        }
    }

    const fn with_more(self, more_statements: u64) -> Self {
        Self {
            more_statements,
            ..self
        }
    }
}

pub(crate) const SCRIPTS: &[Script] = &[
    script("queries", |raw| {
        raw.run("SELECT 1");
        raw.run("SELECT 1 FROM (SELECT 1) t WHERE 0");
        raw.run("SELECT REPEAT('r', 300), NULL UNION ALL SELECT '', 1");
        raw.run("DO 1");
    }),
    script("commands without a statement", |raw| {
        raw.simple(STATISTICS, b"");
        raw.simple(INIT_DB, b"test");
        raw.simple(INIT_DB, b"no_such_database");
        raw.simple(SET_OPTION, &[1, 0]);
        raw.simple(SET_OPTION, &[0, 0]);
    }),
    script("errors", |raw| {
        assert!(!raw.query("SELECT * FROM nothing_there"));
        assert!(!raw.query("this is no SQL"));
        raw.simple(PREPARE, b"neither is this");
        assert!(!raw.execute([9, 9, 0, 0], 0));
        assert!(!raw.query("SELECT (SELECT 1 UNION SELECT 2)"));
        raw.simple(0x70, b"no command");
    }),
    script("several statements in one command", |raw| {
        raw.run("SELECT 1; DO 1; SELECT 2, 3");
        assert!(!raw.query("SELECT 1; SELECT * FROM nothing_there; SELECT 2"));
    })
    .with_more(3),
    script("a procedure with results", |raw| {
        raw.run("DROP PROCEDURE IF EXISTS account");
        raw.run("CREATE PROCEDURE account() BEGIN SELECT 1; SELECT 2; END");
        raw.run("CALL account()");
        let statement = raw.prepare("CALL account()");
        assert!(raw.execute(statement, 0));
    })
    .leaves(1, false),
    script("prepared statements", |raw| {
        let one = raw.prepare("SELECT 1");
        assert!(raw.execute(one, 0));
        assert!(raw.execute(one, 0));
        let two = raw.prepare("SELECT ?, ?");
        raw.command(SEND_LONG_DATA, &[&two[..], &[0, 0], b"long"].concat());
        raw.command(SEND_LONG_DATA, &[&two[..], &[0, 0], b"er"].concat());
        raw.simple(STMT_RESET, &two);
        raw.prepare("DO 1");
        raw.prepare("SELECT 1, 2");
        raw.command(CLOSE, &one);
    })
    .leaves(3, false),
    script(
        "statements that are closed twice, or were never there",
        |raw| {
            let one = raw.prepare("SELECT 1");
            raw.command(CLOSE, &one);
            raw.command(CLOSE, &one);
            raw.command(CLOSE, &[1, 2, 3, 0]);
            raw.simple(STMT_RESET, &one);
            raw.prepare("SELECT 2");
        },
    )
    .leaves(1, false),
    script("statements by name are none of the protocol's", |raw| {
        raw.run("PREPARE named FROM 'SELECT 1'");
        raw.run("EXECUTE named");
        raw.prepare("SELECT 1");
    })
    .leaves(1, false),
    script("a cursor", |raw| {
        let statement = raw.prepare("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3");
        assert!(raw.execute(statement, READ_ONLY_CURSOR));
        assert!(raw.fetch(statement, 2));
        assert!(!raw.fetch(statement, 2));
        assert!(raw.execute(statement, READ_ONLY_CURSOR));
        raw.fetch(statement, 1);
        raw.simple(STMT_RESET, &statement);
    })
    .leaves(1, false),
    script("a transaction that is committed", |raw| {
        raw.run("BEGIN");
        raw.run("SELECT 1");
        raw.run("COMMIT");
    }),
    script("a transaction that is rolled back and begun again", |raw| {
        raw.run("START TRANSACTION READ ONLY");
        raw.run("ROLLBACK AND CHAIN");
        raw.run("SELECT 1");
    })
    .leaves(0, true),
    script("a transaction that a definition ends", |raw| {
        raw.run("BEGIN");
        raw.run("CREATE TABLE IF NOT EXISTS account_t (a INT) ENGINE = InnoDB");
        raw.run("DROP TABLE account_t");
    }),
    script("a transaction without autocommit", |raw| {
        raw.run("CREATE TABLE IF NOT EXISTS account_a (a INT) ENGINE = InnoDB");
        raw.run("SET autocommit = 0");
        raw.run("INSERT INTO account_a VALUES (1)");
        raw.run("COMMIT");
        raw.run("INSERT INTO account_a VALUES (2)");
    })
    .leaves(0, true),
    script("a transaction with an error in it", |raw| {
        raw.run("BEGIN");
        assert!(!raw.query("SELECT * FROM nothing_there"));
        raw.run("SELECT 1");
    })
    .leaves(0, true),
    script("a transaction in prepared statements", |raw| {
        // MySQL prepares no BEGIN.
        let chain = raw.prepare("COMMIT AND CHAIN");
        assert!(raw.execute(chain, 0));
        raw.command(CLOSE, &chain);
    })
    .leaves(0, true),
    script("a file that is served", |raw| {
        raw.run("CREATE TEMPORARY TABLE account_f (a TEXT)");
        raw.file = b"line\n".repeat(1000);
        raw.run("LOAD DATA LOCAL INFILE 'any' INTO TABLE account_f");
        raw.file.clear();
        raw.run("LOAD DATA LOCAL INFILE 'any' INTO TABLE account_f");
    }),
    script("a file that is not asked for", |raw| {
        raw.run("CREATE TEMPORARY TABLE account_g (a INT)");
        raw.run("SET GLOBAL local_infile = OFF");
        assert!(!raw.query("LOAD DATA LOCAL INFILE 'any' INTO TABLE account_g"));
        raw.run("SET GLOBAL local_infile = ON");
        raw.file = b"\0\0\0".to_vec();
        raw.query("LOAD DATA LOCAL INFILE 'any' INTO TABLE account_g");
    }),
    script("commands ahead of their replies", |raw| {
        raw.pipeline(&[
            (QUERY, b"SELECT 1"),
            (PREPARE, b"SELECT 1"),
            (QUERY, b"BEGIN"),
            (QUERY, b"SELECT REPEAT('p', 100000)"),
            (STATISTICS, b""),
            (INIT_DB, b"test"),
        ]);
        raw.results();
        let statement = raw.prepared();
        assert!(raw.results());
        assert!(raw.results());
        raw.packet();
        raw.packet();
        let execute = [&statement[..], &[0, 1, 0, 0, 0]].concat();
        raw.pipeline(&[
            (EXECUTE, &execute),
            (CLOSE, &statement),
            (EXECUTE, &execute),
            (QUERY, b"COMMIT"),
            (PREPARE, b"SELECT 2"),
        ]);
        assert!(raw.results());
        assert!(!raw.results());
        assert!(raw.results());
        raw.prepared();
    })
    .leaves(1, false),
    script("a connection that is reset", |raw| {
        raw.prepare("SELECT 1");
        raw.run("BEGIN");
        raw.simple(RESET_CONNECTION, b"");
        raw.prepare("SELECT 2");
    })
    .leaves(1, false),
    script("columns of a table", |raw| {
        raw.run("CREATE TEMPORARY TABLE account_c (a INT, b TEXT)");
        raw.command(FIELD_LIST, b"account_c\0");
        // MySQL 9 has it no more.
        while !matches!(raw.packet()[0], 0xFE | 0xFF) {}
    }),
    script(
        "the statement that was prepared last, and many parameters at once",
        |raw| {
            if !raw
                .capabilities
                .contains(Capabilities::MARIADB_STMT_BULK_OPERATIONS)
            {
                return lacks("bulk execute", "its greeting does not offer it");
            }
            raw.run("CREATE TEMPORARY TABLE account_b (a INT)");
            let insert = raw.prepare("INSERT INTO account_b VALUES (?)");
            // Types follow; one of four bytes; three rows, each with an indicator.
            let mut body = [&insert[..], &[0x80, 0, 3, 0]].concat();
            for row in 0..3_u8 {
                body.extend([0, row, 0, 0, 0]);
            }
            raw.command(BULK_EXECUTE, &body);
            assert!(raw.results());
            raw.pipeline(&[
                (PREPARE, b"SELECT 4"),
                (EXECUTE, &[0xFF, 0xFF, 0xFF, 0xFF, 0, 1, 0, 0, 0]),
                (CLOSE, &LAST_PREPARED),
            ]);
            raw.prepared();
            assert!(raw.results());
            raw.command(CLOSE, &insert);
        },
    ),
    // The last one, as the server begins its account of the thread again.
    script("another user", |raw| {
        raw.prepare("SELECT 1");
        raw.run("BEGIN");
        raw.change_user();
        raw.prepare("SELECT 2");
    })
    .leaves(1, false),
];
