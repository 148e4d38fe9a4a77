//! Each part of the protocol through the proxy, beside the same without it: the same packets come, and the proxy has counted
//! the same commands, statements and transactions. Also where it is two proxies, and the way between them is compressed: the
//! ids of packets then come to the client as if it were not.

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::compression::{Algorithm, Method};
use onecopy_proxy::config::{BackendConfig, Offered};
use onecopy_testkit::server::{Server, ServerKind, lacks};

use crate::basics::text;
use crate::common::loopback;
use crate::raw::{Raw, USUAL};
use crate::sides::{Front, account, sides};

const STATUS_CURSOR: u8 = 0x40;
const STATUS_MORE: u8 = 0x08;

/// What the proxy has to know at the end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Known {
    commands: u64,
    statements: usize,
    in_transaction: bool,
}

pub(crate) fn known(commands: u64, statements: usize, in_transaction: bool) -> Known {
    Known {
        commands,
        statements,
        in_transaction,
    }
}

/// A client that follows replies, so that it knows where they end.
pub(crate) struct Client {
    pub(crate) raw: Raw,
    capabilities: Capabilities,
    /// The command under way asks for a cursor.
    asks_for_cursor: bool,
    pub(crate) heard: Vec<Vec<u8>>,
}

impl Client {
    pub(crate) fn hear(&mut self) -> Vec<u8> {
        let payload = self.raw.hear().unwrap();
        self.heard.push(payload.clone());
        payload
    }

    /// A command with results, up to the end of the last.
    pub(crate) fn ask(&mut self, command: &[u8]) {
        self.asks_for_cursor = matches!(command, [0x17, _, _, _, _, 1, ..]);
        self.raw.command(command);
        while self.result() {}
    }

    pub(crate) fn query(&mut self, sql: &str) {
        self.ask(&[b"\x03", sql.as_bytes()].concat());
    }

    /// One result; whether another follows.
    fn result(&mut self) -> bool {
        let first = self.hear();
        match first[0] {
            0 => return first[3] & STATUS_MORE != 0,
            0xFF => return false,
            _ => (0..length_encoded(&first)).for_each(|_| drop(self.hear())),
        }
        if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            let eof = self.hear();
            let has_cursor = eof[3] & (STATUS_CURSOR | STATUS_MORE) == STATUS_CURSOR;
            if self.asks_for_cursor && has_cursor {
                return false;
            }
        }
        self.rows()
    }

    /// Rows up to their end; whether another result follows.
    fn rows(&mut self) -> bool {
        loop {
            let row = self.hear();
            match row[0] {
                0xFE => return row[3] & STATUS_MORE != 0,
                0xFF => return false,
                _ => {}
            }
        }
    }

    /// Prepares a statement; gives its id.
    pub(crate) fn prepare(&mut self, sql: &str) -> [u8; 4] {
        self.raw.command(&[b"\x16", sql.as_bytes()].concat());
        let ok = self.raw.hear().unwrap();
        assert_eq!(ok[0], 0, "{}", ok.escape_ascii());
        // MariaDB numbers the statements of all connections.
        self.heard.push(ok[5..].to_vec());
        let has_eof = !self.capabilities.contains(Capabilities::DEPRECATE_EOF);
        let columns = u16::from_le_bytes([ok[5], ok[6]]);
        let parameters = u16::from_le_bytes([ok[7], ok[8]]);
        for count in [parameters, columns] {
            (0..count).for_each(|_| drop(self.hear()));
            // The number is what is left of the count behind its lower 16 bits: the EOF packet tells.
            while has_eof && count > 0 && self.hear()[0] != 0xFE {}
        }
        [ok[1], ok[2], ok[3], ok[4]]
    }
}

/// The number that a packet begins with.
fn length_encoded(packet: &[u8]) -> u64 {
    let number = |len: usize| {
        let bytes = packet[1..=len].iter().rev();
        bytes.fold(0, |number, &byte| number << 8 | u64::from(byte))
    };
    match packet[0] {
        0xFC => number(2),
        0xFD => number(3),
        0xFE => number(8),
        byte => byte.into(),
    }
}

fn script(port: u16, user: &str, capabilities: Capabilities, talk: &dyn Fn(&mut Client)) -> Client {
    let raw = Raw::log_in(port, user, capabilities);
    let mut client = Client {
        raw,
        capabilities,
        asks_for_cursor: false,
        heard: Vec::new(),
    };
    talk(&mut client);
    client
}

