//! The table of docs/guide/servers.md is what this server has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{BulkMethod, BulkOptions, Config, Error, ProgressReports, SslMode, params};
use onecopy_testkit::server::{Server, lacks};

use crate::common::with_option;

const PAGE: &str = include_str!("../../../../docs/guide/servers.md");

/// The column of the page for a server of this version.
fn column(version: &str) -> Option<usize> {
    match version.split('.').take(2).collect::<Vec<_>>()[..] {
        ["10", "11"] => Some(1),
        ["11", "8"] => Some(2),
        ["9", "7"] => Some(3),
        _ => None,
    }
}

/// Whether the page says yes in that column: features in their order.
fn told(column: usize) -> Vec<(String, bool)> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| "));
    let cells = rows.map(|row| row.split('|').skip(1).map(str::trim).collect::<Vec<_>>());
    let features = cells.filter(|cells| matches!(cells[1], "yes" | "no"));
    features
        .map(|cells| (cells[0].to_owned(), cells[column] == "yes"))
        .collect()
}

#[test]
fn the_table_of_the_guide_says_what_this_server_has() {
    let server = Server::start().unwrap();
    let found = [
        ("Compression with zlib", has(&server, compressed("zlib"))),
        ("Compression with zstd", has(&server, compressed("zstd"))),
        ("Second and third factors", has(&server, second_factor)),
        ("A certificate proven by the password", has(&server, proof)),
        ("The plugin `dialog` (PAM)", has(&server, dialog)),
        ("Cursors", has(&server, cursor)),
        ("Query attributes", has(&server, query_attributes)),
        (
            "Column definitions sent once",
            has(&server, cached_metadata),
        ),
        ("COM_STMT_BULK_EXECUTE", has(&server, bulk_execute)),
        ("Names of types, such as `uuid`", has(&server, type_names)),
        ("Prepare and execute in one write", has(&server, one_write)),
        ("Progress reports", has(&server, progress)),
        (
            "INSERT ... RETURNING",
            has(&server, runs("INSERT INTO t VALUES (1) RETURNING a")),
        ),
        (
            "The type VECTOR",
            has(&server, runs("CREATE TEMPORARY TABLE v (v VECTOR(3))")),
        ),
        (
            "The types UUID and INET6",
            has(&server, runs("CREATE TEMPORARY TABLE u (u UUID, i INET6)")),
        ),
    ];
    for (feature, has) in &found {
        println!("{}: {feature}: {has:?}", server.version());
    }
    let Some(column) = column(server.version()) else {
        return lacks("a column in docs/guide/servers.md", server.version());
    };
    let mut told = told(column);
    let unknown = found.iter().filter(|(_, has)| has.is_none());
    for (feature, _) in unknown {
        let at = told.iter().position(|(told, _)| told == feature);
        told.remove(at.expect("a row"));
        lacks(feature, "the package has the server without this plugin");
    }
    let found = found.into_iter();
    let found: Vec<_> = found
        .filter_map(|(feature, has)| Some((feature.to_owned(), has?)))
        .collect();
    assert_eq!(told, found, "{}", server.version());
}

/// A feature is there if the probe says so; what a server refuses it has not. `None` if the server would have it by a plugin whose file
/// is in another package, such as `mariadb-server` beside `mariadb-server-core`.
fn has(server: &Server, probe: impl FnOnce(&Server) -> Result<bool, Error>) -> Option<bool> {
    const CANT_OPEN_LIBRARY: u16 = 1126;
    match probe(server) {
        Ok(has) => Some(has),
        Err(error) => {
            println!("{error}");
            let code = error.server().map(|error| error.code);
            (code != Some(CANT_OPEN_LIBRARY)).then_some(false)
        }
    }
}

fn connect(server: &Server, option: &str) -> Result<Connection, Error> {
    Connection::connect(&with_option(&server.url(), option))
}

fn runs(sql: &'static str) -> impl FnOnce(&Server) -> Result<bool, Error> {
    move |server| {
        let mut conn = Connection::connect(&server.url())?;
        conn.run("CREATE TEMPORARY TABLE t (a INT)")?;
        conn.run(sql)?;
        Ok(true)
    }
}

