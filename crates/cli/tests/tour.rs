//! `onecopy tour`, the real binary on real servers: each test has its own, for the tour's database has one name.
#![allow(clippy::unwrap_used)] // the helpers are part of the tests

#[path = "common/terminal.rs"]
mod terminal;

use std::process::{Command, Output};

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::{Server, lacks};
use onecopy_testkit::valkey;
use terminal::Terminal;

const ROWS: &str = "40";
const BLOB_BYTES: &str = "4194304";
const PAIRS: &str = "320";
const CLIENTS: &str = "60";

fn tour(url: &str, environment: &[(&str, &str)]) -> Output {
    tour_of(&["--url", url], environment)
}

fn tour_of(servers: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_onecopy"))
        .arg("tour")
        .args(servers)
        .args(["--pairs", PAIRS, "--rows", ROWS, "--blob-bytes", BLOB_BYTES])
        .args(["--clients", CLIENTS])
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

fn taken(url: &str, environment: &[(&str, &str)]) -> String {
    let output = tour(url, environment);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn tables(server: &Server, database: &str) -> Vec<String> {
    let mut conn = Connection::connect(&server.socket_url()).unwrap();
    let sql = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{database}' ORDER BY 1"
    );
    let mut rows = conn.query(&sql).unwrap();
    rows.collect_owned()
        .unwrap()
        .iter()
        .map(|row| row.get(0).unwrap())
        .collect()
}

fn has_database(server: &Server, database: &str) -> bool {
    Connection::connect(&server.socket_url())
        .unwrap()
        .use_database(database)
        .is_ok()
}

/// Whether the account logs in without TLS, as the tour's proxy asks of it; where it does not, that is said.
fn passes_the_proxy(server: &Server) -> bool {
    let mut conn = Connection::connect(&server.socket_url()).unwrap();
    let sql = "SELECT plugin FROM mysql.user WHERE user = 'root' LIMIT 1";
    let mut rows = conn.query(sql).unwrap();
    let plugin: String = rows.next().unwrap().unwrap().get(0).unwrap();
    let passes = !plugin.contains("sha2");
    if !passes {
        lacks("the tour's stop at the proxy", &plugin);
    }
    passes
}

#[test]
fn the_tour_runs_to_its_end_and_leaves_nothing_behind() {
    let server = Server::start().unwrap();
    for url in [server.socket_url(), server.url()] {
        let text = taken(&url, &[]);
        assert!(text.contains(server.version()), "{text}");
        let at_the_proxy = if passes_the_proxy(&server) {
            [
                "direct      through it      overhead",
                "bytes moved or copied                      0               0",
                "The proxy carried",
                "the server's connections",
                "60 clients were served by 16 connections.",
            ]
        } else {
            ["Skipped: your account's plugin is caching_sha2_password"; 5]
        };
        for stop in at_the_proxy {
            assert!(text.contains(stop), "no {stop} in {text}");
        }
        for stop in [
            "1. The proxy",
            "2. 60 clients",
            "3. ",
            "4. ",
            "5. A value of 4 MiB, owned",
            "6. ",
            "7. ",
            "They are the same.",
            "That was the tour",
        ] {
            assert!(text.contains(stop), "no {stop} in {text}");
        }
        assert_eq!(
            text.matches("onecopy             floor").count(),
            5,
            "{text}"
        );
        assert!(!text.contains('\u{1b}'), "colour without a terminal");
        assert!(
            text.lines().all(|line| line.len() <= 110),
            "a line is too long for a terminal: {text}"
        );
        assert!(!has_database(&server, "onecopy_tour"));
        assert!(tables(&server, "test").is_empty());
    }
}

#[test]
fn the_primary_is_killed_and_no_acknowledged_transaction_is_lost() {
    let of_pair = |id| {
        let server = Server::builder()
            .argument("--log-bin=binlog")
            .argument("--log-slave-updates=1")
            .argument("--skip-slave-start=1");
        server.argument(format!("--server-id={id}")).start()
    };
    let [primary, replica] = [1, 2].map(|id| of_pair(id).unwrap());
    let output = tour_of(&["--pair", &primary.url(), &replica.url()], &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}{errors}");
    let mut conn = Connection::connect(&replica.socket_url()).unwrap();
    let mut rows = conn.query("SELECT COUNT(*) FROM failover").unwrap();
    let rows: u64 = rows.next().unwrap().unwrap().get(0).unwrap();
    let number = |what: &str| -> u64 {
        let line = text.lines().find(|line| line.contains(what));
        let line = line.unwrap_or_else(|| panic!("no {what} in {text}"));
        let number = line.rsplit(' ').next().unwrap().replace(',', "");
        number.parse().unwrap()
    };
    let acknowledged = number("transactions acknowledged");
    assert!(acknowledged > 0);
    // At most those that were under way on the pool's connections: nobody writes to a replica, also not before the proxy knows which
    // server is one.
    assert!(number("transactions that failed") <= 8, "{text}");
    assert_eq!(
        rows,
        acknowledged + number("of these on the new primary all the same")
    );
    assert!(text.contains("each once."), "{text}");
    assert!(
        Connection::connect(&primary.url()).is_err(),
        "it was killed"
    );
}

#[test]
fn on_a_terminal_the_proxy_stays_up_and_says_how_to_connect_and_where_to_look() {
    let server = Server::start().unwrap();
    if !passes_the_proxy(&server) {
        return;
    }
    let url = server.url();
    let mut tour = Command::new(env!("CARGO_BIN_EXE_onecopy"));
    tour.args([
        "tour",
        "--url",
        &url,
        "--rows",
        ROWS,
        "--blob-bytes",
        BLOB_BYTES,
        "--clients",
        CLIENTS,
    ]);
    // As `make run` has it, where the password is nobody's.
    let mut terminal = Terminal::start(tour.env("ONECOPY_URL", &url));
    terminal.shows("The proxy stays up until Ctrl-C");
    let mut word = |before: &str, after: &str| {
        terminal.shows(before);
        terminal.shows(after)
    };
    let port = word("mariadb -h 127.0.0.1 -P ", " ");
    let password = word("-p", "\r\n");
    let admin_port = word("mariadb -h 127.0.0.1 -P ", " ");
    let admin_password = word("-u admin -p", " ");
    let metrics = word("curl http://", "/metrics");
    let connect = |login: &str, port: &str| {
        Connection::connect(&format!("mysql://{login}@127.0.0.1:{port}/")).unwrap()
    };
    let mut client = connect(&format!("root:{password}"), &port);
    client.run("DO 1").unwrap();
    let mut admin = connect(&format!("admin:{admin_password}"), &admin_port);
    let mut rows = admin.query("SHOW CLIENTS").unwrap();
    assert_eq!(
        rows.next().unwrap().unwrap().get::<u32>("Id").unwrap(),
        client.connection_id()
    );
    rows.finish().unwrap();
    let page = {
        use std::io::{Read, Write};
        let mut http = std::net::TcpStream::connect(&metrics).unwrap();
        http.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut page = String::new();
        http.read_to_string(&mut page).unwrap();
        page
    };
    assert!(
        page.contains("onecopy_meter_bytes_moved_total 0\n"),
        "{page}"
    );
    terminal.interrupt();
    terminal.shows("0 moved or copied");
    terminal.ends();
}

#[test]
fn no_color_is_kept() {
    let server = Server::start().unwrap();
    let forced = taken(&server.socket_url(), &[("CLICOLOR_FORCE", "1")]);
    assert!(forced.contains('\u{1b}'), "{forced}");
    let without = taken(&server.socket_url(), &[("NO_COLOR", "1")]);
    assert!(!without.contains('\u{1b}'), "{without}");
}

#[test]
fn a_database_that_was_there_is_left() {
    let server = Server::start().unwrap();
    let mut conn = Connection::connect(&server.socket_url()).unwrap();
    conn.run("CREATE DATABASE onecopy_tour").unwrap();
    conn.run("CREATE TABLE onecopy_tour.mine (id INT)").unwrap();
    let text = taken(&server.socket_url(), &[]);
    assert!(text.contains("was there before and is left"), "{text}");
    assert_eq!(tables(&server, "onecopy_tour"), ["mine"]);
}

#[test]
fn a_user_who_may_not_make_a_database_takes_the_tour_in_the_url_s() {
    let server = Server::start().unwrap();
    let mut conn = Connection::connect(&server.socket_url()).unwrap();
    conn.run("CREATE USER visitor@localhost IDENTIFIED BY 'ticket'")
        .unwrap();
    conn.run("GRANT ALL ON test.* TO visitor@localhost")
        .unwrap();
    let server_url = server.socket_url();
    let (_, place) = server_url.split_once('@').unwrap();
    let url = format!("mysql://visitor:ticket@{place}");
    let text = taken(&url, &[]);
    assert!(
        text.contains("The database test was there before"),
        "{text}"
    );
    assert!(tables(&server, "test").is_empty());

    let output = tour(&url.replace("/test?", "?"), &[]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.starts_with("error 1044 (42000): ")
            && errors.contains("\n hint: name a database in the url"),
        "{errors}"
    );
}

#[test]
fn a_server_of_small_packets_gets_a_smaller_value() {
    let server = Server::builder()
        .argument("--max-allowed-packet=2M")
        .start()
        .unwrap();
    let text = taken(&server.socket_url(), &[]);
    assert!(text.contains("at most 2097152 bytes"), "{text}");
    assert!(text.contains("A value of 2 MiB, owned"), "{text}");
}

#[test]
fn the_tour_of_valkey_runs_to_its_end_and_leaves_no_key() {
    let server = valkey::Server::start().unwrap();
    for url in [server.socket_url(), server.url()] {
        let output = tour_of(&["--valkey-url", &url], &[]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*errors), (Some(0), ""));
        let text = String::from_utf8(output.stdout).unwrap();
        for part in [
            server.version(),
            "1. 640 commands in pipelines",
            "2. A value of 4 MiB, three ways",
            "owned        reused      streamed         floor",
            "3. 32 tasks on one connection",
            "320 requests left in ",
            "That was the tour",
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert!(
            text.lines().all(|line| line.len() <= 110),
            "a line is too long for a terminal: {text}"
        );
        let mut conn = onecopy_valkey::blocking::Connection::connect(&url).unwrap();
        let keys = conn
            .run(&onecopy_valkey::command::server::dbsize())
            .unwrap();
        assert_eq!(keys, 0);
    }
}

#[test]
fn one_tour_shows_both_protocols() {
    let (mysql, valkey) = (Server::start().unwrap(), valkey::Server::start().unwrap());
    let servers = [
        "--url",
        &mysql.socket_url(),
        "--valkey-url",
        &valkey.socket_url(),
    ];
    let output = tour_of(&servers, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let place = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| panic!("no {part} in {text}"))
    };
    assert!(place("MySQL's protocol") < place("They are the same."));
    assert!(place("They are the same.") < place("Valkey's protocol"));
    assert_eq!(text.matches("That was the tour").count(), 1);
}

#[test]
fn a_tour_needs_a_server() {
    let output = tour_of(&[], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--url <URL>|--valkey-url"));
}