/// Talks with the server without and with the proxy; gives what was heard.
pub(crate) fn both(
    server: &Server,
    user: &str,
    capabilities: Capabilities,
    expected: &Known,
    talk: &dyn Fn(&mut Client),
) -> Vec<Vec<u8>> {
    let direct = script(server.port(), user, capabilities, talk);
    let backend = BackendConfig::new(loopback(server.port()));
    let front = sides().proxy(backend, |_| {});
    let through = script(front.port(), user, capabilities, talk);
    assert_eq!(through.heard, direct.heard);
    assert_eq!(&account_of(&front), expected);
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        let (first, last) = compressed(server, algorithm);
        let through = script(first.port(), user, capabilities, talk);
        assert_eq!(through.heard, direct.heard, "by {algorithm}");
        for front in [&first, &last] {
            assert_eq!(&account_of(front), expected, "by {algorithm}");
        }
    }
    direct.heard
}

/// What the proxy knows of its only session.
fn account_of(front: &Front) -> Known {
    let client = front.proxy.snapshot(true).clients.remove(0);
    assert_eq!(client.state, "idle");
    known(client.commands, client.statements, client.in_transaction)
}

/// Two proxies with a compressed way between them; and one to the server, which has zlib.
fn compressed(server: &Server, algorithm: Algorithm) -> (Front, Front) {
    let method = Method::new(algorithm, 2);
    let server = BackendConfig {
        compression: (algorithm == Algorithm::Zlib).then_some(method),
        ..BackendConfig::new(loopback(server.port()))
    };
    let last = sides().proxy(server, |listener| listener.compression = Offered::Both);
    let way = BackendConfig {
        compression: Some(method),
        ..BackendConfig::new(loopback(last.port()))
    };
    (sides().proxy(way, |_| {}), last)
}

/// The same on the server of these tests, in both styles of the end of rows.
pub(crate) fn in_both_styles(
    user: &str,
    more: Capabilities,
    expected: &Known,
    talk: &dyn Fn(&mut Client),
) -> Vec<Vec<u8>> {
    account(user, "");
    let capabilities = USUAL | more;
    both(
        &sides().server,
        user,
        capabilities | Capabilities::DEPRECATE_EOF,
        expected,
        talk,
    );
    both(&sides().server, user, capabilities, expected, talk)
}

#[test]
fn results_and_statements_end_in_both_styles() {
    let expected = known(8, 1, true);
    in_both_styles("feature_a", Capabilities::default(), &expected, &|client| {
        client.query("SELECT 1 AS a, 'two' AS b UNION SELECT NULL, REPEAT('x', 300)");
        client.query("SELECT 1 FROM DUAL WHERE 0");
        client.query("SELECT * FROM not_there");
        let statement = client.prepare("SELECT ? AS a");
        // One NULL.
        let execute = [b"\x17", &statement[..], b"\0\x01\0\0\0\x01\x01\x06\0"].concat();
        client.ask(&execute);
        let other = client.prepare("DO 1");
        client.raw.command(&[b"\x19", &other[..]].concat());
        client.query("START TRANSACTION");
    });
}

#[test]
fn cursors_are_fetched_from() {
    let expected = known(6, 0, false);
    account("feature_b", "");
    // With the other style a server may leave the EOF behind the definitions out, which is not this test's.
    both(&sides().server, "feature_b", USUAL, &expected, &|client| {
        let statement = client.prepare("SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3");
        client.ask(&[b"\x17", &statement[..], b"\x01\x01\0\0\0"].concat());
        for _ in 0..2 {
            client
                .raw
                .command(&[b"\x1C", &statement[..], b"\x02\0\0\0"].concat());
            client.rows();
        }
        // COM_STMT_RESET, COM_STMT_CLOSE.
        client.raw.command(&[b"\x1A", &statement[..]].concat());
        client.hear();
        client.raw.command(&[b"\x19", &statement[..]].concat());
    });
}