fn compressed(algorithm: &'static str) -> impl FnOnce(&Server) -> Result<bool, Error> {
    move |server| {
        let mut conn = connect(server, &format!("compression={algorithm}"))?;
        conn.ping()?;
        Ok(conn.compression().to_string() == algorithm)
    }
}

fn second_factor(server: &Server) -> Result<bool, Error> {
    let mut conn = Connection::connect(&server.url())?;
    // MariaDB has it under another name, and does not know the AND below.
    let _ = conn.run("INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'");
    conn.run("CREATE USER two@localhost IDENTIFIED BY 'one' AND IDENTIFIED WITH auth_socket")?;
    Ok(true)
}

fn proof(server: &Server) -> Result<bool, Error> {
    let mut config = Config::from_url(&server.url())?;
    config.ssl_mode = Some(SslMode::VerifyFull);
    let conn = Connection::connect_with(&config)?;
    Ok(conn.tls().is_some_and(|tls| tls.is_proven))
}

fn dialog(server: &Server) -> Result<bool, Error> {
    let mut conn = Connection::connect(&server.url())?;
    conn.run("INSTALL SONAME 'auth_pam_v1'")?;
    Ok(true)
}

fn cursor(server: &Server) -> Result<bool, Error> {
    let mut conn = Connection::connect(&server.url())?;
    let select = conn.prepare("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3")?;
    let mut cursor = conn.cursor(&select, &[], 1)?;
    let mut count = 0;
    if let Some(mut rows) = cursor.next_batch()? {
        while rows.next()?.is_some() {
            count += 1;
        }
    }
    Ok(count == 1)
}

fn query_attributes(server: &Server) -> Result<bool, Error> {
    let mut conn = connect(server, "query-attributes=true")?;
    conn.set_query_attributes(&[("name", "value")])
}

fn cached_metadata(server: &Server) -> Result<bool, Error> {
    let bytes = |option| {
        let mut conn = connect(server, option)?;
        let select = conn.prepare("SELECT 1 AS one, 2 AS two")?;
        conn.execute(&select, &[])?.finish()?;
        let before = conn.meter();
        conn.execute(&select, &[])?.finish()?;
        Ok::<_, Error>(conn.meter().since(&before).bytes_read)
    };
    Ok(bytes("cached-metadata=true")? < bytes("cached-metadata=false")?)
}

fn bulk_execute(server: &Server) -> Result<bool, Error> {
    let mut conn = Connection::connect(&server.url())?;
    conn.run("CREATE TEMPORARY TABLE t (a INT)")?;
    let mut options = BulkOptions::default();
    options.method = BulkMethod::Execute;
    let mut bulk = conn.bulk_with("INSERT INTO t VALUES (?)", &options)?;
    bulk.push(&params![1])?;
    Ok(bulk.finish()?.affected_rows == 1)
}

fn type_names(server: &Server) -> Result<bool, Error> {
    let mut conn = connect(server, "extended-types=true")?;
    conn.run("CREATE TEMPORARY TABLE t (p POINT)")?;
    let rows = conn.query("SELECT p FROM t")?;
    Ok(rows
        .columns()
        .is_some_and(|columns| columns.type_name(0).is_some()))
}

fn one_write(server: &Server) -> Result<bool, Error> {
    let mut conn = Connection::connect(&server.url())?;
    let before = conn.meter();
    conn.exec("SELECT ? + 1", &params![1])?.finish()?;
    Ok(conn.meter().since(&before).writes == 1)
}

fn progress(server: &Server) -> Result<bool, Error> {
    let seen = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&seen);
    let mut config = Config::from_url(&server.url())?;
    config.progress = Some(ProgressReports::new(move |_| {
        told.store(true, Ordering::Relaxed);
    }));
    let mut conn = Connection::connect_with(&config)?;
    conn.run("CREATE TABLE progressing (id INT PRIMARY KEY)")?;
    let rows: Vec<String> = (0..2000).map(|id| format!("({id})")).collect();
    conn.run(format!("INSERT INTO progressing VALUES {}", rows.join(",")))?;
    conn.run("ALTER TABLE progressing FORCE, ALGORITHM = COPY")?;
    Ok(seen.load(Ordering::Relaxed))
}
