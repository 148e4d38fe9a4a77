//! Attributes of statements, and the names of types, where the server has them.

use std::sync::{Arc, Mutex};

use onecopy_mysql::{Config, Error, TraceParent, params};
use onecopy_testkit::server::Server;

use super::Connection;
use crate::common::{lacks, letters, offered, url, with_option};

async fn traceparent(conn: &mut Connection) -> Result<Option<String>, Error> {
    let sql = "SELECT mysql_query_attribute_string('traceparent')";
    let mut rows = wait!(conn.query(sql))?;
    let row = wait!(rows.next())?.unwrap();
    row.get(0)
}

#[tokio::test]
async fn attributes_go_with_queries_and_executions_until_they_are_taken_back() {
    let server = Server::start().unwrap();
    let url = with_option(&server.socket_url(), "query-attributes=true");
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    if !conn
        .set_query_attributes(&[("traceparent", parent)])
        .unwrap()
    {
        // Nothing else is disturbed.
        wait!(conn.run("SELECT 1")).unwrap();
        return lacks("query attributes", conn.server_version());
    }
    let installed = wait!(conn.run("INSTALL COMPONENT 'file://component_query_attributes'"));
    if !offered("query attributes as seen by SQL", installed) {
        return;
    }
    let found = traceparent(&mut conn).await.unwrap();
    assert_eq!(found.as_deref(), Some(parent));
    // Beside parameters of every kind, and without any.
    let text = letters().first(100_000);
    let both = "SELECT ?, mysql_query_attribute_string('traceparent'), ?, LENGTH(?), ?";
    let select = wait!(conn.prepare(both)).unwrap();
    let none = wait!(conn.prepare("SELECT mysql_query_attribute_string('traceparent')")).unwrap();
    for expected in [Some(parent), None] {
        let mut rows = wait!(conn.execute(&select, &params![7, "x", text, None::<i32>])).unwrap();
        let row = wait!(rows.next()).unwrap().unwrap();
        assert_eq!(row.get::<i32>(0).unwrap(), 7);
        assert_eq!(row.get::<Option<&str>>(1).unwrap(), expected);
        assert_eq!(row.get::<&str>(2).unwrap(), "x");
        assert_eq!(row.get::<usize>(3).unwrap(), text.len());
        assert_eq!(row.get::<Option<i32>>(4).unwrap(), None);
        wait!(rows.finish()).unwrap();
        let mut rows = wait!(conn.execute(&none, &[])).unwrap();
        let row = wait!(rows.next()).unwrap().unwrap();
        assert_eq!(row.get::<Option<&str>>(0).unwrap(), expected);
        wait!(rows.finish()).unwrap();
        conn.set_query_attributes(&[]).unwrap();
    }
    assert_eq!(traceparent(&mut conn).await.unwrap(), None);
    let many: Vec<_> = (0..65).map(|_| ("name", "value")).collect();
    assert!(conn.set_query_attributes(&many).is_err());
    wait!(conn.ping()).unwrap();
}

#[tokio::test]
async fn a_statement_carries_the_trace_of_its_caller_and_a_reset_session_no_attribute() {
    let server = Server::start().unwrap();
    let traces = Arc::new(Mutex::new(vec![
        None,
        Some("t".repeat(129)),
        Some("00-ab-cd-01".to_owned()),
    ]));
    let asked = Arc::clone(&traces);
    let mut config = Config::from_url(&server.socket_url()).unwrap();
    config.trace_parent = Some(TraceParent::new(move || {
        let mut traces = asked.lock().unwrap();
        if traces.len() > 1 {
            traces.pop().unwrap()
        } else {
            None
        }
    }));
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    if !conn
        .set_query_attributes(&[("traceparent", "own")])
        .unwrap()
    {
        wait!(conn.run("SELECT 1")).unwrap();
        assert_eq!(traces.lock().unwrap().len(), 3, "nobody wants to know");
        return lacks("query attributes", conn.server_version());
    }
    let installed = wait!(conn.run("INSTALL COMPONENT 'file://component_query_attributes'"));
    if !offered("query attributes as seen by SQL", installed) {
        return;
    }
    *traces.lock().unwrap() = vec![None, Some("t".repeat(129)), Some("00-ab-cd-01".to_owned())];
    for expected in ["00-ab-cd-01", "own", "own"] {
        let found = traceparent(&mut conn).await.unwrap();
        assert_eq!(found.as_deref(), Some(expected));
    }
    wait!(conn.reset()).unwrap();
    assert_eq!(traceparent(&mut conn).await.unwrap(), None);
}

#[tokio::test]
async fn types_without_a_number_have_a_name() {
    let mut conn = wait!(Connection::connect(&with_option(
        &url(),
        "extended-types=true"
    )))
    .unwrap();
    let name = crate::common::number();
    let created = wait!(conn.run(format!(
        "CREATE TEMPORARY TABLE types_{name} (a INT, b UUID, c INET6, d POINT, e JSON, f TEXT)"
    )));
    if !offered("named types", created) {
        return;
    }
    let sql = format!("SELECT a, b, c, d, e, f FROM types_{name}");
    let rows = wait!(conn.query(&sql)).unwrap();
    let columns = rows.columns().unwrap();
    let names: Vec<_> = (0..6)
        .map(|index| {
            columns
                .type_name(index)
                .map(|name| name.escape_ascii().to_string())
        })
        .collect();
    let expected = [
        None,
        Some("uuid"),
        Some("inet6"),
        Some("point"),
        Some("json"),
        None,
    ];
    assert_eq!(names, expected.map(|name| name.map(str::to_owned)));
    drop(rows);
    let mut plain = wait!(Connection::connect(&url())).unwrap();
    let rows = wait!(plain.query("SELECT 1")).unwrap();
    assert_eq!(rows.columns().unwrap().type_name(0), None);
}