#[test]
fn cursors_inside_a_prepared_statement_send_their_rows() {
    let server = &sides().server;
    let mut admin = Connection::connect(&server.url()).unwrap();
    let body = "BEGIN DECLARE a INT; DECLARE c CURSOR FOR SELECT 1 UNION SELECT 2; SELECT 'before'; OPEN c; FETCH c INTO a; \
                SELECT a UNION ALL SELECT 7; CLOSE c; SELECT 'behind'; END";
    let quiet = body
        .replace("SELECT 'before';", "")
        .replace("SELECT a UNION ALL SELECT 7;", "");
    let quiet = quiet.replace("SELECT 'behind';", "");
    for (name, body) in [("with_a_cursor", body), ("quiet_cursor", &quiet)] {
        admin
            .run(format!("DROP PROCEDURE IF EXISTS test.{name}"))
            .unwrap();
        admin
            .run(format!("CREATE PROCEDURE test.{name}() {body}"))
            .unwrap();
    }
    admin
        .run("DROP FUNCTION IF EXISTS test.of_a_cursor")
        .unwrap();
    let function = "CREATE FUNCTION test.of_a_cursor() RETURNS INT DETERMINISTIC READS SQL DATA BEGIN DECLARE a INT; DECLARE c \
                    CURSOR FOR SELECT 1 UNION SELECT 2; OPEN c; FETCH c INTO a; CLOSE c; RETURN a; END";
    admin.run(function).unwrap();
    let mut statements = vec![
        "CALL with_a_cursor()".to_owned(),
        "CALL quiet_cursor()".to_owned(),
        "SELECT of_a_cursor() UNION ALL SELECT 5".to_owned(),
        "SELECT 1 FROM (SELECT 1) AS t WHERE of_a_cursor() = 1".to_owned(),
    ];
    if server.kind() == ServerKind::MariaDb {
        statements.push(body.replacen("BEGIN", "BEGIN NOT ATOMIC", 1));
    } else {
        lacks("BEGIN NOT ATOMIC", "it is MariaDB's");
    }
    let count = statements.len() as u64;
    let more = Capabilities::PS_MULTI_RESULTS;
    let expected = known(4 * count, statements.len(), false);
    let heard = in_both_styles("feature_i", more, &expected, &|client| {
        for sql in &statements {
            let statement = client.prepare(sql);
            // Without a cursor to fetch from, and with one, which no server opens for these.
            for flags in [0, 1] {
                let begin = [b"\x17", &statement[..], &[flags], b"\x01\0\0\0"];
                client.ask(&begin.concat());
            }
            client.query("SELECT 'next'");
        }
    });
    let rows = |text: &[u8]| heard.iter().filter(|row| row.ends_with(text)).count() as u64;
    // All but the quiet one and the two functions.
    assert_eq!(rows(b"\x06before"), 2 * (count - 3));
    assert_eq!(rows(b"\x06behind"), 2 * (count - 3));
    assert_eq!(rows(b"\x04next"), count);
}

#[test]
fn results_follow_one_another() {
    let mut admin = Connection::connect(&sides().server.url()).unwrap();
    admin.run("DROP PROCEDURE IF EXISTS test.of_two").unwrap();
    let body = "BEGIN SELECT 1; DO 2; SELECT 3 UNION SELECT 4; END";
    admin
        .run(format!("CREATE PROCEDURE test.of_two() {body}"))
        .unwrap();
    let heard = in_both_styles(
        "feature_c",
        Capabilities::MULTI_STATEMENTS,
        &known(3, 0, false),
        &|client| {
            client.query("SELECT 1; DO 1; SELECT 2; SELECT * FROM not_there; SELECT 3");
            client.query("CALL of_two()");
            client.query("SELECT 'behind'");
        },
    );
    assert!(heard.iter().any(|payload| payload.ends_with(b"behind")));
}

#[test]
fn changes_of_the_session_are_told() {
    let track = Capabilities::SESSION_TRACK;
    let heard = in_both_styles("feature_d", track, &known(3, 0, false), &|client| {
        client.query("SET autocommit = 0");
        client.query("USE test");
        client.query("DO 1");
    });
    assert!(heard.iter().any(|payload| payload.ends_with(b"test")));
}

#[test]
fn a_reset_and_a_change_of_user_forget_statements() {
    let expected = known(6, 0, false);
    in_both_styles("feature_e", Capabilities::default(), &expected, &|client| {
        client.prepare("SELECT 1");
        client.query("BEGIN");
        client.raw.command(b"\x1F");
        client.hear();
        client.prepare("SELECT 2");
        client
            .raw
            .command(b"\x11feature_e\0\0test\0\x2D\0mysql_native_password\0");
        if client.raw.hear().unwrap()[0] == 0xFE {
            client.raw.say(b"").unwrap();
            client.hear();
        }
        client.query("SELECT DATABASE(), CURRENT_USER()");
    });
}

#[test]
fn a_file_of_the_clients_is_loaded() {
    let server = &sides().server;
    let mut admin = Connection::connect(&server.url()).unwrap();
    admin.run("SET GLOBAL local_infile = ON").unwrap();
    admin.run("DROP TABLE IF EXISTS test.loaded").unwrap();
    admin.run("CREATE TABLE test.loaded (a INT)").unwrap();
    account("feature_f", "");
    let local = USUAL | Capabilities::LOCAL_FILES;
    both(server, "feature_f", local, &known(3, 0, false), &|client| {
        for has_lines in [true, false] {
            let sql = b"\x03LOAD DATA LOCAL INFILE 'any' INTO TABLE loaded";
            client.raw.command(sql);
            assert_eq!(client.hear(), b"\xFBany");
            if has_lines {
                // With bytes that would be commands, and packets of all kinds.
                client.raw.say(b"\x33\n14\n").unwrap();
                client.raw.say(&b"1\n".repeat(50_000)).unwrap();
            }
            client.raw.say(b"").unwrap();
            client.hear();
        }
        client.query("SELECT COUNT(*) > 50000 FROM loaded");
    });
    assert_eq!(
        text(&mut admin, "SELECT COUNT(*) FROM test.loaded"),
        "200008"
    );
    admin.run("DROP TABLE test.loaded").unwrap();
}

#[test]
fn many_rows_of_parameters_go_in_one_command() {
    let server = &sides().server;
    if server.kind() == ServerKind::MySql {
        return lacks("COM_STMT_BULK_EXECUTE", "it is MariaDB's");
    }
    let mut admin = Connection::connect(&server.url()).unwrap();
    admin.run("DROP TABLE IF EXISTS test.bulk").unwrap();
    admin.run("CREATE TABLE test.bulk (a INT)").unwrap();
    account("feature_g", "");
    let bulk = USUAL | Capabilities::MARIADB_STMT_BULK_OPERATIONS;
    both(server, "feature_g", bulk, &known(3, 1, false), &|client| {
        let statement = client.prepare("INSERT INTO bulk VALUES (?)");
        // The types come with it; an INT; a value, NULL, a value.
        let mut command = [b"\xFA", &statement[..], b"\x80\0\x03\0"].concat();
        command.extend(b"\0\x07\0\0\0\x01\0\x08\0\0\0");
        client.ask(&command);
        assert_eq!(client.heard.last().unwrap()[..2], [0, 3]);
        client.query("SELECT DISTINCT a FROM bulk ORDER BY a");
    });
    admin.run("DROP TABLE test.bulk").unwrap();
}

#[test]
fn attributes_of_a_query_come_with_it() {
    let server = &sides().server;
    if server.kind() == ServerKind::MariaDb {
        return lacks("attributes of queries", "they are MySQL's");
    }
    account("feature_h", "");
    let attributes = USUAL | Capabilities::QUERY_ATTRIBUTES;
    both(
        server,
        "feature_h",
        attributes,
        &known(1, 0, false),
        &|client| {
            // One parameter, one set; no NULL, types, a string of the name `n`, its value.
            client.ask(b"\x03\x01\x01\0\x01\xFD\0\x01n\x05valueSELECT 1");
            assert_eq!(client.heard.last().unwrap()[0], 0xFE);
        },
    );
}

#[test]
fn a_binary_log_is_dumped() {
    let server = Server::builder()
        .argument("--log-bin=binlog")
        .argument("--server-id=1")
        .argument("--binlog-format=ROW")
        .start()
        .unwrap();
    let mut admin = Connection::connect(&server.url()).unwrap();
    let sql = "CREATE USER replica@'%'; GRANT ALL ON *.* TO replica@'%'; CREATE TABLE test.logged (a LONGBLOB); \
               INSERT INTO test.logged VALUES (REPEAT('b', 20000000))";
    for statement in sql.split("; ") {
        admin.run(statement).unwrap();
    }
    let talk = |client: &mut Client| {
        let checksums = "@master_binlog_checksum = 'NONE', @source_binlog_checksum = 'NONE'";
        client.query(&format!("SET {checksums}, @mariadb_slave_capability = 4"));
        // From byte 4 of the first file, up to its end; as server 7. Then the server closes.
        client.raw.command(b"\x12\x04\0\0\0\x01\0\x07\0\0\0");
        let mut begins_with = 0;
        while begins_with == 0 {
            let event = long(&mut client.raw);
            begins_with = event[0];
            client.heard.push(event);
        }
        client.heard.push(client.raw.rest());
    };
    let direct = script(server.port(), "replica", USUAL, &talk);
    let backend = BackendConfig::new(loopback(server.port()));
    let front = sides().proxy(backend, |_| {});
    let through = script(front.port(), "replica", USUAL, &talk);
    assert!(through.heard == direct.heard);
    let [.., end, rest] = &through.heard[..] else {
        panic!("it ends");
    };
    assert_eq!((end[0], rest.as_slice()), (0xFE, &b""[..]));
    assert!(direct.heard.iter().any(|event| event.len() > 20_000_000));
    let snapshot = front.proxy.snapshot(false);
    assert_eq!(snapshot.counters.commands(), 2);
    assert!(snapshot.buffer_bytes < 2 << 20, "{snapshot:?}");
}

/// A payload of any number of packets.
fn long(raw: &mut Raw) -> Vec<u8> {
    let mut payload = Vec::new();
    loop {
        let piece = raw.hear().unwrap();
        payload.extend_from_slice(&piece);
        if piece.len() < 0xFF_FFFF {
            return payload;
        }
    }
}
